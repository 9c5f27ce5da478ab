#include "strata/codegen/schedule/paired_reductions_p.h"

#include <cmath>

#include "run_schedule.h"

// A reduction, and one of the same long rows less its result: two kernels, of which one reads the rows.
namespace strata::codegen {
namespace {

using namespace test;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

UOp repeated(UOp results, UOp x) { return expand(results, x.shape()); }
double length(UOp x, const std::vector<int>& axes) {
    double n = 1;
    for (int axis : axes) n *= static_cast<double>(x.shape()[static_cast<size_t>(axis)]);
    return n;
}

UOp mean(UOp x, std::vector<int> axes) {
    const UOp total = sum(x, axes);
    return total / number(length(x, axes), x.dtype());
}
UOp squares(UOp x, UOp shift, std::vector<int> axes) {
    const UOp less = x - repeated(shift, x);
    return sum(less * less, std::move(axes));
}
UOp squares(UOp x, std::vector<int> axes) { return squares(x, mean(x, axes), axes); }

UOp finite_or_zero(UOp top) {
    return alu(Op::where, {alu(Op::abs, {top}) < number(kInfinity, top.dtype()), top, number(0, top.dtype())});
}
UOp raised(UOp x, std::vector<int> axes) {
    return alu(Op::exp, {x - repeated(finite_or_zero(reduce(x, Op::max, std::move(axes))), x)});
}
UOp logsumexp(UOp x, std::vector<int> axes) {
    return alu(Op::log, {sum(raised(x, axes), axes)}) + finite_or_zero(reduce(x, Op::max, axes));
}

/// The second stages, and what follows them, of long rows are of rounded values: near to the reference, not the same.
void expect_near(UOp root, size_t count, Fusion fusion = Fusion::cost) {
    HostStorage storage;
    const Schedule schedule = make_schedule(std::vector{root}, storage, fusion);
    EXPECT_EQ(schedule.items.size(), count) << tree(root);
    const Array got = run(schedule).at(0), wanted = evaluate(root, contents());
    ASSERT_EQ(got.shape, wanted.shape);
    for (size_t k = 0; k < wanted.numel(); ++k)
        ASSERT_NEAR(got.f[k], wanted.f[k], 1e-4 * std::max(1.0, std::fabs(wanted.f[k]))) << k;
}

/// How many kernels read the memory of `x`.
size_t readers(UOp root, UOp x) {
    const Schedule schedule = scheduled({root});
    size_t count = 0;
    for (const ScheduleItem& item : schedule.items) {
        const std::vector<UOp> nodes = in_order(item.bodies());
        count += std::ranges::find(nodes, buffer_under(x)) != nodes.end();
    }
    return count;
}

TEST(Pairs, DeviationsFromAMeanAreOneKernelWhereOneBlockFinishesThemSoon) {
    GraphScope scope;
    expect_near(squares(filled({1 << 16}), {0}), 1);
    expect_near(squares(filled({40009}), {0}), 1);
    expect_near(squares(filled({3, 36001}), {1}), 1);
    expect_near(squares(filled({33333, 3}), {0}), 1);
    expect_near(alu(Op::sqrt, {squares(filled({1 << 16}), {0})}) * number(0.5), 1);
}

TEST(Pairs, ExponentialsLessTheirTopAreOneKernelWhereOneBlockFinishesThemSoon) {
    GraphScope scope;
    expect_near(logsumexp(filled({1 << 16}), {0}), 1);
    expect_near(logsumexp(filled({3, 36001}), {1}), 1);
    expect_near(logsumexp(filled({33333, 3}), {0}), 1);
}

TEST(Pairs, WhatWalksTheRowsAgainIsAnotherKernel) {
    GraphScope scope;
    UOp x = filled({2, 1 << 15}), e = raised(x, {1});
    expect_near(e / repeated(sum(e, {1}), e), 2);
    expect_near((x - repeated(mean(x, {1}), x)) / repeated(squares(x, {1}), x), 2);
}

TEST(Pairs, ReadTheirRowsOnce) {
    GraphScope scope;
    UOp x = filled({1 << 16});
    EXPECT_EQ(readers(squares(x, {0}), x), 1u);
    EXPECT_EQ(readers(logsumexp(x, {0}), x), 1u);
}

TEST(Pairs, AreTakenInByNoneThatIsToFuseLess) {
    GraphScope scope;
    expect_near(squares(filled({1 << 16}), {0}), 4, Fusion::less);
}

TEST(Pairs, OfPiecesWithoutAFiniteTopAreWhatTheReferenceSays) {
    GraphScope scope;
    UOp x = filled({2, 40009});
    std::vector<double>& f = contents().at(buffer_id(buffer_under(x))).f;
    std::fill(f.begin(), f.begin() + 30000, -kInfinity);
    std::fill(f.begin() + 40009, f.end(), -kInfinity);
    const Array got = run(scheduled({logsumexp(x, {1})})).at(0), wanted = evaluate(logsumexp(x, {1}), contents());
    EXPECT_NEAR(got.f[0], wanted.f[0], 1e-4);
    EXPECT_EQ(got.f[1], -kInfinity);
}

TEST(Pairs, FarFromZeroAreOfTheDeviations) {
    GraphScope scope;
    UOp x = filled({40009});
    for (double& v : contents().at(buffer_id(x)).f) v += 1e5;
    expect_near(squares(x, {0}), 1);
}

TEST(Pairs, AreFoundByWhatIsTakenOff) {
    GraphScope scope;
    UOp x = filled({1 << 16}), m = mean(x, {0});
    const PairedReduction deviations = paired_reduction_of(squares(x, {0}), costs()),
                          tops = paired_reduction_of(sum(raised(x, {0}), {0}), costs());
    EXPECT_EQ(deviations.first, m.src(0));
    EXPECT_EQ(deviations.shift, m);
    EXPECT_EQ(deviations.kind, PairedReduction::Kind::squares);
    EXPECT_TRUE(tops.first.is(Op::reduce));
    EXPECT_EQ(tops.kind, PairedReduction::Kind::exponentials);
    EXPECT_EQ(tops.x, x);
}

TEST(Pairs, AreNoneOfShortRowsNarrowTypesOrOtherShifts) {
    GraphScope scope;
    const auto is_pair = [](UOp u) { return static_cast<bool>(paired_reduction_of(u, costs()).second); };
    UOp x = filled({1 << 16}), y = filled({1 << 16});
    EXPECT_FALSE(is_pair(squares(filled({1 << 14}), {0}))) << "a block holds it";
    EXPECT_FALSE(is_pair(squares(filled({1 << 16}, dtypes::float16), {0})));
    EXPECT_FALSE(is_pair(squares(x, mean(y, {0}), {0}))) << "the mean of another value";
    EXPECT_FALSE(is_pair(squares(x, sum(x, {0}), {0}))) << "no mean";
    EXPECT_FALSE(is_pair(squares(x, sum(x, {0}) / number(65535), {0}))) << "of one less";
    EXPECT_FALSE(is_pair(sum(x - repeated(mean(x, {0}), x), {0}))) << "no squares";
    UOp low = finite_or_zero(reduce(x, Op::min, {0})), other = finite_or_zero(reduce(y, Op::max, {0}));
    EXPECT_FALSE(is_pair(sum(alu(Op::exp, {x - repeated(low, x)}), {0}))) << "the least";
    EXPECT_FALSE(is_pair(sum(alu(Op::exp, {x - repeated(other, x)}), {0})));
    EXPECT_FALSE(is_pair(reduce(raised(x, {0}), Op::max, {0})));
    UOp columns = filled({256, 256});
    EXPECT_FALSE(is_pair(squares(columns, mean(columns, {1}), {0, 1}))) << "of other axes";
}

}  // namespace
}  // namespace strata::codegen
