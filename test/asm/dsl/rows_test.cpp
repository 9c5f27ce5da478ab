#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "../isa/families.h"
#include "../isa/maker.h"
#include "strata/asm/dsl/assembler.h"
#include "strata/asm/isa/print.h"

namespace strata::isa {
namespace {

class ParsedRows : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Families, ParsedRows, testing::Values(Arch::gfx1100, Arch::gfx1201), arch_name);

/// Forms that LLVM 19's text does not tell from others: halves of registers, the long form of v_nop and v_pipeflush.
bool has_no_text_form(const Row& row) {
    return row.flags & (kGraphics | kTrue16) || (row.format == Format::VOP3 && !row.src_kind[0] && !row.dst_kind[0]);
}

/// Sets what the text leaves out to what a reader of the text takes: upper halves of 16-bit literals, op_sel_hi of
/// absent or fixed sources, unused bits of immediates, one of the many spellings of a lane mask, whether a cascaded
/// buffer atomic returns.
void drop_what_text_leaves_out(Inst& inst) {
    const Row& row = *inst.row;
    bool half = is_half(row.dst[0]);
    for (Type type : row.src) half |= is_half(type);
    for (std::string_view part : {"16x16x", "v_fma_mix", "_bf16"}) half |= row.mnemonic.find(part) != row.mnemonic.npos;
    if (half) inst.literal = (inst.literal & 0x7eff) | 0x100;  // no inline constant
    inst.op_sel_hi |= row.ignored >> 10 & 7;
    const auto immediate = static_cast<uint16_t>(inst.offset);
    if (row.mnemonic == "s_waitcnt") inst.offset &= ~8;
    if (row.mnemonic.starts_with("s_sendmsg")) inst.offset &= 255;
    if (row.mnemonic == "s_delay_alu")
        inst.offset = immediate % 12 | (immediate >> 4) % 6 << 4 | (immediate >> 7) % 12 << 7;
    if (row.mnemonic == "ds_swizzle_b32") inst.offset = 0x8000 | (inst.offset & 255);
    const bool cascade = row.flags & kAtomic && inst.th & 4 && inst.scope >= 2;
    if (cascade && row.format == Format::MUBUF) inst.th = 0, inst.dst[0] = {};
}

}  // namespace

TEST_P(ParsedRows, EveryFormPrintsParsesAndEncodesToTheSameBytes) {
    const Arch arch = GetParam();
    const Family family = info(arch).family;
    Maker maker(family, 3);
    size_t compared = 0;
    for (const Row& row : rows(family)) {
        if (has_no_text_form(row)) continue;
        for (int round = 0; round < 8; ++round) {
            Inst inst = maker.make(row);
            drop_what_text_leaves_out(inst);
            auto encoded = encode(arch, inst);
            ASSERT_TRUE(encoded) << encoded.error().message;
            const std::vector<uint32_t> words(encoded->words.begin(), encoded->words.begin() + encoded->count);
            auto decoded = decode(arch, words);
            ASSERT_TRUE(decoded) << decoded.error().message;
            const std::string text = print(*decoded, arch);
            Assembler assembler(arch);
            assembler.emit_line(text);
            Result<std::vector<uint32_t>> again = assembler.words();
            EXPECT_TRUE(again) << text << "\n" << (again ? "" : again.error().message);
            if (again) {
                EXPECT_EQ(*again, words) << text;
            }
            ++compared;
        }
    }
    EXPECT_GT(compared, 8000u);
}

}  // namespace strata::isa
