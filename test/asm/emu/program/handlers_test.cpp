#include <gtest/gtest.h>

#include <string>

#include "strata/asm/emu/program/handlers.h"
#include "strata/asm/llvm/assemble.h"

// The fields of an instruction's op.
namespace strata::emu {
namespace {

constexpr isa::Arch kArch = isa::Arch::gfx1100;
constexpr int kLanes = 32;

Place vector(int vgpr) { return Wave::vector_place(vgpr, kLanes); }
Place scalar(int code) { return Wave::scalar_place(code); }

/// The op of one line of assembly; none: a failure, or the emulator does not implement it.
std::optional<Op> op_of(const std::string& line) {
    const auto words = isa::assemble_instructions(line, kArch, kLanes);
    if (!words) return {};
    const auto inst = isa::decode(kArch, *words, kLanes);
    return inst ? make_op({*inst, kArch, kLanes, 0x1234, 3}) : std::nullopt;
}

TEST(Ops, OfVectorArithmeticHoldSourcesConstantsAndModifiers) {
    const std::optional<Op> op = op_of("v_fma_f32 v1, -v2, 0.5, |s3| clamp");
    ASSERT_TRUE(op);
    const VectorFields& fields = op->vector();
    EXPECT_EQ(fields.dst, vector(1));
    EXPECT_EQ(fields.src[0], vector(2));
    EXPECT_EQ(fields.value[1], 0x3f000000u);
    EXPECT_EQ(fields.src[2], scalar(3));
    EXPECT_EQ(fields.uniform, 0b110);
    EXPECT_EQ(fields.constant, 0b010);
    EXPECT_EQ(fields.neg, 0b001);
    EXPECT_EQ(fields.abs, 0b100);
    EXPECT_EQ(fields.clamp, 1);
}

TEST(Ops, OfPairsHoldTheOperandsOfBoth) {
    const std::optional<Op> op = op_of("v_dual_mul_f32 v0, s2, v5 :: v_dual_add_f32 v3, 1.0, v6");
    ASSERT_TRUE(op);
    const DualFields& fields = op->dual();
    EXPECT_EQ(fields.dst[0], vector(0));
    EXPECT_EQ(fields.dst[1], vector(3));
    EXPECT_EQ(fields.first[0], scalar(2));
    EXPECT_EQ(fields.value[1], 0x3f800000u);
    EXPECT_EQ(fields.second[0], vector(5));
    EXPECT_EQ(fields.second[1], vector(6));
    EXPECT_EQ(fields.uniform, 0b11);
    EXPECT_EQ(fields.constant, 0b10);
}

TEST(Ops, OfGlobalMemoryHoldAddressDataAndSlot) {
    const std::optional<Op> op = op_of("global_store_b64 v1, v[2:3], s[4:5] offset:16");
    ASSERT_TRUE(op);
    const MemoryFields& fields = op->memory();
    EXPECT_EQ(fields.space, Space::global_saddr);
    EXPECT_EQ(fields.address, vector(1));
    EXPECT_EQ(fields.data, vector(2));
    EXPECT_EQ(fields.base, scalar(4));
    EXPECT_EQ(fields.offset, 16u);
    EXPECT_EQ(fields.bytes, 8);
    EXPECT_EQ(fields.hit, 3);
    EXPECT_TRUE(fields.is(kIsStore));
}

TEST(Ops, OfLocalMemoryHoldBothAddresses) {
    const std::optional<Op> op = op_of("ds_store_2addr_b32 v1, v2, v3 offset0:1 offset1:5");
    ASSERT_TRUE(op);
    const MemoryFields& fields = op->memory();
    EXPECT_EQ(fields.space, Space::local);
    EXPECT_EQ(fields.offset, 4u);
    EXPECT_EQ(fields.local().offset2, 20u);
    EXPECT_EQ(fields.data, vector(2));
    EXPECT_EQ(fields.local().data2, vector(3));
    EXPECT_TRUE(fields.is(kTwoAddresses));
}

TEST(Ops, OfBuffersHoldTheModesOfTheInstruction) {
    const std::optional<Op> op = op_of("buffer_load_format_xy v[2:3], v1, s[4:7], 8 idxen offset:4");
    ASSERT_TRUE(op);
    const BufferFields& fields = op->memory().buffer();
    EXPECT_EQ(fields.modes, kIdxen | kConstantSoffset | kFormatted);
    EXPECT_EQ(fields.soffset, 8u);
    EXPECT_EQ(fields.components, 2);
    EXPECT_EQ(fields.hold, Hold::dword);
}

TEST(Ops, OfScalarsHoldWideConstantsAndWhatComesAfter) {
    const std::optional<Op> op = op_of("s_and_b64 s[2:3], -1, s[4:5]");
    ASSERT_TRUE(op);
    const ScalarFields& fields = op->scalar();
    EXPECT_EQ(fields.dst, scalar(2));
    EXPECT_EQ(fields.constant, 0b01);
    EXPECT_EQ(fields.value[fields.src[0]], ~0u);
    EXPECT_EQ(fields.value[fields.src[0] + 1], ~0u);
    EXPECT_EQ(fields.src[1], scalar(4));
    EXPECT_EQ(fields.after, 0x1234u);
}

TEST(Ops, OfScalarMemoryHoldBaseAndOffsets) {
    const std::optional<Op> op = op_of("s_load_b64 s[2:3], s[4:5], s6 offset:8");
    ASSERT_TRUE(op);
    const ScalarMemoryFields& fields = op->scalar_memory();
    EXPECT_EQ(fields.dst, scalar(2));
    EXPECT_EQ(fields.base, scalar(4));
    EXPECT_EQ(fields.soffset, scalar(6));
    EXPECT_FALSE(fields.constant_soffset);
    EXPECT_EQ(fields.offset, 8u);
    EXPECT_EQ(fields.hit, 3);
}

TEST(Ops, ThatTakeNoOperandsOfTheirOwnSayWhoUsesWhatTheyRelease) {
    const std::optional<Op> op = op_of("s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)");
    ASSERT_TRUE(op);
    EXPECT_EQ(op->release().user, ReleaseFields::kNobody);
}

TEST(OpsDeathTest, AreAskedForTheirOwnFieldsOnly) {
    const std::optional<Op> op = op_of("v_mov_b32 v1, v2");
    ASSERT_TRUE(op);
    EXPECT_EQ(op->layout, Layout::vector);
    EXPECT_DEBUG_DEATH((void)op->memory().address, "layout");
}

}  // namespace
}  // namespace strata::emu
