#include "strata/codegen/optimize/attention/block_p.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

UOp in_bounds(UOp place, UOp range, int64_t tile) {
    const int64_t size = range_arg(range).size;
    return size % tile == 0 ? place : alu(Op::min, {place, index_const(size - 1)});
}

/// A power of e as one of two: less(x * c, y) as one fused multiply-add, whose other term rows or keys alone decide.
UOp power_of_two(UOp power) {
    const UOp log2e = constant(dtypes::float32, std::numbers::log2e);
    if (!power.is(Op::sub)) return power * log2e;
    const UOp value = power.src(0), less = alu(Op::neg, {power.src(1) * log2e});
    if (!value.is(Op::mul) || !value.src(1).is_const()) return alu(Op::fma, {value, log2e, less});
    return alu(Op::fma,
               {value.src(0), constant(dtypes::float32, const_value(value.src(1)) * std::numbers::log2e), less});
}

/// Weights that are rounded to 16 bits take exponentials as the instruction has them.
UOp with_fast_exponentials(UOp weights) {
    UOpMap<UOp> fast;
    for (UOp u : toposort(weights))
        if (u.dtype() == dtypes::float32 && (u.is(Op::exp) || u.is(Op::exp2)))
            fast[u] = make(Op::exp2_approx, u.dtype(), {u.is(Op::exp) ? power_of_two(u.src(0)) : u.src(0)});
    return substitute(weights, fast);
}

}  // namespace

AttentionBlock::AttentionBlock(UOp sink, const AttentionParts& parts, const AttentionTile& tile, LaneGrid grid,
                               int wave_size)
    : AttentionLoop(sink, parts, tile, grid),
      threads_(tile.waves * wave_size),
      held_(parts.shape->accumulator_elements()),
      made_(parts.is_chain() ? with_fast_exponentials(parts.of_scores) : parts.of_scores) {}

bool AttentionBlock::fits(const AttentionParts& p, const AttentionTile& tile) {
    const auto has_tiles = [&](int64_t size) { return size % kSide == 0 && size <= tile.most_columns; };
    return range_arg(p.rows).size * 2 > tile.rows() && range_arg(p.keys).size * 2 > tile.keys &&
           (!p.sum || has_tiles(p.columns())) &&
           std::ranges::all_of(p.products, [&](const ScoreProduct& x) { return has_tiles(depth_of(x)); });
}

UOp AttentionBlock::row_of_block(int64_t m, int64_t row) const {
    const UOp in_wave = row_in_matrix(row) + m * kSide;
    return wave_ ? wave_ * (t_.matrices * kSide) + in_wave : in_wave;
}

UOp AttentionBlock::row_of_results(UOp row_of_block) const {
    return block_.is_const(0) ? row_of_block : block_ * t_.rows() + row_of_block;
}

UOp AttentionBlock::row_in_bounds(UOp row_of_block) const {
    return in_bounds(row_of_results(row_of_block), p_.rows, t_.rows());
}

UOp AttentionBlock::key_in_bounds(UOp key) const { return in_bounds(key, p_.keys, t_.keys); }

UOp AttentionBlock::walk() {
    const UOp filled = fill();
    for (int64_t i = 0; i < t_.matrices * rows_of_lane() && !p_.is_chain(); ++i) {
        tops_.push_back(new_register(1, -std::numeric_limits<double>::infinity()));
        totals_.push_back(new_register(1, 0));
    }
    start_sums();
    take_queries();
    p_.is_chain() ? walk_chain(filled) : walk_softmax(filled);
    return uop::end(uop::group(updates_), {tile_});
}

void AttentionBlock::start_sums() {
    for (int64_t i = 0; i < t_.matrices * matrices_of_columns(); ++i) sums_.push_back(new_register(held_, 0));
}

UOp AttentionBlock::read(UOp source, UOp rows, UOp row, UOp range, UOp chunk) {
    const UOp first = simplify(chunk * kTogether);
    if (!is_plain_row(source, range)) {
        Values elements;
        for (int64_t i = 0; i < kTogether; ++i)
            elements.push_back(simplify(substitute(source, {{rows, row}, {range, first + i}})));
        return uop::vec(elements);
    }
    const UOp from = substitute(source.src(0).src(1), {{rows, row}, {range, first}});
    return make(Op::load, source.dtype().vector(kTogether), {uop::at(source.src(0).src(0), simplify(from))});
}

std::pair<UOp, UOp> AttentionBlock::number_of(int64_t n, int64_t all) const {
    const UOp number = thread() + n;
    if (n + threads_ <= all) return {number, UOp()};
    return {alu(Op::min, {number, index_const(all - 1)}), number < all};
}

AttentionBlock::Copies AttentionBlock::copies_of_rows(UOp source, UOp range) {
    const int64_t depth = range_arg(range).size, chunks = depth / kTogether;
    Copies out{memory(size_of_tile(depth), source.dtype(), Space::local), {}, {}};
    for (int64_t n = 0; n < t_.keys * chunks; n += threads_) {
        const auto [number, inside] = number_of(n, t_.keys * chunks);
        const UOp key = simplify(number / chunks), chunk = simplify(number % chunks);
        out.reads.push_back(read_key(source, range, key, chunk));
        out.stores.push_back({simplify(place_in_tile(key, chunk, depth)), out.reads.back(), inside});
    }
    return out;
}

int64_t AttentionBlock::product_of_values(const AttentionParts& p) {
    for (size_t i = 0; i < p.products.size() && p.column; ++i)
        if (simplify(substitute(p.products[i].key, {{p.products[i].row, p.column}})) == simplify(p.value))
            return static_cast<int64_t>(i);
    return -1;
}

/// Local memory holds the tile's keys and values after it.
UOp AttentionBlock::fill() {
    std::vector<Copies> all;
    for (const ScoreProduct& product : p_.products) {
        all.push_back(copies_of_rows(product.key, product.row));
        keys_.push_back(all.back().memory);
    }
    if (const int64_t i = has_values_as_keys() ? product_of_values(p_) : -1; i >= 0) {
        values_ = keys_[static_cast<size_t>(i)];
    } else if (p_.sum) {
        all.push_back(copies_of_values());
        values_ = all.back().memory;
    }
    Values reads, stores;
    for (const Copies& copies : all) reads.insert(reads.end(), copies.reads.begin(), copies.reads.end());
    const UOp free = uop::barrier(reads);
    for (const Copies& copies : all)
        for (const auto& [place, value, inside] : copies.stores)
            stores.push_back(uop::store(uop::at(uop::after(copies.memory, {free}), place, inside), value));
    return uop::barrier(stores);
}

UOp AttentionBlock::made_of(const UOpMap<UOp>& products, int64_t m, int64_t n, int64_t e, double beyond) const {
    const Place place = result_place(e);
    const UOp key = tile() * t_.keys + (place.offset + n * kSide);
    UOpMap<UOp> places = products;
    for (size_t i = 0; i < loads_.size(); ++i)
        places[loads_[i]] = uop::load(uop::at(held_loads_, place_of_load(i, n, e)));
    places[p_.rows] = row_in_bounds(row_of_block(m, place.row)), places[p_.keys] = key_in_bounds(key);
    const UOp made = substitute(made_, places);
    const int64_t keys = range_arg(p_.keys).size;
    return keys % t_.keys == 0 ? made : alu(Op::where, {key < keys, made, number(beyond)});
}

int64_t AttentionBlock::place_of_load(size_t load, int64_t n, int64_t e) const {
    int64_t place = 0;  // among those of a row: all rows of a lane have the same keys
    for (int64_t i = 0; i < e; ++i) place += result_place(i).row == result_place(e).row;
    const int64_t of_matrix = held_ / rows_of_lane();
    return (static_cast<int64_t>(load) * (t_.keys / kSide) + n) * of_matrix + place;
}

AttentionBlock::Values AttentionBlock::loads_of_keys(const AttentionParts& p, UOp made) {
    Values loads;
    for (UOp u : toposort(made))
        if (u.is(Op::load) && u.dtype() == dtypes::float32 && depends_on(u, p.keys) && !depends_on(u, p.rows))
            loads.push_back(u);
    return loads;
}

UOp AttentionBlock::hold_loads_of_keys(UOp before) {
    loads_ = loads_of_keys(p_, made_);
    if (loads_.empty()) return before;
    const int64_t of_matrix = held_ / rows_of_lane(), steps = t_.keys / kSide;
    const UOp held = memory(std::ssize(loads_) * steps * of_matrix, dtypes::float32, Space::reg);
    Values stores;
    for (size_t i = 0; i < loads_.size(); ++i)
        for (int64_t n = 0; n < steps; ++n)
            for (int64_t e = 0; e < held_; ++e) {
                if (result_place(e).row != 0) continue;
                const UOp key = key_in_bounds(tile() * t_.keys + (result_place(e).offset + n * kSide));
                stores.push_back(uop::store(uop::at(uop::after(held, {tile_}), place_of_load(i, n, e)),
                                            simplify(substitute(loads_[i], {{p_.keys, key}}))));
            }
    updates_.push_back(uop::group(stores));
    held_loads_ = uop::after(held, {updates_.back(), tile_});
    return uop::group(std::array{before, updates_.back()});
}

UOp AttentionBlock::weigh_row(int64_t m, int64_t row, const std::function<UOp(int64_t, int64_t)>& product,
                              Values& weights) {
    Values of_row;
    std::vector<size_t> places;
    for (int64_t i = 0; i < t_.keys / kSide * held_; ++i) {
        const int64_t n = i / held_, e = i % held_;
        if (result_place(e).row != row) continue;
        of_row.push_back(made_of({{p_.scores, product(n, e)}}, m, n, e, -std::numeric_limits<double>::infinity()));
        places.push_back(static_cast<size_t>(i));
    }
    const Register &tops = tops_[index_of(m, row)], &totals = totals_[index_of(m, row)];
    const UOp before = uop::load(in_loop(tops, 0));
    const UOp here = over_keys(Op::max_number, combined(Op::max_number, of_row)),
              top = combined(Op::max_number, {before, here}), less = shift(top);
    const UOp rescale = exp2_of(before, less);
    for (UOp& weight : of_row) weight = exp2_of(weight, less);
    update(tops, 0, top);
    update(totals, 0, alu(Op::fma, {uop::load(in_loop(totals, 0)), rescale, combined(Op::add, of_row)}));
    for (size_t i = 0; i < of_row.size(); ++i) weights[places[i]] = of_row[i];
    return rescale;
}

std::vector<UOp> AttentionBlock::finish(UOp end) const {
    const auto held = [&](const Register& r, int64_t i) {
        return uop::load(uop::at(uop::after(r.memory, {end}), r.first + i));
    };
    std::vector<UOp> stores;
    for (int64_t m = 0; m < t_.matrices; ++m)
        for (int64_t row = 0; row < rows_of_lane(); ++row) {
            UOpMap<UOp> values{{p_.rows, row_in_bounds(row_of_block(m, row))}};
            if (!p_.is_chain()) {
                const UOp top = held(tops_[index_of(m, row)], 0);
                values[p_.total] = total_of(over_keys(Op::add, held(totals_[index_of(m, row)], 0)), top);
                values[p_.top] = as_stored(top);
            }
            // Lanes of a row have the same total: the one with its first key, or its first column, stores it.
            if (!p_.sum) stores.push_back(stored(p_.store, m, row, values, result_place(0).offset < 1));
            for (UOp store : p_.of_rows) {
                values[p_.column] = result_place(0).offset;
                stores.push_back(stored(store, m, row, values, UOp()));
            }
            for (int64_t c = 0; c < matrices_of_columns(); ++c)
                for (int64_t e = 0; e < held_; ++e) {
                    const Place place = result_place(e);
                    if (place.row != row) continue;
                    values[p_.sum] = held(sum(m, c), e), values[p_.column] = simplify(place.offset + c * kSide);
                    stores.push_back(stored(p_.store, m, row, values, UOp()));
                }
        }
    return stores;
}

UOp AttentionBlock::stored(UOp store, int64_t m, int64_t row, const UOpMap<UOp>& values, UOp predicate) const {
    store = substitute(store, values);
    const UOp place = store.src(0);
    const int64_t rows = range_arg(p_.rows).size;
    if (rows % t_.rows() != 0) predicate = uop::both(predicate, row_of_results(row_of_block(m, row)) < rows);
    if (!predicate) return store;
    if (place.src().size() > 2) predicate = uop::both(predicate, place.src(2));
    return store.with_src(std::array{uop::at(place.src(0), place.src(1), predicate), store.src(1)});
}

}  // namespace strata::codegen
