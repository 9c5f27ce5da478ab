#pragma once
#include "strata/ops/tensor.h"

namespace strata::ops {

/// Where backward() leaves what arrives at a tensor; copies of the tensor share it.
struct Leaf {
    Shape shape;
    Root node = {};      ///< source_of_gradient() of the tensor
    Tensor grad = {};    ///< empty: none yet
    bool stays = false;  ///< the node, when the tensor's value is placed in memory: others differentiate by it
};

// The leaves that live (leaves.cpp).
void add_leaf(const std::shared_ptr<Leaf>& leaf);
std::vector<std::shared_ptr<Leaf>> living_leaves();
/// That of the tensor that requires a gradient and is this, or a reshape of it; null: none.
std::shared_ptr<Leaf> leaf_of(UOp value);

/// The node that all operations on a tensor see: below reshapes, of which they see through any number. Empty for
/// another view.
UOp source_of_gradient(UOp root);

/// For each node, whether a gradient of it could be asked for: it depends on a tensor that lives and requires one.
std::vector<bool> reach_leaves(std::span<const UOp> roots);
inline bool reaches_leaf(UOp root) { return reach_leaves({&root, 1})[0]; }

}  // namespace strata::ops
