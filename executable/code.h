#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/core/dtype/dtype.h"
#include "strata/core/support/error.h"
#include "strata/executable/parameter.h"

namespace strata::executable {

/// A buffer that the kernel of a graph takes the address of.
struct TakenBuffer {
    std::string name;  ///< in its HIP text
    DType dtype;
    int64_t elements;
};

/// A kernel as machine code of one arch, with what a launch must know of it.
struct Code {
    std::shared_ptr<const isa::CodeObject> object;  ///< null where there is text alone
    std::optional<Error> without_object;            ///< why
    std::string entry;                              ///< the kernel in the object; its symbol, which may be mangled
    std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
    std::vector<ParameterPlace> places;           ///< of the parameters of a graph; none: one address a buffer
    std::vector<TakenBuffer> buffers;             ///< of those places, in their order
    uint32_t dynamic_lds = 0;                     ///< bytes
    std::string text;                             ///< HIP source, or "" where there is none
    std::shared_ptr<const isa::KernelSpec> spec;  ///< where assembly is: what the object was written from
    std::string assembly;   ///< as direct lowering wrote it, with comments; "" where a listing is all there is
    std::string schedule;   ///< its actions, as text
    uint64_t flops = 0;     ///< floating-point operations of one launch
    double compile_ms = 0;  ///< spent by the call that made it; near 0 when cached
    bool cached = false;    ///< from memory or disk
    std::string route;      ///< what made the bytes: "clang (in process)", "clang (subprocess)", "disk cache",
                            ///< "direct lowering"

    std::vector<Parameter> parameters;  ///< the explicit ones of a user's kernel
    // Of a user's graph. What its line table says of the file `lines_of` are lines of the graph's tree(), or numbers
    // of lines that `lines` has those of.
    std::string lines_of;
    std::vector<uint32_t> lines;

    /// Throws `without_object` where there is none.
    const isa::Bytes& code_object() const;
    /// Registers, LDS, scratch and arguments of the entry. Throws (Launch) when the object has no such kernel, and as
    /// code_object.
    const isa::KernelInfo& info() const;
};

}  // namespace strata::executable
