// online_by_matrices: an online sum (codegen/schedule/online.h) whose products are those of matrix instructions.
//
// Before  sum over j of exp(f(s(i, j)) - top(i)) * v(j, e) and their total, top the maximum of f(s(i, j)), s(i, j) the sum over d of
//         q(i, d) * k(j, d)
// After   in a loop over tiles of keys, which local memory holds:
//             s = q * k by matrix instructions;  n = max(m, f(s));  w = exp(f(s) - n);  total = total * exp(m - n) + sum of w
//             sums = sums * exp(m - n) + w * v by matrix instructions;  m = n
// What a lane has of s is what it must have of w as an operand (codegen/target/matrix_shapes.def, NVIDIA's), so that the weights stay
// in registers, rounded to the type of v. The loop ends where a mask leaves no keys.
#include <algorithm>
#include <array>
#include <limits>
#include <numbers>
#include <optional>

#include "strata/codegen/kernel/masked_steps.h"
#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/online_p.h"
#include "strata/codegen/optimize/online_parts_p.h"
#include "strata/codegen/target/matrix_reads.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kSide = 16;  // of a matrix
constexpr size_t kHeld = 8;    // elements of a result that a lane has: of two rows four each

/// Rows and keys that a block has at a time.
struct Tile {
    int64_t matrices, waves, keys;  ///< matrices above each other, of each wave
    int64_t most_columns;           ///< beyond which they take registers that are not there
    bool shares_queries;            ///< queries are in local memory, and read again for each 16 keys
    int64_t rows() const { return matrices * kSide * waves; }
    int64_t threads() const { return waves * 32; }
};
constexpr Tile kTiles[] = {{2, 4, 64, 64, true},
                           {1, 8, 64, 128, false},
                           {1, 4, 64, 128, false},
                           {1, 2, 32, 128, false},
                           {1, 1, 16, 128, false}};

/// A balanced tree: its steps do not wait for each other.
UOp combined(Op op, std::vector<UOp> values) {
    while (values.size() > 1) {
        std::vector<UOp> next;
        for (size_t i = 0; i + 1 < values.size(); i += 2) next.push_back(alu(op, {values[i], values[i + 1]}));
        if (values.size() % 2) next.push_back(values.back());
        values = std::move(next);
    }
    return values[0];
}

UOp number(double value) { return constant(dtypes::float32, value); }

class Building {
  public:
    Building(UOp sink, const OnlineParts& parts, const Tile& tile)
        : sink_(sink), p_(parts), t_(tile), next_id_(next_range_id(sink)) {
        columns_ = range_arg(p_.row).size;
        const int64_t blocks = range_arg(p_.rows).size / t_.rows();
        if (blocks > 1) outer_ = uop::range(blocks, range_arg(p_.rows).id, Axis::global);
        if (t_.waves > 1) wave_ = new_range(t_.waves, Axis::local);
        row_of_lanes_ = new_range(8, Axis::lane), lane_ = new_range(4, Axis::lane);
        const int64_t tiles = range_arg(p_.keys).size / t_.keys;
        const UOp steps = tiles_that_count(tiles);
        // Blocks with the most keys start first.
        block_ = !outer_ ? index_const(0) : steps ? index_const(blocks - 1) - outer_ : outer_;
        tile_ = uop::range(tiles, next_id_++, Axis::reduce,
                           steps && outer_ ? simplify(substitute(steps, {{outer_, block_}})) : steps);
    }

    UOp run() {
        const UOp filled = fill();
        make_queries();
        start();
        add_tile(filled);
        const UOp end = uop::end(uop::group(updates_), {tile_});
        std::vector<UOp> stores;
        for (int64_t m = 0; m < t_.matrices; ++m) finish(m, end, stores);
        std::vector<UOp> open{row_of_lanes_, lane_};
        for (UOp r : {outer_, wave_})
            if (r) open.push_back(r);
        for (UOp r : sink_.src(0).src().subspan(1))
            if (r != p_.rows && r != p_.row) open.push_back(r);
        return sink_.with_src(std::array{uop::end(uop::group(stores), open)});
    }

  private:
    /// What a thread holds from step to step, and the effect that it starts with.
    struct Register {
        UOp memory, started;
    };

    UOp new_range(int64_t size, Axis axis) { return uop::range(size, next_id_++, axis); }
    UOp memory(int64_t size, DType type, Space space) { return uop::placeholder(size, type, space, next_slot_++); }

    /// Tiles before a mask leaves none; empty for all.
    UOp tiles_that_count(int64_t all) {
        const UOp row = uop::range(t_.rows(), next_id_++, Axis::local);
        const UOp at = outer_ ? outer_ * t_.rows() + row : row;
        UOp scores = substitute(p_.of_scores, {{p_.rows, at}}), steps;
        const UOp none = identity(Op::max, dtypes::float32);
        while (scores.is(Op::where) && !steps) {
            const size_t masked = scores.src(1) == none ? 1 : 2;
            if (scores.src(masked) != none) break;
            steps = steps_while(scores.src(0), masked == 2, p_.keys);
            scores = scores.src(3 - masked);
        }
        if (!steps) return {};
        steps = simplify((steps + (t_.keys - 1)) / t_.keys);
        if (!proves_at_least(steps, 1)) steps = alu(Op::max, {steps, index_const(1)});
        if (!proves_less(steps, all + 1)) steps = alu(Op::min, {steps, index_const(all)});
        return simplify(steps);
    }

    UOp thread() const {
        const UOp in_wave = row_of_lanes_ * 4 + lane_;
        return wave_ ? wave_ * 32 + in_wave : in_wave;
    }
    /// The row of results that a lane has in the upper or lower half of a matrix.
    UOp result_row(int64_t matrix, int64_t half) const {
        const UOp in_wave = row_of_lanes_ + (matrix * kSide + half * 8);
        const UOp in_block = wave_ ? wave_ * (t_.matrices * kSide) + in_wave : in_wave;
        return block_.is_const(0) ? in_block : block_ * t_.rows() + in_block;
    }
    UOp result_column(int64_t first, size_t element) const {
        return lane_ * 2 + (first + static_cast<int64_t>(element / 2 % 2 * 8 + element % 2));
    }

    int64_t pitch() const { return columns_ + kTogether; }  // rows begin in banks of their own

    /// Reads of rows of a tile, 16 bytes each, and where each goes in local memory.
    struct Copy {
        UOp read, place;
    };
    std::vector<Copy> copies(UOp load, int64_t rows, UOp range, UOp first) const {
        std::vector<Copy> out;
        const int64_t of_row = columns_ / kTogether;
        for (int64_t n = 0; n < rows * of_row; n += t_.threads()) {
            const UOp chunk = thread() + n, row = chunk / of_row, column = chunk % of_row * kTogether;
            const UOp from = substitute(load.src(0).src(1), {{range, first ? first + row : row}, {p_.row, column}});
            const UOp to = uop::at(load.src(0).src(0), simplify(from));
            out.push_back({make(Op::load, load.dtype().vector(kTogether), {to}), simplify(row * pitch() + column)});
        }
        return out;
    }

    /// Local memory holds the tile of a step behind it.
    UOp fill() {
        keys_ = memory(t_.keys * pitch(), p_.key.dtype(), Space::local);
        values_ = memory(t_.keys * pitch(), p_.key.dtype(), Space::local);
        const std::vector<Copy> keys = copies(p_.key, t_.keys, p_.keys, tile_ * t_.keys),
                                values = copies(p_.value, t_.keys, p_.keys, tile_ * t_.keys);
        std::vector<UOp> reads, stores;
        for (const auto& part : {keys, values})
            for (const Copy& c : part) reads.push_back(c.read);
        const UOp free = uop::barrier(reads);
        for (const Copy& c : keys) stores.push_back(uop::store(uop::at(uop::after(keys_, {free}), c.place), c.read));
        for (const Copy& c : values)
            stores.push_back(uop::store(uop::at(uop::after(values_, {free}), c.place), c.read));
        return uop::barrier(stores);
    }

    /// An operand of a matrix instruction from local memory: the places of this lane's row, by the matrix it is in.
    UOp read(std::string_view by, UOp memory, UOp row, int64_t column, bool rows_first) const {
        const UOp far = row_of_lanes_ / 4 * 8, near = row_of_lanes_ / 2 % 2 * 8,
                  in_matrix = row_of_lanes_ % 2 * 4 + lane_;
        const UOp down = (rows_first ? far : near) + in_matrix + row, right = (rows_first ? near : far) + column;
        const UOp lanes_row =
            make(Op::load, p_.key.dtype().vector(kTogether), {uop::at(memory, simplify(down * pitch() + right))});
        return uop::wmma(std::string(by), lanes_row, lanes_row, lanes_row);
    }

    void make_queries() {
        if (!t_.shares_queries) return;
        const UOp all = memory(t_.rows() * pitch(), p_.query.dtype(), Space::local);
        const UOp first = block_.is_const(0) ? UOp() : block_ * t_.rows();
        std::vector<UOp> stores;
        for (const Copy& c : copies(p_.query, t_.rows(), p_.rows, first))
            stores.push_back(uop::store(uop::at(all, c.place), c.read));
        queries_ = uop::after(all, {uop::barrier(stores)});
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

    Register new_register(int64_t size, double first) {
        Register r{memory(size, dtypes::float32, Space::reg), {}};
        std::vector<UOp> stores;
        for (int64_t i = 0; i < size; ++i) stores.push_back(uop::store(uop::at(r.memory, i), first));
        r.started = uop::group(stores);
        return r;
    }
    UOp in_loop(const Register& r, int64_t i) const {
        return uop::at(uop::after(r.memory, std::array{r.started, tile_}), i);
    }
    void update(const Register& r, int64_t i, UOp value) { updates_.push_back(uop::store(in_loop(r, i), value)); }

    void start() {
        narrow_.resize(static_cast<size_t>(t_.keys / kSide) * kHeld);
        for (int64_t m = 0; m < t_.matrices; ++m) {
            for (int half = 0; half < 2; ++half) {
                tops_.push_back(new_register(1, -std::numeric_limits<double>::infinity()));
                totals_.push_back(new_register(1, 0));
            }
            for (int64_t c = 0; c < columns_; c += kSide) sums_.push_back(new_register(kHeld, 0));
        }
    }

    UOp wmma(UOp a, UOp b, UOp c) const { return uop::wmma(std::string(p_.shape->mnemonic), a, b, c); }
    UOp exp2_of(UOp x, UOp less) const {
        return make(Op::exp2_approx, dtypes::float32, {alu(Op::fma, {x, number(p_.to_exp2), less})});
    }
    static UOp over_columns(Op op, UOp value) {
        for (int mask : {1, 2}) value = alu(op, {value, uop::shuffle_xor(value, mask)});
        return value;
    }
    /// What exponents are less, as exp2 takes it.
    UOp shift(UOp top) const {
        const bool finite = p_.shift != p_.top;
        const UOp none = number(-std::numeric_limits<double>::infinity());
        const UOp by = finite ? alu(Op::where, {alu(Op::abs, {top}) < p_.shift.src(0).src(1), top, p_.shift.src(2)})
                              : alu(Op::where, {alu(Op::cmpeq, {top, none}), number(0), top});
        return by * number(-p_.to_exp2);
    }

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
    UOp score(int64_t m, int64_t n, size_t e) const {
        const UOp product =
            uop::load(in_loop(scores_[static_cast<size_t>(n * t_.matrices + m)], static_cast<int64_t>(e)));
        const UOp row = result_row(m, static_cast<int64_t>(e / 4)), key = tile_ * t_.keys + result_column(n * kSide, e);
        return substitute(p_.of_scores, {{p_.scores, product}, {p_.rows, row}, {p_.keys, key}});
    }

    /// What the weights of a matrix of rows are as an operand, 16 keys each, and by how much what there is of its sums shrinks.
    struct Weights {
        std::vector<UOp> operands;
        std::array<UOp, 2> rescale;
    };
    Weights weigh(int64_t m) {
        const int64_t tiles = t_.keys / kSide;
        Weights out;
        for (size_t half : {0, 1}) {
            std::vector<UOp> of_row;
            for (int64_t n = 0; n < tiles; ++n)
                for (size_t e = 4 * half; e < 4 * half + 4; ++e) of_row.push_back(score(m, n, e));
            const Register &top = tops_[static_cast<size_t>(2 * m) + half],
                           &total = totals_[static_cast<size_t>(2 * m) + half];
            const UOp before = uop::load(in_loop(top, 0));
            const UOp after = alu(Op::max, {before, over_columns(Op::max, combined(Op::max, of_row))});
            const UOp less = shift(after);
            out.rescale[half] = exp2_of(before, less);
            for (UOp& weight : of_row) weight = exp2_of(weight, less);
            update(top, 0, after);
            update(total, 0,
                   alu(Op::fma, {uop::load(in_loop(total, 0)), out.rescale[half], combined(Op::add, of_row)}));
            for (int64_t n = 0; n < tiles; ++n)
                for (size_t e = 0; e < 4; ++e)
                    narrow_[static_cast<size_t>(n) * kHeld + e / 2 * 4 + 2 * half + e % 2] =
                        cast(of_row[static_cast<size_t>(n) * 4 + e], p_.value.dtype());
        }
        for (int64_t n = 0; n < tiles; ++n) {
            const auto first = narrow_.begin() + n * static_cast<int64_t>(kHeld);
            out.operands.push_back(uop::vec(std::vector<UOp>(first, first + kHeld)));
        }
        return out;
    }

    /// One step of the loop.
    void add_tile(UOp filled) {
        multiply(filled);
        std::vector<Weights> weights;
        for (int64_t m = 0; m < t_.matrices; ++m) weights.push_back(weigh(m));
        const UOp values = uop::after(values_, {filled});
        for (int64_t c = 0; c < columns_ / kSide; ++c)
            for (int64_t m = 0; m < t_.matrices; ++m) {
                const Register& sums = sums_[static_cast<size_t>(m * (columns_ / kSide) + c)];
                const Weights& w = weights[static_cast<size_t>(m)];
                std::vector<UOp> held;
                for (size_t e = 0; e < kHeld; ++e)
                    held.push_back(uop::load(in_loop(sums, static_cast<int64_t>(e))) * w.rescale[e / 4]);
                UOp sum = uop::vec(held);
                for (size_t n = 0; n < w.operands.size(); ++n)
                    sum =
                        wmma(w.operands[n],
                             read(kReadColumns, values, index_const(static_cast<int64_t>(n) * kSide), c * kSide, false),
                             sum);
                for (size_t e = 0; e < kHeld; ++e)
                    update(sums, static_cast<int64_t>(e), uop::lane(sum, static_cast<int>(e)));
            }
    }

    /// The results of a matrix of rows.
    void finish(int64_t m, UOp end, std::vector<UOp>& stores) const {
        const auto held = [&](const Register& r, int64_t i) {
            return uop::load(uop::at(uop::after(r.memory, {end}), i));
        };
        std::array<UOp, 2> totals;
        for (size_t half : {0, 1}) {
            const size_t row = static_cast<size_t>(2 * m) + half;
            totals[half] = over_columns(Op::add, held(totals_[row], 0));
            if (p_.shift != p_.top) continue;
            const UOp none = number(-std::numeric_limits<double>::infinity());
            totals[half] = alu(Op::where, {alu(Op::cmpeq, {held(tops_[row], 0), none}),
                                           number(std::numeric_limits<double>::quiet_NaN()), totals[half]});
        }
        for (int64_t c = 0; c < columns_ / kSide; ++c)
            for (size_t e = 0; e < kHeld; ++e) {
                const UOp sum = held(sums_[static_cast<size_t>(m * (columns_ / kSide) + c)], static_cast<int64_t>(e));
                stores.push_back(substitute(p_.store, {{p_.sum, sum},
                                                       {p_.total, totals[e / 4]},
                                                       {p_.rows, result_row(m, static_cast<int64_t>(e / 4))},
                                                       {p_.row, result_column(c * kSide, e)}}));
            }
    }

    UOp sink_;
    const OnlineParts& p_;
    const Tile& t_;
    int next_id_, next_slot_ = 0;
    int64_t columns_ = 0;
    UOp outer_, block_, wave_, row_of_lanes_, lane_, tile_;
    UOp keys_, values_, queries_;
    std::vector<Register> tops_, totals_, sums_, scores_;  // two, two, one of columns a matrix of rows; one of keys
    std::vector<UOp> narrow_;
    std::vector<UOp> updates_;
};

bool fits(const OnlineParts& p, const Tile& tile, const Target& target) {
    const int64_t columns = range_arg(p.row).size, chunks = columns / kTogether;
    const int64_t rows = tile.shares_queries ? tile.rows() : 0;
    const int64_t bytes = (4 * tile.keys + rows) * (columns + kTogether) * p.key.dtype().bytes();
    return columns % kSide == 0 && columns <= tile.most_columns && range_arg(p.rows).size % tile.rows() == 0 &&
           range_arg(p.keys).size % tile.keys == 0 && tile.keys * chunks % tile.threads() == 0 &&
           rows * chunks % tile.threads() == 0 && bytes <= target.lds_bytes &&
           (!tile.shares_queries || is_plain_row(p.query, p.row));
}

}  // namespace

std::optional<Kernel> online_by_matrices(const Kernel& kernel, UOp keys, int64_t amount, const Target& target) {
    const std::optional<OnlineParts> parts = online_parts(kernel.sink, keys, target);
    if (!parts) return {};
    for (const Tile& tile : kTiles) {
        if (!fits(*parts, tile, target) || amount-- > 0) continue;
        const UOp sink = Building(kernel.sink, *parts, tile).run();
        const auto is_left = [&](UOp u) { return u == parts->top || u == parts->sum || u == parts->scores; };
        if (std::ranges::any_of(toposort(sink), is_left)) return {};
        return Kernel{simplify(sink), kernel.name};
    }
    return {};
}

}  // namespace strata::codegen
