#pragma once
#include <span>
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/codegen/render/hip_source.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

struct Compiled {
    isa::Bytes code_object;
    std::string entry;      ///< the kernel in the code object that `source.kernel` names, which may be mangled
    double compile_ms = 0;  ///< spent by this call; near 0 when cached
    bool cached = false;    ///< from memory or disk
    std::string route;      ///< what made the bytes: "clang (in process)", "clang (subprocess)"
};

/// Compiles HIP source to a loadable code object; needs no GPU. Results are kept in memory and on disk.
/// `source.kernel` may be a symbol or the plain name of a C++ kernel ("sum" of `__global__ void sum(float*)`); empty:
/// no entry is looked for. Errors: Compile (a mistake in the source, with clang's message, the whole log and line and
/// column of `source.text`), Usage (no kernel of that name; lists those there), Device (no compiler; names Debian
/// packages).
Result<Compiled> compile_hip(const HipSource& source, isa::Arch arch);

/// Hears of progress, from any of the compiling threads but one at a time.
class CompileObserver {
  public:
    virtual ~CompileObserver() = default;
    virtual void on_compiled(size_t finished, size_t total) = 0;
};

/// Compiles many sources on all cores; results are in the order of the sources.
std::vector<Result<Compiled>> compile_all(std::span<const HipSource> sources, isa::Arch arch,
                                          CompileObserver* observer = nullptr);

/// The compiler's own assembly listing, for people to read; not cached.
Result<std::string> compile_to_assembly(const HipSource& source, isa::Arch arch);

}  // namespace strata::codegen
