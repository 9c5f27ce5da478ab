#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "strata/core/support/folder_p.h"

namespace strata {
namespace {

constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr int kDeepest = 16;  // folders within folders that clear() enters

Error unusable(std::string_view path, int code) {
    if (code == ELOOP || code == ENOTDIR) return make_error(ErrorKind::Device, "{} is a link or no folder", path);
    return make_error(ErrorKind::Device, "{}: {}", path, std::strerror(code));
}

/// In a folder that anybody may write to, and that is not sticky as /tmp is, anybody may replace our folder between two
/// checks.
Result<void> check_above(std::string path) {
    for (; !path.empty(); path.resize(path.rfind('/'))) {
        struct stat entry{};
        if (lstat(path.c_str(), &entry) != 0) return unusable(path, errno);
        if ((entry.st_mode & S_IWOTH) && !(entry.st_mode & S_ISVTX))
            return make_error(ErrorKind::Device, "everybody may write to {} (chmod o-w {})", path, path);
    }
    return {};
}

Result<UniqueFd> open_or_make(int in, const std::string& name, const std::string& path) {
    UniqueFd fd(openat(in, name.c_str(), kOpenFolder));
    if (!fd && errno == ENOENT) {
        if (mkdirat(in, name.c_str(), 0700) != 0 && errno != EEXIST) return unusable(path, errno);
        fd = UniqueFd(openat(in, name.c_str(), kOpenFolder));
    }
    if (!fd) return unusable(path, errno);
    return fd;
}

std::string random_digits() {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<uint64_t>(getpid());
    return fmt::format("{:016x}", number);
}

struct CloseDir {
    void operator()(DIR* folder) const { closedir(folder); }
};

void clear_folder(int folder, int depth) {
    for (const std::string& name : names_in(folder)) {
        if (unlinkat(folder, name.c_str(), 0) == 0 || depth == kDeepest) continue;
        if (UniqueFd inner(openat(folder, name.c_str(), kOpenFolder)); inner) clear_folder(inner.get(), depth + 1);
        unlinkat(folder, name.c_str(), AT_REMOVEDIR);
    }
}

}  // namespace

std::vector<std::string> names_in(int folder) {
    std::vector<std::string> names;
    std::unique_ptr<DIR, CloseDir> listing(fdopendir(openat(folder, ".", kOpenFolder)));
    while (dirent* entry = listing ? readdir(listing.get()) : nullptr)
        if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
            names.emplace_back(entry->d_name);
    return names;
}

Result<Folder> Folder::checked(UniqueFd fd, std::string path) {
    struct stat entry{};
    if (!fd || fstat(fd.get(), &entry) != 0) return unusable(path, errno);
    if (entry.st_uid != geteuid())
        return make_error(ErrorKind::Device, "{} belongs to another user (id {})", path, entry.st_uid);
    if (entry.st_mode & kOthersMayWrite)
        return make_error(ErrorKind::Device, "others may write to {} (chmod go-w {})", path, path);
    return Folder(std::move(fd), std::move(path));
}

Result<Folder> Folder::open(const std::string& path) {
    std::error_code status;
    std::string whole = std::filesystem::absolute(path, status).string();
    if (status) return make_error(ErrorKind::Device, "{}: {}", path, status.message());
    while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
    const size_t last = whole.rfind('/');
    const std::string above = whole.substr(0, std::max<size_t>(last, 1));
    if (access(above.c_str(), F_OK) != 0)
        for (size_t end = 0; end != above.npos;) {
            end = above.find('/', end + 1);
            mkdir(above.substr(0, end).c_str(), 0700);
        }
    std::unique_ptr<char, decltype(&std::free)> real(realpath(above.c_str(), nullptr), &std::free);
    if (!real) return unusable(above, errno);
    std::string resolved = std::strcmp(real.get(), "/") == 0 ? "" : real.get();
    STRATA_TRY_VOID(check_above(resolved));
    resolved += whole.substr(last);
    STRATA_TRY(UniqueFd fd, open_or_make(AT_FDCWD, resolved, resolved));
    return checked(std::move(fd), std::move(resolved));
}

Result<Folder> Folder::existing(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), kOpenFolder));
    return checked(std::move(fd), path);
}

Result<Folder> Folder::child(const std::string& name) const {
    STRATA_TRY(UniqueFd fd, open_or_make(fd_.get(), name, path(name)));
    return checked(std::move(fd), path(name));
}

bool Folder::has(const std::string& name) const {
    return faccessat(fd_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<struct stat> Folder::status(const std::string& name) const {
    struct stat entry{};
    if (fstatat(fd(), name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(entry.st_mode) ||
        entry.st_uid != geteuid())
        return std::nullopt;
    return entry;
}

std::optional<std::string> Folder::read(const std::string& name, uint64_t size_limit) const {
    UniqueFd file(openat(fd(), name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
    struct stat entry{};
    if (!file || fstat(file.get(), &entry) != 0 || !S_ISREG(entry.st_mode) || entry.st_uid != geteuid() ||
        static_cast<uint64_t>(entry.st_size) > size_limit)
        return std::nullopt;
    return read_all(file.get());
}

UniqueFd Folder::create(const std::string& name) const {
    return UniqueFd(openat(fd(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

bool Folder::write(const std::string& name, std::string_view bytes) const {
    std::string temporary = fmt::format("{}.{}.tmp", name, random_digits());
    UniqueFd file = create(temporary);
    if (!file) return false;
    if (write_all(file.get(), bytes) && renameat(fd(), temporary.c_str(), fd(), name.c_str()) == 0) return true;
    remove(temporary);
    return false;
}

bool Folder::remove(const std::string& name) const {
    return unlinkat(fd(), name.c_str(), 0) == 0 || unlinkat(fd(), name.c_str(), AT_REMOVEDIR) == 0;
}

void Folder::touch(const std::string& name) const { utimensat(fd(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW); }

void Folder::clear() const { clear_folder(fd(), 0); }

}  // namespace strata
