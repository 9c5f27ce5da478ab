#include <gtest/gtest.h>

#include "strata/asm/isa/inst.h"

using namespace strata;
using namespace strata::isa;

namespace {

constexpr Arch arch = Arch::gfx1100;

Operand v(int number, Type type = Type::f32) { return {static_cast<uint16_t>(code::vgpr0 + number), type}; }
Operand s(int number, Type type = Type::f32) { return {static_cast<uint16_t>(number), type}; }
Operand literal(Type type = Type::f32) { return {code::literal, type}; }

Inst inst(std::string_view mnemonic, Operand dst, Operand a, Operand b = {}, Operand c = {}) {
    Inst made;
    made.row = find_row(Family::rdna3, mnemonic);
    made.encoding = made.row->format;
    made.dst[0] = dst;
    made.src = {a, b, c, Operand{}};
    return made;
}

std::string message(const Inst& made) {
    auto encoded = encode(arch, made);
    return encoded ? "" : encoded.error().message;
}

std::string decode_message(std::initializer_list<uint32_t> words) {
    auto decoded = decode(arch, std::span(words.begin(), words.size()));
    return decoded ? "" : decoded.error().message;
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace

TEST(Failure, DecodeNamesTheWordsAndTheReason) {
    EXPECT_SAYS(decode_message({0xbf8e0000}), "bf8e0000 is no gfx1100 instruction: unknown opcode");
    EXPECT_SAYS(decode_message({0xc0000000}), "unknown encoding");
    EXPECT_SAYS(decode_message({0xd6130000}), "longer than the words given");
    EXPECT_SAYS(decode_message({0x7e0002ff}), "the literal is missing");
    EXPECT_SAYS(decode_message({0x7e0002fa}), "the DPP word is missing");
    EXPECT_SAYS(decode_message({0x7e0002fa, 0xff014201}), "DPP control");
    EXPECT_SAYS(decode_message({0x7e0002e0}), "operand code is not allowed here");
    EXPECT_SAYS(decode_message({0x7e0007ff}), "past v255");
    EXPECT_SAYS(decode_message({0xd5250000, 0x20020501}), "must be zero");  // v_add_nc_u32 with a sign
    EXPECT_SAYS(decode_message({0xf0000000, 0}), "the instruction has no component (dmask:0)");
    EXPECT_SAYS(decode_message({}), "no words");
    auto other = decode(Arch::gfx942, std::array<uint32_t, 2>{0x7e0002f9, 0x00070607});
    ASSERT_FALSE(other);
    EXPECT_SAYS(other.error().message, "7e0002f9 00070607 is no gfx942 instruction: no such SDWA selection");
}

TEST(Failure, EncodeNamesTheOperand) {
    EXPECT_SAYS(message(inst("v_readfirstlane_b32", v(0), v(1))), "dst must be an SGPR");
    EXPECT_SAYS(message(inst("v_fmaak_f32", v(0), v(1), s(2), literal())), "src1 must be a VGPR");
    EXPECT_SAYS(message(inst("v_fma_f32", v(0), v(1), v(2))), "src2 is missing");
    EXPECT_SAYS(message(inst("v_mov_b32", v(0), v(1), v(2))), "src1 is not an operand");
    EXPECT_SAYS(message(inst("v_fma_f64", v(255, Type::f64), v(0), v(2), v(4))), "registers past v255");
    EXPECT_SAYS(message(inst("s_mov_b64", s(3, Type::b64), s(4, Type::b64))), "dst must start at a multiple of 2");
    EXPECT_SAYS(message(inst("v_mov_b32", v(0), s(220))), "names nothing");
    EXPECT_SAYS(message(Inst{}), "no instruction row");
}

TEST(Failure, EncodeEnforcesTheConstantBusLimit) {
    EXPECT_EQ(message(inst("v_fma_f32", v(0), s(1), s(2), s(1))), "");
    EXPECT_SAYS(message(inst("v_fma_f32", v(0), s(1), s(2), s(3))), "constant bus limit");
    EXPECT_SAYS(message(inst("v_fma_f32", v(0), s(1), s(2), literal())), "constant bus limit");
    EXPECT_SAYS(message(inst("v_lshlrev_b64", v(0, Type::b64), s(1, Type::u32), s(2, Type::b64))), "1 at most");
}

TEST(Failure, EncodeNamesTheModifier) {
    Inst made = inst("v_add_nc_u32", v(0), v(1), v(2));
    made.neg = 1;
    EXPECT_SAYS(message(made), "take no neg");
    made = inst("s_add_u32", s(0), s(1), s(2));
    made.clamp = true;
    EXPECT_SAYS(message(made), "takes no clamp");
    made = inst("v_readlane_b32", s(0), v(1), s(2));
    made.dpp.kind = DppKind::dpp16;
    EXPECT_SAYS(message(made), "takes no DPP");
    made = inst("v_add_f32", v(0), s(1), v(2));
    made.dpp.kind = DppKind::dpp8;
    EXPECT_SAYS(message(made), "src0 must be a VGPR with DPP");
    made = inst("global_load_b32", v(0), v(2, Type::b64));
    made.offset = 4096;
    EXPECT_SAYS(message(made), "offset 4096 is not within -4096 to 4095");
    made = inst("global_atomic_add_u32", {}, v(2, Type::b64), v(4));
    made.glc = true;
    EXPECT_SAYS(message(made), "exactly when glc is set");
}

/// Two moves may read one bank as well.
TEST(Failure, DualHalvesReadOneRegisterAsTheSameSourceOnRdna4Only) {
    for (Arch which : {Arch::gfx1100, Arch::gfx1201}) {
        const Family family = info(which).family;
        for (const Row& x : rows(family))
            for (const Row& y : rows(family)) {
                if (x.format != Format::VOPD || y.format != Format::VOPD || x.opcode > 15) continue;
                if ((x.flags ^ y.flags) & kLiteralSecond) continue;  // an addend beside a destination: other banks
                const bool moves = x.mnemonic == y.mnemonic && x.mnemonic == "v_dual_mov_b32";
                for (const int other : {0, 4}) {
                    Inst pair;
                    pair.row = &x;
                    pair.row_y = &y;
                    pair.encoding = Format::VOPD;
                    pair.dst[0] = v(1);
                    pair.dst_y = v(2);
                    pair.src[0] = v(4);
                    pair.src_y[0] = v(4 + other);
                    if (x.src_kind[1]) pair.src[1] = v(6);
                    if (y.src_kind[1]) pair.src_y[1] = v(6 + other);
                    const auto encoded = encode(which, pair);
                    EXPECT_EQ(bool(encoded), family == Family::rdna4 && (!other || moves)) << x.mnemonic << y.mnemonic;
                    if (!encoded) EXPECT_SAYS(encoded.error().message, "src0 of both halves is in VGPR bank 0");
                }
            }
    }
}

TEST(Failure, EncodeEnforcesTheVopdRules) {
    Inst made = inst("v_dual_mul_f32", v(0), v(1), v(2));
    made.row_y = find_row(Family::rdna3, "v_dual_add_f32");
    made.dst_y = v(3);
    made.src_y = {v(4), v(5)};
    EXPECT_EQ(message(made), "");
    made.dst_y = v(4);
    EXPECT_SAYS(message(made), "one half must write an even VGPR");
    made.dst_y = v(3);
    made.src_y[0] = v(5);
    EXPECT_SAYS(message(made), "src0 of both halves is in VGPR bank 1");
    made.src_y = {v(4), v(6)};
    EXPECT_SAYS(message(made), "src1 of both halves is in VGPR bank 2");
    made.row_y = find_row(Family::rdna3, "v_dual_fmamk_f32");  // its addend is a third source, of two banks
    EXPECT_EQ(message(made), "");
    made.row = find_row(Family::rdna3, "v_dual_fmac_f32");
    EXPECT_SAYS(message(made), "third sources");
    made.row = find_row(Family::rdna3, "v_dual_mul_f32");
    made.row_y = find_row(Family::rdna3, "v_dual_add_f32");
    made.src_y = {v(4), s(7)};
    EXPECT_SAYS(message(made), "src1 of the Y half must be a VGPR");
    made.row = find_row(Family::rdna3, "v_dual_and_b32");
    made.src_y[1] = v(5);
    EXPECT_SAYS(message(made), "exists in the Y half only");
}

TEST(Encode, TakesTheSmallestEncodingOfANativeForm) {
    auto bytes = [](const Inst& made) { return encode(arch, made).value().count * 4; };
    Inst small = inst("v_add_f32", v(0), s(1), v(2));
    EXPECT_EQ(bytes(small), 4);
    EXPECT_EQ(bytes(inst("v_add_f32", v(0), v(1), s(2))), 8);
    small.clamp = true;
    EXPECT_EQ(bytes(small), 8);
    small.clamp = false;
    small.encoding = Format::VOP3;
    EXPECT_EQ(bytes(small), 8);
    Inst compare = inst("v_cmp_lt_f32", s(4, Type::lanes), v(0), v(1));
    EXPECT_EQ(bytes(compare), 8);
    compare.dst[0] = {code::vcc_lo, Type::lanes};
    EXPECT_EQ(bytes(compare), 4);
    Inst select = inst("v_cndmask_b32", v(0), v(1), v(2), s(6, Type::lanes));
    EXPECT_EQ(bytes(select), 8);
    select.src[2] = {code::vcc_lo, Type::lanes};
    EXPECT_EQ(bytes(select), 4);
}
