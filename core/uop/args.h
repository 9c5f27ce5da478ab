#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "strata/core/dtype/dtype.h"

namespace strata {

enum class Op : uint8_t;
using NoArg = std::monostate;
using Shape = std::vector<int64_t>;

/// A value in the node's dtype: integers and bool in `i` (uint64 by bits), floats in `f` (already rounded to the
/// dtype).
struct ConstArg {
    int64_t i = 0;
    double f = 0;
};
struct BufferArg {
    uint64_t id;      ///< names one allocation; the runtime maps it to memory
    int64_t size;     ///< elements
    uint16_t device;  ///< index into the runtime's device list
};
struct ShapeArg {
    Shape shape;
};
struct AxesArg {
    std::vector<int> axes;
};
struct BoundsArg {
    std::vector<std::pair<int64_t, int64_t>> bounds;
};
struct ReduceArg {
    Op op;                  ///< add, mul, max, min
    std::vector<int> axes;  ///< tensor level; empty at kernel level
};
struct TakeArg {
    int axis;
};
struct IndexArg {
    int index;
};
struct CustomArg {
    uint64_t id;                             ///< the user's kernel in the front end's registry
    std::shared_ptr<const void> alive = {};  ///< keeps it there: all nodes of one id share it
};

enum class Space : uint8_t {
#define SPACE(name) name,
#include "strata/core/uop/axes.def"
};
struct ParamArg {
    Space space;
    int slot;      ///< global: position among the kernel's parameters; local, reg: any distinct number
    int64_t size;  ///< elements
};
/// A number that a launch gives.
struct VariableArg {
    int slot;  ///< position among the kernel's parameters, as that of a global ParamArg
};

enum class Axis : uint8_t {
#define AXIS(name) name,
#include "strata/core/uop/axes.def"
};
/// The kinds of kernels' ranges and memory, in table order.
std::span<const std::string_view> axis_names();
std::span<const std::string_view> space_names();

struct RangeArg {
    int id;  ///< distinct within a kernel; the order of ids is the nesting order
    int64_t size;
    Axis axis;
};
struct SpecialArg {
    bool thread;  ///< threadIdx, else blockIdx
    int dim;      ///< 0 x, 1 y, 2 z
    int64_t size;
};
struct SinkArg {
    std::string name;   ///< of the kernel; empty = derived from its shape
    int waves = 0;      ///< that a vector unit is to hold beside each other; 0 = as many as come
    int registers = 0;  ///< vector registers of a lane at most; 0 = as many as fit
};
/// A text that the compiler does not look into: source that defines a function of that name. Without a name it is
/// instructions: %0 is the first result, of the node's type or an element of its vector, and numbers follow results.
struct ForeignArg {
    std::string name, text;
};
struct MatrixArg {
    std::string name;    ///< mnemonic of a matrix instruction: a row of codegen/target/matrix_shapes.def
    bool clamp = false;  ///< integer sums saturate instead of wrapping
};
/// The kinds of instructions that may be moved across a place, bits of codegen/target/schedule_classes.def. With a size
/// the next `size` instructions of the kinds form a group. Groups of one number keep their order.
struct ScheduleArg {
    int mask;
    int size = 0, number = 0;
};

enum class AtomicOp : uint8_t {
#define ATOMIC(name, ...) name,
#include "strata/core/uop/axes.def"
};
enum class MemoryScope : uint8_t {
#define SCOPE(name) name,
#include "strata/core/uop/axes.def"
};
std::span<const std::string_view> atomic_names();
std::span<const std::string_view> scope_names();

struct AtomicArg {
    AtomicOp operation;
    MemoryScope scope;
    int number = 0;  ///< any, to tell atomics apart that are equal otherwise: equal nodes are one
};
struct ScopeArg {
    MemoryScope scope;
};

enum class CachePolicy : uint8_t {
#define CACHE(name) name,
#include "strata/core/uop/axes.def"
};
std::span<const std::string_view> cache_names();
struct CacheArg {
    CachePolicy policy;
};

using Arg = std::variant<NoArg, ConstArg, BufferArg, ShapeArg, AxesArg, BoundsArg, ReduceArg, TakeArg, IndexArg,
                         CustomArg, ParamArg, VariableArg, RangeArg, SpecialArg, SinkArg, MatrixArg, AtomicArg,
                         ScopeArg, ForeignArg, CacheArg, ScheduleArg>;

uint64_t hash(const Arg& arg);
bool equal(const Arg& a, const Arg& b);  ///< floats by bits
std::string to_string(const Arg& arg, DType type);

}  // namespace strata
