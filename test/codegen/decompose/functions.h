#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "strata/codegen/decompose/functions_p.h"

namespace strata::codegen {

using Real = long double;

inline Real exact(Op op, Real a, Real b) {
    switch (op) {
        case Op::recip: return 1 / a;
        case Op::fdiv: return a / b;
        case Op::sqrt: return sqrtl(a);
        case Op::rsqrt: return 1 / sqrtl(a);
        case Op::exp2: return exp2l(a);
        case Op::log2: return log2l(a);
        case Op::exp: return expl(a);
        case Op::log: return logl(a);
        case Op::sin: return sinl(a);
        case Op::cos: return cosl(a);
        case Op::tanh: return tanhl(a);
        case Op::erf: return erfl(a);
        case Op::expm1: return expm1l(a);
        case Op::log1p: return log1pl(a);
        case Op::logistic: return (a < 0 ? expl(a) : 1) / (1 + expl(-std::fabs(a)));
        case Op::ncdf: return erfcl(-a * sqrtl(0.5L)) / 2;
        case Op::pow: return powl(a, b);
        case Op::fmod: return fmodl(a, b);
        case Op::detach:
        case Op::recompute:
        case Op::freeze: return a;
        default: ADD_FAILURE() << info(op).name << " has no host function"; return 0;
    }
}

/// Units in the last place that a value is off; infinite where specials differ.
inline double ulps_off(DType t, double got, Real want) {
    const double rounded = round_to(t, static_cast<double>(want));
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
    if (want == 0 || got == 0) {
        if (rounded == got) return std::signbit(rounded) == std::signbit(got) ? 0 : INFINITY;
    }
    if (std::isinf(rounded) || std::isinf(got)) {
        // As if the format went on: the largest number's neighbour is infinity.
        if (std::isinf(rounded) && std::isinf(got)) return rounded == got ? 0 : INFINITY;
        const int top = 1 << (t.exponent_bits() - 1);
        const Real unit = ldexpl(1, top - 1 - t.mantissa_bits());
        const Real edge = std::isinf(got) ? copysignl(ldexpl(1, top), got) : got;
        return static_cast<double>(std::fabs((std::isinf(want) ? copysignl(ldexpl(1, top), want) : want) - edge) /
                                   unit);
    }
    const int least = 2 - (1 << (t.exponent_bits() - 1));
    const int exponent = want == 0 ? least : std::max(ilogbl(want), least);
    return static_cast<double>(std::fabs(got - want) / ldexpl(1, exponent - t.mantissa_bits()));
}

inline DType type_of(unsigned bit) {
    return bit == types::half ? dtypes::float16 : bit == types::single ? dtypes::float32 : dtypes::float64;
}

inline std::vector<double> edge_floats(DType t) {
    std::vector<double> out;
    for (double x : {0.0, -0.0, double(INFINITY), double(-INFINITY), double(NAN)}) out.push_back(round_to(t, x));
    const int top = (1 << (t.exponent_bits() - 1)) - 1, width = t.mantissa_bits();
    for (int e = -top - width; e <= top; e += (e > -130 && e < 130) || e < 5 - top || e > top - 5 ? 1 : 13)
        for (double m :
             {1.0, 1 + std::ldexp(1.0, -width), 2 - std::ldexp(1.0, -width), 1.5, M_PI / 2, M_PI * 3 / 4, M_LN2 * 2})
            for (double sign : {1, -1}) out.push_back(round_to(t, sign * std::ldexp(m, e)));
    for (double x : {89.0, 88.72283, 103.97, 104.0, 710.0, 745.13, 3.9, 4.0, 3.99, 6.0, 0.625, 0.84, 1.0})
        out.push_back(round_to(t, x)), out.push_back(round_to(t, -x));
    return out;
}

inline std::vector<double> input_floats(DType t, std::mt19937_64& random, int count) {
    std::vector<double> out = edge_floats(t);
    if (t == dtypes::float16)
        for (uint64_t b = 0; b < 65536; ++b) out.push_back(decode_scalar(t, b));
    if (t == dtypes::float32)
        for (uint64_t b = random() % 4096; b < uint64_t{1} << 32;
             b += (uint64_t{1} << 32) / static_cast<uint64_t>(count))
            out.push_back(decode_scalar(t, b));
    for (int i = 0; i < count / 2; ++i) {
        out.push_back(round_to(
            t, std::ldexp(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5, static_cast<int>(random() % 12))));
        out.push_back(
            round_to(t, static_cast<double>(random() % 4096) * (M_PI / 2)));  // next to zeros of sine and cosine
        out.push_back(round_to(
            t, 1 + std::ldexp(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5, -static_cast<int>(random() % 20))));
        if (t == dtypes::float64) out.push_back(decode_scalar(t, random()));
    }
    return out;
}

struct FunctionRow {
    Op op;
    DType type;
    double ulps;
};
inline std::vector<FunctionRow> function_rows() {
    std::vector<FunctionRow> out;
    for (const Decomposition& d : decompositions())
        for (unsigned bit : {types::half, types::single, types::twice})
            if ((d.types & bit) && d.op != Op::cast) out.push_back({d.op, type_of(bit), d.ulps});
    return out;
}

}  // namespace strata::codegen
