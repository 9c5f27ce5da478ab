#include <gtest/gtest.h>

#include "strata/codegen/driver/compile_graph.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/launch_plan.h"

// A plan is given only to graphs whose numbers are those that it was made with, wherever they are not its parameters.
namespace strata::runtime {
namespace {

using Numbers = std::vector<uint64_t>;
using Parameters = std::vector<bool>;
using Plan = std::shared_ptr<const LaunchPlan>;

Plan plan() { return std::make_shared<const LaunchPlan>(codegen::CompiledGraph(), LaunchPlan::Loaded()); }

TEST(LaunchPlans, TwoThreadsThatFoundNoneKeepTheirPlansApart) {
    LaunchPlans plans;
    const Numbers zero{0}, one{1};
    EXPECT_FALSE(plans.find("x", zero).plan);
    EXPECT_FALSE(plans.find("x", one).plan) << "the second thread asks before the first has made its plan";
    const Plan of_zero = plan(), of_one = plan();
    plans.add("x", zero, {false}, of_zero, false);
    plans.add("x", one, {false}, of_one, false);
    EXPECT_NE(plans.find("x", zero).plan, of_one);
    EXPECT_NE(plans.find("x", one).plan, of_zero);
}

TEST(LaunchPlans, APlanWithParametersServesNoOtherNumbersThanThose) {
    LaunchPlans plans;
    plans.add("x", Numbers{1, 5}, {false, false}, plan(), false);
    EXPECT_EQ(plans.find("x", Numbers{2, 5}).parameters, (Parameters{true, false}));
    const Plan first = plan();
    plans.add("x", Numbers{2, 5}, {true, false}, first, false);
    EXPECT_EQ(plans.find("x", Numbers{9, 5}).plan, first);
    const LaunchPlans::Known other = plans.find("x", Numbers{9, 6});
    EXPECT_FALSE(other.plan);
    EXPECT_EQ(other.parameters, (Parameters{true, true}));
    plans.add("x", Numbers{9, 6}, {false, true}, plan(), false);
    EXPECT_FALSE(plans.find("x", Numbers{2, 5}).plan) << "one whose other number is 9";
}

TEST(LaunchPlans, AnEntryThatWentMeanwhileDoesNotLendItsNumbers) {
    LaunchPlans plans;
    const Plan late = plan();
    plans.add("x", Numbers{3, 7}, {false, false}, plan(), false);  // after another thread's entry of {1, 5} went
    plans.add("x", Numbers{2, 5}, {true, false}, late, false);     // which that thread asked for with it
    EXPECT_FALSE(plans.find("x", Numbers{4, 7}).plan);
    EXPECT_EQ(plans.find("x", Numbers{4, 5}).plan, late);
}

}  // namespace
}  // namespace strata::runtime
