#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace strata {

/// The operation of a node; ops.def has a row for each, with its semantics.
enum class Op : uint8_t {
#define OP(name, ...) name,
#define ELEMENTWISE(name, ...) name,
#define MACHINE(name, ...) name,
#include "strata/core/uop/ops.def"
};
inline constexpr int kOpCount = 0
#define OP(...) +1
#define ELEMENTWISE(...) +1
#define MACHINE(...) +1
#include "strata/core/uop/ops.def"
    ;

enum OpFlag : uint8_t {
    kUnary = 1,
    kBinary = 2,
    kTernary = 4,
    kCommutative = 8,
    kMovement = 16,
    kEffect = 32,
    kMachine = 64,   ///< what one instruction gives, in lists alone
    kOptional = 128  ///< a node may carry no argument
};
enum class TypeRule : uint8_t { same, cmp, args };
/// The forms a graph takes on its way to a kernel's text.
enum class Level : uint8_t { tensor = 1, kernel = 2, linear = 4 };

/// The columns of ops.def that are data. HIP spellings and values are read where they are used.
struct OpInfo {
    std::string_view name;
    int arity;
    uint8_t flags;
    uint8_t levels;   ///< bits of Level
    size_t argument;  ///< the alternative of Arg that a node carries
    TypeRule rule;
    int cost;
    bool is(int flag) const { return flags & flag; }
    bool elementwise() const { return flags & (kUnary | kBinary | kTernary); }
    bool computes() const { return elementwise() || is(kMachine); }
};
const OpInfo& info(Op op);

}  // namespace strata
