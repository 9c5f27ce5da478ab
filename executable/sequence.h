#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "strata/core/dtype/dtype.h"
#include "strata/executable/code.h"
#include "strata/executable/executable.h"

namespace strata::executable {

/// Bytes that the address of an operand, a constant and the workspace is a multiple of.
inline constexpr uint64_t kAlignment = 256;

/// A tensor that a run is given, or fills.
struct TensorOperand {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape = {}, strides = {};  ///< strides in elements; they reach each element once
    bool output = false;
    uint64_t alignment = kAlignment;
    uint64_t bytes() const;
};
/// A number that a run is given.
struct NumberOperand {
    std::string name;
    DType dtype;
};
/// Memory of known content, which nothing writes.
struct ConstantOperand {
    std::string name;
    DType dtype;
    int64_t elements = 0;
    uint64_t bytes() const { return static_cast<uint64_t>(elements) * static_cast<uint64_t>(dtype.bytes()); }
};

/// An argument of a launch: which address or number goes where in the kernarg segment.
struct SequenceArgument {
    enum class Kind : uint8_t {
        operand,    ///< the address of operands[value]
        constant,   ///< the address of constants[value]
        workspace,  ///< the address of the workspace, and `value` bytes
        number,     ///< the bits of numbers[value]
        bits,       ///< `value` itself
    };
    Kind kind = Kind::bits;
    uint64_t value = 0;
    uint32_t offset = 0, bytes = 8;  ///< in the kernarg segment
    bool written = false;            ///< of an address: the launch may write there
    bool operator==(const SequenceArgument&) const = default;
};

/// One launch, or one copy of the memory of the second argument to that of the first.
struct SequenceStep {
    uint32_t kernel = kNone;  ///< kNone: a copy
    std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
    uint32_t lds = 0;         ///< dynamic, bytes
    bool last_waits = false;  ///< its last block waits for the others: an emulated device starts that last
    std::vector<SequenceArgument> arguments = {};
    uint64_t bytes = 0;  ///< of a copy; else of the memory that the arguments have
    bool is_copy() const { return kernel == kNone; }
    uint32_t argument_bytes() const;  ///< explicit part of the kernarg segment
};

/// A launch sequence: an executable of one arch whose memory is laid out. It has launches in order, over operands by
/// name, constants, numbers and one workspace. It knows no device, and nothing changes it while it runs: threads share
/// one.
struct Sequence {
    std::string arch;
    std::vector<TensorOperand> operands;  ///< inputs, then outputs
    std::vector<NumberOperand> numbers = {};
    std::vector<ConstantOperand> constants = {};
    std::vector<Kernel> kernels = {};
    std::vector<SequenceStep> steps = {};
    uint64_t workspace = 0;  ///< bytes
    uint64_t cleared = 0;    ///< first bytes of the workspace that are 0 before the first step
    size_t inputs() const;   ///< operands that are no outputs
};

/// The operands of an executable as people name them. Its first inputs are `inputs`, its other inputs are constants.
struct Interface {
    std::vector<TensorOperand> inputs, outputs;  ///< outputs by result of the executable
    std::vector<NumberOperand> numbers = {};
    std::vector<std::string> constants = {};  ///< names
};

/// Arguments of users' kernels by step, each address as the index of its operand in the step. Empty: a step's arguments
/// follow from the places of its kernel.
using PackedSteps = std::vector<std::vector<SequenceArgument>>;

/// Lays out the memory of an executable whose kernels have code. Outputs have memory of their own: one that is an
/// input, a constant or another output is copied.
Sequence lay_out(const Executable& executable, const Interface& interface, const PackedSteps& packed = {});

}  // namespace strata::executable
