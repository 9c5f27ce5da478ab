// How exact the functions of functions.def are: the column ulps, measured against long double.
#include <gtest/gtest.h>

#include "../target/gfx1100.h"
#include "functions.h"
#include "tape.h"

namespace strata::codegen {
namespace {

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

class Functions : public testing::TestWithParam<FunctionRow> {};
INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(function_rows()), [](auto& p) {
    return std::string(strata::info(p.param.op).name) + "_" + std::string(p.param.type.name());
});

TEST_P(Functions, AreAsExactAsTheirRowSays) {
    GraphScope scope;
    const auto [op, t, ulps] = GetParam();
    std::mt19937_64 random(7);
    std::vector<Column> in(static_cast<size_t>(info(op).arity));
    if (in.size() == 1) {
        in[0].f = input_floats(t, random, t == dtypes::float32 ? 1 << 19 : 1 << 16);
    } else {
        std::vector<double> some = edge_floats(t), more = input_floats(t, random, 1 << 12);
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
        // A correctly rounded result is so from the reciprocal that the machine gives (as clang's divisions are).
        if (nudge && ulps <= 0.5) break;
        Measured m = measure(op, t, in, nudge);
        if (!nudge && ulps == 0.5) EXPECT_EQ(differing(op, t, in), 0) << "results are not correctly rounded";
        RecordProperty(nudge ? "ulps_nudged" : "ulps", std::to_string(m.worst));
        EXPECT_LE(m.worst, ulps) << info(op).name << "(" << std::hexfloat << m.a << ", " << m.b << ") = " << m.got
                                 << (nudge ? ", machine ops nudged" : "");
    }
}

TEST(Sines, OfNumbersThatAreSmallByTheirFormAreAsExactByHalfTheOperations) {
    GraphScope scope;
    constexpr int64_t kCount = 1 << 24;
    const UOp counted = cast(
        alu(Op::bit_and, {test_source(1, dtypes::uint32), constant_int(dtypes::uint32, kCount - 1)}), dtypes::float32);
    for (const double reach : {M_PI, 40.0})  // numbers from -reach to reach
        for (const Op op : {Op::sin, Op::cos}) {
            const double middle = kCount / 2, unit = round_to(dtypes::float32, reach / middle);
            const UOp x = (counted - constant(dtypes::float32, middle)) * constant(dtypes::float32, unit);
            Tape of_small(alu(op, {x}), gfx1100), of_any(alu(op, {test_source(1, dtypes::float32)}), gfx1100);
            EXPECT_LT(of_small.program().ops.size() * 2, of_any.program().ops.size());
            Column in;
            for (int64_t i = 0; i < kCount; i += 31) in.i.push_back(i), in.f.push_back(static_cast<double>(i));
            const Column out = of_small.run({in});
            double worst = 0;
            for (size_t k = 0; k < in.i.size(); ++k) {
                const double a = round_to(dtypes::float32, (in.f[k] - middle) * unit);
                worst = std::max(worst, ulps_off(dtypes::float32, out.f[k], exact(op, a, a)));
            }
            EXPECT_LE(worst, 1.1) << info(op).name << " up to " << reach;
        }
}

TEST(Sines, OfWhatMayBeLargeOrNoNumberAreReducedInFull) {
    GraphScope scope;
    const UOp x = test_source(1, dtypes::float32), wide = cast(test_source(1, dtypes::int32), dtypes::float32);
    const UOp small = cast(bits_and(test_source(1, dtypes::uint32), 7), dtypes::float32);
    const UOp even = differs(small, 2);
    const auto operations = [](UOp of) { return Tape(alu(Op::sin, {of}), gfx1100).program().ops.size(); };
    const size_t in_full = operations(x), shorter = operations(small);
    EXPECT_LT(shorter + 20, in_full);
    EXPECT_LT(operations(select(even, small, 3)) + 20, in_full);
    for (const UOp may_be_large :
         {wide, times(small, 1e30), x * like(x, 0), select(even, x, 0.5), select(even, kNan, small)})
        EXPECT_GE(operations(may_be_large), in_full) << tree(may_be_large);
}

}  // namespace
}  // namespace strata::codegen
