#include <cmath>
#include <limits>

#include "run_schedule.h"
#include "strata/codegen/schedule/attention.h"

// Attention of few rows and many keys is attention of pieces of its keys, and a kernel that adds these up.
namespace strata::codegen {
namespace {

using namespace test;

constexpr int64_t kHeads = 2, kQueries = 2, kDepth = 4, kColumns = 3;
constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Form {
    int64_t keys;
    bool guarded, divides_weights, rounds;
    int64_t seen;  ///< keys, the first; all are
};

UOp wide(UOp results, UOp x) { return expand(results, x.shape()); }

/// (h, n, m) of a (h, n, d) and b (h, m, d).
UOp products(UOp a, UOp b) {
    const int64_t h = a.shape()[0], n = a.shape()[1], m = b.shape()[1], d = a.shape()[2];
    const UOp left = expand(reshape(a, {h, n, 1, d}), {h, n, m, d}),
              right = expand(reshape(b, {h, 1, m, d}), {h, n, m, d});
    return reshape(sum(left * right, {3}), {h, n, m});
}

UOp attention(const Form& form) {
    UOp s = products(filled({kHeads, kQueries, kDepth}), filled({kHeads, form.keys, kDepth})) * number(0.25);
    if (form.seen < form.keys) {
        const UOp key = expand(reshape(iota(form.keys), {1, 1, form.keys}), s.shape());
        s = alu(Op::where, {key < form.seen, s, number(kNever)});
    }
    const UOp top = reduce(s, Op::max, {2});
    const UOp shift = form.guarded ? alu(Op::where, {alu(Op::abs, {top}) < number(-kNever), top, number(0)}) : top;
    const UOp e = alu(Op::exp, {s - wide(shift, s)}), total = sum(e, {2}),
              values = filled({kHeads, kColumns, form.keys});
    const UOp divisor = form.guarded ? alu(Op::where, {alu(Op::cmpeq, {total, number(0)}), number(1), total}) : total;
    if (!form.divides_weights) {
        const UOp sums = products(e, values);
        return sums / wide(total, sums);
    }
    UOp weights = e / wide(divisor, s);
    if (form.rounds) weights = cast(cast(weights, dtypes::bfloat16), dtypes::float32);
    return products(weights, values);
}

TEST(SplitKeys, ComputesWhatOneKernelDoes) {
    for (const int64_t keys : {4096, 4099})
        for (const int64_t seen : {int64_t{1}, int64_t{70}, keys})
            for (const bool guarded : {false, true})
                for (const bool divides : {false, true}) {
                    GraphScope scope;
                    const Form form{keys, guarded, divides, false, seen};
                    const UOp root = attention(form);
                    const Schedule schedule = scheduled({root});
                    EXPECT_EQ(stages(schedule).size(), 2u) << keys << ' ' << seen << guarded << divides;
                    const Array got = run(schedule)[0], wanted = evaluate(root, contents());
                    for (size_t k = 0; k < wanted.numel(); ++k)
                        EXPECT_NEAR(got.f[k], wanted.f[k], 1e-4) << keys << ' ' << seen << guarded << divides;
                }
}

TEST(SplitKeys, GivesNoKeyThatIsSeenItsMeaning) {
    for (const bool guarded : {false, true}) {
        GraphScope scope;
        const Array got = run(scheduled({attention({4099, guarded, true, false, 0})}))[0];
        for (size_t k = 0; k < got.numel(); ++k)
            EXPECT_TRUE(guarded ? got.f[k] == 0 : std::isnan(got.f[k])) << got.f[k];
    }
}

TEST(SplitKeys, LeavesFewKeysInOneKernel) {
    GraphScope scope;
    EXPECT_EQ(stages(scheduled({attention({31, true, true, false, 31})})).size(), 1u);
}

TEST(SplitKeys, DividesWeightsThatAreRounded) {
    GraphScope scope;
    const UOp root = attention({4099, true, true, true, 4099});
    const Schedule schedule = scheduled({root});
    EXPECT_EQ(stages(schedule).size(), 2u);
    const Array got = run(schedule)[0], wanted = evaluate(root, contents());
    for (size_t k = 0; k < wanted.numel(); ++k) EXPECT_NEAR(got.f[k], wanted.f[k], 0.05);
}

}  // namespace
}  // namespace strata::codegen
