#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/core/support/error.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// A kernel's parameter: bytes of memory that a pointer leads to, or a number.
struct InterpretedArgument {
    DType type;
    std::span<uint8_t> bytes = {};
    ConstArg number = {};
};

struct InterpretedLaunch {
    std::array<uint32_t, 3> grid{1, 1, 1};   ///< workgroups
    std::array<uint32_t, 3> block{1, 1, 1};  ///< threads of a workgroup
    int wave_size = 32;
    /// A range that is a coordinate of the block in the grid or of the thread in its block: number / stride % size.
    struct Coordinate {
        UOp range;
        bool thread;
        int64_t stride;
    };
    std::vector<Coordinate> coordinates = {};
    bool from_last_thread = false;  ///< the threads of a block take their turns from the last one to the first
    /// Called with what each node of one thread computes, in order of execution.
    std::function<void(UOp, std::span<const ConstArg>)> observe = {};
    std::array<uint32_t, 3> observed_block{}, observed_thread{};
};

/// A fault of a kernel: an access out of bounds, a read of memory that nothing wrote, a race of two waves without a
/// barrier. A barrier that some threads of a block do not reach is one too.
struct Finding {
    ErrorKind kind;
    std::string what;  ///< with the numbers of the thread and the block
    UOp node;          ///< where: an access, a barrier
    std::array<uint32_t, 3> block{}, thread{};
};

/// Runs a list of nodes in order of execution (LinearProgram::ops, or what order() gives of a kernel) as its ops.def
/// says. A node runs for all threads of a block, one after the other; blocks run one after the other. Ends at the first
/// finding. `arguments` are by slot. The result does not depend on a target: it is what code for every target is held
/// against.
///
/// Threads of one wave see each other's accesses in program order, as on hardware. Those of different waves need a
/// barrier between them. Those of different blocks may not share memory that one of them writes.
std::optional<Finding> interpret(std::span<const UOp> ops, const InterpretedLaunch& launch,
                                 std::span<const InterpretedArgument> arguments);

/// Interprets a kernel twice, with the threads of each block in both orders. Results that differ are a finding. Values
/// that atomics return and atomic sums of floats may differ. `arguments` have the results of the first run.
std::optional<Finding> interpret_in_two_orders(std::span<const UOp> ops, const InterpretedLaunch& launch,
                                               std::span<const InterpretedArgument> arguments);

}  // namespace strata::codegen
