#pragma once
#include <cstddef>
#include <string>

#include "strata/codegen/render/hip_source.h"
#include "strata/codegen/target/chip.h"
#include "strata/codegen/toolchain/clang/build.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// NVIDIA's run-time compiler: the calls of nvrtc.def, found in a library when first asked for.
struct Nvrtc {
#define NVRTC(name, parameters) int(*name) parameters = nullptr;
#include "strata/codegen/toolchain/nvrtc/nvrtc.def"
#undef NVRTC
    std::string path;      ///< the library that was found
    std::string identity;  ///< what changes with it; part of keys of what is kept
};

/// The same at every call. Error (Device): there is none; says where it was looked for.
Result<const Nvrtc*> nvrtc();

/// NVRTC's result for a source.
struct NvrtcBuilt {
    std::string output;  ///< a cubin, or PTX
    std::string symbol;  ///< of the template instance that source.kernel names; "" where it names none
};
Result<NvrtcBuilt> build_by_nvrtc(const Nvrtc& compiler, const HipSource& source, Chip chip, Output kind);

/// NVRTC's options for a source: ours, then the user's of those that both compilers have. Error (Usage) names another.
Result<std::vector<std::string>> nvrtc_options(const HipSource& source, Chip chip);

/// The beginning of the text that NVRTC reads.
std::string nvidia_prelude(const HipSource& source);

}  // namespace strata::codegen
