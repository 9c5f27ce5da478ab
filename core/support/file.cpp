#include "strata/core/support/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

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
    UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return std::nullopt;
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

bool make_private_folder(const std::string& path) {
    for (size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1))
        mkdir(path.substr(0, slash).c_str(), 0777);
    mkdir(path.c_str(), 0700);
    struct stat entry{};
    return stat(path.c_str(), &entry) == 0 && S_ISDIR(entry.st_mode) && entry.st_uid == geteuid() &&
           access(path.c_str(), R_OK | W_OK | X_OK) == 0;
}

namespace {

struct TempFolder {
    std::string path;
    pid_t owner = getpid();

    TempFolder() {
        const char* base = std::getenv("TMPDIR");
        path = fmt::format("{}/strata-XXXXXX", base && *base == '/' ? base : "/tmp");
        if (!mkdtemp(path.data())) path.clear();
    }
    ~TempFolder() {
        std::error_code ignored;
        if (!path.empty() && getpid() == owner) std::filesystem::remove_all(path, ignored);
    }
};

}  // namespace

const std::string& process_temp_folder() {
    static TempFolder folder;
    return folder.path;
}

}  // namespace strata
