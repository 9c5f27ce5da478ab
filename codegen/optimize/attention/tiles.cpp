// The parts of attention over tiles (matrix.cpp) that NVIDIA's instructions share.
#include "strata/codegen/optimize/attention/tiles_p.h"

#include <algorithm>

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
UOp over_lanes_of_row(Op op, UOp value) {
    for (int mask : {1, 2}) value = combined(op, {value, uop::shuffle_xor(value, mask)});
    return value;
}

UOp swizzled_place(UOp row, UOp chunk, int64_t rows) {
    constexpr int64_t kChunks = kSwizzledRow / kSwizzledChunk;
    const UOp in_row = alu(Op::bit_xor, {chunk % kChunks, row % kSwizzledRows});
    return chunk / kChunks * (rows * kElementsOfLine) + row * kElementsOfLine + in_row * kTogether;
}

const MatrixShape* warpgroup_shape(const AttentionParts& p, int64_t columns, const Target& target) {
    const auto found = std::ranges::find_if(target.matrix, [&](const MatrixShape& s) {
        return s.by_warpgroups && s.operand == p.key.dtype() && s.accumulator == dtypes::float32 && s.n == columns;
    });
    return found == target.matrix.end() ? nullptr : &*found;
}

/// The row of results that a lane has in the upper or lower half of a matrix.
UOp AttentionTiles::result_row(int64_t matrix, int64_t half) const {
    const UOp in_wave = row_of_lanes_ + (matrix * kSide + half * 8);
    const UOp in_block = wave_ ? wave_ * (t_.matrices * kSide) + in_wave : in_wave;
    return block_.is_const(0) ? in_block : block_ * t_.rows() + in_block;
}
std::vector<AttentionTiles::Copy> AttentionTiles::copies(UOp load, int64_t rows, UOp range, UOp first) const {
    std::vector<Copy> out;
    const int64_t of_row = columns_ / kTogether;
    for (int64_t n = 0; n < rows * of_row; n += t_.threads()) {
        const UOp number = thread() + n, row = number / of_row, chunk = number % of_row;
        const UOp from =
            substitute(load.src(0).src(1), {{range, first ? first + row : row}, {p_.row, chunk * kTogether}});
        const UOp to = uop::at(load.src(0).src(0), simplify(from));
        out.push_back(
            {make(Op::load, load.dtype().vector(kTogether), {to}), simplify(swizzled_place(row, chunk, rows))});
    }
    return out;
}

std::vector<UOp> AttentionTiles::stores_of(std::span<const Copy> copies, UOp memory) {
    std::vector<UOp> stores;
    for (const Copy& c : copies) stores.push_back(uop::store(uop::at(memory, c.place), c.read));
    return stores;
}

std::vector<AttentionTiles::Copy> AttentionTiles::copies_of_queries() const {
    return copies(p_.query, t_.rows(), p_.rows, block_.is_const(0) ? UOp() : block_ * t_.rows());
}

UOp AttentionTiles::fill(UOp tile_of_keys, UOp tile_of_values) {
    keys_ = memory(size_of_tile(t_.keys), p_.key.dtype(), Space::local);
    values_ = memory(size_of_tile(t_.keys), p_.key.dtype(), Space::local);
    const std::vector<Copy> keys = copies(p_.key, t_.keys, p_.keys, tile_of_keys * t_.keys),
                            values = copies(p_.value, t_.keys, p_.keys, tile_of_values * t_.keys);
    std::vector<UOp> reads;
    for (const auto& part : {keys, values})
        for (const Copy& c : part) reads.push_back(c.read);
    const UOp free = uop::barrier(reads);
    std::vector<UOp> stores = stores_of(keys, uop::after(keys_, {free}));
    for (UOp s : stores_of(values, uop::after(values_, {free}))) stores.push_back(s);
    return uop::barrier(stores);
}

AttentionTiles::Weights AttentionTiles::weigh(int64_t m, UOp tile, const std::function<UOp(int64_t, size_t)>& product,
                                              const std::array<UOp, 2>& tops, const std::array<UOp, 2>& totals) const {
    const int64_t tiles = t_.keys / kSide;
    Weights out{std::vector<UOp>(static_cast<size_t>(tiles) * kHeld), {}, {}, {}};
    for (size_t half : {0, 1}) {
        const UOp row = result_row(m, static_cast<int64_t>(half));
        std::vector<UOp> of_row;
        std::vector<size_t> places;  // among an operand's elements: 8 columns further after the other half
        for (int64_t n = 0; n < tiles; ++n)
            for (size_t e = 0; e < kHeld; ++e) {
                const Place place = place_of(e);
                if (place.half != half) continue;
                const UOp key = tile * t_.keys + column_of(n * kSide, e);
                of_row.push_back(
                    substitute(p_.of_scores, {{p_.scores, product(n, e)}, {p_.rows, row}, {p_.keys, key}}));
                places.push_back(static_cast<size_t>(n) * kHeld + static_cast<size_t>(place.column / 8) * 4 + 2 * half +
                                 e % 2);
            }
        const UOp top = over_lanes_of_row(Op::max_number, combined(Op::max_number, of_row));
        out.tops[half] = combined(Op::max_number, {tops[half], top});
        const UOp less = shift(out.tops[half]);
        out.rescale[half] = exp2_of(tops[half], less);
        for (UOp& weight : of_row) weight = exp2_of(weight, less);
        out.totals[half] = alu(Op::fma, {totals[half], out.rescale[half], combined(Op::add, of_row)});
        for (size_t i = 0; i < of_row.size(); ++i) out.wide[places[i]] = of_row[i];
    }
    return out;
}

AttentionTiles::Weights AttentionTiles::weigh_in_loop(int64_t m, UOp tile,
                                                      const std::function<UOp(int64_t, size_t)>& product) {
    const size_t row = static_cast<size_t>(2 * m);
    const auto held = [&](const Register& r) { return uop::load(in_loop(r, 0)); };
    Weights out =
        weigh(m, tile, product, {held(tops_[row]), held(tops_[row + 1])}, {held(totals_[row]), held(totals_[row + 1])});
    for (size_t half : {0, 1}) {
        update(tops_[row + half], 0, out.tops[half]);
        update(totals_[row + half], 0, out.totals[half]);
    }
    return out;
}

/// The results of a matrix of rows.
void AttentionTiles::finish(int64_t m, UOp end, std::vector<UOp>& stores) const {
    const auto held = [&](const Register& r, int64_t i) {
        return uop::load(uop::at(uop::after(r.memory, {end}), r.first + i));
    };
    std::array<UOpMap<UOp>, 2> of_row;
    for (size_t half : {0, 1}) {
        const size_t row = static_cast<size_t>(2 * m) + half;
        const UOp top = held(tops_[row], 0);
        of_row[half] = {{p_.total, total_of(over_lanes_of_row(Op::add, held(totals_[row], 0)), top)},
                        {p_.top, as_stored(top)},
                        {p_.rows, result_row(m, static_cast<int64_t>(half))}};
        for (UOp store : p_.of_rows) {
            UOpMap<UOp> values = of_row[half];
            values[p_.row] = column_of(0, 0);
            stores.push_back(substitute(store, values));
        }
    }
    for (int64_t c = 0; c < columns_ / kSide; ++c)
        for (size_t e = 0; e < kHeld; ++e) {
            const UOp sum = held(sums_[static_cast<size_t>(m * (columns_ / kSide) + c)], static_cast<int64_t>(e));
            UOpMap<UOp> values = of_row[place_of(e).half];
            values[p_.sum] = sum, values[p_.row] = column_of(c * kSide, e);
            stores.push_back(substitute(p_.store, values));
        }
}

std::vector<UOp> AttentionTiles::finish(UOp end) const {
    std::vector<UOp> stores;
    for (int64_t m = 0; m < t_.matrices; ++m) finish(m, end, stores);
    return stores;
}

}  // namespace strata::codegen
