#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "strata/codegen/decompose/decompose.h"
#include "strata/core/uop/reference.h"

namespace strata::codegen {

inline UOp test_source(int slot, DType type) {
    UOp place = make(Op::index, type,
                     {make(Op::param, type, {}, ParamArg{Space::global, slot, 1}), constant_int(dtypes::int32, 0)});
    return make(Op::load, type, {place});
}
/// A program that stores one value made of the sources above.
inline LinearProgram program_of(UOp value) {
    UOp out = make(Op::param, value.dtype(), {}, ParamArg{Space::global, 0, 1});
    UOp place = make(Op::index, value.dtype(), {out, constant_int(dtypes::int32, 0)});
    LinearProgram program{.name = "one", .ops = toposort(make(Op::store, dtypes::none, {place, value})), .params = {}};
    return program;
}

/// Values of a node for many inputs at once.
struct Column {
    std::vector<double> f;
    std::vector<int64_t> i;
    explicit Column(size_t n = 0) : f(n), i(n) {}
};

/// Runs a program without loops on many inputs, by core's reference; what is frequent is computed directly.
class Tape {
  public:
    /// `nudge`: most results of machine ops named approx are as far off as these may be.
    explicit Tape(const LinearProgram& program, bool nudge = false) : program_(program), nudge_(nudge) {}
    Tape(UOp value, const Target& target, bool nudge = false) : Tape(decompose(program_of(value), target), nudge) {}

    /// inputs[k] is what slot k + 1 holds.
    Column run(const std::vector<Column>& inputs) {
        const size_t n = inputs[0].f.size();
        Column out(n);
        for (size_t at = 0; at < n; at += kBatch) {
            std::vector<Column> part;
            for (const Column& c : inputs) {
                part.emplace_back();
                part.back().f.assign(c.f.begin() + long(at), c.f.begin() + long(std::min(n, at + kBatch)));
                part.back().i.assign(c.i.begin() + long(at), c.i.begin() + long(std::min(n, at + kBatch)));
            }
            const Column got = run_batch(part, part[0].f.size());
            std::copy(got.f.begin(), got.f.end(), out.f.begin() + long(at));
            std::copy(got.i.begin(), got.i.end(), out.i.begin() + long(at));
        }
        return out;
    }
    const LinearProgram& program() const { return program_; }

  private:
    static constexpr size_t kBatch = 1024;

    Column run_batch(const std::vector<Column>& inputs, size_t n) {
        values_.clear();
        for (UOp u : program_.ops) {
            if (u.is(Op::param) || u.is(Op::index)) continue;
            if (u.is(Op::store)) return values_.at(u.src(1));
            values_[u] = u.is(Op::load) ? inputs[static_cast<size_t>(slot(u)) - 1] : compute(u, n);
        }
        return Column(n);
    }

    static int slot(UOp load) { return load.src(0).src(0).as<ParamArg>().slot; }

    Column compute(UOp u, size_t n) {
        Column out(n);
        if (u.is_const()) {
            std::fill(out.f.begin(), out.f.end(), u.as<ConstArg>().f);
            std::fill(out.i.begin(), out.i.end(), u.as<ConstArg>().i);
            return out;
        }
        const Column* s[4] = {};
        for (size_t k = 0; k < u.src().size(); ++k) s[k] = &values_.at(u.src(k));
        if (fast(u, s, n, out)) return out;
        for (size_t k = 0; k < n; ++k) {
            ConstArg v[4];
            for (size_t j = 0; j < u.src().size(); ++j) v[j] = {s[j]->i[k], s[j]->f[k]};
            auto result = reference(u.op(), u.dtype(), u.src().back().dtype(), std::span(v, u.src().size()));
            EXPECT_TRUE(result) << to_string(u);
            if (!result) return out;
            out.i[k] = result->i, out.f[k] = nudge_ ? nudged(u, v[0].f, result->f, k) : result->f;
        }
        return out;
    }

    /// The other of the two values of the type around the exact one.
    static double nudged(UOp u, double a, double x, size_t k) {
        double exact = x;
        switch (u.op()) {
            case Op::rcp_approx: exact = 1 / a; break;
            case Op::rsq_approx: exact = 1 / std::sqrt(a); break;
            case Op::sqrt_approx: exact = std::sqrt(a); break;
            case Op::exp2_approx: exact = std::exp2(a); break;
            case Op::log2_approx: exact = std::log2(a); break;
            default: return x;
        }
        if (!std::isfinite(x) || x == 0 || k % 3 == 2) return x;
        if (u.dtype() == dtypes::float64) return x * (1 + (k % 3 ? 0x1p-24 : -0x1p-24));
        if (exact == x) return x;
        return std::nextafter(static_cast<float>(x), static_cast<float>(exact > x ? INFINITY : -INFINITY));
    }

    template <class F>
    static bool each(size_t n, F f) {
        for (size_t k = 0; k < n; ++k) f(k);
        return true;
    }

    bool fast(UOp u, const Column* const* s, size_t n, Column& out) const {
        DType t = u.dtype();
        if (u.is(Op::where))
            return each(n, [&](size_t k) {
                out.f[k] = s[0]->i[k] ? s[1]->f[k] : s[2]->f[k], out.i[k] = s[0]->i[k] ? s[1]->i[k] : s[2]->i[k];
            });
        const double *a = s[0]->f.data(), *b = s[1] ? s[1]->f.data() : nullptr, *c = s[2] ? s[2]->f.data() : nullptr;
        if (t == dtypes::float64) switch (u.op()) {
                case Op::add: return each(n, [&](size_t k) { out.f[k] = a[k] + b[k]; });
                case Op::sub: return each(n, [&](size_t k) { out.f[k] = a[k] - b[k]; });
                case Op::mul: return each(n, [&](size_t k) { out.f[k] = a[k] * b[k]; });
                case Op::fma: return each(n, [&](size_t k) { out.f[k] = std::fma(a[k], b[k], c[k]); });
                default: break;
            }
        using F = float;
        if (t == dtypes::float32) switch (u.op()) {
                case Op::add: return each(n, [&](size_t k) { out.f[k] = F(a[k]) + F(b[k]); });
                case Op::sub: return each(n, [&](size_t k) { out.f[k] = F(a[k]) - F(b[k]); });
                case Op::mul: return each(n, [&](size_t k) { out.f[k] = F(a[k]) * F(b[k]); });
                case Op::fma: return each(n, [&](size_t k) { out.f[k] = std::fmaf(F(a[k]), F(b[k]), F(c[k])); });
                case Op::neg: return each(n, [&](size_t k) { out.f[k] = -a[k]; });
                case Op::abs: return each(n, [&](size_t k) { out.f[k] = std::fabs(a[k]); });
                case Op::bitcast:
                    if (u.src(0).dtype().is_float()) break;
                    return each(n, [&](size_t k) { out.f[k] = std::bit_cast<F>(static_cast<uint32_t>(s[0]->i[k])); });
                default: break;
            }
        if (u.src(0).dtype() == dtypes::float32 || u.src(0).dtype() == dtypes::float64) switch (u.op()) {
                case Op::cmplt: return each(n, [&](size_t k) { out.i[k] = a[k] < b[k]; });
                case Op::cmpeq: return each(n, [&](size_t k) { out.i[k] = a[k] == b[k]; });
                case Op::cmpne: return each(n, [&](size_t k) { out.i[k] = a[k] != b[k]; });
                default: break;
            }
        return words(u, s, n, out);
    }

    /// Integers of one type, which are held extended to 64 bits: only how the result is extended differs.
    static bool words(UOp u, const Column* const* s, size_t n, Column& out) {
        const DType t = u.dtype();
        if (!t.is_integer() || t.scalar == Scalar::index || u.src(0).dtype() != t) return false;
        const int64_t *a = s[0]->i.data(), *b = s[1] ? s[1]->i.data() : nullptr;
        const int unused = 64 - t.bits();
        auto put = [&](auto f) {
            return each(n, [&](size_t k) {
                const uint64_t x = f(static_cast<uint64_t>(a[k]), static_cast<uint64_t>(b[k])) << unused;
                out.i[k] = t.is_unsigned() ? static_cast<int64_t>(x >> unused) : static_cast<int64_t>(x) >> unused;
            });
        };
        using W = uint64_t;
        switch (u.op()) {
            case Op::add: return put([](W x, W y) { return x + y; });
            case Op::sub: return put([](W x, W y) { return x - y; });
            case Op::mul: return put([](W x, W y) { return x * y; });
            case Op::bit_and: return put([](W x, W y) { return x & y; });
            case Op::bit_or: return put([](W x, W y) { return x | y; });
            case Op::bit_xor: return put([](W x, W y) { return x ^ y; });
            case Op::mulhi:
                if (t == dtypes::uint32) return put([](W x, W y) { return x * y >> 32; });
                return false;
            default: return false;
        }
    }

    LinearProgram program_;
    bool nudge_;
    UOpMap<Column> values_;
};

}  // namespace strata::codegen
