// attention_by_matrices: attention (codegen/schedule/attention.h) whose products are those of matrix instructions.
//
// Before  sum over j of exp(f(s(i, j)) - top(i)) * v(j, e) and their total, top the maximum of f(s(i, j)), s(i, j) the sum over d of
//         q(i, d) * k(j, d)
// After   in a loop over tiles of keys, which local memory holds:
//             s = q * k by matrix instructions;  n = max(m, f(s));  w = exp(f(s) - n);  total = total * exp(m - n) + sum of w
//             sums = sums * exp(m - n) + w * v by matrix instructions;  m = n
// What a lane has of s is what it must have of w as an operand (codegen/target/matrix_shapes.def, NVIDIA's), so that the weights stay
// in registers, rounded to the type of v. The loop ends where a mask leaves no keys.
#include <algorithm>
#include <limits>
#include <optional>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/attention_p.h"
#include "strata/codegen/optimize/attention_tiles_p.h"
#include "strata/codegen/target/ldmatrix.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

struct Row {
    AttentionTile tile;
    std::optional<UOp> (*build)(UOp sink, const AttentionParts&, const AttentionTile&, const Target&);
};
/// By preference: on an H100, causal attention of 16x16x1024x64 and 8x16x4096x128, four waves and 64 keys by groups take .82 and .87
/// of the time of eight waves, since several blocks are on a unit.
constexpr Row kTiles[] = {
    {{1, 4, 64, 128, true}, attention_by_warpgroups}, {{1, 8, 128, 64, true}, attention_by_warpgroups},
    {{1, 8, 64, 128, true}, attention_by_warpgroups}, {{2, 4, 64, 64, true}, attention_by_waves},
    {{1, 8, 64, 128, false}, attention_by_waves},     {{1, 4, 64, 128, false}, attention_by_waves},
    {{1, 2, 32, 128, false}, attention_by_waves},     {{1, 1, 16, 128, false}, attention_by_waves},
    {{2, 4, 64, 128, false}, attention_by_columns},   {{1, 4, 64, 128, false}, attention_by_columns},
    {{1, 2, 64, 128, false}, attention_by_columns},   {{1, 2, 32, 128, false}, attention_by_columns},
    {{1, 1, 32, 128, false}, attention_by_columns}};

class ByWaves : public AttentionTiles {
  public:
    using AttentionTiles::AttentionTiles;

  private:
    Place place_of(size_t e) const override { return {e / 4, static_cast<int64_t>(e / 2 % 2 * 8 + e % 2)}; }
    int64_t pitch() const { return columns_ + kTogether; }  // rows begin in banks of their own
    UOp place_in_tile(UOp row, UOp chunk, int64_t) const override { return row * pitch() + chunk * kTogether; }
    int64_t size_of_tile(int64_t rows) const override { return rows * pitch(); }

    /// An operand of a matrix instruction from local memory: the places of this lane's row, by the matrix it is in.
    UOp read(std::string_view by, UOp memory, UOp row, int64_t column, bool rows_first) const {
        const UOp far = row_of_lanes_ / 4 * 8, near = row_of_lanes_ / 2 % 2 * 8,
                  in_matrix = row_of_lanes_ % 2 * 4 + lane_;
        const UOp down = (rows_first ? far : near) + in_matrix + row, right = (rows_first ? near : far) + column;
        const UOp lanes_row =
            make(Op::load, p_.key.dtype().vector(kTogether), {uop::at(memory, simplify(down * pitch() + right))});
        return uop::wmma(std::string(by), lanes_row, lanes_row, lanes_row);
    }

    UOp query(int64_t matrix, int64_t first, UOp before) const {
        if (t_.shares_queries) {
            const UOp above = wave_ ? wave_ * (t_.matrices * kSide) + matrix * kSide : index_const(matrix * kSide);
            return read(kReadRows, uop::after(queries_, {before}), above, first, false);
        }
        std::vector<UOp> elements;
        for (size_t e = 0; e < kHeld; ++e)
            elements.push_back(
                substitute(p_.query, {{p_.rows, result_row(matrix, static_cast<int64_t>(e / 2 % 2))},
                                      {p_.row, lane_ * 2 + (first + static_cast<int64_t>(e / 4 * 8 + e % 2))}}));
        return uop::vec(elements);
    }

    UOp walk() override {
        const UOp filled = fill(tile_, tile_);
        if (t_.shares_queries) {
            const UOp all = memory(size_of_tile(t_.rows()), p_.query.dtype(), Space::local);
            queries_ = uop::after(all, {uop::barrier(stores_of(copies_of_queries(), all))});
        }
        for (int64_t i = 0; i < 2 * t_.matrices; ++i) {
            tops_.push_back(new_register(1, -std::numeric_limits<double>::infinity()));
            totals_.push_back(new_register(1, 0));
        }
        for (int64_t i = 0; i < t_.matrices * matrices_of_columns(); ++i) sums_.push_back(new_register(kHeld, 0));
        multiply(filled);
        std::vector<Weights> weights;
        for (int64_t m = 0; m < t_.matrices; ++m)
            weights.push_back(weigh_in_loop(m, tile_, [&](int64_t n, size_t e) {
                return uop::load(in_loop(scores_[static_cast<size_t>(n * t_.matrices + m)], static_cast<int64_t>(e)));
            }));
        add_values(filled, weights);
        return uop::end(uop::group(updates_), {tile_});
    }

    UOp wmma(UOp a, UOp b, UOp c) const { return uop::wmma(std::string(p_.shape->mnemonic), a, b, c); }
    /// The scores of a tile, in registers. What the lanes hold of keys is used by all matrices of rows at once, and of queries, where
    /// they are in local memory, read anew for each 16 keys: registers are few.
    void multiply(UOp filled) {
        const UOp keys = uop::after(keys_, {filled});
        UOp before = tile_;
        for (int64_t first = 0; first < t_.keys; first += kSide) {
            std::vector<UOp> stores;
            for (int64_t m = 0; m < t_.matrices; ++m) {
                UOp product = uop::vec(std::vector<UOp>(kHeld, number(0)));
                for (int64_t d = 0; d < columns_; d += kSide)
                    product = wmma(query(m, d, before), read(kReadRows, keys, index_const(first), d, true), product);
                Register held{memory(kHeld, dtypes::float32, Space::reg), {}};
                std::vector<UOp> parts;
                for (size_t e = 0; e < kHeld; ++e)
                    parts.push_back(uop::store(uop::at(uop::after(held.memory, {tile_}), static_cast<int64_t>(e)),
                                               uop::lane(product, static_cast<int>(e))));
                held.started = uop::group(parts), stores.push_back(held.started);
                scores_.push_back(held);
            }
            before = uop::group(stores);
            updates_.push_back(before);
        }
    }
    void add_values(UOp filled, std::span<const Weights> weights) {
        const UOp values = uop::after(values_, {filled});
        std::vector<std::vector<UOp>> narrow(weights.size());
        for (size_t m = 0; m < weights.size(); ++m)
            for (UOp w : weights[m].wide) narrow[m].push_back(cast(w, p_.value.dtype()));
        for (int64_t c = 0; c < matrices_of_columns(); ++c)
            for (int64_t m = 0; m < t_.matrices; ++m) {
                const Register& sums = sums_[static_cast<size_t>(m * (matrices_of_columns()) + c)];
                const Weights& w = weights[static_cast<size_t>(m)];
                std::vector<UOp> held;
                for (size_t e = 0; e < kHeld; ++e)
                    held.push_back(uop::load(in_loop(sums, static_cast<int64_t>(e))) * w.rescale[place_of(e).half]);
                UOp sum = uop::vec(held);
                for (int64_t n = 0; n < t_.keys / kSide; ++n)
                    sum = wmma(
                        uop::vec(
                            std::span(narrow[static_cast<size_t>(m)]).subspan(static_cast<size_t>(n) * kHeld, kHeld)),
                        read(kReadColumns, values, index_const(n * kSide), c * kSide, false), sum);
                for (size_t e = 0; e < kHeld; ++e)
                    update(sums, static_cast<int64_t>(e), uop::lane(sum, static_cast<int>(e)));
            }
    }

    UOp queries_;
    std::vector<Register> scores_;  // one of 16 keys and a matrix of rows
};

}  // namespace

std::optional<UOp> attention_by_waves(UOp sink, const AttentionParts& p, const AttentionTile& tile,
                                      const Target& target) {
    const int64_t columns = range_arg(p.row).size, chunks = columns / kTogether;
    const int64_t rows = tile.shares_queries ? tile.rows() : 0;
    const int64_t bytes = (4 * tile.keys + rows) * (columns + kTogether) * p.key.dtype().bytes();
    const bool fits = !p.shape->family && is_plain_attention(p) && columns % kSide == 0 &&
                      columns <= tile.most_columns && range_arg(p.rows).size % tile.rows() == 0 &&
                      range_arg(p.keys).size % tile.keys == 0 && tile.keys * chunks % tile.threads() == 0 &&
                      rows * chunks % tile.threads() == 0 && bytes <= target.lds_bytes &&
                      (!tile.shares_queries || is_plain_row(p.query, p.row));
    return fits ? std::optional(ByWaves(sink, p, tile).run()) : std::nullopt;
}

std::optional<Kernel> attention_by_matrices(const Kernel& kernel, UOp keys, int64_t amount, const Target& target) {
    const std::optional<AttentionParts> parts = attention_parts(kernel.sink, keys, target);
    if (!parts) return {};
    for (const Row& row : kTiles) {
        const std::optional<UOp> sink = row.build(kernel.sink, *parts, row.tile, target);
        if (!sink || amount-- > 0) continue;
        const auto is_left = [&](UOp u) {
            return u == parts->top || u == parts->sum || u == parts->total ||
                   std::ranges::find(parts->products, u, &ScoreProduct::sum) != parts->products.end();
        };
        if (std::ranges::any_of(toposort(*sink), is_left)) return {};
        return Kernel{simplify(*sink), kernel.name};
    }
    return {};
}

}  // namespace strata::codegen
