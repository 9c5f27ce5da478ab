#pragma once
#include <span>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {

/// A sum whose kernel computes products of rows again rather than reading values computed from them, as the gradients
/// of attention do:
///
///   s = sum over d of q(i, d) * k(j, d), of one or two such products
///   w = exp(...) of s, times what else is made of it
///   sum over j of w(i, j) * v(j, c), or
///   log of the total over j of exp(s(i, j) - top(i)), top the maximum over j
///
/// One kernel computes it over tiles (codegen/optimize/attention/matrix.cpp), without s and w in memory.
struct ProductChain {
    UOp sum;                  ///< of weighted values, or the total
    UOp result;               ///< the sum, or the logarithm of the total
    std::vector<UOp> inside;  ///< the products and all that is made of them on the way to the result
    bool is_log() const { return result != sum; }
};

/// The value that a factor repeats, moves and widens.
UOp source_of(UOp factor);
/// The value of 16 bits that a factor of a product repeats, moves and widens; empty: it is another.
UOp narrow_in(UOp factor);

/// Product chains in a graph whose nodes are listed, sources before users, whose products nothing else uses. Operands
/// have 16 bits, and rows fit tiles of matrix instructions. `asked`: values to be in memory.
std::vector<ProductChain> find_product_chains(std::span<const UOp> order, const UOpSet& asked = {});

}  // namespace strata::codegen
