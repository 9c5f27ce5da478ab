// split_keys: attention of few rows and many keys -> attention of pieces of the keys, and their sum (flash decoding).
//
// Before  sum over j of exp(s(j) - top) / total * v(j), j of n keys
// After   of each piece p of the keys    o_p = the same of its keys, l_p = top_p + log(total_p)        one kernel
//         of all                         sum of exp(l_p - max l) * o_p / sum of exp(l_p - max l)
// A row's keys are read one after the other, so that few rows leave most of the card idle. Pieces are a first axis of
// all that is made of the scores. A kernel of attention stores one value: o_p and l_p are the halves of 64 bits. After
// the last key scores are -infinity. Dao, Haziza, Massa, Sizov: Flash-Decoding for long-context inference (2023).
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/schedule/plan_p.h"
#include "strata/codegen/schedule/product_chains.h"
#include "strata/codegen/schedule/softmax.h"
#include "strata/codegen/schedule/two_stage_p.h"
#include "strata/core/uop/uop_set.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

using Threads = AttentionThreads;
constexpr int kHalf = 32;      // bits
constexpr double kWaits = 16;  // loads from memory that another kernel waits for, one after the other
// Bytes of keys and values to one of what a piece writes and another kernel reads.
constexpr int64_t kKeyBytesOfPart = 4;
constexpr int64_t kSide = 16;      // of matrix instructions
constexpr int64_t kMultiple = 32;  // of the keys of a piece

int64_t keys_of(const Attention& attention) { return attention.top.src(0).shape().back(); }

UOp expanded(UOp x, const Shape& shape) {
    return x.shape() == shape ? x : make(Op::expand, x.dtype(), {x}, ShapeArg{shape});
}

UOp own(UOp x) { return make(Op::contiguous, x.dtype(), {x}); }

UOp packed(UOp value, UOp log_total) {
    const auto word = [](UOp x) { return cast(bitcast(x, dtypes::uint32), dtypes::uint64); };
    return alu(Op::bit_or, {alu(Op::shl, {word(log_total), constant_int(dtypes::uint64, kHalf)}), word(value)});
}
UOp unpacked(UOp both, int shift) {
    if (shift > 0) both = alu(Op::shr, {both, constant_int(dtypes::uint64, shift)});
    return bitcast(cast(both, dtypes::uint32), dtypes::float32);
}

/// How a row's keys are divided.
struct Pieces {
    int64_t count = 1, length = 0;
};

/// As many as keep DRAM busy by Little's law, unless what they write and read again is much beside keys and values.
Pieces pieces_of(const Attention& attention, const CostModel& costs, const Rates& card) {
    const int64_t keys = keys_of(attention);
    int64_t width = 0, elements = 0;
    for (UOp factor : attention.product.src(0).src()) {
        const UOp source = source_of(factor);
        if (source.numel() >= elements) elements = source.numel(), width = source.dtype().bytes();
    }
    const int64_t columns = std::max<int64_t>(attention.columns(), 1);
    const int64_t heads = std::max<int64_t>(elements / std::max<int64_t>(keys * attention.depth(), 1), 1);
    const int64_t rows = std::max<int64_t>(attention.product.numel() / keys / heads, 1);  // that share keys
    const double to_wait = card.dram_bytes * card.memory_clocks;
    const double pieces = to_wait / static_cast<double>(heads * Threads::kSteps * columns * width);
    const auto bytes = static_cast<double>(heads * keys * (attention.depth() + columns) * width);
    const int64_t lanes = std::max<int64_t>(columns / Threads::kColumns, 1) * Threads::kSteps;  // of a row, at least
    const int64_t more = std::clamp<int64_t>(Threads::kOfCard / (heads * rows * lanes), 1,
                                             std::max<int64_t>(Threads::kMostOfARow / lanes, 1));
    if (2 * lanes >= Threads::kMostOfARow) return {};                           // a row takes a block
    const double idle = std::max(pieces / static_cast<double>(more), 1.0) - 1;  // of what full bandwidth takes
    if (pieces < 2 || costs.memory(bytes) * idle < costs.launch() + costs.memory(kWaits * to_wait)) return {};
    const int64_t of_part = 2 * rows * columns * dtypes::uint64.bytes(), of_key = (attention.depth() + columns) * width;
    const int64_t least = kKeyBytesOfPart * of_part / of_key;
    const int64_t wish = std::max({static_cast<int64_t>(static_cast<double>(keys) / pieces), least, kMultiple});
    Pieces out;
    out.length = (wish + kMultiple - 1) / kMultiple * kMultiple;
    for (int64_t power = std::bit_ceil(static_cast<uint64_t>(wish)); power >= kMultiple; power /= 2)
        if (keys % power == 0 && 2 * power >= wish) out.length = power;
    out.count = (keys + out.length - 1) / out.length;
    return out.count > 1 ? out : Pieces{};
}

/// True if matrix instructions have rows enough; tiles of them are not of pieces.
bool by_matrices(const Attention& attention) { return has_matrix_products(attention) && rows_of(attention) >= kSide; }

/// One attention over pieces of its keys.
class Splitting {
  public:
    Splitting(const Attention& attention, Pieces pieces, const UOpMap<UOp>& made)
        : attention_(attention), pieces_(pieces), keys_(keys_of(attention)), made_(made) {}

    /// The same value; empty: it is made in a way that pieces are not.
    UOp run() {
        if (!find_parts()) return UOp();
        const UOp divisor = weights_ ? weights_ : attention_.result;
        for (UOp u : attention_.inside) of_pieces_[u] = remade(u);
        const UOp value = of_pieces_[attention_.result] = remade(attention_.result);
        const UOp stored = own(packed(value, log_total(value.shape())));
        const UOp logs = unpacked(stored, kHalf), values = unpacked(stored, 0);
        const auto all = [&](UOp x, Op op) { return make(Op::reduce, x.dtype(), {x}, ReduceArg{op, {0}}); };
        const UOp weights = alu(Op::exp, {logs - expanded(where_finite(all(logs, Op::max)), logs.shape())});
        const UOp is_empty = alu(Op::cmpeq, {logs, constant(logs.dtype(), -HUGE_VAL)});
        const UOp sum = all(alu(Op::where, {is_empty, constant(logs.dtype(), 0), weights * values}), Op::add);
        const UOp total = divisor_of(divisor.src(1), all(weights, Op::add));
        return total ? reshaped(sum / total, attention_.result.shape()) : UOp();
    }

  private:
    bool find_parts() {
        const UOp terms = attention_.product.src(0);
        const size_t axes = terms.shape().size();
        if (attention_.sum.dtype() != dtypes::float32 || attention_.columns() == keys_) return false;
        if (axes < 2 || terms.shape()[axes - 2] != keys_) return false;
        for (UOp u : attention_.inside) {
            if (u.is(Op::exp) && u.src(0).is(Op::sub) && u.dtype() == dtypes::float32) exponential_ = u;
            if (!follow_keys(u)) return false;
        }
        if (!exponential_) return false;
        for (UOp u : attention_.inside) {
            if (u.is(Op::reduce) && u.src(0) == exponential_) total_ = u;
            if (u.is(Op::fdiv) && u.src(0) == exponential_) weights_ = u;
        }
        return total_ && (weights_ || attention_.result.is(Op::fdiv));
    }

    /// True if the keys are the last axis of a node that has them.
    bool follow_keys(UOp u) {
        const bool ends = !u.shape().empty() && u.shape().back() == keys_;
        const bool had = std::ranges::any_of(u.src(), [&](UOp s) { return with_keys_.contains(s); });
        if (u == attention_.product) return with_keys_.insert(u), true;
        if (u.is(Op::reduce) || (!had && !(u.is(Op::expand) && ends))) return true;
        return with_keys_.insert(u), ends;
    }

    Shape in_pieces(Shape shape, bool keys) const {
        if (keys) shape.back() = pieces_.length;
        shape.insert(shape.begin(), pieces_.count);
        return shape;
    }

    /// A value from outside, one axis of it in pieces that come first; no axis: the same for each of them.
    UOp divided(UOp x, std::optional<size_t> axis) const {
        if (x.shape().empty()) return x;
        Shape shape = x.shape();
        if (!axis) {
            shape.insert(shape.begin(), 1);
            return expanded(reshaped(x, shape), in_pieces(x.shape(), false));
        }
        if (const int64_t more = pieces_.count * pieces_.length - keys_; more > 0) {
            BoundsArg room{std::vector<std::pair<int64_t, int64_t>>(shape.size(), {0, 0})};
            room.bounds[*axis].second = more;
            x = make(Op::pad, x.dtype(), {x}, room);
        }
        shape[*axis] = pieces_.length;
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), pieces_.count);
        x = reshaped(x, shape);
        std::vector<int> order{static_cast<int>(*axis)};
        for (int i = 0; i < static_cast<int>(shape.size()); ++i)
            if (i != static_cast<int>(*axis)) order.push_back(i);
        return make(Op::permute, x.dtype(), {x}, AxesArg{order});
    }

    UOp now(UOp u) const {
        const auto found = made_.find(u);
        return found == made_.end() ? u : found->second;
    }

    /// The sums of products, of the keys of each piece.
    UOp product() {
        const UOp sum = attention_.product, terms = sum.src(0);
        std::vector<UOp> factors;
        for (UOp factor : terms.src()) factors.push_back(divided(now(factor), terms.shape().size() - 2));
        return make(Op::reduce, sum.dtype(), {terms.with_src(factors)},
                    ReduceArg{Op::add, {sum.as<ReduceArg>().axes[0] + 1}});
    }

    UOp remade(UOp u) {
        if (u == attention_.product) return product();
        const bool keys = with_keys_.contains(u);
        std::vector<UOp> sources;
        for (UOp s : u.src())
            if (const auto inside = of_pieces_.find(s); inside != of_pieces_.end())
                sources.push_back(inside->second);
            else
                sources.push_back(divided(now(s), keys ? std::optional(s.shape().size() - 1) : std::nullopt));
        if (info(u.op()).is(kMovement)) return make(u.op(), u.dtype(), sources, ShapeArg{in_pieces(u.shape(), keys)});
        if (!u.is(Op::reduce)) return masked(u, u.with_src(sources));
        const ReduceArg& arg = u.as<ReduceArg>();
        const UOp result = make(Op::reduce, u.dtype(), sources, ReduceArg{arg.op, {arg.axes[0] + 1}});
        // A piece may have no key that is seen.
        return u == attention_.top && below_repeats(exponential_.src(0).src(1)) == u ? where_finite(result) : result;
    }

    /// The scores are nothing after the last key.
    UOp masked(UOp u, UOp value) const {
        if (u != exponential_.src(0).src(0) || pieces_.count * pieces_.length == keys_) return value;
        UOp place = make(Op::iota, dtypes::int64, {}, ShapeArg{{pieces_.count * pieces_.length}});
        Shape shape(value.shape().size(), 1);
        shape.front() = pieces_.count, shape.back() = pieces_.length;
        place = expanded(reshaped(place, shape), value.shape());
        return alu(Op::where, {place < keys_, value, constant(value.dtype(), -HUGE_VAL)});
    }

    /// The logarithm of each piece's total of exponentials, repeated to the shape of the values.
    UOp log_total(const Shape& shape) const {
        const UOp shift = below_repeats(of_pieces_.at(exponential_).src(0).src(1)), total = of_pieces_.at(total_);
        UOp log = reshaped(shift, total.shape()) + alu(Op::log, {total});
        Shape row = of_pieces_.at(exponential_).shape();
        row.back() = 1;
        log = reshaped(log, row);
        for (UOp u : path_to_sum()) {
            row = of_pieces_.at(u).shape();
            row.back() = 1;
            log = make(u.op(), log.dtype(), {log}, ShapeArg{row});
        }
        Shape sums = of_pieces_.at(attention_.sum).shape();
        return reshaped(reshaped(log, sums), shape);
    }

    /// The views that exponentials pass on their way into the sum.
    std::vector<UOp> path_to_sum() const {
        UOpSet leading{exponential_};
        std::vector<UOp> views;
        for (UOp u : attention_.inside) {
            if (u == attention_.sum || !with_keys_.contains(u)) continue;
            const bool leads = std::ranges::any_of(u.src(), [&](UOp s) { return leading.contains(s); });
            if (!leads || u.is(Op::reduce)) continue;
            leading.insert(u);
            if (info(u.op()).is(kMovement)) views.push_back(u);
        }
        return views;
    }

    /// The divisor of the sum if the total of all pieces is this; empty: it is made of more than the total and
    /// numbers.
    UOp divisor_of(UOp u, UOp total) const {
        if (u == total_) return total;
        if (u.is(Op::expand) || u.is(Op::reshape)) return divisor_of(u.src(0), total);
        if (u.is_const()) return u;
        if (!info(u.op()).elementwise()) return UOp();
        std::vector<UOp> sources;
        for (UOp s : u.src()) {
            sources.push_back(divisor_of(s, total));
            if (!sources.back()) return UOp();
        }
        return u.with_src(sources);
    }

    const Attention& attention_;
    const Pieces pieces_;
    const int64_t keys_;
    const UOpMap<UOp>& made_;
    UOp exponential_, total_, weights_;
    UOpMap<UOp> of_pieces_;
    UOpSet with_keys_;
};

}  // namespace

UOp value_of_piece(UOp u) {
    if (!u.is(Op::bit_or) || !u.src(0).is(Op::shl)) return UOp();
    const auto below = [](UOp word) {
        while (word.is(Op::cast) || word.is(Op::bitcast)) word = word.src(0);
        return word.dtype() == dtypes::float32 ? word : UOp();
    };
    return below(u.src(0).src(0)) ? below(u.src(1)) : UOp();
}

std::vector<UOp> split_keys(std::span<const UOp> roots, const Policy& policy, const Rates& card) {
    const std::vector<UOp> order = in_order(roots);
    UOpMap<Attention> split;
    UOpMap<Pieces> pieces;
    if (policy.fusion == Fusion::cost)
        for (const Attention& attention : find_attention(order)) {
            if (is_slower_fused(attention, policy) || by_matrices(attention)) continue;
            if (const Pieces found = pieces_of(attention, policy.costs, card); found.count > 1)
                split.emplace(attention.result, attention), pieces.emplace(attention.result, found);
        }
    if (split.empty()) return {roots.begin(), roots.end()};
    UOpMap<UOp> made;
    return rebuild_all(roots, order, made, [&](UOp u, std::span<const UOp> sources) {
        if (const auto found = split.find(u); found != split.end())
            if (UOp value = Splitting(found->second, pieces.at(u), made).run()) return value;
        return u.with_src(sources);
    });
}

}  // namespace strata::codegen
