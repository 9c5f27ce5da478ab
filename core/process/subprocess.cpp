#include "strata/core/process/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "strata/core/process/spawn_p.h"
#include "strata/core/support/file.h"
#include "strata/core/support/interrupt.h"

namespace strata {
namespace {

using Clock = std::chrono::steady_clock;

/// None of the numbers 0 to 2, which may be free here and are the child's streams.
UniqueFd memory_file(const char* name) {
    UniqueFd file(memfd_create(name, MFD_CLOEXEC));
    return file.get() > 2 ? std::move(file) : UniqueFd(fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
}

/// Milliseconds until `end`, at least 0.
int until(Clock::time_point end) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    return left > 0 ? static_cast<int>(std::min<long long>(left, 1 << 30)) : 0;
}

/// Waits until the child ends or `end` passes: through a pidfd, or by polling where the kernel has none.
bool wait_for_end(pid_t child, Clock::time_point end) {
    siginfo_t info{};
    auto ended = [&] { return waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child; };
    UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    while (!ended()) {
        if (Clock::now() >= end) return false;
        poll_interrupt();
        if (process) {
            pollfd waiting{process.get(), POLLIN, 0};
            poll(&waiting, 1, std::min(until(end), static_cast<int>(kPollInterval.count())));
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    return true;
}

/// A child with the children it has started; left alone, they end.
class Child {
  public:
    explicit Child(pid_t id) : id_(id) {}
    ~Child() {
        if (waited_for_) return;
        end();
        (void)status();
    }
    Child(const Child&) = delete;
    void end() const { kill(-id_, SIGKILL); }
    /// Once it has ended.
    int status() {
        int status = 0;
        while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
        }
        waited_for_ = true;
        return status;
    }

  private:
    const pid_t id_;
    bool waited_for_ = false;
};

}  // namespace

Result<ProcessOutput> run_process(const std::vector<std::string>& argv, std::string_view input,
                                  double timeout_seconds) {
    STRATA_CHECK(!argv.empty(), "no program given");
    UniqueFd in = memory_file("stdin"), out = memory_file("stdout"), err = memory_file("stderr");
    if (!in || !out || !err || !write_all(in.get(), input) || lseek(in.get(), 0, SEEK_SET) != 0)
        return make_error(ErrorKind::Device, "cannot run {}: no memory file: {}{}", argv[0], std::strerror(errno),
                          errno == EFBIG ? " (ulimit -f)" : "");

    STRATA_TRY(const pid_t started, spawn(argv, in.get(), out.get(), err.get()));
    Child child(started);
    ProcessOutput result;
    auto end = Clock::now() + std::chrono::milliseconds(static_cast<long long>(timeout_seconds * 1000));
    result.timed_out = !wait_for_end(started, end);
    if (result.timed_out) child.end();
    const int status = child.status();
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    result.out = read_all(out.get());
    result.err = read_all(err.get());
    rlimit largest{};
    if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && std::max(result.out.size(), result.err.size()) >= largest.rlim_cur)
        return make_error(ErrorKind::Device, "{} writes more than the {} bytes that a file may have here (ulimit -f)",
                          argv[0], largest.rlim_cur);
    return result;
}

std::string find_program(std::string_view program, std::string_view search_path) {
    while (!search_path.empty()) {
        size_t colon = std::min(search_path.find(':'), search_path.size());
        std::string candidate = fmt::format("{}/{}", search_path.substr(0, colon), program);
        search_path.remove_prefix(std::min(colon + 1, search_path.size()));
        struct stat entry{};
        if (candidate[0] == '/' && stat(candidate.c_str(), &entry) == 0 && S_ISREG(entry.st_mode) &&
            access(candidate.c_str(), X_OK) == 0)
            return candidate;
    }
    return {};
}

}  // namespace strata
