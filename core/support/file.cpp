#include "strata/core/support/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace strata {

UniqueFd::~UniqueFd() {
    if (fd_ >= 0) close(fd_);
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t count = write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
}

std::string read_all(int fd) {
    std::string bytes;
    struct stat entry{};
    if (fstat(fd, &entry) == 0 && entry.st_size > 0) bytes.resize(static_cast<size_t>(entry.st_size));
    size_t have = 0;
    while (have < bytes.size()) {
        ssize_t count = pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        have += static_cast<size_t>(count);
    }
    bytes.resize(have);
    return bytes;
}

std::optional<std::string> read_file(const std::string& path) {
    UniqueFd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat entry{};
    if (!file || fstat(file.get(), &entry) != 0 || !S_ISREG(entry.st_mode)) return std::nullopt;
    return read_all(file.get());
}

bool write_file_atomically(const std::string& path, std::string_view bytes) {
    static std::atomic<unsigned> serial{0};
    std::string temporary = fmt::format("{}.{}.{}.tmp", path, getpid(), serial++);
    UniqueFd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return false;
    if (write_all(file.get(), bytes) && std::rename(temporary.c_str(), path.c_str()) == 0) return true;
    unlink(temporary.c_str());
    return false;
}

}  // namespace strata
