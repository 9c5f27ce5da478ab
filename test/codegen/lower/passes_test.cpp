#include <gtest/gtest.h>

#include "function.h"

// Each pass on small code, for each family where they differ.
namespace strata::codegen {
namespace {

using isa::Arch;

struct Case {
    std::string_view name;
    Arch arch;
    Result<void> (*pass)(MachineFunction&);
    std::string_view before, after;
};
void PrintTo(const Case& one, std::ostream* to) { *to << one.before; }
const Case kCases[] = {
#include "passes_cases.inc"
};

class PassTest : public testing::TestWithParam<Case> {};

TEST_P(PassTest, Changes) {
    const Case& one = GetParam();
    Function function(one.arch, one.before);
    ASSERT_TRUE(one.pass(function.code));
    auto valid = verify(function.code, Check::placed);
    EXPECT_TRUE(valid) << valid.error().message;
    std::string wanted;
    for (const std::string& line : split(one.after)) wanted += line + "\n";
    EXPECT_EQ(function.text(), wanted) << to_string(function.code);
}

INSTANTIATE_TEST_SUITE_P(, PassTest, testing::ValuesIn(kCases), [](const auto& one) {
    return std::string(isa::info(one.param.arch).name) + std::string(one.param.name);
});

}  // namespace
}  // namespace strata::codegen
