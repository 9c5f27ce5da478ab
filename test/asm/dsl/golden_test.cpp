#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include "../isa/families.h"
#include "strata/asm/dsl/assembler.h"
#include "strata/asm/llvm/assemble.h"

namespace strata::isa {
namespace {

struct Golden {
    std::vector<uint32_t> words;
    std::string text;
};

std::vector<Golden> read_golden() {
    std::ifstream file(STRATA_SOURCE_DIR "/test/asm/dsl/rdna3_golden.txt");
    std::vector<Golden> lines;
    for (std::string line; std::getline(file, line);) {
        const size_t middle = line.find(" ; ");
        if (line.starts_with("//") || middle == std::string::npos) continue;
        Golden golden;
        golden.text = line.substr(middle + 3);
        for (const char* at = line.c_str(); at < line.c_str() + middle;) {
            char* end = nullptr;
            golden.words.push_back(static_cast<uint32_t>(std::strtoul(at, &end, 16)));
            at = end;
        }
        lines.push_back(std::move(golden));
    }
    return lines;
}

TEST(rdna3_golden, IsWhatTheOwnAssemblerWrites) {
    const std::vector<Golden> lines = read_golden();
    ASSERT_GT(lines.size(), 900u);
    for (const Golden& golden : lines) {
        Assembler assembler(Arch::gfx1100);
        assembler.emit_line(golden.text);
        Result<std::vector<uint32_t>> words = assembler.words();
        EXPECT_TRUE(words) << golden.text << "\n" << words.error().message;
        if (words) {
            EXPECT_EQ(*words, golden.words) << golden.text;
        }
    }
}

TEST(rdna3_golden, IsWhatLlvmWrites) {
    std::string text;
    std::vector<uint32_t> expected;
    for (const Golden& golden : read_golden()) {
        text += golden.text + "\n";
        expected.insert(expected.end(), golden.words.begin(), golden.words.end());
    }
    Result<std::vector<uint32_t>> words = assemble_instructions(text, Arch::gfx1100);
    ASSERT_TRUE(words) << words.error().message;
    EXPECT_EQ(*words, expected);
}

class FamilyGolden : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Families, FamilyGolden, tested_archs(), arch_name);

/// The lines of test/asm/isa: bytes in memory order, in LLVM's text.
TEST_P(FamilyGolden, LinesBecomeTheBytesOfLlvm) {
    static constexpr std::array names{"rdna3", "rdna4", "cdna3", "cdna2"};
    const std::string family = names[static_cast<size_t>(info(GetParam()).family)];
    std::ifstream file(STRATA_SOURCE_DIR "/test/asm/isa/" + family + "_golden.txt");
    size_t lines = 0;
    for (std::string line; std::getline(file, line); ++lines) {
        const size_t middle = line.find(" ; ");
        ASSERT_NE(middle, line.npos) << line;
        Assembler assembler(GetParam());
        assembler.emit_line(line.substr(middle + 3));
        Result<std::vector<uint32_t>> words = assembler.words();
        EXPECT_TRUE(words) << line << "\n" << (words ? "" : words.error().message);
        if (!words) continue;
        std::string bytes;
        for (uint32_t word : *words) bytes += fmt::format("{:08x}", __builtin_bswap32(word));
        EXPECT_EQ(bytes, line.substr(0, middle)) << line;
    }
    EXPECT_GT(lines, 1400u);
}

}  // namespace
}  // namespace strata::isa
