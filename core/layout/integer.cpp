#include "strata/core/layout/integer.h"

#include <bit>

#include "strata/core/layout/layout_error.h"
#include "strata/core/support/hash.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::layout {
namespace {

template <class Known, class Node>
Int combine(const Int& a, const Int& b, Known known, Node node) {
    if (a.known() && b.known()) return known(a.value(), b.value());
    GraphScope scope;
    return Int(node(a.uop(), b.uop()));
}

int64_t fitting(bool overflows, int64_t value, const char* what, int64_t a, int64_t b) {
    if (overflows) refuse("{} {} {} does not fit 64 bits", a, what, b);
    return value;
}

/// An operation of 64 bits: `overflows` sets the result, and is true where that does not fit.
template <class Overflows, class Node>
Int checked(const Int& a, const Int& b, const char* sign, Overflows overflows, Node node) {
    return combine(
        a, b,
        [&](int64_t x, int64_t y) {
            int64_t result = 0;
            const bool over = overflows(x, y, &result);
            return Int(fitting(over, result, sign, x, y));
        },
        node);
}

int64_t divisor(int64_t b) {
    if (!b) refuse("a division by zero");
    return b;
}

/// Downwards; C++ and idiv truncate.
int64_t floor_of(int64_t a, int64_t b) {
    if (divisor(b) == -1) return fitting(a == INT64_MIN, -(a + (a == INT64_MIN)), "//", a, b);
    return a / b - (a % b && (a % b < 0) != (b < 0));
}

int64_t rest_of(int64_t a, int64_t b) {
    if (divisor(b) == -1) return 0;
    const int64_t rest = a % b;
    return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

bool both_positive(UOp a, UOp b) { return proves_at_least(a, 0) && proves_at_least(b, 0); }
UOp rest_of(UOp a, UOp b) { return both_positive(a, b) ? a % b : (a % b + b) % b; }
UOp floor_of(UOp a, UOp b) { return both_positive(a, b) ? a / b : (a - rest_of(a, b)) / b; }

}  // namespace

Int::Int(UOp value) {
    GraphScope scope;
    if (!value || !value.dtype().is_integer() || value.dtype().lanes != 1 || !value.shape().empty())
        refuse("a leaf is an integer or an integer UOp, and this is {}", value ? strata::to_string(value) : "none");
    const UOp node = simplify(value.dtype() == dtypes::index ? value : cast(value, dtypes::index));
    if (node.is_const())
        value_ = const_int(node);
    else
        uop_ = Root(node);
}

int64_t Int::value() const {
    if (!known()) refuse("it must know the leaf {}, which is a UOp: give the number", layout::to_string(*this));
    return value_;
}

UOp Int::uop() const { return known() ? index_const(value_) : uop_.get(); }

uint64_t Int::hash() const { return hash_mix(static_cast<uint64_t>(value_), UOpHash{}(uop_.get())); }

Int operator+(const Int& a, const Int& b) {
    return checked(
        a, b, "+", [](int64_t x, int64_t y, int64_t* sum) { return __builtin_add_overflow(x, y, sum); },
        [](UOp x, UOp y) { return x + y; });
}

Int operator-(const Int& a, const Int& b) {
    return checked(
        a, b, "-", [](int64_t x, int64_t y, int64_t* rest) { return __builtin_sub_overflow(x, y, rest); },
        [](UOp x, UOp y) { return x - y; });
}

Int operator*(const Int& a, const Int& b) {
    return checked(
        a, b, "*", [](int64_t x, int64_t y, int64_t* product) { return __builtin_mul_overflow(x, y, product); },
        [](UOp x, UOp y) { return x * y; });
}

Int floor_div(const Int& a, const Int& b) {
    if (b.is(0)) refuse("a division by zero");
    return combine(
        a, b, [](int64_t x, int64_t y) { return Int(floor_of(x, y)); }, [](UOp x, UOp y) { return floor_of(x, y); });
}

Int floor_mod(const Int& a, const Int& b) {
    if (b.is(0)) refuse("a division by zero");
    return combine(
        a, b, [](int64_t x, int64_t y) { return Int(rest_of(x, y)); }, [](UOp x, UOp y) { return rest_of(x, y); });
}

Int ceil_div(const Int& a, const Int& b) {
    if (a.known() && b.known()) {
        const int64_t down = floor_of(a.value(), b.value());
        return Int(down) + Int(rest_of(a.value(), b.value()) != 0);
    }
    return floor_div(a + b - Int(1), b);
}

Int bit_and(const Int& a, int64_t mask) {
    return combine(
        a, mask, [](int64_t x, int64_t y) { return Int(x & y); },
        [](UOp x, UOp y) { return alu(Op::bit_and, {x, y}); });
}

Int bit_xor(const Int& a, const Int& b) {
    return combine(
        a, b, [](int64_t x, int64_t y) { return Int(x ^ y); }, [](UOp x, UOp y) { return alu(Op::bit_xor, {x, y}); });
}

Int shift_right(const Int& a, int bits) {
    return combine(
        a, bits,
        [](int64_t x, int64_t n) {
            return Int(n >= 0 ? x >> n : std::bit_cast<int64_t>(std::bit_cast<uint64_t>(x) << -n));
        },
        [bits](UOp x, UOp) { return alu(bits >= 0 ? Op::shr : Op::shl, {x, index_const(bits < 0 ? -bits : bits)}); });
}

bool surely_less(const Int& a, const Int& b) {
    if (a.known() && b.known()) return a.value() < b.value();
    GraphScope scope;
    return bounds(a.uop()).high < bounds(b.uop()).low;
}

bool surely_divides(int64_t divisor, const Int& a) {
    if (a.known()) return a.value() % divisor == 0;
    GraphScope scope;
    return proves_divisible(a.uop(), divisor);
}

std::string to_string(const Int& a) {
    return a.known() ? std::to_string(a.value()) : fmt::format("?{{{}}}", strata::to_string(a.uop()));
}

}  // namespace strata::layout
