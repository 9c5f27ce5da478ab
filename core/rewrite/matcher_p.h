#pragma once
#include "strata/core/rewrite/rewrite.h"

namespace strata {

/// A pattern as a flat list in prefix order; commutative ops are laid out in one fixed order (expand_orders makes the
/// rest).
struct MatchStep {
    Pattern::Kind kind;
    Op op;
    bool any_sources;
    uint8_t source_count;
    int8_t capture;  ///< slot, or -1
    Accept accept;
    double number;
};
using MatchProgram = std::vector<MatchStep>;
using Captures = std::array<UOp, kMaxVars>;

/// Every way to lay out a pattern's commutative ops, the order as written first.
std::vector<MatchProgram> expand_orders(const Pattern& pattern);
/// Captures of a program that matches `node`; entries of variables that do not occur are left as they are. Does not
/// allocate.
bool matches(const MatchProgram& program, UOp node, Captures& held);
/// Builds a replacement; `type` is that of the node it replaces.
UOp build(const Pattern& pattern, const Captures& held, DType type);

}  // namespace strata
