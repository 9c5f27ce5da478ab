#include "strata/asm/llvm/child_p.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "strata/core/process/beside.h"
#include "strata/core/support/file.h"
#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"

extern char** environ;

namespace strata::isa {
namespace {

constexpr const char* kProgram = "strata_llvm";

/// The same file under a number that is no standard stream's.
UniqueFd above_streams(UniqueFd file) {
    return file.get() > 2 ? std::move(file) : UniqueFd(fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
}

/// Starts a program that is to live on after the thread that starts it (core/process/subprocess.h has those that do
/// not). It has its own process group: Ctrl-C is the parent's to deal with.
int spawn_service(std::string path, std::string folders, int socket, int log, pid_t& process) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, kServiceSocket);
    posix_spawn_file_actions_adddup2(&actions, log, 1);
    posix_spawn_file_actions_adddup2(&actions, log, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    char* arguments[] = {path.data(), folders.data(), nullptr};
    const int status = posix_spawn(&process, path.c_str(), &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

class Child {
  public:
    Result<Message> ask(const Message& request);
    /// In a process that was forked: the service stays the parent's.
    void forget() {
        socket_ = UniqueFd();
        process_ = -1;
    }

  private:
    struct End {
        bool in_time = true;
        int status = 0;
        std::string log;
    };
    Result<void> start();
    bool running();
    End end(bool in_time);
    Error explain(const End& end) const;

    UniqueFd socket_, log_;
    std::string tools_;  ///< the setting that it was started with
    pid_t process_ = -1;
};

Result<void> Child::start() {
    static const std::string folder = find_folder_with(kProgram, folders_beside());
    if (folder.empty())
        return make_error(ErrorKind::Device,
                          "assembly text with directives needs the program {} beside Strata's library, and it is not "
                          "there: install Strata again",
                          kProgram);
    tools_ = settings().tools;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return make_error(ErrorKind::Device, "cannot run {}: {}", kProgram, std::strerror(errno));
    socket_ = above_streams(UniqueFd(ends[0]));
    const UniqueFd theirs = above_streams(UniqueFd(ends[1]));
    log_ = above_streams(UniqueFd(memfd_create("log", MFD_CLOEXEC)));
    const std::string path = fmt::format("{}/{}", folder, kProgram);
    const int status = spawn_service(path, tools_, theirs.get(), log_.get(), process_);
    if (status == 0) return {};
    process_ = -1;
    return make_error(ErrorKind::Device, "cannot run {}: {}", path, std::strerror(status));
}

bool Child::running() {
    if (process_ < 0) return false;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0) return true;
    process_ = -1;
    return false;
}

/// Ends the service if it has not ended by itself.
Child::End Child::end(bool in_time) {
    End end{in_time, 0, read_all(log_.get())};
    if (!in_time) kill(process_, SIGKILL);
    socket_ = UniqueFd();
    while (waitpid(process_, &end.status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return end;
}

Error Child::explain(const End& end) const {
    if (!end.in_time)
        return make_error(ErrorKind::Assembly,
                          "LLVM's assembler does not come to an end of this text; stopped after {} s",
                          kMostSeconds.count());
    for (std::string_view sign : {"out of memory", "bad_alloc", "allocation-size-too-big", "hard rss limit"})
        if (end.log.find(sign) != std::string::npos)
            return make_error(ErrorKind::Assembly,
                              "LLVM's assembler needs more than {} MiB for this text: look for large numbers in .zero, "
                              ".fill, .space, .org, .rept and .p2align",
                              kMostMemory >> 20);
    constexpr std::string_view kFatal = "LLVM ERROR: ";
    if (const size_t at = end.log.find(kFatal); at != std::string::npos) {
        const size_t from = at + kFatal.size();
        return make_error(ErrorKind::Assembly, "LLVM's assembler gives up on this text: {}",
                          end.log.substr(from, end.log.find('\n', from) - from));
    }
    return make_error(ErrorKind::Assembly, "LLVM's assembler crashed on this text ({})",
                      WIFSIGNALED(end.status) ? strsignal(WTERMSIG(end.status)) : "it ended early");
}

Result<Message> Child::ask(const Message& request) {
    for (bool again : {true, false}) {
        if (running() && tools_ != settings().tools) end(true);
        if (!running()) STRATA_TRY_VOID(start());
        const Deadline deadline = std::chrono::steady_clock::now() + kMostSeconds;
        Message reply;
        Transfer transfer = Transfer::closed;
        try {
            transfer = send_message(socket_.get(), request, deadline);
            if (transfer == Transfer::all) transfer = receive_message(socket_.get(), reply, deadline);
        } catch (...) {  // what it may still answer is nobody's
            this->end(false);
            throw;
        }
        if (transfer == Transfer::all && !reply.empty()) return reply;
        const End end = this->end(transfer != Transfer::late);
        // It was idle for long, or somebody ended it: no fault of the text.
        const bool left = WIFEXITED(end.status) ? WEXITSTATUS(end.status) == 0
                                                : WTERMSIG(end.status) == SIGKILL || WTERMSIG(end.status) == SIGTERM;
        if (!end.in_time || !left || !again) return explain(end);
    }
    return Message();
}

Mutex* lock = new Mutex;  // lives as long as threads may ask

Child& child() {
    static Child& instance = *[] {
        static Child* made = new Child;
        pthread_atfork(nullptr, nullptr, [] {
            made->forget();
            lock = new Mutex;  // a thread that is not here may have held it
        });
        return made;
    }();
    return instance;
}

}  // namespace

Result<Message> ask_llvm(const Message& request) {
    StoppableLock one_at_a_time(*lock);
    return child().ask(request);
}

}  // namespace strata::isa
