#include "run_schedule.h"
#include "strata/codegen/schedule/schedule.h"

// A reduction along last axes, and values that walk them again with its results, are one kernel.
namespace strata::codegen {
namespace {

using namespace test;

UOp top(UOp x) { return reduce(x, Op::max, {1}); }
UOp wide(UOp results, UOp x) { return expand(results, x.shape()); }
UOp centred(UOp x) { return x - wide(top(x), x); }
UOp exponentials(UOp x) { return alu(Op::exp2, {centred(x)}); }

void expect_kernels(std::vector<UOp> roots, size_t count) {
    Schedule schedule = scheduled(roots);
    EXPECT_EQ(stages(schedule).size(), count);
    std::vector<Array> got = run(schedule);
    for (size_t i = 0; i < roots.size(); ++i) {
        const Array wanted = evaluate(roots[i], contents());
        for (size_t k = 0; k < wanted.numel(); ++k) EXPECT_NEAR(got[i].f[k], wanted.f[k], 1e-5);
    }
}

TEST(Rows, AreReducedAndWalkedByOneKernel) {
    GraphScope scope;
    UOp x = filled({6, 5}), e = exponentials(x);
    expect_kernels({centred(x)}, 1);
    expect_kernels({e / wide(sum(e, {1}), x)}, 1);
    expect_kernels({sum(centred(x) * centred(x), {1})}, 1);
}

TEST(Rows, OfSeveralAxesAreOneToo) {
    GraphScope scope;
    UOp x = filled({3, 2, 4}), total = sum(x, {1, 2});
    expect_kernels({x - expand(total, x.shape())}, 1);
    expect_kernels({x - expand(sum(x, {0, 1}), x.shape())}, 1);
    expect_kernels({x - expand(sum(x, {0, 2}), x.shape())}, 1);
    UOp y = filled({3, 2, 4, 5});
    expect_kernels({y - expand(sum(y, {0, 2}), y.shape())}, 2);
}

TEST(Rows, StandInColumnsWhereABlockHoldsSome) {
    GraphScope scope;
    UOp x = filled({7, 6, 5});
    for (int axis : {0, 1}) {
        UOp e = alu(Op::exp2, {x - expand(reduce(x, Op::max, {axis}), x.shape())});
        expect_kernels({e / expand(sum(e, {axis}), x.shape())}, 1);
    }
    UOp flat = reshape(alu(Op::sqrt, {reshape(sum(x * x, {1}), {7, 5})}), {7, 1, 5});
    expect_kernels({x / expand(flat, x.shape())}, 1);
    UOp few = filled({20000, 4});
    expect_kernels({few - expand(reduce(few, Op::max, {0}), few.shape())}, 2);
}

TEST(Rows, AreKeptOverAxesOfOneElement) {
    GraphScope scope;
    UOp x = filled({6, 5}), results = reshape(alu(Op::sqrt, {reshape(sum(x * x, {1}), {6})}), {6, 1});
    expect_kernels({x / wide(results, x)}, 1);
}

TEST(Rows, EndWhereResultsAreMoved) {
    GraphScope scope;
    UOp x = filled({5, 5});
    expect_kernels({x - wide(reshape(permute(top(x), {1, 0}), {5, 1}), x)}, 2);
    expect_kernels({x - wide(flip(top(x), {0}), x)}, 2);
    expect_kernels({x - wide(reshape(top(x), {1, 5}), x)}, 2);
}

TEST(Rows, OfTheTermsOfProductsAreMadeAgainOfTheResults) {
    GraphScope scope;
    const Shape terms{6, 5, 40};
    UOp x = filled({6, 1, 40}), w = filled({1, 5, 40});
    UOp y = alu(Op::sin, {sum(expand(x, terms) * expand(w, terms), {2})});
    for (UOp side : {x, w}) {
        const UOp arrived = sum(expand(y, terms) * expand(side, terms), {side == x ? 0 : 1});
        const Schedule schedule = scheduled({arrived});
        for (const ScheduleItem& stage : stages(schedule))
            for (UOp output : stage.outputs()) EXPECT_LE(output.as<BufferArg>().size, 6 * 40) << "terms are stored";
        expect_kernels({arrived}, 2);
    }
}

TEST(Rows, AreStoredBeforeAnythingMovesThem) {
    GraphScope scope;
    UOp x = filled({5, 5});
    expect_kernels({permute(centred(x), {1, 0})}, 2);
    expect_kernels({sum(permute(centred(x), {1, 0}), {1})}, 2);
    expect_kernels({sum(centred(x), {0})}, 2);
}

TEST(Rows, TakeInValuesOfOtherShapesAndOtherReductionsApart) {
    GraphScope scope;
    UOp x = filled({6, 5}), weights = filled({1, 5});
    expect_kernels({centred(x) * expand(weights, {6, 5})}, 1);
    expect_kernels({centred(x) * expand(sum(filled({4, 5}), {0}), {6, 5})}, 2);
    expect_kernels({centred(x) + reshape(sum(filled({6, 5, 3}), {2}), {6, 5})}, 2);
}

TEST(Rows, ResultsThatTwoKernelsReadAreComputedOnce) {
    GraphScope scope;
    UOp x = filled({6, 5}), e = exponentials(x);
    expect_kernels({centred(x) * number(3), centred(x) * number(2)}, 1);
    expect_kernels({centred(x) * number(3), flip(centred(x), {0})}, 2);
    expect_kernels({e / wide(sum(e, {1}), x), sum(e, {0})}, 2);
    expect_kernels({centred(x), top(x)}, 2);
}

TEST(Rows, AValueOfARowThatWasAskedForIsStoredOnce) {
    GraphScope scope;
    UOp x = filled({6, 5}), e = exponentials(x);
    expect_kernels({e, e / wide(sum(e, {1}), x)}, 1);
}

}  // namespace
}  // namespace strata::codegen
