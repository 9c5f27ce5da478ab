#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "strata/asm/isa/arch.h"
#include "strata/core/support/result.h"

// libLLVM, found at run time: no header and no link dependency on LLVM.
namespace strata::isa {

using LlvmBool = int;
using LlvmTarget = struct LlvmTargetTag*;
using LlvmContext = struct LlvmContextTag*;
using LlvmDiagnostic = struct LlvmDiagnosticTag*;
using LlvmModule = struct LlvmModuleTag*;
using LlvmMachine = struct LlvmMachineTag*;
using LlvmBuffer = struct LlvmBufferTag*;
using LlvmDisassembler = void*;

// Enumerators of llvm-c that are passed as int.
constexpr int kLlvmSeverityError = 0, kLlvmCodeGenDefault = 2, kLlvmRelocPic = 2, kLlvmCodeModelDefault = 0,
              kLlvmObjectFile = 1;

/// The entry points, by their own names.
struct LlvmApi {
#define LLVM(result, name, parameters) result(*name) parameters = nullptr;
#include "strata/asm/llvm/service/llvm_api.def"
#undef LLVM
    LlvmTarget amdgpu = nullptr;
};

/// Loads the first of `libraries` that opens and registers the AMDGPU target. Error: Device, with the Debian package.
Result<LlvmApi> load_llvm(std::span<const char* const> libraries);

/// The library of this process, loaded at the first call: from these folders (a:b), or from where the system and Debian
/// have it. Thread-safe.
const Result<LlvmApi>& llvm(std::string_view folders = {});

/// Disposes an LLVM handle at the end of a scope.
template <class Handle>
class Owned {
  public:
    Owned(Handle handle, void (*dispose)(Handle)) : handle_(handle), dispose_(dispose) {}
    ~Owned() {
        if (handle_) dispose_(handle_);
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    Handle get() const { return handle_; }
    Handle* out() { return &handle_; }

  private:
    Handle handle_;
    void (*dispose_)(Handle);
};

inline constexpr const char* kTriple = "amdgcn-amd-amdhsa";

/// The subtarget features that select a wave size; 0 = the arch's default.
std::string wave_features(Arch arch, int wave_size);
Result<void> check_wave_size(Arch arch, int wave_size);

}  // namespace strata::isa
