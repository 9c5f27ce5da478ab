// What clang makes of every program of this folder, at two optimisation levels for every machine, is free of findings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "device_run.h"
#include "strata/asm/lint/lint.h"

namespace programs {
namespace {

using namespace strata;

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& file : std::filesystem::directory_iterator(STRATA_SOURCE_DIR "/test/programs"))
        if (const std::string name = file.path().stem(); file.path().extension() == ".cpp" && !name.ends_with("_test"))
            all.push_back(name);
    std::ranges::sort(all);
    return all;
}

class Lint : public ::testing::TestWithParam<Machine> {};

TEST_P(Lint, FindsNothingInWhatClangMakes) {
    size_t kernels = 0;
    for (const std::string& name : names())
        for (const char* level : {"-O0", "-O2"}) {
            const auto code = compile(name, GetParam(), level);
            ASSERT_TRUE(code) << name << ": " << code.error().message;
            const isa::CodeObject object = isa::CodeObject::parse(*code).value();
            for (const isa::KernelInfo& kernel : object.kernels) {
                ++kernels;
                const auto found = lint::lint(object, kernel.name);
                ASSERT_TRUE(found) << found.error().message;
                for (const lint::Finding& finding : *found)
                    ADD_FAILURE() << name << " " << level << " "
                                  << lint::to_text(finding, object, *std::ranges::find_if(object.segments, [](auto& s) {
                                                       return s.executable;
                                                   }));
            }
        }
    EXPECT_GT(kernels, 150u);
}

INSTANTIATE_TEST_SUITE_P(Programs, Lint, ::testing::ValuesIn(machines().begin(), machines().end()),
                         [](const auto& machine) { return std::string(machine.param.name); });

}  // namespace
}  // namespace programs
