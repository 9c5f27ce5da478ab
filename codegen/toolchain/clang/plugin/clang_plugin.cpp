// HIP source to a relocatable object with libclang-cpp in this process. That saves, for every kernel, the 18 ms start
// of the clang program and the reading of its libraries.
#include "strata/codegen/toolchain/clang/clang_plugin_p.h"

#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

extern "C" void strata_clang_finish();

namespace {

using Objects = llvm::SmallVector<char, 0>;

constexpr std::chrono::milliseconds kPollInterval{20};
constexpr size_t kStackBytes = size_t{8} << 20;  // as the clang program has
constexpr size_t kHandlerStackBytes = size_t{64} << 10;

/// The threads whose caller has left. LLVM's own state is destroyed when the process ends: not under their feet.
class LeftThreads {
  public:
    void add() {
        std::lock_guard lock(mutex_);
        if (!registered_) registered_ = std::atexit(strata_clang_finish) == 0;
        process_ = getpid();
        ++count_;
    }
    void remove() {
        std::lock_guard lock(mutex_);
        --count_;
        changed_.notify_all();
    }
    void wait() {
        if (process_ != getpid()) return;  // a fork has no such threads
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return count_ == 0; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int count_ = 0;
    pid_t process_ = 0;
    bool registered_ = false;
};

LeftThreads& left_threads() {
    static auto* all = new LeftThreads;
    return *all;
}

/// One compilation, which has a thread and so a stack of its own, whatever thread asks for it. LLVM ends the process on
/// errors that it deems fatal, and crashes. Here the thread sleeps for good instead, as LLVM keeps lists through its
/// stack, and the caller takes another route. The memory that the compilation allocated is lost. Of a caller who no
/// longer waits, the thread has the job.
struct Job {
    std::vector<std::string> args;
    std::string source;
    Objects object;
    std::string log;
    bool ok = false;

    enum class State { running, done, given_up, left };
    /// False: the caller has left.
    bool end(State how) {
        std::lock_guard lock(mutex);
        if (state == State::left) return false;
        state = how;
        ended.notify_all();
        return true;
    }
    State wait(StrataClangWantsStop wants_stop, void* context) {
        std::unique_lock lock(mutex);
        while (!ended.wait_for(lock, kPollInterval, [&] { return state != State::running; })) {
            lock.unlock();
            const bool stop = wants_stop(context) != 0;
            lock.lock();
            if (!stop || state != State::running) continue;
            left_threads().add();
            state = State::left;
        }
        return state;
    }

  private:
    std::mutex mutex;
    std::condition_variable ended;
    State state = State::running;
};
/// Read by a signal handler: its storage must not be allocated there.
[[gnu::tls_model("initial-exec")]] thread_local Job* job_of_thread = nullptr;

[[noreturn]] void sleep_for_good(Job& job) {
    if (!job.end(Job::State::given_up)) left_threads().remove();
    for (;;) pause();
}

void on_fatal_error(void*, const char* reason, bool) {
    if (!job_of_thread) return;
    job_of_thread->log = reason;
    sleep_for_good(*job_of_thread);
}

/// The signals of a crash, and what the process did on them before. After one in a compilation LLVM's locks and its
/// heap may be as the crash left them: the process compiles nothing more in itself.
class Crashes {
  public:
    static void handle() {
        struct sigaction ours{};
        ours.sa_sigaction = on_signal;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &ours, &earlier_[i]);
    }
    static sigset_t all_others() {
        sigset_t set;
        sigfillset(&set);
        for (int signal : kSignals) sigdelset(&set, signal);
        return set;
    }
    /// The signal of the first crash; 0 when there was none.
    static int signal() { return signal_; }

  private:
    static constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
    static inline std::array<struct sigaction, kSignals.size()> earlier_{};
    static inline std::atomic<int> signal_{0};

    static void on_signal(int signal, siginfo_t* info, void* context) {
        if (job_of_thread) {
            signal_ = signal;
            sleep_for_good(*job_of_thread);
        }
        for (size_t i = 0; i < kSignals.size(); ++i)
            if (kSignals[i] == signal) pass_on(earlier_[i], signal, info, context);
    }
    static void pass_on(const struct sigaction& earlier, int signal, siginfo_t* info, void* context) {
        if (earlier.sa_flags & SA_SIGINFO) return earlier.sa_sigaction(signal, info, context);
        if (earlier.sa_handler == SIG_IGN && info->si_code <= 0) return;
        if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) return earlier.sa_handler(signal);
        struct sigaction as_usual{};
        as_usual.sa_handler = SIG_DFL;
        sigaction(signal, &as_usual, nullptr);
        if (info->si_code <= 0) raise(signal);  // else the instruction meets it again
    }
};

/// The global options of LLVM, in the arguments as -mllvm, which only the clang program reads. Anyone else in the
/// process who parses LLVM options resets them.
void set_options(llvm::ArrayRef<const char*> args) {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    auto& options = llvm::cl::getRegisteredOptions();
    for (size_t i = 1; i < args.size(); ++i) {
        if (llvm::StringRef(args[i - 1]) != "-mllvm") continue;
        const auto [name, value] = llvm::StringRef(args[i]).ltrim('-').split('=');
        if (auto found = options.find(name); found != options.end() && found->second->getNumOccurrences() == 0)
            found->second->addOccurrence(0, name, value);
    }
}

void start_llvm() {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_fatal_error);
    Crashes::handle();
}

bool compile(llvm::ArrayRef<const char*> args, llvm::StringRef source, Objects& object, std::string& log) {
    llvm::raw_string_ostream messages(log);
    llvm::SmallVector<const char*, 64> words(args);
    words.append({"-x", "hip"});
    auto invocation = std::make_shared<clang::CompilerInvocation>();
    auto* printer = new clang::TextDiagnosticPrinter(messages, &invocation->getDiagnosticOpts());
    clang::CompilerInstance compiler;
    {
        llvm::IntrusiveRefCntPtr<clang::DiagnosticIDs> ids(new clang::DiagnosticIDs());
        clang::DiagnosticsEngine early(ids, &invocation->getDiagnosticOpts(), printer, false);
        if (!clang::CompilerInvocation::CreateFromArgs(*invocation, words, early)) return delete printer, false;
    }
    // The arguments are those of a clang program, which leaves all to the end of its process.
    invocation->getFrontendOpts().DisableFree = invocation->getCodeGenOpts().DisableFree = false;
    invocation->getCodeGenOpts().ClearASTBeforeBackend = false;
    // A file by the name that the program gives its input: line tables are the same ones.
    constexpr const char* kInput = "<stdin>";
    llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> memory(new llvm::vfs::InMemoryFileSystem());
    llvm::IntrusiveRefCntPtr<llvm::vfs::OverlayFileSystem> files(
        new llvm::vfs::OverlayFileSystem(llvm::vfs::getRealFileSystem()));
    files->pushOverlay(memory);  // whose working directory becomes that of the process
    memory->addFile(kInput, 0, llvm::MemoryBuffer::getMemBuffer(source, kInput, false));
    invocation->getFrontendOpts().Inputs = {clang::FrontendInputFile(kInput, clang::InputKind(clang::Language::HIP))};
    compiler.setInvocation(invocation);
    compiler.createDiagnostics(printer);  // takes the printer
    compiler.createFileManager(files);
    compiler.setVerboseOutputStream(messages);
    compiler.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(object));
    llvm::LLVMContext context;
    clang::EmitObjAction action(&context);
    return compiler.ExecuteAction(action);
}

void* run(void* argument) {
    Job& job = *static_cast<Job*>(argument);
    job_of_thread = &job;
    std::array<char, kHandlerStackBytes> handlers;  // which run where the stack is at its end, too
    const stack_t stack = {.ss_sp = handlers.data(), .ss_flags = 0, .ss_size = handlers.size()};
    sigaltstack(&stack, nullptr);
    std::vector<const char*> words;
    for (const std::string& word : job.args) words.push_back(word.c_str());
    try {
        job.ok = compile(words, job.source, job.object, job.log);
    } catch (const std::bad_alloc&) {
        on_fatal_error(nullptr, "out of memory", false);
    }
    if (job.end(Job::State::done)) return nullptr;
    delete &job;
    left_threads().remove();
    return nullptr;
}

/// The thread of a job, which handles no signals but its own crashes; false when the host refuses it.
bool start(Job& job, pthread_t& thread) {
    const sigset_t others = Crashes::all_others();
    sigset_t before;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    const int refused = pthread_create(&thread, &attributes, run, &job);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return refused == 0;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void strata_clang_finish() { left_threads().wait(); }

[[gnu::visibility("default")]] extern const int strata_clang_version = strata_clang_interface;

[[gnu::visibility("default")]] int strata_clang_compile(const char* const* args, size_t arg_count, const char* source,
                                                        size_t source_size, StrataClangAppend append, void* object,
                                                        void* log, StrataClangWantsStop wants_stop, void* context) {
    static std::once_flag started;
    std::call_once(started, start_llvm);
    const auto tell_crash = [&] {
        const std::string message = std::string("clang crashed (") + strsignal(Crashes::signal()) + ")";
        append(log, message.data(), message.size());
    };
    if (Crashes::signal()) return tell_crash(), strata_clang_unusable;
    set_options({args, arg_count});
    auto job = std::make_unique<Job>();
    job->args = {args, args + arg_count};
    job->source.assign(source, source_size);
    pthread_t thread{};
    if (!start(*job, thread)) return strata_clang_unusable;
    const Job::State end = job->wait(wants_stop, context);
    if (end == Job::State::left) {
        pthread_detach(thread);
        (void)job.release();  // its thread has it
        return strata_clang_stopped;
    }
    if (end == Job::State::given_up) {
        Crashes::signal() ? tell_crash() : append(log, job->log.data(), job->log.size());
        pthread_detach(thread);
        (void)job.release();
        return strata_clang_unusable;
    }
    pthread_join(thread, nullptr);
    append(log, job->log.data(), job->log.size());
    if (!job->ok) return strata_clang_error;
    append(object, job->object.data(), job->object.size());
    return strata_clang_ok;
}
}
