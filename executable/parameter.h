#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "strata/core/dtype/dtype.h"

namespace strata::executable {

/// Where a parameter of a graph's kernel is among the bytes that a launch gives.
struct ParameterPlace {
    int slot;
    uint32_t offset, bytes;
    std::optional<DType> number = {};  ///< its type; none: the address of a buffer
    bool counter = false;  ///< of an int32 that is 0, which no buffer is given for: each launch leaves it so
    bool operator==(const ParameterPlace&) const = default;
};
uint32_t bytes_of(std::span<const ParameterPlace> places);  ///< all that a launch gives

/// Slots of an output and of an input of a kernel: the output may be written over the input.
struct InPlace {
    int output, input;
};

/// One parameter of a user's kernel: where its bytes go, from the metadata, and what they mean, as far as anybody says.
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
    bool is_described = false;          ///< of a pointer: somebody says what it points to, or how it is used
    bool may_be_number = true;          ///< of an opaque one: not certainly a struct
};

}  // namespace strata::executable
