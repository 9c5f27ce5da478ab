#pragma once
#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/core/support/file.h"
#include "strata/core/support/result.h"

namespace strata {

/// The names in an open folder.
std::vector<std::string> names_in(int folder);

/// A folder held open that belongs to this user and that nobody else may write to. Names in it are looked up in the
/// open folder and never through links. Nothing outside it is read, written or removed, whoever renames a folder
/// meanwhile.
class Folder {
  public:
    /// Makes it and the folders above it where they are missing, all 0700. An Error (Device) says why it cannot be
    /// used. It is a link, another user's, writable by others, or below a folder in which anybody may rename it.
    static Result<Folder> open(const std::string& path);
    /// One that is there, opened by its path alone.
    static Result<Folder> existing(const std::string& path);
    /// One in this folder, made where it is missing.
    Result<Folder> child(const std::string& name) const;
    bool has(const std::string& name) const;

    const std::string& path() const { return path_; }  ///< absolute, without links
    std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
    /// A regular file of this user in this folder; nothing else, and nothing that blocks, is ever opened.
    std::optional<struct stat> status(const std::string& name) const;
    std::optional<std::string> read(const std::string& name, uint64_t size_limit) const;
    /// Through a file `<name>.<16 hex digits>.tmp` and a rename: a reader sees the old file or the whole new one.
    bool write(const std::string& name, std::string_view bytes) const;
    /// An empty file that was not there before.
    UniqueFd create(const std::string& name) const;
    /// A file, link or empty folder.
    bool remove(const std::string& name) const;
    /// Marks a file as used now.
    void touch(const std::string& name) const;
    /// Removes everything in it.
    void clear() const;
    int fd() const { return fd_.get(); }

  private:
    Folder(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
    static Result<Folder> checked(UniqueFd fd, std::string path);

    UniqueFd fd_;
    std::string path_;
};

}  // namespace strata
