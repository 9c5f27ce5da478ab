// Attention of any lengths and chains of products (matrix.cpp) by warpgroup products. They read the operands of rows,
// keys and values from local memory (codegen/target/warpgroup_products.h).
//
// Before  as attention_by_rows
// After   in a loop over tiles of keys: what keys alone decide comes to registers;  s = q * k', t = r * l' of the whole
//         tile; sums = sums + f(s, t) * v, in flight up to the next tile
// The accumulator lies in lanes as the operand does that lanes hold, so that weights stay in registers. Another block's
// products run while one makes weights.
#include <algorithm>

#include "strata/codegen/optimize/attention/block_p.h"
#include "strata/codegen/target/warpgroup_products.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kRowsOfWarpgroup = kWavesOfWarpgroup * kSide;

class ByWarpgroupRows : public AttentionBlock {
  public:
    ByWarpgroupRows(UOp sink, const AttentionParts& parts, const AttentionTile& tile, int wave_size,
                    const MatrixShape& of_scores, const MatrixShape* of_sums)
        : AttentionBlock(sink, parts, tile, kLanes, wave_size), of_scores_(of_scores), of_sums_(of_sums) {}

    static int64_t bytes_of(const AttentionParts& p, const AttentionTile& tile) {
        int64_t elements = p.sum && product_of_values(p) < 0 ? 2 * tile.keys * p.columns() : 0;
        for (const ScoreProduct& product : p.products)
            elements += (2 * tile.keys + tile.rows()) * range_arg(product.row).size;
        return elements * p.key.dtype().bytes();
    }

  private:
    int64_t rows_of_lane() const override { return 2; }
    UOp row_in_matrix(int64_t row) const override { return row_of_lanes_ + row * 8; }
    Place result_place(int64_t e) const override { return {e / 2 % 2, lane_ * 2 + (e / 4 * 8 + e % 2)}; }
    UOp over_keys(Op op, UOp value) const override { return over_lanes_of_row(op, value); }

    UOp place_in_tile(UOp key, UOp chunk, int64_t) const override { return swizzled_place(key, chunk, t_.keys); }
    int64_t size_of_tile(int64_t depth) const override { return t_.keys * depth; }

    /// One memory, which a product fills.
    void start_sums() override {
        if (!p_.sum) return;
        const Register all = new_register(columns_ / 2, 0);
        for (int64_t c = 0; c < matrices_of_columns(); ++c) sums_.push_back({all.memory, all.started, c * held_});
    }

    /// Rows of results' operands, in local memory from the beginning.
    void take_queries() override {
        Values stores;
        for (const ScoreProduct& product : p_.products) {
            const int64_t chunks = depth_of(product) / kTogether;
            queries_.push_back(memory(t_.rows() * depth_of(product), product.query.dtype(), Space::local));
            for (int64_t n = 0; n < t_.rows() * chunks; n += threads_) {
                const UOp number = thread() + n, row = simplify(number / chunks), chunk = simplify(number % chunks);
                const UOp elements = read(product.query, p_.rows, row_in_bounds(row), product.row, chunk);
                stores.push_back(
                    uop::store(uop::at(queries_.back(), simplify(swizzled_place(row, chunk, t_.rows()))), elements));
            }
        }
        taken_ = uop::barrier(stores);
    }

    UOp tile_at(UOp memory, UOp place) const {
        return make(Op::load, p_.key.dtype().vector(kTogether), {uop::at(memory, place)});
    }

    /// Products with all keys of the tile, in registers.
    UOp multiply(size_t which, UOp filled, UOp before) {
        const int64_t depth = depth_of(p_.products[which]);
        const UOp first_row = wave_ / kWavesOfWarpgroup * (kRowsOfWarpgroup * kElementsOfLine);
        const UOp product = uop::wmma(name_of(of_scores_.mnemonic, {depth / kSide, {true, t_.rows()}, {true, t_.keys}}),
                                      tile_at(uop::after(queries_[which], {taken_, before}), first_row),
                                      tile_at(uop::after(keys_[which], {filled, before}), index_const(0)),
                                      uop::vec(Values(static_cast<size_t>(t_.keys / 2), number(0))));
        const UOp held = memory(t_.keys / 2, dtypes::float32, Space::reg);
        Values parts;
        for (int i = 0; i < product.dtype().lanes; ++i)
            parts.push_back(uop::store(uop::at(uop::after(held, {tile_}), i), uop::lane(product, i)));
        updates_.push_back(uop::group(parts));
        return uop::after(held, {updates_.back(), tile_});
    }

    void walk_chain(UOp filled) override {
        const UOp before = hold_loads_of_keys(filled);
        Values held, wide;
        for (size_t i = 0; i < p_.products.size(); ++i)
            held.push_back(multiply(i, filled, held.empty() ? before : updates_.back()));
        for (int64_t i = 0; i < t_.keys / 2; ++i) {
            UOpMap<UOp> products;
            for (size_t k = 0; k < held.size(); ++k)
                products[p_.products[k].sum] = uop::load(uop::at(uop::after(held[k], {updates_.back()}), i));
            wide.push_back(made_of(products, 0, i / held_, i % held_, 0));
        }
        add_values(filled, wide, {});
    }

    void walk_softmax(UOp filled) override {
        const UOp held = multiply(0, filled, hold_loads_of_keys(filled));
        const auto product = [&](int64_t n, int64_t e) { return uop::load(uop::at(held, n * held_ + e)); };
        Values wide(static_cast<size_t>(t_.keys / 2)), rescale;
        for (int64_t row = 0; row < rows_of_lane(); ++row) rescale.push_back(weigh_row(0, row, product, wide));
        if (p_.sum) add_values(filled, wide, rescale);
    }

    /// The sums with the weights' part of the tile's values.
    void add_values(UOp filled, const Values& wide, const Values& rescale) {
        Values narrow, before;
        for (UOp w : wide) narrow.push_back(cast(w, p_.value.dtype()));
        const UOp all = uop::vec(narrow), held = memory(1, all.dtype(), Space::reg);
        const UOp weights = uop::store(uop::at(uop::after(held, {tile_}), 0), all);
        updates_.push_back(weights);
        for (int64_t i = 0; i < columns_ / 2; ++i) {
            const UOp sum = uop::load(in_loop(sums_[static_cast<size_t>(i / held_)], i % held_));
            before.push_back(rescale.empty() ? sum : sum * rescale[static_cast<size_t>(result_place(i % held_).row)]);
        }
        const UOp sum = uop::wmma(name_of(of_sums_->mnemonic, {t_.keys / kSide, kHeldByLanes, {false, t_.keys}}),
                                  uop::load(uop::at(uop::after(held, {weights, tile_}), 0)),
                                  tile_at(uop::after(values_, {filled, weights}), index_const(0)), uop::vec(before));
        for (int64_t i = 0; i < columns_ / 2; ++i)
            update(sums_[static_cast<size_t>(i / held_)], i % held_, uop::lane(sum, static_cast<int>(i)));
    }

    const MatrixShape& of_scores_;
    const MatrixShape* of_sums_;  ///< none: of logarithms of totals
    Values queries_;              // in local memory, by products
    UOp taken_;
};

}  // namespace

std::optional<UOp> attention_by_warpgroup_rows(UOp sink, const AttentionParts& p, const AttentionTile& tile,
                                               const Target& target) {
    const MatrixShape* of_scores = warpgroup_shape(p, tile.keys, target);
    const MatrixShape* of_sums = p.sum ? warpgroup_shape(p, p.columns(), target) : nullptr;
    const auto has_lines = [](const ScoreProduct& x) { return range_arg(x.row).size % kElementsOfLine == 0; };
    if (!of_scores || (p.sum && !of_sums) || !AttentionBlock::fits(p, tile) ||
        !std::ranges::all_of(p.products, has_lines) || ByWarpgroupRows::bytes_of(p, tile) > target.lds_bytes)
        return {};
    return ByWarpgroupRows(sink, p, tile, target.wave_size, *of_scores, of_sums).run();
}

}  // namespace strata::codegen
