#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <memory>

#include "strata/core/process/spawn_p.h"

extern char** environ;

namespace strata {
namespace {

constexpr size_t kStackBytes = size_t{64} << 10;
constexpr rlim_t kProgramStack = rlim_t{8} << 20;  // of the program, where this process has less: a compiler needs it

struct Start {
    char** argv;
    int streams[3];
    pid_t parent;
    sigset_t signals;
    int error;
};

/// The child until it is another program. It has the memory of the parent, whose thread waits for it: system calls
/// only.
__attribute__((no_sanitize("address"))) int become_program(void* argument) {
    Start& start = *static_cast<Start*>(argument);
    for (int number = 1; number < NSIG; ++number) {
        struct sigaction action{};
        if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL)
            continue;
        action.sa_handler = SIG_DFL;
        action.sa_flags = 0;
        sigaction(number, &action, nullptr);
    }
    rlimit stack{};
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < kProgramStack) {
        stack.rlim_cur = stack.rlim_max < kProgramStack ? stack.rlim_max : kProgramStack;
        setrlimit(RLIMIT_STACK, &stack);
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != start.parent) _exit(127);  // it was gone before it could be watched
    for (int i = 0; i < 3; ++i) dup2(start.streams[i], i);
    sigprocmask(SIG_SETMASK, &start.signals, nullptr);
    execve(start.argv[0], start.argv, environ);
    start.error = errno;
    _exit(127);
}

}  // namespace

Result<pid_t> spawn(const std::vector<std::string>& argv, int in, int out, int err) {
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    Start start{words.data(), {in, out, err}, getpid(), {}, 0};
    auto stack = std::make_unique<std::byte[]>(kStackBytes);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &start.signals);
    pid_t child = clone(become_program, stack.get() + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
    const int refused = errno;
    pthread_sigmask(SIG_SETMASK, &start.signals, nullptr);
    if (child < 0) return make_error(ErrorKind::Device, "cannot run {}: {}", argv[0], std::strerror(refused));
    if (start.error == 0) return child;
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return make_error(ErrorKind::Device, "cannot run {}: {}", argv[0], std::strerror(start.error));
}

}  // namespace strata
