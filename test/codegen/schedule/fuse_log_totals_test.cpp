#include <algorithm>
#include <cmath>
#include <limits>

#include "run_schedule.h"

// Attention by matrix instructions stores the logarithms of its totals too.
namespace strata::codegen {
namespace {

using namespace test;

constexpr int64_t kHeads = 2, kKeys = 48, kDepth = 16;

/// (h, n, m) of a (h, n, d) and b (h, m, d), multiplied as float32.
UOp scores_of(UOp a, UOp b) {
    const int64_t h = a.shape()[0], n = a.shape()[1], m = b.shape()[1], d = a.shape()[2];
    const auto repeated = [&](UOp x, Shape one) {
        const UOp wide = x.dtype() == dtypes::float32 ? x : cast(x, dtypes::float32);
        return expand(reshape(wide, std::move(one)), {h, n, m, d});
    };
    return reshape(sum(repeated(a, {h, n, 1, d}) * repeated(b, {h, 1, m, d}), {3}), {h, n, m});
}

struct Made {
    UOp result, log;
};

/// Attention of `queries` rows, and the logarithm of its totals, as operands of this type have them.
Made attention(int64_t queries, DType type = dtypes::bfloat16) {
    const UOp q = filled({kHeads, queries, kDepth}, type), k = filled({kHeads, kKeys, kDepth}, type, 2),
              v = filled({kHeads, kDepth, kKeys}, type, 3);
    const UOp scores = scores_of(q, k) * number(0.0625);
    const UOp top = reduce(scores, Op::max, {2}), e = alu(Op::exp, {scores - expand(top, scores.shape())});
    const UOp total = sum(e, {2}), sums = scores_of(e, v);
    return {cast(sums / expand(total, sums.shape()), type), alu(Op::log, {total}) + top};
}

/// How many outputs each kernel has; checks the values.
std::vector<size_t> outputs_of_steps(const std::vector<UOp>& roots) {
    const Schedule schedule = scheduled(roots);
    const std::vector<Array> got = run(schedule);
    for (size_t i = 0; i < roots.size(); ++i) {
        const Array wanted = evaluate(roots[i], contents());
        for (size_t n = 0; n < wanted.numel(); ++n)
            EXPECT_NEAR(got[i].f[n], wanted.f[n], 0.01 * (1 + std::abs(wanted.f[n])));
    }
    std::vector<size_t> counts;
    for (const ScheduleItem& item : stages(schedule)) counts.push_back(item.outputs().size());
    return counts;
}
using Counts = std::vector<size_t>;

TEST(LogTotals, AreStoredByTheKernelOfTheirAttention) {
    GraphScope scope;
    const Made made = attention(40);
    EXPECT_EQ(outputs_of_steps({made.result, made.log}), Counts{2});
    EXPECT_EQ(outputs_of_steps({made.log, made.result}), Counts{2});
}

TEST(LogTotals, MayBeInAnotherShapeAndReplacedWhereNothingIsSeen) {
    GraphScope scope;
    const Made made = attention(40);
    const UOp never = number(-std::numeric_limits<double>::infinity());
    const UOp log = alu(Op::where, {alu(Op::cmpeq, {made.log, never}), never, made.log});
    EXPECT_EQ(outputs_of_steps({permute(made.result, {1, 0, 2}), reshape(log, {kHeads * 40})}), Counts{2});
}

TEST(LogTotals, OfAnotherAttentionHaveAKernelOfTheirOwn) {
    GraphScope scope;
    EXPECT_EQ(outputs_of_steps({attention(40).result, attention(40).log}), (Counts{1, 1}));
}

TEST(LogTotals, ThatNeedMoreThanTopAndTotalHaveAKernelOfTheirOwn) {
    GraphScope scope;
    const Made made = attention(40);
    const UOp log = made.log + filled(made.log.shape());
    const Counts counts = outputs_of_steps({made.result, log});
    EXPECT_TRUE(std::ranges::all_of(counts, [](size_t n) { return n == 1; }));
}

TEST(LogTotals, OfFewRowsAreNoTilesOfMatrixInstructions) {
    GraphScope scope;
    const Made made = attention(4);
    const Counts counts = outputs_of_steps({made.result, made.log});
    EXPECT_TRUE(std::ranges::all_of(counts, [](size_t n) { return n == 1; }));
}

}  // namespace
}  // namespace strata::codegen
