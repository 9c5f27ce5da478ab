// Attention and chains of products (matrix.cpp) by AMD's matrix instructions, on transposed tiles: a lane holds one row
// of results.
//
// Before  as attention_by_matrices; of chains the sum over j of f(s(i, j), t(i, j)) * v(j, e)
// After   in a loop over tiles of keys, which local memory holds as they are, and of values, which it holds transposed:
//             s' = k * q' by matrix instructions;  n = max(m, f(s));  w' = exp(f(s) - n);
//             total = total * exp(m - n) + sum of w
//             sums' = sums' * exp(m - n) + v' * w' by matrix instructions;  m = n
//         and of chains  s' = k * q';  t' = l * r';  sums' = sums' + v' * f(s', t')
// A column of the accumulator is a lane, so that a maximum takes an exchange between the rows of lanes only. It is a
// column of the second operand too: weights stay in registers. Keys of that operand are in the order in which the
// accumulator has them. On RDNA3, whose rows of lanes hold the same, lanes exchange their keys.
#include "strata/codegen/optimize/attention/fragments_p.h"
#include "strata/codegen/target/read_ahead.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

/// To nearest, halves away from zero: an instruction less than to even. A NaN may become a number.
UOp to_bfloat16_of_number(UOp x) {
    const auto word = [](int64_t value) { return constant_int(dtypes::uint32, value); };
    const UOp upper = alu(Op::shr, {bitcast(x, dtypes::uint32) + word(0x8000), word(16)});
    return bitcast(cast(upper, dtypes::uint16), dtypes::bfloat16);
}

class ByColumns : public AttentionByFragments {
  public:
    ByColumns(UOp sink, const AttentionParts& parts, const AttentionTile& tile, int wave_size)
        : AttentionByFragments(sink, parts, tile, {wave_size / kSide, kSide}, wave_size) {}

    static int64_t elements_of_values(const AttentionParts& p, const AttentionTile& tile) {
        return p.columns() * pitch_of(tile.keys);
    }

  private:
    bool repeats_operands() const { return operand_ * grid_.rows > kSide; }  // RDNA3: in all rows of lanes
    /// Where an element of an operand is along what is summed.
    UOp term_of(int64_t e) const { return repeats_operands() ? index_const(e) : row_of_lanes_ * operand_ + e; }

    int64_t rows_of_lane() const override { return 1; }
    UOp row_in_matrix(int64_t) const override { return lane_; }
    Place result_place(int64_t e) const override {
        return {0, repeats_operands() ? row_of_lanes_ + grid_.rows * e : row_of_lanes_ * held_ + e};
    }
    Place operand_place(int64_t e) const override { return {0, term_of(e)}; }

    UOp over_keys(Op op, UOp value) const override {
        for (int64_t mask = kSide; mask < kSide * grid_.rows; mask *= 2)
            value = combined(op, {value, uop::shuffle_xor(value, static_cast<int>(mask))});
        return value;
    }
    UOp multiply_add(UOp of_rows, UOp of_tile, UOp sum) const override { return wmma(of_tile, of_rows, sum); }

    /// An operand from local memory: a row of it for each lane.
    UOp fragment(UOp memory, int64_t row, int64_t pitch, int64_t first) const {
        Values elements;
        for (int64_t e = 0; e < operand_; ++e)
            elements.push_back(uop::load(uop::at(memory, simplify((lane_ + row) * pitch + term_of(e) + first))));
        return uop::vec(elements);
    }
    UOp keys_operand(UOp memory, int64_t key, int64_t first, int64_t depth) const override {
        return fragment(memory, key, pitch_of(depth), first);
    }
    UOp values_operand(UOp memory, int64_t key, int64_t first) const override {
        return fragment(memory, first, pitch_of(t_.keys), key);
    }

    UOp weights_operand(std::span<const UOp> wide) const override {
        Values elements;
        for (UOp w : wide) {
            // Where a weight is NaN, the total of its row is, and so is the result.
            const bool may_lose_nan = !p_.is_chain() && p_.value.dtype() == dtypes::bfloat16;
            const UOp own = may_lose_nan ? to_bfloat16_of_number(w) : cast(w, p_.value.dtype());
            if (!repeats_operands()) {
                elements.push_back(own);
                continue;
            }
            const UOp other = uop::shuffle_xor(own, kSide), is_first = row_of_lanes_ < 1;
            elements.push_back(alu(Op::where, {is_first, own, other}));
            elements.push_back(alu(Op::where, {is_first, other, own}));
        }
        return uop::vec(elements);
    }

    bool has_values_as_keys() const override { return false; }
    /// Transposed: a thread reads eight columns of some keys, and stores the keys of each column.
    Copies copies_of_values() override {
        const int64_t chunks = columns_ / kTogether;
        int64_t at_a_time = kTogether;
        while (at_a_time > 2 && t_.keys / at_a_time * chunks < threads_) at_a_time /= 2;
        const int64_t groups = t_.keys / at_a_time;
        Copies out{memory(elements_of_values(p_, t_), p_.value.dtype(), Space::local), {}, {}};
        for (int64_t n = 0; n < groups * chunks; n += threads_) {
            const auto [number, inside] = number_of(n, groups * chunks);
            const UOp first = simplify(number % groups * at_a_time), chunk = simplify(number / groups);
            Values rows;
            for (int64_t i = 0; i < at_a_time; ++i) rows.push_back(read_key(p_.value, p_.column, first + i, chunk));
            out.reads.insert(out.reads.end(), rows.begin(), rows.end());
            for (int64_t c = 0; c < kTogether; ++c) {
                Values column;
                for (UOp row : rows) column.push_back(uop::lane(row, static_cast<int>(c)));
                out.stores.push_back(
                    {simplify((chunk * kTogether + c) * pitch_of(t_.keys) + first), uop::vec(column), inside});
            }
        }
        return out;
    }
};

}  // namespace

std::optional<UOp> attention_by_columns(UOp sink, const AttentionParts& p, const AttentionTile& tile,
                                        const Target& target) {
    if (!p.shape->family || !AttentionByFragments::fits(p, tile)) return {};
    // Many rows by few keys want the next keys meanwhile.
    if (tile.matrices > 1 && tile.keys <= 2 * kSide && !reads_matrices_ahead(target)) return {};
    const int64_t bytes = AttentionByFragments::bytes(p, tile, ByColumns::elements_of_values(p, tile)),
                  threads = tile.waves * target.wave_size;
    int64_t registers = AttentionByFragments::registers(p, tile);
    // Several tiles of a chain are on their way at a time.
    if (p.is_chain()) registers += bytes / threads / static_cast<int64_t>(sizeof(float));
    // A quarter is left for what is on its way, and the smallest tiles are better than none.
    const bool is_small = tile.matrices == 1 && (!p.is_chain() || tile.keys <= 2 * kSide),
               has_registers = is_small || registers * 4 <= isa::info(target.arch).max_vgprs * 3;
    if (!has_registers || threads > target.max_block || bytes > target.lds_bytes) return {};
    return ByColumns(sink, p, tile, target.wave_size).run();
}

}  // namespace strata::codegen
