#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "families.h"
#include "llvm_quirks.h"
#include "maker.h"
#include "maker_cdna.h"
#include "strata/asm/isa/print.h"

using namespace strata;
using namespace strata::isa;

namespace {

class UnreadBits : public testing::TestWithParam<Arch> {
  protected:
    Arch arch() const { return GetParam(); }
    Family family() const { return info(arch()).family; }
};
INSTANTIATE_TEST_SUITE_P(Families, UnreadBits, tested_archs(), arch_name);

/// Calls check(inst, words) for random instances of every row that is decoded.
template <class AnyMaker, class Check>
void for_each_word(Arch arch, AnyMaker maker, const Check& check) {
    for (const Row& row : rows(info(arch).family)) {
        if (row.flags & kGraphics) continue;
        for (int round = 0; round < 8; ++round) {
            auto encoded = encode(arch, maker.make(row));
            ASSERT_TRUE(encoded) << encoded.error().message;
            auto inst = decode(arch, encoded->words, wave_size(arch, row));
            ASSERT_TRUE(inst) << row.mnemonic << ": " << inst.error().message;
            check(*inst, Words(encoded->words));
        }
    }
}

template <class Check>
void for_each_word(Arch arch, const Check& check) {
    const Family family = info(arch).family;
    if (is_cdna(family)) return for_each_word(arch, CdnaMaker(family, 31), check);
    for_each_word(arch, Maker(family, 31, true), check);
}

/// True if hardware does not read the lowest bits of the number.
bool names_scalar_group(const Inst& inst, const Rules& rules) {
    auto is_group = [&](const Operand& operand) { return operand.is_sgpr() && rules.span(operand.type) > 1; };
    return std::ranges::any_of(inst.src, is_group) || is_group(inst.dst[0]) || is_group(inst.dst[1]);
}

/// The words with other unread bits.
Words filled(const Inst& inst, Words words, Family family, std::mt19937& random) {
    const Unread unread = unread_bits(family, inst);
    const bool short_form = has_half_registers(inst.encoding);
    words[0] ^= static_cast<uint32_t>(unread.low) & random();
    if (unread.low >> 32) words[1] ^= static_cast<uint32_t>(unread.low >> 32) & random();
    words[2] ^= unread.third & random();
    words[short_form ? 1 : 2] ^= unread.extra & random();
    return words;
}

}  // namespace

TEST_P(UnreadBits, OfEveryRowMayHoldAnything) {
    std::mt19937 random(32);
    size_t changed = 0;
    std::map<Format, size_t> formats;
    for_each_word(arch(), [&](const Inst& inst, const Words& words) {
        for (int round = 0; round < 4; ++round) {
            const Words other = filled(inst, words, family(), random);
            changed += other != words;
            formats[inst.encoding] += other != words;
            auto again = decode(arch(), other, wave_size(arch(), *inst.row));
            ASSERT_TRUE(again) << print(inst, arch()) << ": " << again.error().message;
            EXPECT_EQ(*again, inst) << print(inst, arch());
        }
    });
    EXPECT_GT(changed, 10000u);
    for (Format format : {Format::SOPP, Format::VOP1, Format::VOP3, Format::VOP3P, Format::VOP3SD, Format::SMEM,
                          Format::DS, Format::FLAT, Format::GLOBAL})
        EXPECT_GT(formats[format], 0u) << name(format);
}

TEST_P(UnreadBits, AreWrittenAsLlvm19Does) {
    for_each_word(arch(), [&](const Inst& inst, const Words& words) {
        EXPECT_EQ(without_unread(inst, words, family()), words) << print(inst, arch());
    });
}

/// A bit that a vector instruction reads, or that is reserved, makes another instruction or none.
TEST_P(UnreadBits, AreAllThatAVectorInstructionDoesNotRead) {
    for_each_word(arch(), [&](const Inst& inst, const Words& words) {
        const bool plain = inst.encoding >= Format::VOP1 && inst.encoding <= Format::VOP3P &&
                           inst.dpp.kind == DppKind::none && !inst.sdwa.present;
        if (!plain) return;
        const uint64_t unread = unread_bits(family(), inst).low;
        const int bits = table(family()).layout(inst.encoding).words * 32;
        for (int bit = 0; bit < bits; ++bit) {
            Words other = words;
            other[bit / 32] ^= 1u << bit % 32;
            auto again = decode(arch(), other, wave_size(arch(), *inst.row));
            if (again && *again == inst) {
                EXPECT_TRUE(unread >> bit & 1 || names_scalar_group(inst, table(family()).rules))
                    << print(inst, arch()) << " " << bit;
            } else {
                EXPECT_FALSE(unread >> bit & 1) << print(inst, arch()) << " " << bit;
            }
        }
    });
}

// Words of LLVM of 2026 (the compiler in triton 3.9), which names inline constant 0 in absent sources.
TEST(UnreadWords, OfLlvmOf2026AreThoseOfLlvm19) {
    struct Line {
        Words words;
        std::string_view text;
        Arch arch = Arch::gfx1100;
    };
    const Line lines[] = {
        {{0xd73c0000, 0x02020482}, "v_lshlrev_b64 v[0:1], 2, v[2:3]"},
        {{0xd4440000, 0x02020406}, "v_cmp_gt_i32_e64 s0, s6, v2"},
        {{0xd7000421, 0x02027e0a}, "v_add_co_u32 v33, s4, s10, v63"},
        {{0xd76100bd, 0x02010005}, "v_writelane_b32 v189, s5, 0"},
        {{0xd72c0001, 0x02002505}, "v_mul_lo_u32 v1, v5, s18"},
        {{0xd58b0005, 0x02010101}, "v_cvt_f32_f16_e64 v5, v1"},
        {{0xcc0f4001, 0x1a020702}, "v_pk_add_f16 v1, v2, v3"},
        {{0xd5800000, 0x02010080}, "v_nop"},
        {{0xd7000201, 0x02020903}, "v_add_co_u32 v1, s2, v3, v4", Arch::gfx1201},
    };
    for (const Line& line : lines) {
        auto inst = decode(line.arch, line.words);
        ASSERT_TRUE(inst) << line.text << ": " << inst.error().message;
        EXPECT_EQ(print(*inst, line.arch), line.text);
        auto encoded = encode(line.arch, *inst);
        ASSERT_TRUE(encoded);
        const Words expected = without_unread(*inst, line.words, info(line.arch).family);
        EXPECT_EQ(encoded->words[0], expected[0]) << line.text;
        EXPECT_EQ(encoded->words[1], expected[1]) << line.text;
    }
}
