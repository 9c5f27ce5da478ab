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

#include <csetjmp>
#include <mutex>

namespace {

using Objects = llvm::SmallVector<char, 0>;

// LLVM ends the process on errors that it deems fatal. Here the compilation is left behind instead (what it had
// allocated is lost) and the caller takes another route.
thread_local std::jmp_buf* escape = nullptr;
thread_local std::string* fatal_message = nullptr;

void on_fatal_error(void*, const char* reason, bool) {
    if (!escape) return;
    *fatal_message = reason;
    std::longjmp(*escape, 1);
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

struct Job {
    llvm::ArrayRef<const char*> args;
    llvm::StringRef source;
    Objects object;
    std::string log;
    bool ok = false;
};

/// False when LLVM gave up on the job. A frame of its own without objects, as it is returned to by longjmp.
[[gnu::noinline]] bool run_guarded(Job& job) {
    std::jmp_buf here;
    if (setjmp(here) != 0) {
        escape = nullptr;
        return false;
    }
    fatal_message = &job.log;
    escape = &here;
    job.ok = compile(job.args, job.source, job.object, job.log);
    escape = nullptr;
    return true;
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
    Job job{{args, arg_count}, {source, source_size}, {}, {}};
    bool ended = run_guarded(job);
    append(log, job.log.data(), job.log.size());
    if (!ended) return strata_clang_unusable;
    if (!job.ok) return strata_clang_error;
    append(object, job.object.data(), job.object.size());
    return strata_clang_ok;
}
}
