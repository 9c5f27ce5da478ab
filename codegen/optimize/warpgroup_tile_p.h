#pragma once
#include <optional>
#include <span>
#include <vector>

#include "strata/codegen/target/warpgroup_products.h"

namespace strata::codegen {

/// The meaning of an operand's ranges for a warpgroup product: rows (or columns) of the result, steps of the
/// reduction.
struct GroupRanges {
    UOp row, eight_rows, wave;  ///< of a row, of eight, and of a wave's: by how many rows steps of them are apart
    UOp part, chunk,
        tile_of_steps;  ///< of parts of 16 bytes of steps that lanes have, of those, and of the instruction's K
    bool is_row(UOp r) const { return r == row || r == eight_rows || r == wave; }
    /// Rows, or steps of the reduction, between the steps of a range. `wide`: steps of 16 bytes.
    int64_t weight(UOp r, int64_t wide) const {
        if (is_row(r)) return r == row ? 1 : r == eight_rows ? 8 : 16;
        return r == tile_of_steps ? 2 * wide : r == chunk ? wide : r == part ? wide / 4 : 1;
    }
};

/// A tile of an operand in local memory, as such groups read it.
class WarpgroupTile {
  public:
    /// Nothing where memory goes on otherwise. `wide`: elements of 16 bytes.
    static std::optional<WarpgroupTile> of(UOp offset, std::span<const UOp> ranges, const GroupRanges& mean,
                                           int64_t wide);

    const SwizzledTile& layout() const { return layout_; }
    int64_t size() const { return length_ * layout_.rows; }
    /// Where an element is, of such values of its ranges.
    UOp place(std::span<const UOp> values) const;

  private:
    struct Digit {
        int64_t size, weight;
        bool along;  ///< memory; else across rows
    };
    std::vector<Digit> digits_;
    SwizzledTile layout_{};
    int64_t wide_ = 1, length_ = 1;
};

}  // namespace strata::codegen
