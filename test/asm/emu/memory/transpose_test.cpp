#include "harness.h"

// RDNA4's transposing loads feed matrix products. Operands of these must be the columns of a matrix in memory. RDNA4
// ISA 7.12.2, "Matrix Element Storage in VGPRs", has lane = row and eight elements of K in a lane. K 8 to 15 are in
// lanes 16 to 31.
namespace strata::emu::harness {
namespace {

/// Lane `lane` reads elements from (row, column) on of a matrix whose rows have 16 elements.
struct Start {
    int row, column;
};
Start start16(int lane) { return {(lane & 7) + (lane >> 4) * 8, lane & 8}; }
/// Where lanes start for bytes: four rows of two halves for every eight lanes.
Start start8(int lane) { return {lane / 8 * 4 + lane % 4, lane & 4 ? 8 : 0}; }

template <class Element>
void check(const char* name, int registers, Start (*start)(int), bool with_base) {
    MemoryWave m(isa::Arch::gfx1201, 4096, 32);
    const int pitch = 80;  // bytes of a row: the matrix is part of a wider one
    auto place = [&](int row, int column) {
        return static_cast<size_t>(64 + row * pitch + column * static_cast<int>(sizeof(Element)));
    };
    auto offset = [&](int lane) { return place(start(lane).row, start(lane).column) - 64; };
    m.wave.sgpr[4] = static_cast<uint32_t>(kBase), m.wave.sgpr[5] = 0;
    if (with_base)
        m.set(0, offset);
    else
        m.set64(0, [&](int lane) { return kBase + offset(lane); });
    const std::string text = std::string(name) + " v[8:" + std::to_string(7 + registers) + "], " +
                             (with_base ? "v0, s[4:5]" : "v[0:1], off") + " offset:64";
    m.run(text + "\ns_wait_loadcnt 0x0");
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < 8; ++i) {
            const int k = lane / 16 * 8 + i, bits = 8 * static_cast<int>(sizeof(Element)), at = i * bits;
            const auto got = static_cast<Element>(m.v(8 + at / 32, lane) >> at % 32);
            ASSERT_EQ(got, m.at<Element>(place(k, lane % 16))) << name << " lane " << lane << " element " << i;
        }
}

TEST(TransposingLoads, GiveLanesTheColumnsOfAMatrixInMemory) {
    for (bool with_base : {false, true}) {
        check<uint16_t>("global_load_tr_b128", 4, start16, with_base);
        check<uint8_t>("global_load_tr_b64", 2, start8, with_base);
    }
}

// Measured on gfx1201: lane L reads the eight bytes at 8 * L; byte s of its result is the byte here.
TEST(TransposingLoads, OfBytesPermuteAsMeasured) {
    MemoryWave m(isa::Arch::gfx1201, 4096, 32);
    m.set64(0, [](int lane) { return kBase + 8 * static_cast<uint64_t>(lane); });
    m.run("global_load_tr_b64 v[8:9], v[0:1], off");
    for (int lane = 0; lane < 32; ++lane)
        for (int s = 0; s < 8; ++s) {
            const int byte = lane % 8 + lane / 8 % 2 * 32 + lane / 16 * 128 + s % 4 * 8 + s / 4 * 64;
            EXPECT_EQ(m.v(8 + s / 4, lane) >> 8 * (s % 4) & 0xff, m.at<uint8_t>(static_cast<size_t>(byte)));
        }
}

TEST(TransposingLoads, RefuseWhatIsNotDocumented) {
    MemoryWave part(isa::Arch::gfx1201, 4096, 32);
    part.set64(0, [](int) { return kBase; });
    part.wave.exec = 0xffff;
    auto done = part.attempt("global_load_tr_b128 v[8:11], v[0:1], off");
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("EXEC"), std::string::npos) << done.error().message;
    MemoryWave outside(isa::Arch::gfx1201, 4096, 32);
    outside.set64(0, [](int lane) { return kBase + (lane == 9 ? 1u << 20 : 0u); });
    EXPECT_FALSE(outside.attempt("global_load_tr_b128 v[8:11], v[0:1], off"));
}

}  // namespace
}  // namespace strata::emu::harness
