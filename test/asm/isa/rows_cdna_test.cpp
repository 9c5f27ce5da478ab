#include <gtest/gtest.h>

#include "strata/asm/isa/inst.h"
#include "strata/asm/isa/print.h"

using namespace strata;
using namespace strata::isa;

namespace {

struct Golden {
    std::array<uint32_t, 2> words;
    std::string_view text;
};

}  // namespace

// Bytes and text of llvm-mc-19.
TEST(CdnaGolden, TextAndBytesAreThoseOfTheAssembler) {
    const Golden lines[] = {
        {{0xc0000200, 0x00000010}, "s_load_dword s8, s[0:1], s16"},
        {{0xc0024200, 0x20000010}, "s_load_dword s8, s[0:1], s16 offset:0x10"},
        {{0xd3d84010, 0x18000102}, "v_accvgpr_read_b32 v16, a2"},
        {{0xd3d94010, 0x18000102}, "v_accvgpr_write_b32 a16, v2"},
        {{0xd3b24002, 0x18020d04}, "v_pk_add_f32 v[2:3], v[4:5], v[6:7]"},
        {{0x020806f9, 0x06051002},
         "v_add_f32_sdwa v4, v2, v3 dst_sel:BYTE_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD"},
        {{0xd3cc8000, 0x14420902}, "v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], a[4:5], a[16:31]"},
    };
    for (const Golden& line : lines) {
        auto inst = decode(Arch::gfx942, line.words);
        ASSERT_TRUE(inst) << line.text << ": " << inst.error().message;
        EXPECT_EQ(print(*inst, Arch::gfx942), line.text);
        auto encoded = encode(Arch::gfx942, *inst);
        ASSERT_TRUE(encoded) << line.text << ": " << encoded.error().message;
        EXPECT_EQ(encoded->count, 2);
        EXPECT_EQ(encoded->words[0], line.words[0]) << line.text;
        EXPECT_EQ(encoded->words[1], line.words[1]) << line.text;
    }
}

TEST(CdnaFailure, EncodeNamesTheOperand) {
    auto message = [](Inst inst) {
        auto encoded = encode(Arch::gfx942, inst);
        return encoded ? std::string("encoded") : encoded.error().message;
    };
    auto v = [](int number, Type type) { return Operand{static_cast<uint16_t>(code::vgpr0 + number), type}; };
    Inst add{.row = find_row(Family::cdna3, "v_add_f64"), .encoding = Format::VOP3};
    add.dst[0] = v(1, Type::f64);
    add.src = {v(2, Type::f64), v(4, Type::f64)};
    EXPECT_EQ(message(add), "v_add_f64: dst must start at an even register");
    add.dst[0] = v(2, Type::f64);
    EXPECT_EQ(message(add), "encoded");
    add.src[0] = {4, Type::f64};
    add.src[1] = {8, Type::f64};
    EXPECT_EQ(message(add), "v_add_f64: reads 2 scalar registers and literals; 1 at most (constant bus limit)");
    add.src[1] = {code::agpr0, Type::f64};
    EXPECT_EQ(message(add), "v_add_f64: src1 must be a register or an inline constant");
}
