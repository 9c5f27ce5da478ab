#include "strata/asm/llvm/service/emit.h"

// The C API has no assembler as such. A module that holds only inline assembly, emitted as an object file, is one: text
// with all directives goes in, a relocatable object comes out.
namespace strata::isa {
namespace {

struct Collector {
    const LlvmApi& api;
    std::vector<std::string> errors;
};

/// AMDGPU also reports remarks and warnings here; only errors count.
void collect(LlvmDiagnostic diagnostic, void* user) {
    Collector& collector = *static_cast<Collector*>(user);
    if (collector.api.LLVMGetDiagInfoSeverity(diagnostic) != kLlvmSeverityError) return;
    char* text = collector.api.LLVMGetDiagInfoDescription(diagnostic);
    collector.errors.emplace_back(text);
    collector.api.LLVMDisposeMessage(text);
}

}  // namespace

Emitted emit_object(const LlvmApi& api, std::string_view text, const std::string& cpu, const std::string& features) {
    Collector collector{api, {}};
    Owned context(api.LLVMContextCreate(), api.LLVMContextDispose);
    api.LLVMContextSetDiagnosticHandler(context.get(), collect, &collector);
    Owned machine(api.LLVMCreateTargetMachine(api.amdgpu, kTriple, cpu.c_str(), features.c_str(), kLlvmCodeGenDefault,
                                              kLlvmRelocPic, kLlvmCodeModelDefault),
                  api.LLVMDisposeTargetMachine);
    if (!machine.get()) return {{}, {"LLVM cannot target " + cpu}};
    Owned module(api.LLVMModuleCreateWithNameInContext("assembly", context.get()), api.LLVMDisposeModule);
    api.LLVMSetTarget(module.get(), kTriple);
    api.LLVMSetModuleInlineAsm2(module.get(), text.data(), text.size());

    Owned<LlvmBuffer> buffer(nullptr, api.LLVMDisposeMemoryBuffer);
    char* message = nullptr;
    const bool failed =
        api.LLVMTargetMachineEmitToMemoryBuffer(machine.get(), module.get(), kLlvmObjectFile, &message, buffer.out());
    if (message) {
        if (failed && collector.errors.empty()) collector.errors.emplace_back(message);
        api.LLVMDisposeMessage(message);
    }
    if (failed && collector.errors.empty()) collector.errors.emplace_back("the assembler failed without a message");
    if (!collector.errors.empty()) return {{}, std::move(collector.errors)};
    return {{api.LLVMGetBufferStart(buffer.get()), api.LLVMGetBufferSize(buffer.get())}, {}};
}

}  // namespace strata::isa
