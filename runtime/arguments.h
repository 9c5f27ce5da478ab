#pragma once
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "strata/executable/code.h"
#include "strata/providers/hip_api.h"

namespace strata::runtime {

/// One argument of a launch as its caller gave it. Its bytes are decided when the kernel's parameters are
/// known.
struct Argument {
    struct Tensor {};  ///< the next of the launch's tensors
    struct Null {};    ///< no memory
    struct Address {   ///< of the device, which the caller answers for
        uint64_t address;
    };
    struct Number {
        Kind kind = Kind::Int;
        int64_t i = 0;                    ///< Bool, Int, UInt (by bits)
        double f = 0;                     ///< Float
        std::optional<DType> exact = {};  ///< of a number that has a type of its own
    };
    std::variant<Tensor, Null, Number, isa::Bytes, Address> value;
};

/// The bits of a number in a type, or why it has none (Launch).
Result<uint64_t> bits_of_number(const Argument::Number& number, DType type);
/// A number in `size` bytes, by its own kind: an integer, or a float of that size. Error (Launch) where there is none.
Result<isa::Bytes> bytes_of_number(const Argument::Number& number, size_t size);

/// True if memory of this type is what a pointer is for. Pointers to characters take any. Those to unsigned and to
/// short integers take any type of their size, as kernels use them for bits. Other integers take integers.
bool points_to(const executable::Parameter& pointer, DType type);

/// A launch's arguments as the kernel reads them, but for the addresses.
class PackedArguments {
  public:
    /// Errors (Launch) name the kernel and the parameter: a wrong count, or a tensor for a number or the reverse.
    /// Others are a value that its type cannot hold, and a struct of another size.
    static Result<PackedArguments> pack(const executable::Code& kernel, std::span<const Argument> arguments);

    /// The explicit part of the kernarg segment; an address a tensor, in order.
    std::span<const uint8_t> bytes(std::span<const providers::DevicePtr> addresses);
    /// The parameter of each tensor.
    const std::vector<size_t>& tensor_parameters() const { return tensor_parameters_; }
    /// Where each tensor's address is among the bytes.
    const std::vector<uint32_t>& address_places() const { return places_; }

  private:
    isa::Bytes bytes_;
    std::vector<uint32_t> places_;  ///< of each tensor's address
    std::vector<size_t> tensor_parameters_;
};

}  // namespace strata::runtime
