#include "strata/codegen/schedule/attention.h"

#include <limits>

#include "run_schedule.h"

// Attention by its algebra: a sum that exponentials of sums of products weight is one kernel with them.
namespace strata::codegen {
namespace {

using namespace test;

constexpr int64_t kHeads = 2, kQueries = 5, kKeys = 7, kDepth = 4, kColumns = 3;

UOp wide(UOp results, UOp x) { return expand(results, x.shape()); }

/// (h, n, m) of a (h, n, d) and b (h, m, d).
UOp products(UOp a, UOp b) {
    int64_t h = a.shape()[0], n = a.shape()[1], m = b.shape()[1], d = a.shape()[2];
    UOp left = expand(reshape(a, {h, n, 1, d}), {h, n, m, d}), right = expand(reshape(b, {h, 1, m, d}), {h, n, m, d});
    return reshape(sum(left * right, {3}), {h, n, m});
}

UOp scores(int64_t depth = kDepth) {
    return products(filled({kHeads, kQueries, depth}), filled({kHeads, kKeys, depth}));
}
UOp values(int64_t columns = kColumns) { return filled({kHeads, columns, kKeys}); }

UOp exponentials(UOp s) { return alu(Op::exp2, {(s - wide(reduce(s, Op::max, {2}), s))}); }
UOp weights(UOp s) {
    UOp e = exponentials(s);
    return e / wide(sum(e, {2}), s);
}
UOp attention(UOp s) { return products(weights(s), values()); }

void expect_kernels(std::vector<UOp> roots, size_t count) {
    Schedule schedule = scheduled(roots);
    EXPECT_EQ(stages(schedule).size(), count);
    std::vector<Array> got = run(schedule);
    for (size_t i = 0; i < roots.size(); ++i) {
        const Array wanted = evaluate(roots[i], contents());
        for (size_t k = 0; k < wanted.numel(); ++k) EXPECT_NEAR(got[i].f[k], wanted.f[k], 1e-4);
    }
}

TEST(Attentions, AreOneKernelWithTheirScores) {
    GraphScope scope;
    expect_kernels({attention(scores())}, 1);
    expect_kernels({attention(scores() * number(0.5))}, 1);
    expect_kernels({products(exponentials(scores()), values())}, 1);
    UOp s = scores(), e = exponentials(s), sums = products(e, values());
    expect_kernels({sums / expand(sum(e, {2}), sums.shape())}, 1);
}

TEST(Attentions, TakeInMasksBiasesAndWhatFollows) {
    GraphScope scope;
    const Shape shape{kHeads, kQueries, kKeys};
    UOp key = expand(reshape(iota(kKeys), {1, 1, kKeys}), shape),
        query = expand(reshape(iota(kQueries), {1, kQueries, 1}), shape);
    UOp never = number(-std::numeric_limits<double>::infinity());
    expect_kernels({attention(alu(Op::where, {query < key, never, scores()}))}, 1);
    expect_kernels({attention(scores() + expand(filled({1, kQueries, kKeys}), shape))}, 1);
    expect_kernels({permute(attention(scores()) * number(2), {1, 0, 2})}, 1);
}

TEST(Attentions, ReadWhatIsReducedForThemFromMemory) {
    GraphScope scope;
    const Shape shape{kHeads, kQueries, kKeys};
    expect_kernels({attention(scores() + expand(sum(filled({kHeads, kQueries, 3}), {2}), shape))}, 2);
    UOp v = products(filled({kHeads, kColumns, 6}), filled({kHeads, kKeys, 6}));
    expect_kernels({products(weights(scores()), v)}, 2);
    UOp q = products(filled({kHeads, kQueries, 6}), filled({kHeads, kDepth, 6}));
    expect_kernels({attention(products(q, filled({kHeads, kKeys, kDepth})))}, 2);
}

TEST(Attentions, AreReadByTheirUsersFromMemory) {
    GraphScope scope;
    expect_kernels({products(attention(scores()), filled({kHeads, 2, kColumns}))}, 2);
    UOp two = attention(scores()) + attention(scores());
    expect_kernels({two}, 2);
}

TEST(Attentions, LeaveInMemoryWhatOthersNeedToo) {
    GraphScope scope;
    UOp s = scores(), w = weights(s);
    expect_kernels({products(w, values()), w}, 3);
    expect_kernels({attention(s), s}, 3);
    expect_kernels({attention(s), attention(s)}, 3);
}

TEST(Attentions, LeaveOtherSumsAlone) {
    GraphScope scope;
    UOp s = scores() * number(0.01), other = scores() * number(0.01);
    UOp e = alu(Op::exp2, {s - wide(reduce(other, Op::max, {2}), s)});
    expect_kernels({products(e, values())}, 4);
    expect_kernels({products(weights(filled({kHeads, kQueries, kKeys})), values())}, 2);
    expect_kernels({products(alu(Op::exp2, {s}), values())}, 2);
    expect_kernels({sum(weights(s) * expand(filled({1, kQueries, 1}), s.shape()), {1})}, 3);
}

TEST(Attentions, StayApartWhereARowIsTooLongForRegisters) {
    GraphScope scope;
    UOp long_depth = products(weights(scores(600)), values());
    Schedule schedule = scheduled({long_depth});
    ASSERT_EQ(stages(schedule).size(), 3u);
    EXPECT_EQ(stages(schedule)[0].why, Reason::wide);
    expect_kernels({products(weights(scores()), values(600))}, 3);
    expect_kernels({products(weights(scores()), values(500))}, 1);
}

}  // namespace
}  // namespace strata::codegen
