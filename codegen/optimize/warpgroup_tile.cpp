// Tiles of a warpgroup product.
#include "strata/codegen/optimize/warpgroup_tile_p.h"

#include <algorithm>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

UOp plus(UOp sum, UOp term) { return sum ? sum + term : term; }
UOp times(UOp value, int64_t factor) { return factor == 1 ? value : value * factor; }

}  // namespace

std::optional<WarpgroupTile> WarpgroupTile::of(UOp offset, std::span<const UOp> ranges, const GroupRanges& mean,
                                               int64_t wide) {
    WarpgroupTile tile;
    const bool along_k = !mean.is_row(ranges[0]);
    const int64_t line = kSwizzledRow / kSwizzledChunk * wide;
    int64_t rows = 1, last_row = 0, last = 0;
    for (UOp r : ranges) {
        const int64_t size = range_arg(r).size, weight = mean.weight(r, wide);
        const bool along = mean.is_row(r) != along_k;
        // Each chunk of 16 bytes is copied to its place, wherever memory has it. Places of an image, which a
        // convolution reads, are not equally far apart.
        if (along && weight < wide && step_of(offset, r) != weight) return {};
        tile.digits_.push_back({size, weight, along});
        (along ? tile.length_ : rows) *= size;
        (along ? last : last_row) += (size - 1) * weight;
    }
    if (last_row + 1 != rows || last + 1 != tile.length_) return {};  // each place once
    if (along_k ? tile.length_ != line : tile.length_ % line != 0 || wide * 2 != kSwizzledChunk) return {};
    tile.layout_ = {along_k, rows}, tile.wide_ = wide;
    return tile;
}

UOp WarpgroupTile::place(std::span<const UOp> values) const {
    const int64_t line = kSwizzledRow / kSwizzledChunk * wide_;
    UOp block, chunk, in_chunk, row, row_of_eight;
    for (size_t i = 0; i < digits_.size(); ++i) {
        const auto [size, weight, along] = digits_[i];
        if (!along) {
            row = plus(row, times(values[i], weight));
            if (weight < kSwizzledRows) row_of_eight = plus(row_of_eight, times(values[i], weight));
        } else if (weight < wide_) {
            in_chunk = plus(in_chunk, times(values[i], weight));
        } else if (weight >= line) {
            block = plus(block, times(values[i], weight / line));
        } else if (weight * size <= line) {
            chunk = plus(chunk, times(values[i], weight / wide_));
        } else {
            block = plus(block, values[i] / (line / weight));
            chunk = plus(chunk, times(values[i] % (line / weight), weight / wide_));
        }
    }
    const UOp place = times(row, line) + times(alu(Op::bit_xor, {chunk, row_of_eight}), wide_) + in_chunk;
    return block ? times(block, layout_.rows * line) + place : place;
}

}  // namespace strata::codegen
