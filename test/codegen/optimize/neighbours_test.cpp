#include "strata/codegen/optimize/neighbours_p.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "../kernel/build_helpers.h"
#include "../target/gfx1100.h"

namespace strata::codegen {
namespace {

using namespace test;

Kernel product() {
    const UOp a = expand(reshape(filled({64, 32}), {64, 1, 32}), {64, 64, 32}),
              b = expand(reshape(filled({64, 32}, dtypes::float32, 2), {1, 64, 32}), {64, 64, 32});
    return start_schedule(built(reshape(sum(a * b, {2}), {64, 64})).kernel);
}

TEST(Neighbours, DifferInOneActionAndAreWhatTheirActionsMake) {
    GraphScope scope;
    const Kernel kernel = product();
    const std::vector<Action> given = parse_actions("upcast(1, 4) local(1, 8) stage(0, 4)").value();
    Schedules schedules(kernel, gfx1100);
    const std::vector<Scheduled> found = neighbours(schedules, given);
    std::vector<std::string> texts;
    for (const Scheduled& s : found) {
        EXPECT_EQ(apply_all(kernel, s.actions, gfx1100)->sink, s.kernel.sink);
        EXPECT_NE(s.actions, given);
        EXPECT_LE(std::abs(static_cast<int>(s.actions.size()) - 3), 1);
        texts.push_back(to_string(s.actions));
    }
    for (const char* expected :
         {"local(1, 8) stage(0, 4)", "upcast(1, 4) local(1, 8)", "upcast(1, 2) local(1, 8) stage(0, 4)",
          "upcast(1, 4) local(1, 8) stage(0, 8)", "upcast(1, 4) local(1, 8) local(0, 2) stage(0, 4)"})
        EXPECT_NE(std::ranges::find(texts, expected), texts.end()) << expected;
}

TEST(Schedules, AreWhatAllTheirActionsMakeAndAreMadeOnce) {
    GraphScope scope;
    const Kernel kernel = product();
    Schedules schedules(kernel, gfx1100);
    for (const char* text :
         {"", "upcast(1, 4)", "upcast(1, 4) local(1, 8)", "local(1, 8)", "upcast(1, 4) local(1, 8) stage(0, 4)"}) {
        const std::vector<Action> actions = parse_actions(text).value();
        const Result<Kernel>& made = schedules.of(actions);
        ASSERT_TRUE(made) << text;
        EXPECT_EQ(made->sink, apply_all(kernel, actions, gfx1100)->sink) << text;
        EXPECT_EQ(&schedules.of(actions), &made) << text;
    }
    const std::vector<Action> wrong = parse_actions("upcast(9, 4) local(1, 8)").value();
    EXPECT_EQ(schedules.of(wrong).error().message, apply_all(kernel, wrong, gfx1100).error().message);
}

TEST(Neighbours, OfNothingAreNone) {
    GraphScope scope;
    Schedules schedules(product(), gfx1100);
    EXPECT_TRUE(neighbours(schedules, {}).empty());
}

}  // namespace
}  // namespace strata::codegen
