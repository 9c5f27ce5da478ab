#include "strata/providers/report.h"

#include <gtest/gtest.h>

namespace strata::providers {
namespace {

CheckFinding unstable(std::string kernel, std::string what) {
    return {{.kind = lint::Kind::unstable, .what = std::move(what), .fix = "a \"barrier\""}, std::move(kernel)};
}

TEST(Report, KeepsOneOfAKindAndCountsTheOthers) {
    Report report;
    report.add({unstable("k", "x differs"), unstable("k", "y differs")});
    report.add({unstable("k", "x differs"), unstable("other", "x differs")});
    const std::vector<CheckFinding> all = report.findings();
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].finding.count, 2u);
    EXPECT_EQ(all[1].finding.what, "y differs");
    EXPECT_EQ(all[2].kernel, "other");
}

TEST(Report, TellsOfALaunchWithoutAnInstruction) {
    const CheckFinding one = unstable("k", "x differs");
    EXPECT_EQ(one.code(), nullptr);
    EXPECT_EQ(one.text(), "kernel 'k': unstable: x differs\n  fix: a \"barrier\"");
    EXPECT_EQ(one.line(), "k: warning: x differs [unstable]");
    EXPECT_EQ(to_json({one}),
              "[{\"kind\": \"unstable\", \"kernel\": \"k\", \"what\": \"x differs\", \"fix\": \"a \\\"barrier\\\"\", "
              "\"count\": 1}]");
    EXPECT_EQ(to_json({}), "[]");
}

}  // namespace
}  // namespace strata::providers
