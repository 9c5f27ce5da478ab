#include "harness.h"

// Scalar loads, stores and atomics.
namespace strata::emu::harness {
namespace {

using isa::Arch;

class ScalarMemory : public ::testing::TestWithParam<Arch> {
  protected:
    Arch arch = GetParam();
    MemoryWave prepared() {
        MemoryWave m(arch);
        m.wave.sgpr[4] = static_cast<uint32_t>(kBase);
        m.wave.sgpr[5] = static_cast<uint32_t>(kBase >> 32);
        m.wave.sgpr[6] = 256;
        return m;
    }
};

TEST_P(ScalarMemory, LoadsAddRegisterAndOffset) {
    MemoryWave m = prepared();
    if (m.gfx9())
        m.run(
            "s_load_dwordx4 s[20:23], s[4:5], 0x40\ns_load_dwordx2 s[24:25], s[4:5], s6\ns_load_dwordx16 s[32:47], "
            "s[4:5], 0");
    else
        m.run(
            "s_load_b128 s[20:23], s[4:5], 0x40\ns_load_b64 s[24:25], s[4:5], s6 offset:0x10\ns_load_b512 s[32:47], "
            "s[4:5], 0");
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(m.wave.sgpr[20 + i], m.at<uint32_t>(0x40 + 4 * i));
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(m.wave.sgpr[24 + i], m.at<uint32_t>(256 + (m.gfx9() ? 0 : 16) + 4 * i));
    for (size_t i = 0; i < 16; ++i) EXPECT_EQ(m.wave.sgpr[32 + i], m.at<uint32_t>(4 * i));
}

TEST_P(ScalarMemory, LoadsWidenedToTheirAlignedBlockGiveZerosPastTheEnd) {
    MemoryWave m(arch, 4096 - 4);
    m.wave.sgpr[4] = static_cast<uint32_t>(kBase);
    m.wave.sgpr[5] = static_cast<uint32_t>(kBase >> 32);
    m.run(m.gfx9() ? "s_load_dwordx4 s[20:23], s[4:5], 0xff0" : "s_load_b128 s[20:23], s[4:5], 0xff0");
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(m.wave.sgpr[20 + i], m.at<uint32_t>(0xff0 + 4 * i));
    EXPECT_EQ(m.wave.sgpr[23], 0u);
    EXPECT_FALSE(m.attempt(m.gfx9() ? "s_load_dwordx4 s[20:23], s[4:5], 0xff4" : "s_load_b128 s[20:23], s[4:5], 0xff4"))
        << "not a block";
    m.run(m.gfx9() ? "s_load_dwordx8 s[20:27], s[4:5], 0xfe0" : "s_load_b256 s[20:27], s[4:5], 0xfe0");
    for (size_t i = 0; i < 7; ++i) EXPECT_EQ(m.wave.sgpr[20 + i], m.at<uint32_t>(0xfe0 + 4 * i));
    EXPECT_EQ(m.wave.sgpr[27], 0u);
    EXPECT_FALSE(m.attempt(m.gfx9() ? "s_load_dwordx8 s[20:27], s[4:5], 0xff0" : "s_load_b256 s[20:27], s[4:5], 0xff0"))
        << "not a block of its size";
    EXPECT_FALSE(m.attempt(m.gfx9() ? "s_load_dword s20, s[4:5], 0xffc" : "s_load_b32 s20, s[4:5], 0xffc"));
}

TEST_P(ScalarMemory, BufferLoadsAreCutAtTheRecords) {
    MemoryWave m = prepared();
    m.resource(0, 40, 0);
    m.run(m.gfx9() ? "s_buffer_load_dwordx4 s[20:23], s[8:11], 0x20\ns_buffer_load_dword s24, s[8:11], 0x28"
                   : "s_buffer_load_b128 s[20:23], s[8:11], 0x20\ns_buffer_load_b32 s24, s[8:11], 0x28");
    EXPECT_EQ(m.wave.sgpr[20], m.at<uint32_t>(32));
    EXPECT_EQ(m.wave.sgpr[21], m.at<uint32_t>(36));
    EXPECT_EQ(m.wave.sgpr[22], 0u);
    EXPECT_EQ(m.wave.sgpr[24], 0u);
}

TEST_P(ScalarMemory, FaultsNameTheAddress) {
    MemoryWave m = prepared();
    auto result = m.attempt(m.gfx9() ? "s_load_dword s20, s[4:5], 0xffc\ns_load_dword s20, s[4:5], 0x1000"
                                     : "s_load_b32 s20, s[4:5], 0xffc\ns_load_b32 s20, s[4:5], 0x1000");
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("0x101000"), std::string::npos) << result.error().message;
}

std::string arch_name(const ::testing::TestParamInfo<Arch>& info) { return std::string(isa::info(info.param).name); }
INSTANTIATE_TEST_SUITE_P(Archs, ScalarMemory, ::testing::ValuesIn(kArchs), arch_name);

TEST(ScalarAccess, BytesAndWordsOfRdna4Extend) {
    MemoryWave m(Arch::gfx1201);
    m.wave.sgpr[4] = static_cast<uint32_t>(kBase);
    m.put<uint32_t>(16, 0x80f1c2d3);
    m.resource(0, 18, 0);
    m.run(
        "s_load_u8 s20, s[4:5], 0x13\ns_load_i8 s21, s[4:5], 0x13\ns_load_u16 s22, s[4:5], 0x12\ns_load_i16 s23, "
        "s[4:5], "
        "0x12\ns_load_b96 s[24:26], s[4:5], 0x10\ns_buffer_load_i8 s28, s[8:11], 0x11\ns_buffer_load_u16 s29, s[8:11], "
        "0x12\ns_prefetch_data s[4:5], 0x10, null, 8");
    EXPECT_EQ(m.wave.sgpr[20], 0x80u);
    EXPECT_EQ(m.wave.sgpr[21], 0xffffff80u);
    EXPECT_EQ(m.wave.sgpr[22], 0x80f1u);
    EXPECT_EQ(m.wave.sgpr[23], 0xffff80f1u);
    EXPECT_EQ(m.wave.sgpr[24], 0x80f1c2d3u);
    EXPECT_EQ(m.wave.sgpr[26], m.at<uint32_t>(24));
    EXPECT_EQ(m.wave.sgpr[28], 0xffffffc2u);
    EXPECT_EQ(m.wave.sgpr[29], 0u);  // past the records
}

TEST(ScalarAccess, StoresAndAtomicsOfCdnaChangeMemory) {
    MemoryWave m(Arch::gfx90a);
    m.wave.sgpr[4] = static_cast<uint32_t>(kBase);
    m.resource(0, 72, 0);
    m.put<uint64_t>(128, 7);
    m.put<uint32_t>(136, 5);
    for (uint32_t i = 0; i < 4; ++i) m.wave.sgpr[20 + i] = 100 + i;
    m.wave.sgpr[24] = 9, m.wave.sgpr[25] = 0, m.wave.sgpr[26] = 7, m.wave.sgpr[27] = 0;
    m.wave.sgpr[30] = 3;
    const auto behind = m.at<uint32_t>(72);
    m.run(
        "s_store_dwordx4 s[20:23], s[4:5], 0x20\ns_buffer_store_dwordx4 s[20:23], s[8:11], 0x40\n"
        "s_atomic_cmpswap_x2 s[24:27], s[4:5], 0x80 glc\ns_atomic_add s30, s[4:5], 0x88 glc\n"
        "s_buffer_atomic_smax s20, s[8:11], 0x20\ns_dcache_wb\ns_memtime s[32:33]");
    EXPECT_EQ(m.at<uint32_t>(0x24), 101u);
    EXPECT_EQ(m.at<uint32_t>(0x40), 100u);
    EXPECT_EQ(m.at<uint32_t>(0x44), 101u);
    EXPECT_EQ(m.at<uint32_t>(72), behind);
    EXPECT_EQ(m.at<uint64_t>(128), 9u);
    EXPECT_EQ(m.wave.sgpr[24], 7u);
    EXPECT_EQ(m.at<uint32_t>(136), 8u);
    EXPECT_EQ(m.wave.sgpr[30], 5u);
    EXPECT_EQ(m.at<uint32_t>(0x20), 100u);
    EXPECT_EQ(m.wave.sgpr[33], 0u);
}

}  // namespace
}  // namespace strata::emu::harness
