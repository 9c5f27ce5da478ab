#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include "strata/core/symbolic/symbolic.h"

namespace strata {
namespace {

using Wide = __int128;
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(), kHighest = std::numeric_limits<int64_t>::max();

Bounds everything(DType t) {
    if (t.is_integer() || t.is_bool()) return {int_min(t), int_max(t)};
    return {kLowest, kHighest};
}

/// The ends as they are where the type holds them; else the operation may wrap and anything can come out.
Bounds fitted(DType t, Wide low, Wide high) {
    Bounds all = everything(t);
    // uint64's largest is not known to int64: a sum that reaches it counts as wrapped.
    if (low < all.low || high > all.high) return all;
    return {static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

bool open_ended(DType t, Bounds b) { return t.scalar == Scalar::uint64 && b.high == kHighest; }

Bounds around(DType t, std::initializer_list<Wide> ends) { return fitted(t, std::min(ends), std::max(ends)); }

Bounds quotient(DType t, Bounds a, Bounds b) {
    if (b.low <= 0 && b.high >= 0) {
        // Division by zero gives zero; otherwise the quotient is no larger than the dividend in magnitude.
        Wide most = std::max<Wide>(a.low < 0 ? -Wide(a.low) : a.low, a.high < 0 ? -Wide(a.high) : a.high);
        return fitted(t, t.is_unsigned() ? 0 : -most, most);
    }
    auto div = [](int64_t x, int64_t y) { return Wide(x) / Wide(y); };
    return around(t, {div(a.low, b.low), div(a.low, b.high), div(a.high, b.low), div(a.high, b.high)});
}

Bounds remainder(DType t, Bounds a, Bounds b) {
    if (b.low == 0 && b.high == 0) return {0, 0};
    Wide largest = std::max<Wide>(b.low < 0 ? -Wide(b.low) : b.low, b.high < 0 ? -Wide(b.high) : b.high) - 1;
    if (a.low == a.high && b.low == b.high && !open_ended(t, a) && !open_ended(t, b))
        return fitted(t, Wide(a.low) % b.low, Wide(a.low) % b.low);
    Wide low = a.low < 0 ? std::max<Wide>(a.low, -largest) : 0, high = a.high > 0 ? std::min<Wide>(a.high, largest) : 0;
    if (t.scalar == Scalar::uint64 && b.high == kHighest) high = a.high;
    return fitted(t, low, high);
}

Bounds bit_and(DType t, Bounds a, Bounds b) {
    if (a.low < 0 && b.low < 0) return everything(t);
    if (a.low < 0) return {0, b.high};
    if (b.low < 0) return {0, a.high};
    return {0, std::min(a.high, b.high)};
}

/// All bits up to the highest that either can have.
Bounds bit_or(DType t, Bounds a, Bounds b, bool exclusive) {
    if (a.low < 0 || b.low < 0) return everything(t);
    uint64_t bits = static_cast<uint64_t>(a.high | b.high);
    for (int by = 1; by < 64; by *= 2) bits |= bits >> by;
    return {exclusive ? 0 : std::max(a.low, b.low), static_cast<int64_t>(bits)};
}

Bounds shifted_left(DType t, Bounds a, Bounds by) {
    if (by.low < 0 || by.high >= t.bits() || by.high > 62) return everything(t);
    Wide low = Wide(1) << by.low, high = Wide(1) << by.high;
    return around(t, {a.low * low, a.low * high, a.high * low, a.high * high});
}

Bounds shifted_right(DType t, Bounds a, Bounds by) {
    if (by.low < 0 || by.high > 63) return everything(t);
    return around(t, {a.low >> by.low, a.low >> by.high, a.high >> by.low, a.high >> by.high});
}

Bounds truth(bool can_be_false, bool can_be_true) { return {can_be_false ? 0 : 1, can_be_true ? 1 : 0}; }

Bounds less(UOp x, UOp y) {
    Bounds a = bounds(x), b = bounds(y);
    if (open_ended(y.dtype(), b)) return truth(true, true);
    return truth(a.high >= b.low, a.low < b.high);
}

Bounds same(UOp x, UOp y, bool expect) {
    Bounds a = bounds(x), b = bounds(y);
    bool open = open_ended(x.dtype(), a) || open_ended(x.dtype(), b);
    bool apart = a.high < b.low || b.high < a.low;
    bool equal = x == y || (a == b && a.low == a.high && !open);
    if (x == y) apart = false;
    return expect ? truth(!equal, !apart) : truth(!apart, !equal);
}

Bounds compare(UOp u) {
    UOp x = u.src(0), y = u.src(1);
    if (x.dtype().is_float()) return {0, 1};
    if (u.is(Op::cmplt)) return x == y ? Bounds{0, 0} : less(x, y);
    return same(x, y, u.is(Op::cmpeq));
}

Bounds converted(DType to, UOp x) {
    DType from = x.dtype();
    if (from.is_float()) return everything(to);
    Bounds b = bounds(x);
    if (to.is_bool()) return truth(b.low <= 0 && b.high >= 0, b.low != 0 || b.high != 0);
    if (open_ended(from, b)) return everything(to);
    return fitted(to, b.low, b.high);
}

Bounds unary(UOp u, Bounds a) {
    DType t = u.dtype();
    switch (u.op()) {
        case Op::neg: return t.is_unsigned() || t.is_bool() ? everything(t) : fitted(t, -Wide(a.high), -Wide(a.low));
        case Op::logical_not: return truth(a.low > 0 || a.high > 0 || a.low < 0, a.low <= 0 && a.high >= 0);
        case Op::bit_not:
            return t.is_unsigned() || t.is_bool() ? everything(t) : fitted(t, ~Wide(a.high), ~Wide(a.low));
        case Op::abs:
            if (a.low >= 0) return a;
            return fitted(t, a.high < 0 ? -Wide(a.high) : 0, std::max(-Wide(a.low), Wide(a.high)));
        case Op::floor:
        case Op::ceil:
        case Op::trunc:
        case Op::rint: return a;
        case Op::popcount:
        case Op::leading_zeros:
        case Op::trailing_zeros: return t.is_bool() ? everything(t) : Bounds{0, t.bits()};
        default: return everything(t);
    }
}

Bounds binary(UOp u, Bounds a, Bounds b) {
    DType t = u.dtype();
    const bool open = open_ended(t, a) || open_ended(t, b);
    switch (u.op()) {
        case Op::max: return {std::max(a.low, b.low), std::max(a.high, b.high)};
        case Op::min: return {std::min(a.low, b.low), std::min(a.high, b.high)};
        case Op::mod: return remainder(t, a, b);
        case Op::bit_and:
            return t.scalar == Scalar::uint64 && a.high == kHighest && b.high == kHighest ? everything(t)
                                                                                          : bit_and(t, a, b);
        default: break;
    }
    if (open) return everything(t);
    switch (u.op()) {
        case Op::add:
            return t.is_bool() ? Bounds{std::max(a.low, b.low), std::max(a.high, b.high)}
                               : fitted(t, Wide(a.low) + b.low, Wide(a.high) + b.high);
        case Op::sub: return t.is_bool() ? everything(t) : fitted(t, Wide(a.low) - b.high, Wide(a.high) - b.low);
        case Op::mul:
            return around(t, {Wide(a.low) * b.low, Wide(a.low) * b.high, Wide(a.high) * b.low, Wide(a.high) * b.high});
        case Op::idiv: return t.is_bool() ? everything(t) : quotient(t, a, b);
        case Op::bit_or: return bit_or(t, a, b, false);
        case Op::bit_xor: return bit_or(t, a, b, true);
        case Op::shl: return shifted_left(t, a, b);
        case Op::shr: return shifted_right(t, a, b);
        default: return everything(t);
    }
}

Bounds chosen(UOp u) {
    Bounds predicate = bounds(u.src(0)), a = bounds(u.src(1)), b = bounds(u.src(2));
    if (predicate.low == 1) return a;
    if (predicate.high == 0) return b;
    return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Bounds joined(UOp u) {
    Bounds all = bounds(u.src(0));
    for (UOp s : u.src()) all = {std::min(all.low, bounds(s).low), std::max(all.high, bounds(s).high)};
    return all;
}

/// From the bounds of the sources, which are known already.
Bounds compute(UOp u) {
    DType t = u.dtype();
    switch (u.op()) {
        case Op::constant:
            if (t.scalar == Scalar::uint64 && const_int(u) < 0) return {kHighest, kHighest};
            return {const_int(u), const_int(u)};
        case Op::range: return {0, std::max<int64_t>(u.as<RangeArg>().size, 1) - 1};
        case Op::special: return {0, std::max<int64_t>(u.as<SpecialArg>().size, 1) - 1};
        case Op::iota: return {0, std::max<int64_t>(u.as<ShapeArg>().shape[0], 1) - 1};
        case Op::cmplt:
        case Op::cmpeq:
        case Op::cmpne: return compare(u);
        case Op::cast: return converted(t, u.src(0));
        case Op::where: return chosen(u);
        case Op::bounded:  // never one value: what folds would not be checked
            return u.src(1).is_const() ? Bounds{0, std::max<int64_t>(const_int(u.src(1)) - 1, 1)} : everything(t);
        case Op::vec: return joined(u);
        case Op::lane:
        case Op::element:
        case Op::contract:
        case Op::shuffle_xor:
        case Op::shuffle:
        case Op::after: return u.src(0).dtype().element() == t.element() ? bounds(u.src(0)) : everything(t);
        default: break;
    }
    const OpInfo& row = info(u.op());
    if (row.is(kUnary) && row.rule != TypeRule::args)
        return u.src(0).dtype().is_float() ? everything(t) : unary(u, bounds(u.src(0)));
    if (row.is(kBinary)) return binary(u, bounds(u.src(0)), bounds(u.src(1)));
    return everything(t);
}

std::optional<Bounds> kept(UOp u) {
    if (!u.dtype().is_integer() && !u.dtype().is_bool()) return everything(u.dtype());
    const Node* n = u.node();
    if (!n->bounds_known.load(std::memory_order_acquire)) return {};
    // Two threads may have stored the same pair; neither store is seen half done, as each word is atomic.
    return Bounds{std::atomic_ref(n->bounds.low).load(std::memory_order_relaxed),
                  std::atomic_ref(n->bounds.high).load(std::memory_order_relaxed)};
}

void keep(UOp u, Bounds b) {
    const Node* n = u.node();
    std::atomic_ref(n->bounds.low).store(b.low, std::memory_order_relaxed);
    std::atomic_ref(n->bounds.high).store(b.high, std::memory_order_relaxed);
    n->bounds_known.store(true, std::memory_order_release);
}

}  // namespace

Bounds bounds(UOp u) {
    if (auto known = kept(u)) return *known;
    // Sources first, on a stack of our own: graphs can be deeper than the thread's.
    std::vector<UOp> stack{u};
    while (!stack.empty()) {
        UOp at = stack.back();
        size_t before = stack.size();
        for (UOp s : at.src())
            if (!kept(s)) stack.push_back(s);
        if (stack.size() != before) continue;
        if (!kept(at)) keep(at, compute(at));
        stack.pop_back();
    }
    return *kept(u);
}

bool proves_less(UOp x, int64_t limit) {
    Bounds b = bounds(x);
    return !open_ended(x.dtype(), b) && b.high < limit;
}
bool proves_at_least(UOp x, int64_t limit) { return bounds(x).low >= limit; }

}  // namespace strata
