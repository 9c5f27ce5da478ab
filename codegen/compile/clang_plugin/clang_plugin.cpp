// HIP source to a relocatable object with libclang-cpp in this process: saves the 18 ms start of the clang program and
// the reading of its libraries for every kernel.
#include "strata/codegen/compile/clang_plugin_p.h"

#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>

#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>

namespace {

using Objects = llvm::SmallVector<char, 0>;

constexpr size_t kStackBytes = size_t{8} << 20;  // as the clang program has

/// One compilation, which has a thread and so a stack of its own, whatever thread asks for it. LLVM ends the process on
/// errors that it deems fatal. Here the thread sleeps for good instead, as LLVM keeps lists through what is on its stack,
/// and the caller takes another route; what the compilation had allocated is lost.
struct Job {
    llvm::ArrayRef<const char*> args;
    llvm::StringRef source;
    Objects object;
    std::string log;
    bool ok = false;

    enum class State { running, done, given_up };
    void end(State how) {
        std::lock_guard lock(mutex);
        state = how;
        ended.notify_all();
    }
    State wait() {
        std::unique_lock lock(mutex);
        ended.wait(lock, [&] { return state != State::running; });
        return state;
    }

  private:
    std::mutex mutex;
    std::condition_variable ended;
    State state = State::running;
};
thread_local Job* job_of_thread = nullptr;

void on_fatal_error(void*, const char* reason, bool) {
    if (!job_of_thread) return;
    job_of_thread->log = reason;
    job_of_thread->end(Job::State::given_up);
    for (;;) pause();
}

/// Drops device functions that were inlined everywhere. It is a global option of LLVM, in the arguments as -mllvm,
/// which only the clang program reads; anyone else in the process who parses LLVM options resets it.
void internalize_symbols() {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    auto& options = llvm::cl::getRegisteredOptions();
    if (auto found = options.find("amdgpu-internalize-symbols"); found != options.end())
        static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
}

void start_llvm() {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    llvm::install_fatal_error_handler(on_fatal_error);
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
    llvm::MemoryBufferRef buffer(source, "-");
    invocation->getFrontendOpts().Inputs = {clang::FrontendInputFile(buffer, clang::InputKind(clang::Language::HIP))};
    compiler.setInvocation(invocation);
    compiler.createDiagnostics(printer);  // takes the printer
    compiler.setVerboseOutputStream(messages);
    compiler.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(object));
    llvm::LLVMContext context;
    clang::EmitObjAction action(&context);
    return compiler.ExecuteAction(action);
}

void* run(void* argument) {
    Job& job = *static_cast<Job*>(argument);
    job_of_thread = &job;
    job.ok = compile(job.args, job.source, job.object, job.log);
    job.end(Job::State::done);
    return nullptr;
}

/// The thread of a job, which handles no signals; false when the host refuses it.
bool start(Job& job, pthread_t& thread) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int refused = pthread_create(&thread, &attributes, run, &job);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return refused == 0;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] extern const int strata_clang_version = strata_clang_interface;

[[gnu::visibility("default")]] int strata_clang_compile(const char* const* args, size_t arg_count, const char* source,
                                                        size_t source_size, StrataClangAppend append, void* object,
                                                        void* log) {
    static std::once_flag started;
    std::call_once(started, start_llvm);
    internalize_symbols();
    auto job = std::make_unique<Job>();
    job->args = {args, arg_count};
    job->source = {source, source_size};
    pthread_t thread{};
    if (!start(*job, thread)) return strata_clang_unusable;
    const Job::State end = job->wait();
    append(log, job->log.data(), job->log.size());
    if (end == Job::State::given_up) {
        pthread_detach(thread);
        (void)job.release();  // its thread has it
        return strata_clang_unusable;
    }
    pthread_join(thread, nullptr);
    if (!job->ok) return strata_clang_error;
    append(object, job->object.data(), job->object.size());
    return strata_clang_ok;
}
}
