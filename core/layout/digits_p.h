#pragma once
#include "strata/core/layout/layout.h"

namespace strata::layout {

struct Leaf {
    Int size;
    IntTuple stride;
};

std::vector<Leaf> leaves_of(const Layout& L);
Layout of_leaves(const std::vector<Leaf>& leaves);  ///< a size of 1 gets the stride 0; one leaf is itself, none 1:0
/// Does a leaf go on where this one ends, so that both are one?
bool continues(const Leaf& leaf, const IntTuple& next);

}  // namespace strata::layout
