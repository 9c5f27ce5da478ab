// How exact the functions of functions.def are: the column ulps, measured against long double.
#include <gtest/gtest.h>

#include <random>

#include "../target/gfx1100.h"
#include "strata/codegen/decompose/functions_p.h"
#include "tape.h"

namespace strata::codegen {
namespace {

using Real = long double;

Real exact(Op op, Real a, Real b) {
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
        case Op::pow: return powl(a, b);
        case Op::fmod: return fmodl(a, b);
        default: ADD_FAILURE() << info(op).name << " has no host function"; return 0;
    }
}

/// Units in the last place that a value is off; infinite where specials differ.
double ulps_off(DType t, double got, Real want) {
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

DType type_of(unsigned bit) {
    return bit == types::half ? dtypes::float16 : bit == types::single ? dtypes::float32 : dtypes::float64;
}

std::vector<double> edges(DType t) {
    std::vector<double> out{0.0, -0.0, INFINITY, -INFINITY, NAN};
    const int top = (1 << (t.exponent_bits() - 1)) - 1, width = t.mantissa_bits();
    for (int e = -top - width; e <= top; e += (e > -130 && e < 130) || e < 5 - top || e > top - 5 ? 1 : 13)
        for (double m :
             {1.0, 1 + std::ldexp(1.0, -width), 2 - std::ldexp(1.0, -width), 1.5, M_PI / 2, M_PI * 3 / 4, M_LN2 * 2})
            for (double sign : {1, -1}) out.push_back(round_to(t, sign * std::ldexp(m, e)));
    for (double x : {89.0, 88.72283, 103.97, 104.0, 710.0, 745.13, 3.9, 4.0, 3.99, 6.0, 0.625, 0.84, 1.0})
        out.push_back(round_to(t, x)), out.push_back(round_to(t, -x));
    return out;
}

std::vector<double> inputs(DType t, std::mt19937_64& random, int count) {
    std::vector<double> out = edges(t);
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

struct Measured {
    double worst = 0, a = 0, b = 0, got = 0;
};
Measured measure(Op op, DType t, const std::vector<Column>& in, bool nudge) {
    UOp node = in.size() == 1 ? alu(op, {test_source(1, t)}) : alu(op, {test_source(1, t), test_source(2, t)});
    Column out = Tape(node, gfx1100, nudge).run(in);
    Measured m;
    for (size_t k = 0; k < out.f.size(); ++k) {
        double a = in[0].f[k], b = in.back().f[k], off = ulps_off(t, out.f[k], exact(op, a, b));
        if (off > m.worst) m = {off, a, b, out.f[k]};
    }
    return m;
}

/// How many results are not the bits of core's reference, which is correctly rounded for these.
int differing(Op op, DType t, const std::vector<Column>& in) {
    UOp node = in.size() == 1 ? alu(op, {test_source(1, t)}) : alu(op, {test_source(1, t), test_source(2, t)});
    Column out = Tape(node, gfx1100).run(in);
    int wrong = 0;
    for (size_t k = 0; k < out.f.size(); ++k) {
        ConstArg v[] = {{0, in[0].f[k]}, {0, in.back().f[k]}};
        double want = reference(op, t, t, std::span(v, in.size()))->f;
        wrong += !(std::isnan(want) && std::isnan(out.f[k])) && encode_scalar(t, want) != encode_scalar(t, out.f[k]);
    }
    return wrong;
}

struct Param {
    Op op;
    DType type;
    double ulps;
};
std::vector<Param> rows() {
    std::vector<Param> out;
    struct Row {
        Op op;
        unsigned types;
        double ulps;
    };
    using namespace types;
    static constexpr Row kRows[] = {
#define DECOMPOSE(op, types, function, ulps) {Op::op, types, ulps},
#include "strata/codegen/decompose/functions.def"
#undef DECOMPOSE
    };
    for (const Row& d : kRows)
        for (unsigned bit : {types::half, types::single, types::twice})
            if ((d.types & bit) && d.op != Op::cast) out.push_back({d.op, type_of(bit), d.ulps});
    return out;
}

class Functions : public testing::TestWithParam<Param> {};
INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(rows()), [](auto& p) {
    return std::string(strata::info(p.param.op).name) + "_" + std::string(p.param.type.name());
});

TEST_P(Functions, AreAsExactAsTheirRowSays) {
    GraphScope scope;
    const auto [op, t, ulps] = GetParam();
    std::mt19937_64 random(7);
    std::vector<Column> in(static_cast<size_t>(info(op).arity));
    if (in.size() == 1) {
        in[0].f = inputs(t, random, t == dtypes::float32 ? 1 << 19 : 1 << 16);
    } else {
        std::vector<double> some = edges(t), more = inputs(t, random, 1 << 12);
        for (size_t i = 0; i < some.size(); i += 1 + some.size() / 300)
            for (size_t k = 0; k < some.size(); k += 1 + some.size() / 300)
                in[0].f.push_back(some[i]), in[1].f.push_back(some[k]);
        for (int i = 0; i < 100'000; ++i)
            in[0].f.push_back(more[random() % more.size()]), in[1].f.push_back(more[random() % more.size()]);
        for (int i = 0; i < 100'000; ++i) {  // what is neither 0 nor infinite
            double x = std::exp2(static_cast<double>(random() >> 11) * 0x1p-53 * 16 - 8);
            double y = (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) * 2 *
                       std::ldexp(1.0, t.exponent_bits() - 1) / std::fabs(std::log2(x));
            in[0].f.push_back(round_to(t, x)), in[1].f.push_back(round_to(t, y));
        }
    }
    for (Column& c : in) c.i.resize(c.f.size());
    for (bool nudge : {false, true}) {
        // What is correctly rounded is so from the reciprocal that the machine gives (as clang's divisions are).
        if (nudge && ulps <= 0.5) break;
        Measured m = measure(op, t, in, nudge);
        if (!nudge && ulps == 0.5) EXPECT_EQ(differing(op, t, in), 0) << "results are not correctly rounded";
        RecordProperty(nudge ? "ulps_nudged" : "ulps", std::to_string(m.worst));
        if (getenv("STRATA_TEST_SHOW"))
            printf("%s %s %.3f (%g)\n", std::string(info(op).name).c_str(), std::string(t.name()).c_str(), m.worst,
                   m.a);
        EXPECT_LE(m.worst, ulps) << info(op).name << "(" << std::hexfloat << m.a << ", " << m.b << ") = " << m.got
                                 << (nudge ? ", machine ops nudged" : "");
    }
}

}  // namespace
}  // namespace strata::codegen
