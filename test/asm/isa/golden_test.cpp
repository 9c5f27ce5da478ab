#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "families.h"
#include "llvm_oracle.h"
#include "strata/asm/isa/inst.h"
#include "strata/asm/isa/print.h"

using namespace strata;
using namespace strata::isa;

namespace {

struct Line {
    std::vector<uint32_t> words;
    std::string text;
};

/// The lines 'hex ; asm' of <family>_golden.txt; golden.py made the bytes with llvm-mc.
std::vector<Line> golden_lines(Arch arch) {
    static constexpr std::array names{"rdna3", "rdna4", "cdna3", "cdna2"};
    std::string family = names[static_cast<size_t>(info(arch).family)];
    std::ifstream file(STRATA_SOURCE_DIR "/test/asm/isa/" + family + "_golden.txt");
    std::vector<Line> lines;
    for (std::string text; std::getline(file, text);) {
        size_t split = text.find(" ; ");
        Line line{{}, text.substr(split + 3)};
        for (size_t at = 0; at < split; at += 8) {
            auto word = static_cast<uint32_t>(std::stoul(text.substr(at, 8), nullptr, 16));
            line.words.push_back(__builtin_bswap32(word));
        }
        lines.push_back(line);
    }
    return lines;
}

class Golden : public testing::TestWithParam<Arch> {
  protected:
    Arch arch() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Families, Golden, tested_archs(), arch_name);

}  // namespace

TEST_P(Golden, HasALineForNearlyEveryInstructionForm) { EXPECT_GT(golden_lines(arch()).size(), 1400u); }

TEST_P(Golden, DecodesToTheInstructionThatLlvmAssembled) {
    for (const Line& line : golden_lines(arch())) {
        auto inst = decode(arch(), line.words);
        ASSERT_TRUE(inst) << line.text << ": " << inst.error().message;
        EXPECT_EQ(inst->size, line.words.size() * 4) << line.text;
        EXPECT_EQ(print(*inst, arch()), line.text);
    }
}

TEST_P(Golden, EncodesToTheBytesThatLlvmAssembled) {
    for (const Line& line : golden_lines(arch())) {
        auto inst = decode(arch(), line.words);
        ASSERT_TRUE(inst) << line.text;
        auto encoded = encode(arch(), *inst);
        ASSERT_TRUE(encoded) << line.text << ": " << encoded.error().message;
        std::vector<uint32_t> words(encoded->words.begin(), encoded->words.begin() + encoded->count);
        EXPECT_EQ(words, line.words) << line.text;
    }
}

TEST_P(Golden, EveryTruncationIsRefused) {
    for (const Line& line : golden_lines(arch())) {
        std::span<const uint32_t> words(line.words);
        for (size_t size = 0; size < words.size(); ++size) {
            auto inst = decode(arch(), words.first(size));
            ASSERT_FALSE(inst) << line.text << " with " << size << " words";
            EXPECT_EQ(inst.error().kind, ErrorKind::Assembly);
        }
    }
}

/// Each chip of a family has LLVM's words of that family, except those of rows that it lacks.
TEST(GoldenOfChips, AreTheSameInstructionsToLlvmOnEveryChipOfTheFamily) {
    for (const ArchInfo& chip : archs()) {
        const Arch tested = with_all_rows(chip.family);
        if (chip.arch == tested) continue;
        const LlvmOracle llvm(tested), llvm_of_chip(chip.arch);
        if (!llvm.available()) GTEST_SKIP() << "LLVM 19 is not installed";
        for (const Line& line : golden_lines(chip.arch)) {
            Words words{};
            std::ranges::copy(line.words, words.begin());
            const LlvmOracle::Answer one = llvm.ask(words), other = llvm_of_chip.ask(words);
            const bool is_there = has_row(chip.arch, *decode(tested, line.words)->row);
            EXPECT_EQ(other.size, is_there ? one.size : 0) << chip.name << " " << line.text;
            if (is_there) {
                EXPECT_EQ(other.text, one.text) << chip.name;
            }
            EXPECT_EQ(bool(decode(chip.arch, line.words)), is_there) << chip.name << " " << line.text;
        }
    }
}

TEST(GoldenOfChips, AreRefusedByNameWhereAChipLacksThem) {
    const Inst inst = *decode(Arch::gfx1150, std::vector<uint32_t>{0xa0000201});
    EXPECT_EQ(print(inst, Arch::gfx1150), "s_add_f32 s0, s1, s2");
    EXPECT_EQ(encode(Arch::gfx1100, inst).error().message, "gfx1100 has no instruction 's_add_f32'");
    EXPECT_TRUE(encode(Arch::gfx1152, inst));
}
