#include "strata/codegen/decompose/decompose.h"

#include <gtest/gtest.h>

#include <random>

#include "../linear/interpreter.h"
#include "../linear/kernels.h"
#include "../linear/random_kernel.h"
#include "../target/gfx1100.h"
#include "same.h"
#include "strata/core/uop/verify.h"
#include "tape.h"

namespace strata::codegen {
namespace {

TEST(Decompose, RoundsConversionsOnce) {
    GraphScope scope;
    std::mt19937_64 random(3);
    for (DType from : all_dtypes())
        for (DType to : all_dtypes()) {
            if (to == from || !(to.is_float() || from.is_float())) continue;
            Column in;
            auto add = [&](uint64_t bits) {
                if (from.is_float())
                    in.f.push_back(decode_scalar(from, bits)), in.i.push_back(0);
                else
                    in.f.push_back(0), in.i.push_back(wrap_to(from, static_cast<int64_t>(bits)));
            };
            if (from.bits() <= 16)
                for (uint64_t b = 0; b < uint64_t{1} << from.bits(); ++b) add(b);
            else
                for (int i = 0; i < 20'000; ++i) {
                    uint64_t bits = random() >> (64 - from.bits()) >>
                                    random() % static_cast<uint64_t>(from.is_float() ? 1 : from.bits());
                    if (random() % 4 == 0) bits = uint64_t(0) - bits;
                    add(bits & (~uint64_t{0} >> (64 - from.bits())));
                    // Next to what lies halfway between two values of the result's type.
                    double half = to.is_float()
                                      ? round_to(to, decode_scalar(from, bits & (~uint64_t{0} >> (64 - from.bits()))))
                                      : 0;
                    double tie = half * (1 + std::ldexp(1, -to.mantissa_bits() - 1)) * (random() % 2 ? 1 : 1 + 0x1p-40);
                    if (!to.is_float() || !std::isfinite(tie)) continue;
                    in.f.push_back(from.is_float() ? round_to(from, tie) : 0);
                    const uint64_t beside = random() % 3 - 1;  // of integers the one before, itself, the one after
                    in.i.push_back(from.is_float()
                                       ? 0
                                       : wrap_to(from, static_cast<int64_t>(
                                                           static_cast<uint64_t>(float_to_int(from, tie)) + beside)));
                }
            Column got = Tape(cast(test_source(1, from), to), gfx1100).run({in});
            int wrong = 0;
            for (size_t k = 0; k < in.f.size() && wrong < 3; ++k) {
                ConstArg v{in.i[k], in.f[k]}, want = *reference(Op::cast, to, from, std::span(&v, 1));
                if (is_same(to, {got.i[k], got.f[k]}, want, 0)) continue;
                ++wrong;
                ADD_FAILURE() << from.name() << " " << to_string(v, from) << " to " << to.name() << ": "
                              << to_string(want, to) << " expected, " << to_string(ConstArg{got.i[k], got.f[k]}, to)
                              << " got";
            }
        }
}

int place_of(const LinearProgram& program, Op op) {
    for (size_t i = 0; i < program.ops.size(); ++i)
        if (program.ops[i].is(op)) return static_cast<int>(i);
    return -1;
}

TEST(Decompose, PutsWhatDoesNotChangeInALoopBeforeIt) {
    GraphScope scope;
    UOp out = param(0, 64, dtypes::uint32), in = param(1, 65, dtypes::uint32), r = range(0, 64, Axis::loop);
    UOp divisor = load(at(in, 64));
    LinearProgram program =
        linearize(kernel("divide", end(store(at(out, r), load(at(in, r)) / divisor), {r})), gfx1100).value();
    LinearProgram got = decompose(program, gfx1100);
    EXPECT_LT(place_of(got, Op::rcp_approx), place_of(got, Op::range));
    EXPECT_TRUE(verify_linear(got.ops));
}

TEST(Decompose, JoinsAProductWithEachSumThatUsesIt) {
    GraphScope scope;
    UOp a = test_source(1, dtypes::float32), b = test_source(2, dtypes::float32), c = test_source(3, dtypes::float32);
    auto joined = [&](UOp value) {
        LinearProgram program = decompose(program_of(value), gfx1100);
        return place_of(program, Op::fma) >= 0 && place_of(program, Op::mul) < 0;
    };
    EXPECT_TRUE(joined(a * b + c));
    EXPECT_TRUE(joined(c + a * b));
    EXPECT_TRUE(joined(c - a * b));
    EXPECT_TRUE(joined(a * b - c));
    EXPECT_TRUE(joined(alu(Op::max, {a * b + c, c - a * b})));
    // The bits of a sum do not depend on what else uses its product.
    LinearProgram both = decompose(program_of((a * b + c) * (a * b)), gfx1100);
    EXPECT_GE(place_of(both, Op::fma), 0);
    EXPECT_LT(place_of(decompose(program_of(a * b - a * b), gfx1100), Op::fma), 0) << "it is 0";
}

TEST(Decompose, KeepsWhatRandomKernelsMean) {
    GraphScope scope;
    for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        LinearProgram program = linearize(RandomKernel(seed).make(), gfx1100).value();
        Memory before;
        for (UOp p : program.params) {
            Scalars& held = before[p.as<ParamArg>().slot];
            for (int64_t i = 0; i < p.as<ParamArg>().size; ++i) held.push_back({i * 7 % 5 - 2, double(i * 7 % 5 - 2)});
        }
        Memory after = before;
        Interpreter(program, before).run();
        LinearProgram decomposed = decompose(program, gfx1100);
        Interpreter(decomposed, after).run();
        for (size_t i = 0; i < before[0].size(); ++i) {
            ASSERT_EQ(before[0][i].i, after[0][i].i);
            ASSERT_EQ(before[0][i].f, after[0][i].f);
        }
    }
}

}  // namespace
}  // namespace strata::codegen
