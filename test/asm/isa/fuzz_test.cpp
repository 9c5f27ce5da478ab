#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "strata/asm/isa/inst.h"
#include "strata/asm/isa/print.h"

using namespace strata;
using namespace strata::isa;

namespace {

using Words = std::array<uint32_t, 3>;

struct Answer {
    std::string text;
    int size = 0;
};

/// Words that look like instructions of every compute format: a fixed prefix and random or regular fields.
std::vector<Words> candidates(uint32_t seed, size_t count) {
    static constexpr uint32_t prefixes[] = {0x8000, 0xb000, 0xbe80, 0xbf00, 0xbf80, 0x7e00, 0x7c00, 0x0000,
                                            0xcc00, 0xc800, 0xd400, 0xd800, 0xdc00, 0xe000, 0xe800, 0xf400};
    static constexpr uint32_t codes[] = {0, 1, 2, 4, 8, 124, 128, 240, 250, 255, 256, 258, 260};
    std::mt19937 engine(seed);
    auto random = [&] { return static_cast<uint32_t>(engine()); };
    auto source = [&] { return random() % 3 ? codes[random() % std::size(codes)] : random() & 511; };
    std::vector<Words> all;
    for (size_t i = 0; i < count; ++i) {
        uint32_t first = i % 4 ? prefixes[random() % std::size(prefixes)] << 16 | (random() & 0x3ffffff) : random();
        uint32_t second = i % 2 ? source() | source() << 9 | source() << 18 : random();
        all.push_back({first, second, random() | 0x10000});
    }
    return all;
}

std::string block(std::span<const uint32_t> words) {
    std::string text = "[";
    for (uint32_t word : words)
        for (int shift = 0; shift < 32; shift += 8) text += fmt::format("0x{:02x} ", word >> shift & 255);
    text.back() = ']';
    return text + "\n";
}

/// What llvm-mc makes of each candidate: its block is followed by a marker branch, so leftovers are not attributed to
/// it.
std::vector<std::optional<Answer>> ask_llvm(const std::vector<Words>& words) {
    std::string path = testing::TempDir() + fmt::format("strata_isa_fuzz_{}", getpid());
    {
        std::ofstream input(path);
        for (size_t i = 0; i < words.size(); ++i) {
            uint32_t marker = 0xbfa00000 | (i & 0xffff);
            input << block(words[i]) << block({&marker, 1});
        }
    }
    std::string command =
        "llvm-mc-19 -triple=amdgcn-amd-amdhsa -mcpu=gfx1100 --disassemble --show-encoding " + path + " 2>/dev/null";
    FILE* pipe = popen(command.c_str(), "r");
    std::vector<std::optional<Answer>> answers;
    std::optional<Answer> current;
    char buffer[1024];
    while (pipe && std::fgets(buffer, sizeof buffer, pipe)) {
        std::string line(buffer);
        size_t note = line.find("; encoding: [");
        if (note == std::string::npos) continue;
        size_t end = line.find_last_not_of(" \t", note - 1);
        std::string text = line.substr(1, end);
        if (text == fmt::format("s_branch {}", answers.size() & 0xffff)) {
            answers.push_back(current);
            current.reset();
        } else if (!current) {
            size_t bytes = 1;
            for (size_t at = note; line[at] != ']' && line[at]; ++at) bytes += line[at] == ',';
            current = Answer{text, static_cast<int>(bytes)};
        }
    }
    if (pipe) pclose(pipe);
    unlink(path.c_str());
    return answers;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
    for (std::string_view prefix : prefixes)
        if (text.starts_with(prefix)) return true;
    return false;
}

/// What llvm-mc 19 prints though it is no instruction that Strata decodes: graphics, and operands that LLVM itself
/// marks with a comment, or lets through where a register is required and gfx11 has none (src_lds_direct, literal
/// soffset).
bool outside_scope(const Answer& answer) {
    std::string_view text = answer.text;
    bool flagged = text.find("/*") != std::string_view::npos && !text.starts_with("s_delay_alu");
    bool graphics =
        starts_with_any(text, {"image_", "exp ", "v_interp", "lds_", "ds_bvh", "ds_ordered", "ds_add_gs", "ds_sub_gs"});
    bool literal_offset = starts_with_any(text, {"buffer_", "tbuffer_"}) && answer.size == 12;
    return flagged || graphics || literal_offset || text.starts_with("v_illegal") ||
           text.find("src_") != std::string_view::npos;
}

/// Quirks of LLVM 19's operand tables: v_swaprel_b32 stops at v127, null passes where only a VGPR may stand, and v_nop
/// has a DPP form.
bool quirk(std::string_view theirs, std::string_view ours) {
    bool null = theirs.find("null") != std::string_view::npos && ours.empty();
    return null || theirs.starts_with("v_nop_dpp") || ours.starts_with("v_swaprel_b32");
}

/// --show-encoding re-encodes: float inline constants of 16-bit integers come back as literals, four bytes longer.
bool reencoded(const Inst& inst) {
    for (const Operand& operand : inst.src) {
        bool integer = operand.type == Type::i16 || operand.type == Type::u16 || operand.type == Type::b16;
        if (integer && operand.code >= code::inline_half && operand.code <= code::inline_inv_2pi) return true;
    }
    return false;
}

bool same_literal(const Inst& inst, const Answer& answer) { return answer.size + 4 == inst.size && inst.literal; }

}  // namespace

TEST(Fuzz, ValidityLengthAndTextAgreeWithLlvmOnRandomWords) {
    if (std::system("llvm-mc-19 --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "llvm-mc-19 is not installed";
    constexpr size_t count = 100000;
    std::vector<Words> words = candidates(20, count);
    auto answers = ask_llvm(words);
    ASSERT_EQ(answers.size(), count);
    size_t valid = 0, same_text = 0, reported = 0;
    for (size_t i = 0; i < count; ++i) {
        auto inst = decode(Arch::gfx1100, words[i]);
        std::string text = inst ? print(*inst, Arch::gfx1100) : "";
        bool theirs = answers[i].has_value();
        if (theirs && outside_scope(*answers[i]) && !(inst && text == answers[i]->text)) continue;
        if (quirk(theirs ? answers[i]->text : "", text)) continue;
        valid += theirs;
        same_text += theirs && text == answers[i]->text;
        bool agree = theirs == inst.has_value() && (!theirs || inst->size == answers[i]->size || reencoded(*inst) ||
                                                    same_literal(*inst, *answers[i]));
        if (agree || ++reported > 20) continue;
        ADD_FAILURE() << fmt::format("{:08x} {:08x} {:08x}: ", words[i][0], words[i][1], words[i][2])
                      << (theirs ? answers[i]->text : "invalid") << " | " << (inst ? text : inst.error().message);
    }
    RecordProperty("valid", static_cast<int>(valid));
    EXPECT_GT(valid, count / 4);
    EXPECT_GT(static_cast<double>(same_text) / static_cast<double>(valid), 0.999);
}

TEST(Fuzz, WhatDecodesEncodesToAnEqualInstruction) {
    size_t decoded = 0, encoded = 0;
    for (const Words& words : candidates(21, 200000)) {
        auto inst = decode(Arch::gfx1100, words);
        if (!inst) continue;
        ++decoded;
        auto again = encode(Arch::gfx1100, *inst);
        if (!again) {  // the decoder leaves the operand rules of whole instructions to the encoder
            const std::string& why = again.error().message;
            bool rule = why.find("bus limit") != std::string::npos || why.find("bank") != std::string::npos ||
                        why.find("is not within 0 to") != std::string::npos;
            EXPECT_TRUE(rule) << print(*inst, Arch::gfx1100) << ": " << why;
            continue;
        }
        ++encoded;
        auto back = decode(Arch::gfx1100, std::span(again->words).first(static_cast<size_t>(again->count)));
        ASSERT_TRUE(back) << print(*inst, Arch::gfx1100);
        EXPECT_EQ(*back, *inst) << print(*inst, Arch::gfx1100);
    }
    EXPECT_GT(decoded, 50000u);
    EXPECT_GT(encoded, decoded * 9 / 10);
}
