#include "strata/core/symbolic/linear_p.h"

#include <algorithm>
#include <numeric>

namespace strata {
namespace {

int64_t times(DType t, int64_t a, int64_t b) {
    return wrap_to(t, static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)));
}
int64_t plus(DType t, int64_t a, int64_t b) {
    return wrap_to(t, static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)));
}

constexpr size_t kFewTerms = 8;  // most sums have no more

bool is_sum(UOp u) { return u.is(Op::add) || u.is(Op::sub) || u.is(Op::neg); }

// Products of a sum are multiplied out for index arithmetic alone: elsewhere that is more work on the device.
void collect(UOp u, int64_t factor, Linear& out) {
    const DType t = out.type;
    if (u.is_const()) {
        out.constant = plus(t, out.constant, times(t, factor, const_int(u)));
        return;
    }
    if (u.is(Op::add)) {
        collect(u.src(0), factor, out);
        return collect(u.src(1), factor, out);
    }
    if (is_index(t) && u.is(Op::sub)) {
        collect(u.src(0), factor, out);
        return collect(u.src(1), times(t, factor, -1), out);
    }
    if (is_index(t) && u.is(Op::neg)) return collect(u.src(0), times(t, factor, -1), out);
    if (u.is(Op::mul)) {
        UOp x = u.src(0), c = u.src(1);
        if (x.is_const()) std::swap(x, c);
        if (c.is_const()) {
            factor = times(t, factor, const_int(c));
            if (!is_sum(x) || is_index(t)) return collect(x, factor, out);
            out.terms.push_back({x, factor});
            return;
        }
    }
    out.terms.push_back({u, factor});
}

void merge_equal(Linear& sum) {
    std::sort(sum.terms.begin(), sum.terms.end(),
              [](const Term& a, const Term& b) { return compare_nodes(a.base, b.base) < 0; });
    size_t kept = 0;
    for (size_t i = 0; i < sum.terms.size(); ++i) {
        if (kept && sum.terms[kept - 1].base == sum.terms[i].base)
            sum.terms[kept - 1].factor = plus(sum.type, sum.terms[kept - 1].factor, sum.terms[i].factor);
        else
            sum.terms[kept++] = sum.terms[i];
        if (sum.terms[kept - 1].factor == 0) kept--;
    }
    sum.terms.resize(kept);
}

bool fits(DType t, __int128 value) { return value >= int_min(t) && value <= int_max(t); }

}  // namespace

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
int64_t floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

Linear linear(UOp u) {
    Linear out{u.dtype(), {}, 0};
    out.terms.reserve(kFewTerms);
    collect(u, 1, out);
    if (out.terms.size() > 1)
        merge_equal(out);
    else if (out.terms.size() == 1 && out.terms[0].factor == 0)
        out.terms.clear();
    return out;
}

UOp build_sum(const Linear& sum) {
    UOp out;
    for (const Term& t : sum.terms) {
        UOp product = t.factor == 1 ? t.base : t.base * constant_int(t.base.dtype(), t.factor);
        out = out ? out + product : product;
    }
    if (!out) return constant_int(sum.type, sum.constant);
    return sum.constant ? out + constant_int(out.dtype(), sum.constant) : out;
}

bool is_built_of(UOp u, const Linear& sum) {
    if (sum.terms.empty()) return false;
    const auto is_int = [](UOp c, int64_t value) { return c.is_const() && const_int(c) == value; };
    const auto is_term = [&](UOp x, const Term& t) {
        if (t.factor == 1) return x == t.base;
        return x.is(Op::mul) && x.src(0) == t.base && is_int(x.src(1), t.factor);
    };
    if (sum.constant) {
        if (!u.is(Op::add) || !is_int(u.src(1), sum.constant)) return false;
        u = u.src(0);
    }
    for (size_t i = sum.terms.size(); --i > 0; u = u.src(0))
        if (!u.is(Op::add) || !is_term(u.src(1), sum.terms[i])) return false;
    return is_term(u, sum.terms[0]);
}

std::optional<Bounds> sum_bounds(const Linear& sum) {
    __int128 low = sum.constant, high = sum.constant;
    for (const Term& t : sum.terms) {
        Bounds b = bounds(t.base);
        __int128 a = __int128(b.low) * t.factor, z = __int128(b.high) * t.factor;
        low += std::min(a, z);
        high += std::max(a, z);
        if (!fits(dtypes::int64, low) || !fits(dtypes::int64, high)) return {};
    }
    return Bounds{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

bool is_exact(const Linear& sum) {
    if (is_index(sum.type)) return true;
    if (sum.type.scalar == Scalar::uint64) return false;
    std::optional<Bounds> b = sum_bounds(sum);
    return b && fits(sum.type, b->low) && fits(sum.type, b->high);
}

Split split_by(const Linear& sum, int64_t divisor) {
    Split out{{sum.type, {}, floor_div(sum.constant, divisor)}, {sum.type, {}, floor_mod(sum.constant, divisor)}};
    for (const Term& t : sum.terms) {
        if (t.factor % divisor == 0)
            out.whole.terms.push_back({t.base, t.factor / divisor});
        else
            out.rest.terms.push_back(t);
    }
    return out;
}

std::vector<int64_t> common_divisors(const Linear& sum, int64_t with) {
    std::vector<int64_t> out;
    for (const Term& t : sum.terms)
        if (int64_t g = std::gcd(t.factor, with); g > 1) out.push_back(g);
    std::sort(out.rbegin(), out.rend());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

bool proves_divisible(UOp x, int64_t divisor) {
    if (divisor == 0 || !x.dtype().is_integer()) return false;
    Linear sum = linear(x);
    if (!is_exact(sum)) return false;
    for (const Term& t : sum.terms)
        if (t.factor % divisor) return false;
    return sum.constant % divisor == 0;
}

}  // namespace strata
