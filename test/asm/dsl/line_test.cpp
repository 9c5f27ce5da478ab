#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "strata/asm/dsl/assembler.h"
#include "strata/asm/llvm/assemble.h"

namespace strata::isa {
namespace {

/// Random words after the prefix of each format (RDNA3 ISA, "Microcode formats"), as LLVM's disassembler shows them.
std::vector<std::string> random_instructions(int count, uint32_t seed) {
    struct Format {
        uint32_t prefix, random_bits;
        int weight;
    };
    constexpr Format formats[] = {
        {0x00000000, 0x7fffffff, 4},                                                            // VOP2, VOP1, VOPC
        {0x7e000000, 0x01ffffff, 2}, {0x7c000000, 0x01ffffff, 2}, {0x80000000, 0x3fffffff, 2},  // and scalar ones
        {0xbe800000, 0x007fffff, 1}, {0xbf000000, 0x00ffffff, 1}, {0xb0000000, 0x0fffffff, 1},
        {0xc8000000, 0x03ffffff, 2}, {0xcc000000, 0x007fffff, 6}, {0xd4000000, 0x03ffffff, 12},  // VOPD, VOP3P, VOP3
        {0xd8000000, 0x03fdffff, 3}, {0xdc000000, 0x03ffffff, 3}, {0xe0000000, 0x03ffffff, 3},   // DS, FLAT, MUBUF
        {0xe8000000, 0x03ffffff, 1}, {0xf4000000, 0x03ffffff, 2},                                // MTBUF, SMEM
    };
    constexpr uint32_t kVectorSources = 0x04020100;  // the ninth bit of three sources: makes them vector registers
    std::mt19937 random(seed);
    std::vector<uint32_t> words;
    while (std::ssize(words) < 2 * count)
        for (const Format& format : formats)
            for (int i = 0; i < format.weight; ++i) {
                words.push_back(format.prefix | (random() & format.random_bits));
                const uint32_t second = random() & random();  // fewer set bits: more of the optional fields are empty
                words.push_back(random() % 4 ? second | kVectorSources : second);
            }
    const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
    std::vector<std::string> texts;
    std::vector<DisassembledLine> lines = disassemble_instructions({bytes, words.size() * 4}, Arch::gfx1100).value();
    for (DisassembledLine& line : lines)
        if (!line.text.starts_with(".") && line.text.find("/*") == std::string::npos)
            texts.push_back(std::move(line.text));
    return texts;
}

/// Assembles all lines with LLVM; lines it refuses (the disassembler shows some) become empty.
std::vector<uint32_t> assemble_with_llvm(std::vector<std::string>& lines) {
    for (int attempt = 0; attempt < 5; ++attempt) {
        std::string text;
        for (const std::string& line : lines) text += line + "\n";
        Result<std::vector<uint32_t>> words = assemble_instructions(text, Arch::gfx1100);
        if (words) return *words;
        const std::string& log = words.error().log;
        for (size_t at = 0; (at = log.find("<asm>:", at)) != std::string::npos; at += 6)
            if (const int line = std::atoi(log.c_str() + at + 6)) lines.at(static_cast<size_t>(line) - 1).clear();
    }
    ADD_FAILURE() << "LLVM does not accept the rest";
    return {};
}

/// Lines that the text reader leaves to LLVM.
bool is_left_out(const std::string& line) {
    for (const char* part : {"image_", "exp ", "lds_", "ds_bvh", "gs_reg", "sext(", "src_lds_direct", "src_pops", ".l",
                             ".h", "v_illegal", "fmaak_f16", "fmamk_f16", "s_movrels"})
        if (line.find(part) != std::string::npos) return true;
    return false;
}

TEST(emit_line, GivesTheBytesOfLlvmForAllThatLlvmAccepts) {
    std::vector<std::string> lines = random_instructions(40000, 5);
    const std::vector<uint32_t> expected = assemble_with_llvm(lines);
    size_t at = 0, compared = 0;
    for (const std::string& line : lines) {
        if (line.empty()) continue;
        Assembler assembler(Arch::gfx1100);
        assembler.emit_line(line);
        Result<std::vector<uint32_t>> ours = assembler.words();
        if (!ours) {
            ASSERT_TRUE(is_left_out(line)) << line << "\n" << ours.error().message;
            // Skip LLVM's words: their number is what the decoder says.
            Result<std::vector<uint32_t>> alone = assemble_instructions(line, Arch::gfx1100);
            ASSERT_TRUE(alone) << line;
            at += alone->size();
            continue;
        }
        ASSERT_LE(at + ours->size(), expected.size()) << line;
        const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(at);
        ASSERT_EQ(*ours, std::vector<uint32_t>(begin, begin + static_cast<std::ptrdiff_t>(ours->size()))) << line;
        at += ours->size();
        compared++;
    }
    EXPECT_EQ(at, expected.size());
    EXPECT_GT(compared, 30000u);
}

}  // namespace
}  // namespace strata::isa
