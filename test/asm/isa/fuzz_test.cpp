#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "families.h"
#include "llvm_oracle.h"
#include "llvm_quirks.h"
#include "random_words.h"
#include "strata/asm/isa/image.h"
#include "strata/asm/isa/print.h"

using namespace strata;
using namespace strata::isa;

namespace {

constexpr size_t kWords = 1'000'000;

class Fuzz : public testing::TestWithParam<Arch> {
  protected:
    Arch arch() const { return GetParam(); }
    RandomWords words(uint32_t seed) const { return {info(arch()).family, seed}; }
};

/// LLVM's text of an image instruction, without what the instruction does not use: registers of addresses after the
/// only one. With such it knows no form, and names the first register of the data alone: the others are `ours`.
std::string image_text(const Inst& inst, std::string text, std::string_view ours) {
    replace_all(text, "  ", " ");
    if (ImageForm::unpack(inst.offset).addresses != 1) return text;
    const std::string one = std::regex_replace(text, std::regex(R"(\[(v\d+), [^\]]*\])"), "$1");
    if (one == text) return text;
    std::smatch data;
    const std::string all(ours.substr(0, ours.find(',')));
    if (!std::regex_match(all, data, std::regex(R"((\w+ v)\[(\d+):\d+\])"))) return one;
    const std::string first = data.str(1) + data.str(2);
    return one.starts_with(first + ",") ? all + one.substr(first.size()) : one;
}

/// Without the halves of VOP3 forms that LLVM 19 does not print.
Inst as_llvm_knows(Inst inst) {
    if (inst.encoding == Format::VOP3) inst.op_sel &= inst.row->modifiers >> 6 & 15;
    return inst;
}

std::string show(const Words& words) { return fmt::format("{:08x} {:08x} {:08x}", words[0], words[1], words[2]); }

INSTANTIATE_TEST_SUITE_P(Families, Fuzz, tested_archs(), arch_name);

}  // namespace

TEST_P(Fuzz, ValidityLengthAndTextAgreeWithLlvmOnAMillionWords) {
    LlvmOracle llvm(arch());
    if (!llvm.available()) GTEST_SKIP() << "libLLVM 19 is not installed";
    RandomWords candidates = words(20);
    size_t valid = 0, graphics = 0, images = 0, upper_halves = 0, reported = 0;
    for (size_t i = 0; i < kWords && reported < 20; ++i) {
        Words candidate = candidates.next();
        auto inst = decode(arch(), candidate);
        LlvmOracle::Answer theirs = without_quirks(llvm.ask(candidate), arch());
        std::string ours = inst ? print(as_llvm_knows(*inst), arch()) : "";
        const bool halves = inst && inst->op_sel && has_half_registers(inst->encoding);
        upper_halves += halves;
        // A word is an instruction exactly if LLVM takes it with the unread bits that its assembler writes.
        const Words plain = inst ? without_unread(*inst, candidate, info(arch()).family) : candidate;
        if (inst && !theirs.size) theirs = without_quirks(llvm.ask(plain), arch());
        if (halves && !theirs.size) {
            const bool dpp = inst->dpp.kind != DppKind::none;
            theirs = without_quirks(llvm.ask(with_lower_halves(plain, inst->op_sel, dpp)), arch());
            replace_all(ours, ".h", "");
        }
        if (!has(theirs.text, ".l")) replace_all(ours, ".l", "");  // LLVM 19 leaves it out
        if (is_graphics(theirs.text)) {                            // of which Strata has a few
            EXPECT_TRUE(!inst || (inst->size == theirs.size && ours == image_text(*inst, theirs.text, ours)))
                << show(candidate) << ": " << theirs.text << " | " << ours;
            ++graphics;
            images += inst ? 1 : 0;
            continue;
        }
        valid += theirs.size > 0;
        int size = inst ? inst->size : 0;
        if (theirs.size == size && (!size || theirs.text == ours)) continue;
        if (!inst && names_no_register(theirs.text)) continue;
        ++reported;
        ADD_FAILURE() << show(candidate) << ": LLVM " << (theirs.size ? theirs.text : "invalid") << " | "
                      << (inst ? ours : inst.error().message);
    }
    RecordProperty("valid", static_cast<int>(valid));
    EXPECT_GT(valid, kWords / 4);
    EXPECT_LT(graphics, kWords / 4);
    EXPECT_EQ(images > 0, !is_cdna(info(arch()).family)) << images;
    EXPECT_EQ(upper_halves > 1000, !is_cdna(info(arch()).family)) << upper_halves;
}

TEST_P(Fuzz, MatrixProductsOfWave64AgreeWithLlvm) {
    if (!info(arch()).has_wave64 || is_cdna(info(arch()).family)) GTEST_SKIP() << "one wave size only";
    LlvmOracle llvm(arch(), 64);
    if (!llvm.available()) GTEST_SKIP() << "libLLVM 19 is not installed";
    RandomWords candidates = words(23);
    size_t valid = 0;
    for (size_t i = 0; i < kWords / 20; ++i) {
        Words candidate = candidates.next();
        candidate[0] = 0xcc400000 | (candidate[0] & 0x1fffff);  // VOP3P, opcodes 0x40 to 0x5f
        if (i % 4)
            candidate[1] |= 0x1c020100, candidate[0] = (candidate[0] & ~0xa000u) | 0x4000;  // registers, op_sel_hi
        const auto inst = decode(arch(), candidate, 64);
        const LlvmOracle::Answer theirs = without_quirks(llvm.ask(candidate), arch());
        if (!inst && names_no_register(theirs.text)) continue;
        valid += theirs.size > 0;
        EXPECT_EQ(inst ? print(*inst, arch()) : "", theirs.text) << show(candidate);
        EXPECT_EQ(inst ? inst->size : 0, theirs.size) << show(candidate);
        EXPECT_TRUE(!inst || inst->row->flags & kWave64) << show(candidate);
    }
    EXPECT_GT(valid, kWords / 400);
}

TEST_P(Fuzz, WhatDecodesEncodesToAnEqualInstruction) {
    RandomWords candidates = words(21);
    size_t decoded = 0, encoded = 0;
    for (size_t i = 0; i < kWords / 2; ++i) {
        auto inst = decode(arch(), candidates.next());
        if (!inst) continue;
        ++decoded;
        auto again = encode(arch(), *inst);
        if (!again) {  // the decoder leaves the operand rules of whole instructions to the encoder
            const std::string& why = again.error().message;
            bool rule = why.find("bus limit") != std::string::npos || why.find("bank") != std::string::npos ||
                        why.find("is not within 0 to") != std::string::npos ||
                        why.find("at an even register") != std::string::npos ||
                        why.find("is not a group of") != std::string::npos;
            EXPECT_TRUE(rule) << print(*inst, arch()) << ": " << why;
            continue;
        }
        ++encoded;
        auto back = decode(arch(), std::span(again->words).first(static_cast<size_t>(again->count)));
        ASSERT_TRUE(back) << print(*inst, arch());
        EXPECT_EQ(*back, *inst) << print(*inst, arch());
    }
    EXPECT_GT(decoded, kWords / 8);
    EXPECT_GT(encoded, decoded * (is_cdna(info(arch()).family) ? 6 : 9) / 10);
}
