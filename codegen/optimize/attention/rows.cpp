// Attention and chains of products (matrix.cpp) by NVIDIA's matrix instructions that a wave computes alone.
//
// Before  as attention_by_matrices; of chains the sum over j of f(s(i, j), t(i, j)) * v(j, e)
// After   in a loop over tiles of keys and values, which local memory holds as they are:
//             s = q * k' by matrix instructions;  n = max(m, f(s));  w = exp(f(s) - n);
//             total = total * exp(m - n) + sum of w
//             sums = sums * exp(m - n) + w * v by matrix instructions;  m = n
//         and of chains  s = q * k';  t = r * l';  sums = sums + f(s, t) * v
// A lane has two rows of a matrix. Its part of s as a result is its part of w as an operand
// (codegen/target/matrix_shapes.def): weights stay in registers.
#include <algorithm>

#include "strata/codegen/optimize/attention/fragments_p.h"
#include "strata/codegen/target/ldmatrix.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kFar = 8;  // rows or columns from the first half of a matrix to the second
constexpr int64_t kRegisters =
    255;  // that a lane may have. Source: CUDA C++ Programming Guide, table "Technical Specifications"
constexpr int64_t kAddressRegisters = 56;  // of addresses, and of what is on its way

class ByRows : public AttentionByFragments {
  public:
    ByRows(UOp sink, const AttentionParts& parts, const AttentionTile& tile, int wave_size)
        : AttentionByFragments(sink, parts, tile, kLanes, wave_size) {}

    static int64_t elements_of_values(const AttentionParts& p, const AttentionTile& tile) {
        return p.sum && product_of_values(p) < 0 ? tile.keys * pitch_of(p.columns()) : 0;
    }

  private:
    int64_t rows_of_lane() const override { return 2; }
    UOp row_in_matrix(int64_t row) const override { return row_of_lanes_ + row * kFar; }
    Place result_place(int64_t e) const override { return {e / 4, lane_ * 2 + (e / 2 % 2 * kFar + e % 2)}; }
    Place operand_place(int64_t e) const override { return {e / 2 % 2, lane_ * 2 + (e / 4 * kFar + e % 2)}; }

    UOp over_keys(Op op, UOp value) const override { return over_lanes_of_row(op, value); }
    UOp multiply_add(UOp of_rows, UOp of_tile, UOp sum) const override { return wmma(of_rows, of_tile, sum); }

    /// An operand from local memory: the place of this lane's row, by the matrix of 8 rows of 16 bytes that it is in.
    UOp fragment(std::string_view by, UOp memory, int64_t row, int64_t column, int64_t pitch, bool rows_first) const {
        const UOp far = row_of_lanes_ / 4 * kFar, near = row_of_lanes_ / 2 % 2 * kFar,
                  in_matrix = row_of_lanes_ % 2 * 4 + lane_;
        const UOp down = (rows_first ? far : near) + in_matrix + row, right = (rows_first ? near : far) + column;
        const UOp lanes_row =
            make(Op::load, p_.key.dtype().vector(kTogether), {uop::at(memory, simplify(down * pitch + right))});
        return uop::wmma(std::string(by), lanes_row, lanes_row, lanes_row);
    }
    UOp keys_operand(UOp memory, int64_t key, int64_t first, int64_t depth) const override {
        return fragment(kReadRows, memory, key, first, pitch_of(depth), true);
    }
    UOp values_operand(UOp memory, int64_t key, int64_t first) const override {
        return fragment(kReadColumns, memory, key, first, pitch_of(columns_), false);
    }
    UOp weights_operand(std::span<const UOp> wide) const override {
        Values elements(static_cast<size_t>(operand_));
        for (int64_t e = 0; e < held_; ++e)
            elements[static_cast<size_t>(e / 2 % 2 * 4 + e / 4 * 2 + e % 2)] =
                cast(wide[static_cast<size_t>(e)], p_.value.dtype());
        return uop::vec(elements);
    }
};

}  // namespace

std::optional<UOp> attention_by_rows(UOp sink, const AttentionParts& p, const AttentionTile& tile,
                                     const Target& target) {
    if (p.shape->family || !AttentionByFragments::fits(p, tile)) return {};
    // The smallest tile is better than none.
    const bool has_registers =
        tile.matrices == 1 || AttentionByFragments::registers(p, tile) + kAddressRegisters <= kRegisters;
    // Twice: the next tile comes meanwhile.
    const int64_t bytes = 2 * AttentionByFragments::bytes(p, tile, ByRows::elements_of_values(p, tile));
    if (!has_registers || bytes > target.lds_bytes) return {};
    return ByRows(sink, p, tile, target.wave_size).run();
}

}  // namespace strata::codegen
