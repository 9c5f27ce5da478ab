#include "strata/asm/llvm/service/llvm_api.h"

#include <dlfcn.h>

#include <string>

#include "strata/core/process/beside.h"

namespace strata::isa {
namespace {

constexpr const char* kName = "libLLVM.so.19.1";
constexpr const char* kLibraries[] = {
    kName,           "/usr/lib/llvm-19/lib/libLLVM.so.19.1", "libLLVM-19.so.1",
    "libLLVM-19.so", "/usr/lib/llvm-19/lib/libLLVM.so.1",
};

Error missing(std::string_view detail) {
    return make_error(ErrorKind::Device,
                      "LLVM 19 is needed for assembly text and cannot be loaded ({}); install Debian package libllvm19",
                      detail);
}

Result<LlvmApi> load_from(std::string_view folders) {
    const std::string folder = find_folder_with(kName, folders);
    if (folder.empty()) return missing(fmt::format("{} is not in {}", kName, folders));
    const std::string path = fmt::format("{}/{}", folder, kName);
    const char* const paths[] = {path.c_str()};
    return load_llvm(paths);
}

}  // namespace

Result<LlvmApi> load_llvm(std::span<const char* const> libraries) {
    void* library = nullptr;
    std::string reason = "no library name was given";
    for (const char* name : libraries) {
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library) break;
        if (const char* text = dlerror(); text && name == libraries.front()) reason = text;
    }
    if (!library) return missing(reason);
    LlvmApi api;
#define LLVM(result, name, parameters)                                        \
    api.name = reinterpret_cast<result(*) parameters>(dlsym(library, #name)); \
    if (!api.name) return missing("it lacks the function " #name);
#include "strata/asm/llvm/service/llvm_api.def"
#undef LLVM
    api.LLVMInitializeAMDGPUTargetInfo();
    api.LLVMInitializeAMDGPUTarget();
    api.LLVMInitializeAMDGPUTargetMC();
    api.LLVMInitializeAMDGPUAsmPrinter();
    api.LLVMInitializeAMDGPUAsmParser();
    api.LLVMInitializeAMDGPUDisassembler();
    char* text = nullptr;
    if (api.LLVMGetTargetFromTriple(kTriple, &api.amdgpu, &text)) {
        Error error = missing(text ? text : "it has no AMDGPU target");
        if (text) api.LLVMDisposeMessage(text);
        return error;
    }
    return api;
}

std::string wave_features(Arch arch, int wave_size) {
    if (!wave_size || !info(arch).has_wave64 || info(arch).wave_size != 32) return "";
    return wave_size == 64 ? "+wavefrontsize64,-wavefrontsize32" : "+wavefrontsize32,-wavefrontsize64";
}

Result<void> check_wave_size(Arch arch, int wave_size) {
    const ArchInfo& row = info(arch);
    if (wave_size == 0 || wave_size == row.wave_size || (wave_size == 64 && row.has_wave64)) return {};
    return make_error(ErrorKind::Usage, "{} has no waves of {} lanes", row.name, wave_size);
}

const Result<LlvmApi>& llvm(std::string_view folders) {
    static const Result<LlvmApi> api = folders.empty() ? load_llvm(kLibraries) : load_from(folders);
    return api;
}

}  // namespace strata::isa
