#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/core/dtype/dtype.h"

namespace strata::codegen {

/// One parameter of a kernel: where its bytes go, from the metadata, and what they mean, as far as anybody says.
struct Parameter {
    enum class Kind : uint8_t {
        pointer,
        number,  ///< of `dtype`
        opaque,  ///< by value: a struct, or a type whose name is not known
        other,   ///< an image, sampler, queue or pipe
    };
    Kind kind = Kind::opaque;
    uint32_t offset = 0, size = 0;
    std::string name = {};              ///< "" = not known
    std::string type = {};              ///< as declared, or the metadata's value kind
    DType dtype = {};                   ///< of a number
    std::optional<DType> pointee = {};  ///< of a pointer, where that is to numbers
    bool writable = true;               ///< of a pointer: not to const, not said to be read only
    bool told = false;                  ///< of a pointer: somebody says what it points to, or how it is used
    bool may_be_number = true;          ///< of an opaque one: not certainly a struct
};

/// The explicit parameters, in order. What the metadata leaves out comes from the symbol where it is mangled, else from
/// the declaration in the text; "" = there is no text.
std::vector<Parameter> parameters_of(const isa::KernelInfo& kernel, std::string_view text);

/// What the symbols begin with that are added to a user's source.
inline constexpr std::string_view kOwnSymbols = "__strata_";

/// A symbol as C++ writes it; `symbol` itself where it is not mangled.
std::string demangled(const std::string& symbol);

}  // namespace strata::codegen
