#include <gtest/gtest.h>

#include "strata/asm/object/code_object.h"

namespace strata::isa {
namespace {

TEST(kernel_descriptor, EncodesEachFieldAtItsDocumentedByte) {
    KernelDescriptor d;
    d.group_segment_fixed_size = 0x01020304;
    d.private_segment_fixed_size = 0x11121314;
    d.kernarg_size = 0x21222324;
    d.code_entry_offset = -0x100;
    d.rsrc3 = 0x31;
    d.rsrc1 = 0x41;
    d.rsrc2 = 0x51;
    d.properties = 0x0408;
    d.kernarg_preload = 0x61;
    const std::array<uint8_t, 64> bytes = encode(d);
    EXPECT_EQ(bytes[0], 0x04);
    EXPECT_EQ(bytes[4], 0x14);
    EXPECT_EQ(bytes[8], 0x24);
    EXPECT_EQ(bytes[16], 0x00);
    EXPECT_EQ(bytes[17], 0xff);
    EXPECT_EQ(bytes[23], 0xff);
    EXPECT_EQ(bytes[44], 0x31);
    EXPECT_EQ(bytes[48], 0x41);
    EXPECT_EQ(bytes[52], 0x51);
    EXPECT_EQ(bytes[56], 0x08);
    EXPECT_EQ(bytes[57], 0x04);
    EXPECT_EQ(bytes[58], 0x61);
    const KernelDescriptor back = decode_descriptor(bytes);
    EXPECT_EQ(encode(back), bytes);
    EXPECT_EQ(back.code_entry_offset, -0x100);
    EXPECT_TRUE(back.wave32());
    EXPECT_TRUE(back.kernarg_ptr());
}

TEST(kernel_descriptor, CountsRegistersInTheGranulesOfFamilyAndWaveSize) {
    KernelDescriptor d;
    d.rsrc1 = 2;  // three granules
    d.properties = 1 << 10;
    EXPECT_EQ(d.vgprs(info(Arch::gfx1100)), 24);
    d.properties = 0;
    EXPECT_EQ(d.vgprs(info(Arch::gfx1100)), 12);
    EXPECT_EQ(d.vgprs(info(Arch::gfx942)), 24);
}

}  // namespace
}  // namespace strata::isa
