// Attention and chains of products (attention_matrix.cpp) by AMD's matrix instructions, on transposed tiles: a lane holds one row of
// results.
//
// Before  as attention_by_matrices; of chains the sum over j of f(s(i, j), t(i, j)) * v(j, e)
// After   in a loop over tiles of keys, which local memory holds as they are, and of values, which it holds transposed:
//             s' = k * q' by matrix instructions;  n = max(m, f(s));  w' = exp(f(s) - n);  total = total * exp(m - n) + sum of w
//             sums' = sums' * exp(m - n) + v' * w' by matrix instructions;  m = n
//         and of chains  s' = k * q';  t' = l * r';  sums' = sums' + v' * f(s', t')
// A column of the accumulator is a lane, so that a maximum takes an exchange between the rows of lanes only. It is a column of the second
// operand too: weights stay in registers. Keys of that operand are in the order in which the accumulator has them, but on
// RDNA3, whose rows of lanes hold the same: they exchange what they have.
#include <algorithm>
#include <limits>
#include <numbers>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/attention_tiles_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

class ByColumns : public AttentionLoop {
  public:
    ByColumns(UOp sink, const AttentionParts& parts, const AttentionTile& tile, int wave_size)
        : AttentionLoop(sink, parts, tile, {wave_size / kSide, kSide}),
          threads_(tile.waves * wave_size),
          held_(parts.shape->accumulator_elements()),
          operand_(parts.shape->operand_elements()),
          made_(parts.is_chain() ? with_fast_exponentials(parts.of_scores) : parts.of_scores) {}

    /// Registers of a lane: operands of its rows, sums, and scores with the weights that are made of them.
    static int64_t registers(const AttentionParts& p, const AttentionTile& tile) {
        int64_t operands = 0;
        for (const ScoreProduct& product : p.products) operands += depth_of(product) / kSide;
        const int64_t scores = p.is_chain() ? std::ssize(p.products) : tile.keys / kSide,
                      held = p.shape->accumulator_elements(), operand = p.shape->operand_elements() / 2;
        return tile.matrices * (operands * operand + p.columns() / kSide * held + scores * (held + operand));
    }

  private:
    using Values = std::vector<UOp>;

    /// Weights that are rounded to 16 bits take exponentials as the instruction has them.
    static UOp with_fast_exponentials(UOp weights) {
        UOpMap<UOp> fast;
        for (UOp u : toposort(weights)) {
            if (u.dtype() != dtypes::float32 || !(u.is(Op::exp) || u.is(Op::exp2))) continue;
            const UOp power = u.is(Op::exp) ? u.src(0) * number(std::numbers::log2e) : u.src(0);
            fast[u] = make(Op::exp2_approx, u.dtype(), {power});
        }
        return substitute(weights, fast);
    }

    bool repeats_operands() const { return operand_ * grid_.rows > kSide; }  // RDNA3: in all rows of lanes
    /// Where an element of an operand is along what is summed.
    UOp term_of(int64_t e) const { return repeats_operands() ? index_const(e) : row_of_lanes_ * operand_ + e; }
    /// The row of the accumulator that an element is in.
    UOp row_of(int64_t e) const {
        return repeats_operands() ? row_of_lanes_ + grid_.rows * e : row_of_lanes_ * held_ + e;
    }
    static int64_t depth_of(const ScoreProduct& product) { return range_arg(product.row).size; }
    int64_t value_pitch() const { return t_.keys + kTogether; }  // rows begin in banks of their own

    UOp row_of_results(int64_t m) const {
        UOp row = lane_ + m * kSide;
        if (wave_) row = wave_ * (t_.matrices * kSide) + row;
        return block_.is_const(0) ? row : block_ * t_.rows() + row;
    }
    UOp row_in_bounds(int64_t m) const { return in_bounds(row_of_results(m), p_.rows, t_.rows()); }
    UOp key_in_bounds(UOp key) const { return in_bounds(key, p_.keys, t_.keys); }
    static UOp in_bounds(UOp place, UOp range, int64_t tile) {
        const int64_t size = range_arg(range).size;
        return size % tile == 0 ? place : alu(Op::min, {place, index_const(size - 1)});
    }
    UOp key_at(int64_t n, int64_t e) const { return tile() * t_.keys + (row_of(e) + n * kSide); }

    UOp walk() override {
        const UOp filled = fill();
        for (int64_t m = 0; m < t_.matrices && !p_.is_chain(); ++m) {
            tops_.push_back(new_register(1, -std::numeric_limits<double>::infinity()));
            totals_.push_back(new_register(1, 0));
        }
        for (int64_t i = 0; i < t_.matrices * matrices_of_columns(); ++i) sums_.push_back(new_register(held_, 0));
        for (const ScoreProduct& product : p_.products)
            for (int64_t m = 0; m < t_.matrices; ++m) queries_.push_back(queries(product, m));
        p_.is_chain() ? walk_chain(filled) : walk_softmax(filled);
        return uop::end(uop::group(updates_), {tile_});
    }

    void walk_softmax(UOp filled) {
        const int64_t steps = t_.keys / kSide;
        UOp before = filled;
        std::vector<UOp> scores;  // registers of 16 keys and a matrix of rows
        for (int64_t n = 0; n < steps; ++n) before = hold(multiply(0, n, filled, before), scores);
        Values rescale;
        std::vector<Values> operands;
        for (int64_t m = 0; m < t_.matrices; ++m) operands.push_back(weigh(m, scores, rescale));
        if (!p_.sum) return;
        std::vector<Values> sums = sums_in_loop(rescale);
        for (int64_t n = 0; n < steps; ++n) {
            Values weights;
            for (const Values& of_row : operands) weights.push_back(of_row[static_cast<size_t>(n)]);
            add_values(n, uop::after(values_, {filled}), weights, sums);
        }
        update_sums(sums);
    }

    void walk_chain(UOp filled) {
        std::vector<Values> sums = sums_in_loop({});
        UOp before = filled;
        for (int64_t n = 0; n < t_.keys / kSide; ++n) {
            std::vector<std::vector<UOp>> held(p_.products.size());
            for (size_t i = 0; i < p_.products.size(); ++i) before = hold(multiply(i, n, filled, before), held[i]);
            Values weights;
            for (int64_t m = 0; m < t_.matrices; ++m) {
                Values wide;
                for (int64_t e = 0; e < held_; ++e) wide.push_back(weight(m, n, e, held));
                weights.push_back(as_operand(wide));
            }
            add_values(n, uop::after(values_, {filled, before}), weights, sums);
        }
        update_sums(sums);
    }

    /// The operands of 16 columns each of what results' rows multiply.
    Values queries(const ScoreProduct& product, int64_t m) const {
        Values out;
        for (int64_t d = 0; d < depth_of(product); d += kSide) {
            Values elements;
            for (int64_t e = 0; e < operand_; ++e)
                elements.push_back(
                    substitute(product.query, {{p_.rows, row_in_bounds(m)}, {product.row, simplify(term_of(e) + d)}}));
            out.push_back(uop::vec(elements));
        }
        return out;
    }

    /// Eight elements of a key's row.
    UOp read(UOp source, UOp range, UOp key, UOp chunk) const {
        const UOp at = key_in_bounds(tile() * t_.keys + key), first = simplify(chunk * kTogether);
        if (!is_plain_row(source, range)) {
            Values elements;
            for (int64_t i = 0; i < kTogether; ++i)
                elements.push_back(simplify(substitute(source, {{p_.keys, at}, {range, first + i}})));
            return uop::vec(elements);
        }
        const UOp from = substitute(source.src(0).src(1), {{p_.keys, at}, {range, first}});
        return make(Op::load, source.dtype().vector(kTogether), {uop::at(source.src(0).src(0), simplify(from))});
    }

    /// What a thread reads of a tile, and where it stores it.
    struct Copies {
        UOp memory;
        Values reads;
        std::vector<std::array<UOp, 3>> stores;  // a place, a value, and where it is stored; empty: everywhere
    };
    /// The number of what a thread copies, n threads of all at a time; the second: whether there is such a one, or empty.
    std::pair<UOp, UOp> number_of(int64_t n, int64_t all) const {
        const UOp number = thread() + n;
        if (n + threads_ <= all) return {number, UOp()};
        return {alu(Op::min, {number, index_const(all - 1)}), number < all};
    }
    Copies copies_of_keys(const ScoreProduct& product) {
        const int64_t pitch = depth_of(product) + kTogether, chunks = depth_of(product) / kTogether;
        Copies out{memory(t_.keys * pitch, product.key.dtype(), Space::local), {}, {}};
        for (int64_t n = 0; n < t_.keys * chunks; n += threads_) {
            const auto [number, inside] = number_of(n, t_.keys * chunks);
            const UOp key = simplify(number / chunks), chunk = simplify(number % chunks);
            out.reads.push_back(read(product.key, product.row, key, chunk));
            out.stores.push_back({simplify(key * pitch + chunk * kTogether), out.reads.back(), inside});
        }
        return out;
    }
    Copies copies_of_values() {
        const int64_t chunks = columns_ / kTogether;
        int64_t at_a_time = kTogether;
        while (at_a_time > 2 && t_.keys / at_a_time * chunks < threads_) at_a_time /= 2;
        const int64_t groups = t_.keys / at_a_time;
        Copies out{memory(columns_ * value_pitch(), p_.value.dtype(), Space::local), {}, {}};
        for (int64_t n = 0; n < groups * chunks; n += threads_) {
            const auto [number, inside] = number_of(n, groups * chunks);
            const UOp first = simplify(number % groups * at_a_time), chunk = simplify(number / groups);
            Values rows;
            for (int64_t i = 0; i < at_a_time; ++i) rows.push_back(read(p_.value, p_.column, first + i, chunk));
            out.reads.insert(out.reads.end(), rows.begin(), rows.end());
            for (int64_t c = 0; c < kTogether; ++c) {
                Values column;
                for (UOp row : rows) column.push_back(uop::lane(row, static_cast<int>(c)));
                out.stores.push_back(
                    {simplify((chunk * kTogether + c) * value_pitch() + first), uop::vec(column), inside});
            }
        }
        return out;
    }

    /// Local memory holds the tile's keys, and its values transposed, behind it.
    UOp fill() {
        std::vector<Copies> all;
        for (const ScoreProduct& product : p_.products) {
            all.push_back(copies_of_keys(product));
            keys_.push_back(all.back().memory);
        }
        if (p_.sum) {
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

    /// An operand from local memory: a row of it for each lane.
    UOp fragment(UOp memory, int64_t row, int64_t pitch, int64_t first) const {
        Values elements;
        for (int64_t e = 0; e < operand_; ++e)
            elements.push_back(uop::load(uop::at(memory, simplify((lane_ + row) * pitch + term_of(e) + first))));
        return uop::vec(elements);
    }
    UOp wmma(UOp a, UOp b, UOp c) const { return uop::wmma(std::string(p_.shape->mnemonic), a, b, c); }

    /// Products of 16 keys with each matrix of rows, which use what the lanes hold of the keys at once.
    Values multiply(size_t which, int64_t n, UOp filled, UOp before) const {
        const ScoreProduct& product = p_.products[which];
        const UOp keys = uop::after(keys_[which], {filled, before});
        Values products(static_cast<size_t>(t_.matrices), uop::vec(Values(static_cast<size_t>(held_), number(0))));
        for (int64_t d = 0; d < depth_of(product); d += kSide) {
            const UOp key = fragment(keys, n * kSide, depth_of(product) + kTogether, d);
            for (size_t m = 0; m < products.size(); ++m)
                products[m] =
                    wmma(key, queries_[which * products.size() + m][static_cast<size_t>(d / kSide)], products[m]);
        }
        return products;
    }

    /// Keeps products in registers, so that what follows stands behind them. Returns that effect.
    UOp hold(const Values& products, std::vector<UOp>& registers) {
        Values stores;
        for (UOp product : products) {
            const UOp held = memory(held_, dtypes::float32, Space::reg);
            Values parts;
            for (int64_t e = 0; e < held_; ++e)
                parts.push_back(
                    uop::store(uop::at(uop::after(held, {tile_}), e), uop::lane(product, static_cast<int>(e))));
            stores.push_back(uop::group(parts));
            registers.push_back(uop::after(held, {stores.back(), tile_}));
        }
        updates_.push_back(uop::group(stores));
        return updates_.back();
    }

    UOp over_rows(Op op, UOp value) const {
        for (int64_t mask = kSide; mask < kSide * grid_.rows; mask *= 2)
            value = alu(op, {value, uop::shuffle_xor(value, static_cast<int>(mask))});
        return value;
    }

    /// What is made of products by a matrix of rows, 16 keys and an element; `beyond`: what it is behind the last key.
    UOp made_of(const UOpMap<UOp>& products, int64_t m, int64_t n, int64_t e, double beyond) const {
        UOpMap<UOp> places = products;
        places[p_.rows] = row_in_bounds(m), places[p_.keys] = key_in_bounds(key_at(n, e));
        const UOp made = substitute(made_, places);
        const int64_t keys = range_arg(p_.keys).size;
        return keys % t_.keys == 0 ? made : alu(Op::where, {key_at(n, e) < keys, made, number(beyond)});
    }
    UOp weight(int64_t m, int64_t n, int64_t e, std::span<const std::vector<UOp>> held) const {
        UOpMap<UOp> products;
        for (size_t i = 0; i < held.size(); ++i)
            products[p_.products[i].sum] = uop::load(uop::at(held[i][static_cast<size_t>(m)], e));
        return made_of(products, m, n, e, 0);
    }

    /// The weights of a matrix of rows, as operands of 16 keys each.
    Values weigh(int64_t m, std::span<const UOp> scores, Values& rescale) {
        Values of_row;
        for (int64_t n = 0; n < t_.keys / kSide; ++n)
            for (int64_t e = 0; e < held_; ++e) {
                const UOp product = uop::load(uop::at(scores[static_cast<size_t>(n * t_.matrices + m)], e));
                of_row.push_back(made_of({{p_.scores, product}}, m, n, e, -std::numeric_limits<double>::infinity()));
            }
        const Register &tops = tops_[static_cast<size_t>(m)], &totals = totals_[static_cast<size_t>(m)];
        const UOp before = uop::load(in_loop(tops, 0));
        const UOp top = alu(Op::max, {before, over_rows(Op::max, combined(Op::max, of_row))}), less = shift(top);
        rescale.push_back(exp2_of(before, less));
        for (UOp& weight : of_row) weight = exp2_of(weight, less);
        update(tops, 0, top);
        update(totals, 0, alu(Op::fma, {uop::load(in_loop(totals, 0)), rescale.back(), combined(Op::add, of_row)}));
        Values operands;
        for (size_t first = 0; first < of_row.size() && p_.sum; first += static_cast<size_t>(held_))
            operands.push_back(as_operand(std::span(of_row).subspan(first, static_cast<size_t>(held_))));
        return operands;
    }

    /// Weights of 16 keys in the order of an operand's terms, rounded to its type.
    UOp as_operand(std::span<const UOp> wide) const {
        Values elements;
        for (UOp w : wide) {
            const UOp own = cast(w, p_.value.dtype());
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

    /// By 16 columns, and matrices of rows: what the loop has, rescaled where there is something to rescale by.
    std::vector<Values> sums_in_loop(std::span<const UOp> rescale) const {
        std::vector<Values> out;
        for (int64_t c = 0; c < matrices_of_columns(); ++c) {
            Values sums;
            for (int64_t m = 0; m < t_.matrices; ++m) {
                Values held;
                for (int64_t e = 0; e < held_; ++e) {
                    const UOp before = uop::load(in_loop(sum(m, c), e));
                    held.push_back(rescale.empty() ? before : before * rescale[static_cast<size_t>(m)]);
                }
                sums.push_back(uop::vec(held));
            }
            out.push_back(std::move(sums));
        }
        return out;
    }
    void add_values(int64_t n, UOp values, std::span<const UOp> weights, std::vector<Values>& sums) const {
        for (int64_t c = 0; c < matrices_of_columns(); ++c) {
            const UOp value = fragment(values, c * kSide, value_pitch(), n * kSide);
            for (size_t m = 0; m < weights.size(); ++m) {
                UOp& sum = sums[static_cast<size_t>(c)][m];
                sum = wmma(value, weights[m], sum);
            }
        }
    }
    void update_sums(const std::vector<Values>& sums) {
        for (int64_t c = 0; c < matrices_of_columns(); ++c)
            for (int64_t m = 0; m < t_.matrices; ++m)
                for (int64_t e = 0; e < held_; ++e)
                    update(sum(m, c), e,
                           uop::lane(sums[static_cast<size_t>(c)][static_cast<size_t>(m)], static_cast<int>(e)));
    }
    const Register& sum(int64_t m, int64_t c) const {
        return sums_[static_cast<size_t>(m * matrices_of_columns() + c)];
    }

    std::vector<UOp> finish(UOp end) const override {
        const auto held = [&](const Register& r, int64_t i) {
            return uop::load(uop::at(uop::after(r.memory, {end}), i));
        };
        std::vector<UOp> stores;
        for (int64_t m = 0; m < t_.matrices; ++m) {
            UOpMap<UOp> values{{p_.rows, row_in_bounds(m)}};
            if (!p_.is_chain()) {
                const UOp top = held(tops_[static_cast<size_t>(m)], 0);
                values[p_.total] = total_of(over_rows(Op::add, held(totals_[static_cast<size_t>(m)], 0)), top);
                values[p_.top] = top;
            }
            if (!p_.sum) stores.push_back(stored(m, values, row_of_lanes_ < 1));
            for (int64_t c = 0; c < matrices_of_columns(); ++c)
                for (int64_t e = 0; e < held_; ++e) {
                    values[p_.sum] = held(sum(m, c), e), values[p_.column] = simplify(row_of(e) + c * kSide);
                    stores.push_back(stored(m, values, UOp()));
                }
        }
        return stores;
    }
    UOp stored(int64_t m, const UOpMap<UOp>& values, UOp gate) const {
        const UOp store = substitute(p_.store, values), place = store.src(0);
        const int64_t rows = range_arg(p_.rows).size;
        if (rows % t_.rows() != 0) gate = uop::both(gate, row_of_results(m) < rows);
        if (!gate) return store;
        if (place.src().size() > 2) gate = uop::both(gate, place.src(2));
        return store.with_src(std::array{uop::at(place.src(0), place.src(1), gate), store.src(1)});
    }

    const int64_t threads_, held_, operand_;
    const UOp made_;         ///< of products: scores, or the weights of a chain
    std::vector<UOp> keys_;  // by products
    UOp values_;
    std::vector<Values> queries_;  // by products and matrices of rows
};

}  // namespace

std::optional<UOp> attention_by_columns(UOp sink, const AttentionParts& p, const AttentionTile& tile,
                                        const Target& target) {
    if (!p.shape->family) return {};
    const int64_t threads = tile.waves * target.wave_size, columns = p.columns();
    bool fits = range_arg(p.rows).size * 2 > tile.rows() && range_arg(p.keys).size * 2 > tile.keys &&
                threads <= target.max_block;
    const auto has_tiles = [&](int64_t size) { return size % kSide == 0 && size <= tile.most_columns; };
    int64_t bytes = columns * (tile.keys + kTogether) * p.key.dtype().bytes();
    for (const ScoreProduct& product : p.products) {
        const int64_t depth = range_arg(product.row).size;
        bytes += tile.keys * (depth + kTogether) * p.key.dtype().bytes();
        fits &= has_tiles(depth);
    }
    fits &= !p.sum || has_tiles(columns);
    // A quarter is left for what is on its way, and the smallest tile is better than none.
    fits &= tile.matrices == 1 || ByColumns::registers(p, tile) * 4 <= isa::info(target.arch).max_vgprs * 3;
    if (!fits || bytes > target.lds_bytes) return {};
    return ByColumns(sink, p, tile, target.wave_size).run();
}

}  // namespace strata::codegen
