#include "strata/codegen/optimize/attention/fragments_p.h"

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {

AttentionByFragments::AttentionByFragments(UOp sink, const AttentionParts& parts, const AttentionTile& tile,
                                           LaneGrid grid, int wave_size)
    : AttentionBlock(sink, parts, tile, grid, wave_size), operand_(parts.shape->operand_elements()) {}

int64_t AttentionByFragments::registers(const AttentionParts& p, const AttentionTile& tile) {
    int64_t operands = 0;
    for (const ScoreProduct& product : p.products) operands += depth_of(product) / kSide;
    const int64_t scores = p.is_chain() ? std::ssize(p.products) : tile.keys / kSide,
                  held = p.shape->accumulator_elements(), operand = p.shape->operand_elements() / 2;
    return tile.matrices * (operands * operand + p.columns() / kSide * held + scores * (held + operand)) +
           std::ssize(loads_of_keys(p, p.of_scores)) * (tile.keys / kSide) * held;
}

int64_t AttentionByFragments::bytes(const AttentionParts& p, const AttentionTile& tile, int64_t of_values) {
    int64_t elements = of_values;
    for (const ScoreProduct& product : p.products) elements += tile.keys * pitch_of(depth_of(product));
    return elements * p.key.dtype().bytes();
}

void AttentionByFragments::take_queries() {
    for (const ScoreProduct& product : p_.products)
        for (int64_t m = 0; m < t_.matrices; ++m) queries_.push_back(queries(product, m));
}

void AttentionByFragments::walk_softmax(UOp filled) {
    const int64_t steps = t_.keys / kSide;
    UOp before = filled;
    Values scores;  // registers of 16 keys and a matrix of rows
    for (int64_t n = 0; n < steps; ++n) before = hold(multiply(0, n, filled, before), scores);
    Values rescale;
    std::vector<Values> operands;
    for (int64_t m = 0; m < t_.matrices; ++m) operands.push_back(weigh(m, scores, rescale));
    if (!p_.sum) return;
    std::vector<Values> sums = sums_in_loop(rescale);
    for (int64_t n = 0; n < steps; ++n) {
        Values weights;
        for (const Values& of_matrix : operands) weights.push_back(of_matrix[static_cast<size_t>(n)]);
        add_values(n, uop::after(values_, {filled}), weights, sums);
    }
    update_sums(sums);
}

void AttentionByFragments::walk_chain(UOp filled) {
    std::vector<Values> sums = sums_in_loop({});
    UOp before = filled;
    for (int64_t n = 0; n < t_.keys / kSide; ++n) {
        std::vector<Values> held(p_.products.size());
        for (size_t i = 0; i < p_.products.size(); ++i) before = hold(multiply(i, n, filled, before), held[i]);
        Values weights;
        for (int64_t m = 0; m < t_.matrices; ++m) {
            Values wide;
            for (int64_t e = 0; e < held_; ++e) wide.push_back(weight(m, n, e, held));
            weights.push_back(weights_operand(wide));
        }
        add_values(n, uop::after(values_, {filled, before}), weights, sums);
    }
    update_sums(sums);
}

/// The operands of 16 terms each of what results' rows multiply.
AttentionByFragments::Values AttentionByFragments::queries(const ScoreProduct& product, int64_t m) const {
    Values out;
    for (int64_t d = 0; d < depth_of(product); d += kSide) {
        Values elements;
        for (int64_t e = 0; e < operand_; ++e) {
            const Place place = operand_place(e);
            elements.push_back(substitute(product.query, {{p_.rows, row_in_bounds(row_of_block(m, place.row))},
                                                          {product.row, simplify(place.offset + d)}}));
        }
        out.push_back(uop::vec(elements));
    }
    return out;
}

/// Products of 16 keys with each matrix of rows, which use what the lanes hold of the keys at once.
AttentionByFragments::Values AttentionByFragments::multiply(size_t which, int64_t n, UOp filled, UOp before) const {
    const ScoreProduct& product = p_.products[which];
    const UOp keys = uop::after(keys_[which], {filled, before});
    Values products(static_cast<size_t>(t_.matrices), uop::vec(Values(static_cast<size_t>(held_), number(0))));
    for (int64_t d = 0; d < depth_of(product); d += kSide) {
        const UOp key = keys_operand(keys, n * kSide, d, depth_of(product));
        for (size_t m = 0; m < products.size(); ++m)
            products[m] =
                multiply_add(queries_[which * products.size() + m][static_cast<size_t>(d / kSide)], key, products[m]);
    }
    return products;
}

/// Keeps products in registers, so that what follows stands after them. Returns that effect.
UOp AttentionByFragments::hold(const Values& products, Values& registers) {
    Values stores;
    for (UOp product : products) {
        const UOp held = memory(held_, dtypes::float32, Space::reg);
        Values parts;
        for (int64_t e = 0; e < held_; ++e)
            parts.push_back(uop::store(uop::at(uop::after(held, {tile_}), e), uop::lane(product, static_cast<int>(e))));
        stores.push_back(uop::group(parts));
        registers.push_back(uop::after(held, {stores.back(), tile_}));
    }
    updates_.push_back(uop::group(stores));
    return updates_.back();
}

UOp AttentionByFragments::weight(int64_t m, int64_t n, int64_t e, std::span<const Values> held) const {
    UOpMap<UOp> products;
    for (size_t i = 0; i < held.size(); ++i)
        products[p_.products[i].sum] = uop::load(uop::at(held[i][static_cast<size_t>(m)], e));
    return made_of(products, m, n, e, 0);
}

/// The weights of a matrix of rows, as operands of 16 keys each, and what sums of its rows are multiplied by.
AttentionByFragments::Values AttentionByFragments::weigh(int64_t m, std::span<const UOp> scores, Values& rescale) {
    const int64_t steps = t_.keys / kSide;
    const auto product = [&](int64_t n, int64_t e) {
        return uop::load(uop::at(scores[static_cast<size_t>(n * t_.matrices + m)], e));
    };
    Values all(static_cast<size_t>(steps * held_)), operands;
    for (int64_t row = 0; row < rows_of_lane(); ++row) rescale.push_back(weigh_row(m, row, product, all));
    for (int64_t n = 0; n < steps && p_.sum; ++n)
        operands.push_back(
            weights_operand(std::span(all).subspan(static_cast<size_t>(n * held_), static_cast<size_t>(held_))));
    return operands;
}

/// By 16 columns, and matrices of rows: what the loop has, rescaled where there is something to rescale by.
std::vector<AttentionByFragments::Values> AttentionByFragments::sums_in_loop(std::span<const UOp> rescale) const {
    std::vector<Values> out;
    for (int64_t c = 0; c < matrices_of_columns(); ++c) {
        Values sums;
        for (int64_t m = 0; m < t_.matrices; ++m) {
            Values held;
            for (int64_t e = 0; e < held_; ++e) {
                const UOp before = uop::load(in_loop(sum(m, c), e));
                held.push_back(rescale.empty() ? before : before * rescale[index_of(m, result_place(e).row)]);
            }
            sums.push_back(uop::vec(held));
        }
        out.push_back(std::move(sums));
    }
    return out;
}

void AttentionByFragments::add_values(int64_t n, UOp values, std::span<const UOp> weights,
                                      std::vector<Values>& sums) const {
    for (int64_t c = 0; c < matrices_of_columns(); ++c) {
        const UOp value = values_operand(values, n * kSide, c * kSide);
        for (size_t m = 0; m < weights.size(); ++m) {
            UOp& sum = sums[static_cast<size_t>(c)][m];
            sum = multiply_add(weights[m], value, sum);
        }
    }
}

void AttentionByFragments::update_sums(const std::vector<Values>& sums) {
    for (int64_t c = 0; c < matrices_of_columns(); ++c)
        for (int64_t m = 0; m < t_.matrices; ++m)
            for (int64_t e = 0; e < held_; ++e)
                update(sum(m, c), e,
                       uop::lane(sums[static_cast<size_t>(c)][static_cast<size_t>(m)], static_cast<int>(e)));
}

}  // namespace strata::codegen
