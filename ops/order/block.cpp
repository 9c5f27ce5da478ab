// A bitonic network over the items of a block.
#include "strata/ops/order/block_p.h"

#include <algorithm>
#include <array>
#include <bit>

namespace strata::ops {
namespace {

int log2_of(int64_t power) { return std::countr_zero(static_cast<uint64_t>(power)); }

UOp number(int64_t value) { return constant_int(dtypes::int32, value); }
UOp power(UOp exponent) { return alu(Op::shl, {number(1), exponent}); }

/// Two steps of a network at once, on four items that a thread holds. First come pairs whose places differ in bit
/// `high`, then those whose places differ in bit `low`.
struct TwoSteps {
    UOp high, low;    ///< two bits, in any order
    bool from_ends;   ///< the first step's pairs differ in all bits below `high` too, so that two ascending runs meet
    UOp second = {};  ///< whether the second step is taken; none: it is
};

/// A thread's work in two steps.
class Four {
  public:
    Four(const TwoSteps& steps, const Items& items, UOp number_of_four, UOp exists, const Words& last)
        : steps_(steps), items_(items), exists_(exists) {
        const UOp low_bit = alu(Op::min, {steps.high, steps.low}), high_bit = alu(Op::max, {steps.high, steps.low});
        const UOp first = with_zero(with_zero(number_of_four, low_bit), high_bit), low = power(steps.low);
        const UOp high = steps.from_ends ? power(steps.high + number(1)) - number(1) : power(steps.high);
        places_ = {first, flipped(first, high), flipped(first, low), flipped(flipped(first, high), low)};
        for (UOp place : places_) words_.push_back(items.at(place, exists, last));
    }

    UOp stored() {
        exchange(0, 1, {});
        exchange(2, 3, {});
        exchange(0, 2, steps_.second);
        // Items from the other end have the second bit set where the first has it clear.
        steps_.from_ends ? exchange(3, 1, steps_.second) : exchange(1, 3, steps_.second);
        std::vector<UOp> stores;
        for (size_t i = 0; i < 4; ++i) stores.push_back(items_.put(places_[i], words_[i], exists_));
        return uop::group(stores);
    }

  private:
    static UOp flipped(UOp place, UOp bits) { return alu(Op::bit_xor, {place, bits}); }
    /// The number with a zero at a bit, and what was there and above it one up.
    static UOp with_zero(UOp number_, UOp bit) {
        const UOp below = alu(Op::bit_and, {number_, power(bit) - number(1)});
        return alu(Op::bit_or, {alu(Op::shl, {alu(Op::bit_xor, {number_, below}), number(1)}), below});
    }
    void exchange(size_t lower, size_t upper, UOp taken) {
        const Words a = words_[lower], b = words_[upper];
        const UOp swap = uop::both(before(b, a), taken);
        words_[lower] = either_of(swap, b, a);
        words_[upper] = either_of(swap, a, b);
    }

    const TwoSteps& steps_;
    const Items& items_;
    UOp exists_;
    std::array<UOp, 4> places_;
    std::vector<Words> words_;
};

/// All threads take two steps. The effect is after a barrier.
UOp take(Block& block, const Items& items, int64_t size, UOp rounds, const TwoSteps& steps) {
    const int64_t fours = size / 4;
    const UOp round = block.loop(std::max<int64_t>(1, fours / block.threads), rounds);
    const UOp exists = fours < block.threads ? block.thread < fours : UOp();
    Words none;
    for (UOp array : items.arrays) none.push_back(constant_int(array.dtype(), 0));
    const Items here = items.after({round});
    Four four(steps, here, cast(round * block.threads + block.thread, dtypes::int32), exists, none);
    return uop::barrier(uop::end(four.stored(), {round}));
}

/// Steps of one level: pairs in bits `top` - 1 and below, two of them each; an even number.
UOp descend(Block& block, const Items& items, int64_t size, UOp rounds, UOp top, int64_t most, UOp count) {
    const UOp step = block.loop(most, count);
    const UOp high = top - number(1) - cast(step, dtypes::int32) * number(2);
    return uop::end(take(block, items.after({step}), size, rounds, {high, high - number(1), false}), {step});
}

}  // namespace

UOp before(const Words& a, const Words& b) {
    UOp first = a[0] < b[0];
    if (a.size() == 1) return first;
    return alu(Op::bit_or, {first, alu(Op::bit_and, {alu(Op::cmpeq, {a[0], b[0]}), a[1] < b[1]})});
}

UOp not_after(const Words& a, const Words& b) { return alu(Op::logical_not, {before(b, a)}); }

Words either_of(UOp condition, const Words& a, const Words& b) {
    Words out;
    for (size_t i = 0; i < a.size(); ++i) out.push_back(alu(Op::where, {condition, a[i], b[i]}));
    return out;
}

Words Items::at(UOp place, UOp predicate, const Words& otherwise) const {
    Words out;
    for (size_t i = 0; i < arrays.size(); ++i)
        out.push_back(uop::load(uop::at(arrays[i], place, predicate), predicate ? otherwise[i] : UOp()));
    return out;
}

UOp Items::put(UOp place, const Words& words, UOp predicate) const {
    std::vector<UOp> stores;
    for (size_t i = 0; i < arrays.size(); ++i)
        stores.push_back(uop::store(uop::at(arrays[i], place, predicate), words[i]));
    return uop::group(stores);
}

Items Items::after(std::initializer_list<UOp> earlier) const {
    Items out;
    for (UOp array : arrays) out.arrays.push_back(uop::after(array, earlier));
    return out;
}

Block::Block(int64_t blocks, int64_t size)
    : threads(size), block(uop::range(blocks, 0, Axis::global)), thread(uop::range(size, 1, Axis::local)) {}

UOp Block::loop(int64_t size, UOp steps) { return uop::range(size, next_range_++, Axis::loop, steps); }
UOp Block::local(int64_t size, DType type) { return uop::placeholder(size, type, Space::local, next_slot_++); }
UOp Block::register_of(DType type) { return uop::placeholder(1, type, Space::reg, next_slot_++); }

Items Block::local(int64_t size, std::span<const DType> words) {
    Items out;
    for (DType word : words) out.arrays.push_back(local(size, word));
    return out;
}

Items Block::registers(std::span<const DType> words) {
    Items out;
    for (DType word : words) out.arrays.push_back(register_of(word));
    return out;
}

UOp Block::sink(UOp effect, std::string name) const {
    return uop::sink(uop::end(effect, {block, thread}), std::move(name));
}

UOp order_runs(Block& block, const Items& items, const Network& network) {
    const int levels = log2_of(network.run);
    const UOp level = block.loop(levels, network.levels), bit = cast(level, dtypes::int32);
    // An odd number of steps is left for what goes two by two where the level has an even number of them.
    const UOp odd = alu(Op::bit_and, {bit, number(1)}), two = alu(Op::cmpne, {odd, number(0)});
    const UOp next = alu(Op::where, {bit < number(1), number(1), bit - number(1)});
    const Items here = items.after({level});
    const UOp met = take(block, here, network.size, network.rounds, {bit, next, true, two});
    const UOp down = descend(block, here.after({met}), network.size, network.rounds, bit - odd,
                             std::max<int64_t>(2, levels / 2), level / 2);
    return uop::end(down, {level});
}

UOp merge_bitonic(Block& block, const Items& items, int64_t size) {
    const int levels = log2_of(size), odd = levels % 2;
    const TwoSteps first{number(levels - 1), number(levels - 2), false, odd ? constant_int(dtypes::boolean, 0) : UOp()};
    const UOp met = take(block, items, size, {}, first);
    return descend(block, items.after({met}), size, {}, number(levels - 2 + odd), (levels - 2 + odd) / 2, {});
}

}  // namespace strata::ops
