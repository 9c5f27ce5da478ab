#include "strata/codegen/optimize/variations_p.h"

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

TEST(Variations, DifferInOneActionAndAreWhatTheirActionsMake) {
    GraphScope scope;
    const Kernel kernel = product();
    const std::vector<Action> given = parse_actions("upcast(1, 4) local(1, 8) stage(0, 4)").value();
    const std::vector<Scheduled> found = variations(kernel, given, gfx1100);
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

TEST(Variations, OfNothingAreNone) {
    GraphScope scope;
    EXPECT_TRUE(variations(product(), {}, gfx1100).empty());
}

}  // namespace
}  // namespace strata::codegen
