#pragma once
#include <optional>
#include <vector>

#include "strata/core/symbolic/symbolic.h"

namespace strata {

/// A fixed total order of nodes by their content, not their address. Constants come last, loop and thread indices by
/// number, the rest by op, type, sources and argument. Negative, zero, positive.
int compare_nodes(UOp a, UOp b);

struct Term {
    UOp base;
    int64_t factor;
};

/// An integer expression as a sum: factor * base + ... + constant, terms in order of their bases, each base once.
struct Linear {
    DType type;
    std::vector<Term> terms;
    int64_t constant = 0;

    bool is_constant() const { return terms.empty(); }
};

Linear linear(UOp u);
UOp build_sum(const Linear& sum);
bool is_built_of(UOp u, const Linear& sum);  ///< build_sum(sum) is `u`
/// Range of a sum, as if no step of it wrapped; empty when it does not fit 64 bits.
std::optional<Bounds> sum_bounds(const Linear& sum);
/// Is the sum's value that of the mathematical sum? Always for index (see symbolic.h), else when the bounds fit the
/// type.
bool is_exact(const Linear& sum);

/// value == divisor * whole + rest, where all factors of `whole` are exact quotients and the constant of `rest` is in
/// [0, divisor).
struct Split {
    Linear whole, rest;
};
Split split_by(const Linear& sum, int64_t divisor);
/// Divisors worth trying to split by: gcds of the factors with `with`, largest first, without 1.
std::vector<int64_t> common_divisors(const Linear& sum, int64_t with);

int64_t floor_div(int64_t a, int64_t b);  ///< b > 0
int64_t floor_mod(int64_t a, int64_t b);
inline bool is_index(DType t) { return t.scalar == Scalar::index; }
inline bool is_positive_const(UOp u) { return u.is_const() && u.dtype().is_integer() && const_int(u) > 0; }

}  // namespace strata
