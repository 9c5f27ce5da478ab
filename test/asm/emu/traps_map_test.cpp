#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace strata::emu {
namespace {

struct Trap {
    int number;
    const char* what;
    const char* tests;
};
constexpr Trap kTraps[] = {
#define TRAP(number, what, tests) {number, what, tests},
#include "traps.def"
#undef TRAP
};

/// "Suite.Test" of every TEST, TEST_F and TEST_P below a folder.
std::set<std::string> tests_below(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (!entry.path().string().ends_with("_test.cpp")) continue;
        std::ifstream file(entry.path());
        const std::string text(std::istreambuf_iterator<char>(file), {});
        for (size_t at = 0; (at = text.find("\nTEST", at)) != std::string::npos; ++at) {
            const size_t open = text.find('(', at), comma = text.find(',', open), close = text.find(')', comma);
            if (close == std::string::npos) break;
            std::string name =
                text.substr(open + 1, comma - open - 1) + "." + text.substr(comma + 1, close - comma - 1);
            std::erase_if(name, [](char c) { return c == ' ' || c == '\n'; });
            names.insert(name);
        }
    }
    return names;
}

}  // namespace

TEST(TrapsMap, NamesTestsThatExistForEveryTrap) {
    constexpr int kCount = 28;
    const std::set<std::string> known = tests_below(STRATA_SOURCE_DIR "/test/asm");
    EXPECT_GT(known.size(), 300u);
    EXPECT_FALSE(known.contains("TrapsMap.NoSuchTest"));
    std::set<int> numbers;
    for (const Trap& trap : kTraps) {
        std::istringstream names(trap.tests);
        size_t count = 0;
        for (std::string name; names >> name; ++count)
            EXPECT_TRUE(known.contains(name)) << trap.number << ", " << trap.what << ": there is no " << name;
        EXPECT_GT(count, 0u) << trap.what;
        numbers.insert(trap.number);
    }
    EXPECT_EQ(numbers.size(), size_t{kCount});
    EXPECT_EQ(*numbers.begin(), 1);
    EXPECT_EQ(*numbers.rbegin(), kCount);
}

}  // namespace strata::emu
