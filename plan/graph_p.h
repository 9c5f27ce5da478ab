#pragma once
#include <vector>

#include "strata/plan/use_p.h"

namespace strata::runtime {
class Device;
}

namespace strata::plan {

/// An operand's elements in its memory.
struct Extent {
    int64_t lowest = 0;     ///< element, from that of the index 0 on: 0 or less
    uint64_t elements = 0;  ///< from the lowest to the highest
};
Extent extent_of(const Shape& shape, const Shape& strides);
Shape row_major(const Shape& shape);
/// Axes from the largest stride to the smallest where these reach each element once; none: they do not.
std::optional<std::vector<int>> dense_order(const Shape& shape, const Shape& strides);

/// Elements of memory by strides: `flat` begins at the lowest of them.
Tensor strided(const Tensor& flat, const Shape& shape, const Shape& strides, int64_t lowest);

/// The graph of a use, over buffers without memory.
struct Graph {
    std::vector<UOp> buffers;     ///< by input; empty inputs have a stand-in
    std::vector<Tensor> results;  ///< by output
};
/// Throws what the functions of tensors report, and INVALID for a dy that has not the shape of y.
Graph graph_of(const Use& use, const Descriptor& descriptor, const runtime::Device& device);

}  // namespace strata::plan
