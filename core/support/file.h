#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace strata {

/// Owns a file descriptor.
class UniqueFd {
  public:
    explicit UniqueFd(int fd = -1) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~UniqueFd();
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_;
};

bool write_all(int fd, std::string_view bytes);
/// Everything from the start of the file, wherever its position is.
std::string read_all(int fd);
/// A regular file; nothing else is read, so that nothing blocks.
std::optional<std::string> read_file(const std::string& path);

/// Writes beside `path` and renames: a reader sees the old file or the whole new one. Mode 0600.
bool write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace strata
