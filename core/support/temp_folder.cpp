#include "strata/core/support/temp_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "strata/core/support/folder_p.h"
#include "strata/core/support/mutex.h"

namespace strata {
namespace {

// A folder of ours has this name, six characters that mkdtemp chose, and a file that is locked as long as its process
// lives.
constexpr std::string_view kPrefix = "strata-run-";
constexpr size_t kNameSize = kPrefix.size() + 6;
constexpr const char* kLock = "strata-lock";
constexpr int kAttempts = 8;

bool lock(const UniqueFd& file) { return file && flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

void remove(const Folder& folder) {
    folder.clear();
    rmdir(folder.path().c_str());
}

/// Removes the folders of processes that are gone.
void sweep(const std::string& base) {
    UniqueFd listed(open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!listed) return;
    for (const std::string& name : names_in(listed.get())) {
        if (!name.starts_with(kPrefix) || name.size() != kNameSize) continue;
        auto folder = Folder::existing(fmt::format("{}/{}", base, name));
        if (!folder || !folder->status(kLock)) continue;
        UniqueFd file(openat(folder->fd(), kLock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (lock(file)) remove(*folder);
    }
}

class TempFolder {
  public:
    ~TempFolder() {
        if (folder_ && getpid() == owner_) remove(*folder_);
    }

    Result<std::string> path() {
        std::lock_guard guard(mutex_);
        if (owner_ == getpid() && folder_ && folder_->status(kLock)) return folder_->path();  // not swept from outside
        return make();
    }

  private:
    Result<std::string> make() {
        const char* wanted = std::getenv("TMPDIR");
        Error last;
        for (const char* base : {wanted && *wanted == '/' ? wanted : "/tmp", "/tmp"}) {
            sweep(base);
            for (int attempt = 0; attempt < kAttempts; ++attempt) {
                auto path = make_in(base);
                if (path) return path;
                last = std::move(path.error());
            }
        }
        return last;
    }

    Result<std::string> make_in(const char* base) {
        std::string path = fmt::format("{}/{}XXXXXX", base, kPrefix);
        if (!mkdtemp(path.data()))
            return make_error(ErrorKind::Device, "no temporary folder can be made in {}: {}; set TMPDIR to another",
                              base, std::strerror(errno));
        STRATA_TRY(Folder made, Folder::existing(path));
        UniqueFd file = made.create(kLock);
        // A sweep of another process may have come between the two.
        if (!lock(file) || !made.status(kLock))
            return make_error(ErrorKind::Device, "{} cannot be kept: {}", path, std::strerror(errno));
        owner_ = getpid();
        lock_ = std::move(file);
        folder_.emplace(std::move(made));
        return path;
    }

    Mutex mutex_;
    pid_t owner_ = 0;
    UniqueFd lock_;
    std::optional<Folder> folder_;
};

}  // namespace

Result<std::string> process_temp_folder() {
    static TempFolder folder;
    return folder.path();
}

}  // namespace strata
