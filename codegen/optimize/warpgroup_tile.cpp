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
    int64_t row_apart = 0, rows = 1, last_row = 0;
    for (UOp r : ranges) {
        const int64_t size = range_arg(r).size;
        const bool along = mean.is_row(r) != along_k;
        if (along_k && !along) {
            // Each row is copied to its place, wherever memory has it: rows of a convolution are places of an image.
            tile.digits_.push_back({size, mean.rows_apart(r), along});
            rows *= size, last_row += (size - 1) * mean.rows_apart(r);
            continue;
        }
        const std::optional<int64_t> step = step_of(offset, r);
        if (!step) return {};
        const int64_t apart = *step;
        int64_t& end = along ? tile.length_ : rows;
        if (!along && row_apart == 0) row_apart = apart;
        if (apart != end * (along ? 1 : row_apart)) return {};
        const int64_t edge = along ? wide : kSwizzledRows;  // that no digit spans
        if (end < edge && edge % (end * size)) return {};
        tile.digits_.push_back({size, end, along});
        end *= size;
    }
    if (along_k && last_row + 1 != rows) return {};
    // As the instructions' descriptors say it.
    const auto is_at = [&](UOp r, int64_t weight) {
        const auto at = std::ranges::find(ranges, r);
        return !r || at == ranges.end() || tile.digits_[static_cast<size_t>(at - ranges.begin())].weight == weight;
    };
    if (!is_at(mean.row, 1) || !is_at(mean.eight_rows, 8) || !is_at(mean.wave, 16) || !is_at(mean.part, wide / 4) ||
        !is_at(mean.chunk, wide) || !is_at(mean.tile_of_steps, 2 * wide))
        return {};
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
