#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "strata/core/rewrite/rewrite.h"
#include "strata/core/support/settings.h"

namespace strata {
namespace {

using namespace vocabulary;

UOp axis(int id, int64_t size = 16) { return make(Op::range, dtypes::index, {}, RangeArg{id, size, Axis::loop}); }
UOp number(int64_t value) { return constant_int(dtypes::index, value); }

TEST(Rewrite, RulesReadAsAlgebra) {
    const RuleSet rules{rule(i + 0, i), rule((i * c0) * c1, i * (c0 * c1))};
    EXPECT_EQ(rewrite(axis(0) + 0, rules), axis(0));
    EXPECT_EQ(rewrite(axis(0) * 3 * 5, rules), axis(0) * 15);
    EXPECT_EQ(rewrite((axis(0) + 0) * 2 * (number(3)) + 0, rules), axis(0) * 6);
}

TEST(Rewrite, CommutativeOperandsMatchEitherWay) {
    const RuleSet rules{rule(i + 0, i),
                        rule(as(k, i * c0) + i, [](const Match& t) { return t[i] * (t.value(c0) + 1); })};
    EXPECT_EQ(rewrite(number(0) + axis(1), rules), axis(1));
    EXPECT_EQ(rewrite(axis(1) + number(4) * axis(1), rules), axis(1) * 5);
}

TEST(Rewrite, ARepeatedVariableStandsForOneNode) {
    const RuleSet rules{rule(i - i, 0)};
    EXPECT_EQ(rewrite(axis(0) - axis(0), rules), number(0));
    EXPECT_EQ(rewrite(axis(0) - axis(1), rules), axis(0) - axis(1));
}

TEST(Rewrite, VariablesAcceptTheirKindOfValue) {
    const RuleSet rules{rule(i * 0, 0), rule(f + -0.0, f)};
    UOp real = cast(axis(0), dtypes::float32), zero = constant(dtypes::float32, 0.0),
        minus_zero = constant(dtypes::float32, -0.0);
    EXPECT_EQ(rewrite(real * zero, rules), real * zero);
    EXPECT_EQ(rewrite(real + zero, rules), real + zero);
    EXPECT_EQ(rewrite(real + minus_zero, rules), real);
}

TEST(Rewrite, GuardsDecideAndSeeTheContext) {
    int64_t limit = 4;
    const RuleSet rules{rule(i * n, i, [](const Match& t) { return t.value(n) < t.context<int64_t>(); })};
    EXPECT_EQ(rewrite(axis(0) * 3, rules, &limit), axis(0));
    EXPECT_EQ(rewrite(axis(0) * 5, rules, &limit), axis(0) * 5);
}

TEST(Rewrite, TopDownSeesANodeBeforeItsSources) {
    const RuleSet rules{rule((i + 1) * n, i), rule(i + 1, i)};
    UOp e = (axis(0) + 1) * 7;
    EXPECT_EQ(rewrite(e, rules), axis(0) * 7);
    EXPECT_EQ(rewrite(e, rules, nullptr, {.order = Order::top_down}), axis(0));
}

TEST(Rewrite, AReplacementOfAnotherShapeIsDropped) {
    const RuleSet rules{rule(i * 0, 0)};
    UOp tensor = make(Op::buffer, dtypes::int32, {}, BufferArg{1, 8, 0});
    UOp product = tensor * 0;
    EXPECT_EQ(rewrite(product, rules), product);
}

std::string error_of(UOp root, const RuleSet& rules, const RewriteOptions& options = {}) {
    try {
        rewrite(root, rules, nullptr, options);
    } catch (const Exception& e) {
        EXPECT_EQ(e.kind(), ErrorKind::Internal);
        return e.what();
    }
    return "";
}

TEST(Rewrite, ACycleOfRulesIsAnErrorThatNamesThem) {
    const int line = __LINE__;
    const RuleSet rules{rule(i + j, [](const Match& t) { return t[j] - t[i]; }),
                        rule(i - j, [](const Match& t) { return t[j] + t[i]; }), rule(i * 1, i)};
    std::string error = error_of(axis(0) + axis(1) * 1, rules);
    std::string first = fmt::format("rewrite_test.cpp:{}", line + 1),
                second = fmt::format("rewrite_test.cpp:{}", line + 2);
    EXPECT_NE(error.find(first + " -> " + second), std::string::npos) << error;
    EXPECT_EQ(error.find(fmt::format("rewrite_test.cpp:{} ->", line + 3)), std::string::npos) << error;
    EXPECT_NE(error.find("sub index"), std::string::npos) << error;
}

TEST(Rewrite, AnEndlessGrowthRunsOutOfStepsAndNamesItsRules) {
    const int line = __LINE__;
    const RuleSet rules{rule(i * n, [](const Match& t) { return t[i] * (t.value(n) + 2) + 0; }), rule(i + 0, i)};
    std::string error = error_of(axis(0) * 3, rules, {.max_steps = 500});
    EXPECT_NE(error.find("after 501 steps"), std::string::npos) << error;
    EXPECT_NE(error.find(fmt::format("rewrite_test.cpp:{}", line + 1)), std::string::npos) << error;
    EXPECT_NE(error_of(axis(0) * 3, rules).find("endless"), std::string::npos);
}

TEST(Rewrite, TraceTellsWhichRuleFiredWhere) {
    const int line = __LINE__;
    const RuleSet rules{rule(i + 0, i), rule(i * 1, i)};
    Trace trace;
    UOp e = (axis(0) * 1) + 0;
    rewrite(e, rules, nullptr, {.trace = &trace});
    ASSERT_EQ(trace.steps.size(), 2u);
    EXPECT_EQ(trace.steps[0].before, axis(0) * 1);
    EXPECT_EQ(trace.steps[0].after, axis(0));
    EXPECT_EQ(location(*trace.steps[1].rule), fmt::format("rewrite_test.cpp:{}", line + 1));
    EXPECT_NE(trace.text().find("mul index  ->  range index r0 16 loop"), std::string::npos) << trace.text();
}

TEST(Rewrite, DebugLevelSixPrintsTheTrace) {
    Settings verbose = settings();
    verbose.debug = 6;
    ScopedSettings scope(verbose);
    const RuleSet rules{rule(i + 0, i)};
    testing::internal::CaptureStderr();
    rewrite(axis(0) + 0, rules);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("rewrite_test.cpp"), std::string::npos);
}

TEST(Rewrite, DeepGraphsNeedNoDeepStack) {
    const RuleSet rules{rule(i * 1, i)};
    UOp x = axis(0), expected = x;
    for (int depth = 0; depth < 60'000; ++depth) {
        x = (x * 1) - axis(1 + depth % 5);
        expected = expected - axis(1 + depth % 5);
    }
    EXPECT_EQ(rewrite(x, rules, nullptr, {.max_steps = 100'000}), expected);
    sweep();
}

TEST(Rewrite, SharedNodesAreRewrittenOnce) {
    const RuleSet rules{rule(i * 1, i)};
    UOp x = axis(0) * 1;
    for (int level = 0; level < 60; ++level) x = x + x;  // 2^60 paths
    Trace trace;
    rewrite(x, rules, nullptr, {.trace = &trace});
    EXPECT_EQ(trace.steps.size(), 1u);
}

TEST(Rewrite, WhatIsSettledIsNotLookedAtAgain) {
    static std::vector<UOp> noted;
    static int tried;
    noted.clear(), tried = 0;
    static constexpr Settled kNoted{[](UOp u) { return std::ranges::find(noted, u) != noted.end(); },
                                    [](UOp u) { noted.push_back(u); }};
    const RuleSet rules{rule(i + n, [](const Match& t) {
        ++tried;
        return t.value(n) == 0 ? t[i] : UOp();
    })};
    GraphScope scope;
    const UOp settled = (axis(0) + 1) * 3, open = settled * 2 + 0;
    EXPECT_EQ(rewrite(settled, rules, nullptr, {.settled = &kNoted}), settled);
    EXPECT_TRUE(kNoted.is(settled) && kNoted.is(axis(0) + 1));
    EXPECT_EQ(tried, 1);
    EXPECT_EQ(rewrite(open, rules, nullptr, {.settled = &kNoted}), settled * 2);
    EXPECT_EQ(tried, 2) << "the sum of before was tried again";
    EXPECT_FALSE(kNoted.is(open)) << "a node that a rule replaced";
}

TEST(Rewrite, ThreadsShareARuleSet) {
    const RuleSet rules{rule(i + 0, i), rule((i * c0) * c1, i * (c0 * c1))};
    GraphScope scope;
    std::vector<std::thread> threads;
    std::vector<UOp> results(8);
    for (size_t t = 0; t < results.size(); ++t)
        threads.emplace_back([&, t] {
            GraphScope inner;
            UOp x = axis(0);
            for (int step = 0; step < 300; ++step) x = x * 3 - axis(step) + 0;
            results[t] = rewrite(x, rules);
        });
    for (std::thread& t : threads) t.join();
    for (UOp r : results) EXPECT_EQ(r, results[0]);
}

}  // namespace
}  // namespace strata
