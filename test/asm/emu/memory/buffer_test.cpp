#include <cmath>
#include <optional>

#include "harness.h"

// Buffer instructions against a model of the addressing and range rules written from the documents: CDNA3 ISA 9.1 and
// RDNA3 ISA 9.1.
namespace strata::emu::harness {
namespace {

struct Shape {
    uint32_t stride = 0, records = 0, index_stride = 0, swizzle = 0, out_of_range = 3;
    bool add_tid = false, idxen = false, offen = true;
    uint32_t imm = 0, soffset = 0;

    uint32_t word3(bool gfx9) const {
        return index_stride << 21 | (add_tid ? 1u << 23 : 0) |
               (!gfx9     ? out_of_range << 28 | 1u << 12
                : add_tid ? 0
                          : 4u << 15);
    }
    std::string operands() const {
        std::string address = idxen && offen ? "v[0:1]" : idxen ? "v0" : offen ? "v1" : "off";
        std::string text = address + ", s[8:11], s4";
        if (idxen) text += " idxen";
        if (offen) text += " offen";
        return text + " offset:" + std::to_string(imm);
    }
};

/// Offset in memory of the byte `at` of a lane's item; nothing if `bytes` bytes there are out of range.
std::optional<uint64_t> model(const Shape& s, bool gfx9, uint64_t index, uint64_t voffset, uint32_t at,
                              uint32_t bytes) {
    const uint64_t offset = voffset + s.imm + at;
    const uint64_t element = !s.idxen && !s.add_tid ? 0
                             : gfx9                 ? (s.swizzle & 2 ? 4 : 0)
                                                    : std::array<uint64_t, 4>{0, 4, 8, 16}[s.swizzle];
    const uint64_t rows = 8ull << s.index_stride;
    uint64_t linear = index * s.stride + offset;
    if (element)
        linear =
            (index / rows * s.stride + offset / element * element) * rows + index % rows * element + offset % element;
    const bool within = index < s.records && offset + bytes <= s.stride;
    const bool raw = linear + (gfx9 ? 0 : s.soffset) + bytes <= s.records;
    bool inside = raw;
    if (gfx9) {
        inside = s.add_tid && !s.idxen ? true : s.stride && s.idxen ? index < s.records : raw;
    } else if (s.out_of_range == 0) {
        inside = s.stride ? within : index < s.records;
    } else if (s.out_of_range == 1) {
        inside = index < s.records;
    } else if (s.out_of_range == 2) {
        inside = s.records != 0;
    } else if (element && s.stride) {
        inside = within;
    }
    if (!inside) return {};
    return linear + s.soffset;
}

std::vector<Shape> shapes() {
    std::vector<Shape> all = {
        {.records = 100},
        {.records = 100, .imm = 8, .soffset = 16},
        {.stride = 16, .records = 20, .out_of_range = 0, .idxen = true},
        {.stride = 16, .records = 20, .out_of_range = 1, .idxen = true, .offen = false, .imm = 4},
        {.stride = 16, .records = 1, .out_of_range = 2, .idxen = true, .soffset = 32},
        {.stride = 16, .records = 0, .out_of_range = 2, .idxen = true},
        {.stride = 16, .records = 200, .out_of_range = 3, .idxen = true},
        {.stride = 32, .records = 25, .index_stride = 0, .swizzle = 1, .out_of_range = 0, .idxen = true},
        {.stride = 32, .records = 25, .index_stride = 1, .swizzle = 3, .out_of_range = 3, .idxen = true},
        {.stride = 16, .records = 30, .index_stride = 2, .swizzle = 2, .out_of_range = 3, .idxen = true},
        {.stride = 16, .records = 300, .index_stride = 1, .swizzle = 2},  // nothing tells an index
        {.stride = 16, .records = 300, .index_stride = 1, .swizzle = 3, .out_of_range = 0},
        {.stride = 16, .records = 300, .index_stride = 1, .swizzle = 3, .out_of_range = 2, .soffset = 8},
        {.stride = 0, .records = 300, .index_stride = 0, .swizzle = 2},
        {.stride = 16, .records = 24, .add_tid = true, .offen = false, .imm = 12},
        {.stride = 16, .records = 24, .index_stride = 3, .swizzle = 2, .add_tid = true},
        {.stride = 0,
         .records = 300,
         .index_stride = 3,
         .swizzle = 2,
         .out_of_range = 3,
         .add_tid = true,
         .offen = false},
    };
    for (Shape& shape : all)
        if (!shape.idxen && shape.stride == 0 && !shape.add_tid) shape.index_stride = 0;
    return all;
}

class Buffers : public ::testing::TestWithParam<isa::Arch> {
  protected:
    static constexpr size_t kMemory = 1 << 16;
    /// Indices and offsets that cross every limit.
    static uint32_t index(int lane) { return static_cast<uint32_t>(lane * 7 % 41); }
    static uint32_t offset(int lane) { return static_cast<uint32_t>(lane % 9 * 4); }
    MemoryWave prepared(const Shape& shape) {
        MemoryWave m(GetParam(), kMemory);
        m.resource(shape.stride, shape.records, shape.word3(m.gfx9()), kBase, shape.swizzle);
        m.wave.sgpr[4] = shape.soffset;
        m.set(0, index);
        m.set(1, offset);
        m.wave.exec &= 0xf7ffffff7ffffffdull;
        return m;
    }
    std::optional<uint64_t> place(const MemoryWave& m, const Shape& s, int lane, uint32_t at, uint32_t bytes) {
        const uint64_t i = (s.idxen ? index(lane) : 0) + (s.add_tid ? static_cast<uint64_t>(lane) : 0);
        return model(s, m.gfx9(), i, s.offen ? offset(lane) : 0, at, bytes);
    }
};

TEST_P(Buffers, LoadWhatTheDescriptorSays) {
    struct Load {
        const char *rdna, *cdna;
        uint32_t bytes;
        int rows;
    };
    const Load loads[] = {{"b32", "dword", 4, 1},
                          {"b96", "dwordx3", 4, 3},
                          {"b128", "dwordx4", 4, 4},
                          {"u8", "ubyte", 1, 1},
                          {"i16", "sshort", 2, 1}};
    for (const Shape& shape : shapes())
        for (const Load& load : loads) {
            MemoryWave m = prepared(shape);
            for (int row = 0; row < 4; ++row) m.set(8 + row, [](int lane) { return 0xdead0000 + lane; });
            const std::string registers = load.rows == 1 ? "v8" : "v[8:" + std::to_string(7 + load.rows) + "]";
            m.run(std::string("buffer_load_") + (m.gfx9() ? load.cdna : load.rdna) + " " + registers + ", " +
                  shape.operands());
            for (int lane = 0; lane < m.lanes; ++lane)
                for (int row = 0; row < load.rows; ++row) {
                    uint32_t want = 0xdead0000u + static_cast<uint32_t>(lane);
                    if (m.active(lane)) {
                        const auto at = place(m, shape, lane, 4 * static_cast<uint32_t>(row), load.bytes);
                        want = 0;
                        if (at && load.bytes == 4) want = m.at<uint32_t>(*at);
                        if (at && load.bytes == 1) want = m.at<uint8_t>(*at);
                        if (at && load.bytes == 2) want = static_cast<uint32_t>(int32_t{m.at<int16_t>(*at)});
                    }
                    ASSERT_EQ(m.v(8 + row, lane), want)
                        << load.rdna << " lane " << lane << " row " << row << " stride " << shape.stride << " records "
                        << shape.records << " swizzle " << shape.swizzle << " oob " << shape.out_of_range;
                }
        }
}

TEST_P(Buffers, StoreWhatIsInRangeAndNothingElse) {
    for (const Shape& shape : shapes()) {
        MemoryWave m = prepared(shape);
        std::vector<uint8_t> want = m.memory;
        for (int row = 0; row < 2; ++row) m.set(8 + row, [&](int lane) { return 0x01010101 * lane + row * 0x80; });
        for (int lane = 0; lane < m.lanes; ++lane)
            for (uint32_t row = 0; row < 2 && m.active(lane); ++row)
                if (const auto at = place(m, shape, lane, 4 * row, 4)) {
                    const uint32_t value = m.v(8 + static_cast<int>(row), lane);
                    memcpy(want.data() + *at, &value, 4);
                }
        m.run(std::string("buffer_store_") + (m.gfx9() ? "dwordx2" : "b64") + " v[8:9], " + shape.operands());
        ASSERT_EQ(m.memory, want) << "stride " << shape.stride << " records " << shape.records;
    }
}

/// CDNA3 ISA 9.1.5.1: a raw buffer is left where InstOffset + vgpr_offset >= NumRecords.
TEST_P(Buffers, TheScalarOffsetOfRawOnesIsInTheRangeOnRdnaAlone) {
    MemoryWave m(GetParam());
    m.resource(0, 64, m.gfx9() ? 4u << 15 : 3u << 28 | 20u << 12);
    m.wave.sgpr[4] = 32;
    m.set(0, [](int lane) { return lane * 4; });
    m.set(1, [](int) { return 0xdead; });
    m.run(std::string("buffer_load_") + (m.gfx9() ? "dword" : "b32") + " v1, v0, s[8:11], s4 offen offset:8");
    for (int lane = 0; lane < m.lanes; ++lane) {
        const bool inside = 8 + 4 * lane + (m.gfx9() ? 0 : 32) < 64;
        EXPECT_EQ(m.v(1, lane), inside ? m.at<uint32_t>(40 + 4 * static_cast<size_t>(lane)) : 0u) << lane;
    }
}

TEST_P(Buffers, AtomicsReturn0AndChangeNothingOutOfRange) {
    MemoryWave m(GetParam());
    m.resource(0, 64, m.gfx9() ? 4u << 15 : 3u << 28 | 20u << 12);
    m.set(0, [](int lane) { return lane * 4; });
    m.set(1, [](int lane) { return lane + 100; });
    const std::vector<uint8_t> before = m.memory;
    m.run(std::string("buffer_atomic_") + (m.gfx9() ? "add" : "add_u32") + " v1, v0, s[8:11], s4 offen " +
          (m.arch == isa::Arch::gfx1201  ? "th:TH_ATOMIC_RETURN"
           : m.arch == isa::Arch::gfx942 ? "sc0"
                                         : "glc"));
    for (int lane = 0; lane < m.lanes; ++lane) {
        uint32_t old;
        memcpy(&old, before.data() + 4 * lane, 4);
        EXPECT_EQ(m.v(1, lane), lane < 16 ? old : 0u);
        EXPECT_EQ(m.at<uint32_t>(4 * static_cast<size_t>(lane)),
                  lane < 16 ? old + static_cast<uint32_t>(lane) + 100 : old);
    }
}

/// A format's name and its bytes in memory with what registers get: floats for all but the integers.
struct Typed {
    const char *unified, *gfx9;
    std::vector<uint8_t> bytes;
    std::array<double, 4> values;
    bool integer = false;
};
const Typed kTyped[] = {
    {"BUF_FMT_8_UNORM", "BUF_DATA_FORMAT_8", {255}, {1, 0, 0, 0}},
    {"BUF_FMT_8_8_8_8_SNORM", "BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_SNORM", {127, 0x81, 0x80, 0}, {1, -1, -1, 0}},
    {"BUF_FMT_16_16_SSCALED", "BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_SSCALED", {0xff, 0xff, 5, 0}, {-1, 5, 0, 0}},
    {"BUF_FMT_8_8_UINT", "BUF_DATA_FORMAT_8_8,BUF_NUM_FORMAT_UINT", {7, 200}, {7, 200, 0, 0}, true},
    {"BUF_FMT_8_8_SINT", "BUF_DATA_FORMAT_8_8,BUF_NUM_FORMAT_SINT", {7, 200}, {7, -56, 0, 0}, true},
    {"BUF_FMT_16_16_16_16_FLOAT",
     "BUF_DATA_FORMAT_16_16_16_16,BUF_NUM_FORMAT_FLOAT",
     {0, 0x3c, 0, 0xc0, 1, 0, 0xff, 0x7b},
     {1, -2, 0x1p-24, 65504}},
    {"BUF_FMT_2_10_10_10_UINT",
     "BUF_DATA_FORMAT_2_10_10_10,BUF_NUM_FORMAT_UINT",
     {0x01, 0x08, 0x30, 0xc0},
     {1, 2, 3, 3},
     true},
    {"BUF_FMT_10_11_11_FLOAT",
     "BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT",
     {0xc0, 0x03, 0x20, 0x70},
     {1, 2, 0.5, 0}},
    {"BUF_FMT_32_32_32_FLOAT",
     "BUF_DATA_FORMAT_32_32_32,BUF_NUM_FORMAT_FLOAT",
     {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0},
     {1, -2, 0, 0}},
};

uint32_t register_bits(double value, bool integer) {
    if (integer) return static_cast<uint32_t>(static_cast<int64_t>(value));
    const auto real = static_cast<float>(value);
    uint32_t bits;
    memcpy(&bits, &real, 4);
    return bits;
}

TEST_P(Buffers, TypedLoadsConvertAndTypedStoresConvertBack) {
    for (const Typed& typed : kTyped) {
        MemoryWave m(GetParam());
        const auto size = static_cast<uint32_t>(typed.bytes.size());
        m.resource(16, 64, m.gfx9() ? 4u << 15 : 20u << 12);  // any format but none
        m.set(0, [](int lane) { return lane; });
        for (size_t lane = 0; lane < 64; ++lane)
            std::copy(typed.bytes.begin(), typed.bytes.end(),
                      m.memory.begin() + static_cast<std::ptrdiff_t>(lane * 16));
        const std::string format = std::string(" format:[") + (m.gfx9() ? typed.gfx9 : typed.unified) + "]";
        m.wave.sgpr[4] = 2048;
        m.wave.sgpr[5] = 0;
        m.run("tbuffer_load_format_xyzw v[4:7], v0, s[8:11], s5" + format + " idxen\n" +
              "tbuffer_store_format_xyzw v[4:7], v0, s[8:11], s4" + format + " idxen");
        for (int lane = 0; lane < m.lanes; ++lane)
            for (size_t i = 0; i < 4; ++i)
                ASSERT_EQ(m.v(4 + static_cast<int>(i), lane), register_bits(typed.values[i], typed.integer))
                    << typed.unified << " component " << i;
        for (uint32_t i = 0; i < size; ++i) {
            uint8_t want = typed.bytes[i];
            if (want == 0x80 && std::string_view(typed.unified).ends_with("SNORM")) want = 0x81;  // the other -1
            ASSERT_EQ(m.memory[2048 + 16 * 5 + i], want) << typed.unified << " byte " << i;
        }
    }
}

TEST_P(Buffers, D16FormsPackHalvesAndKeepTheRest) {
    MemoryWave m(GetParam());
    // 8_8_8_8 UNORM in the descriptor, components selected W, 1, 0, X
    const uint32_t select = 7 | 1 << 3 | 0 << 6 | 4 << 9;
    m.resource(4, 64, select | (m.gfx9() ? 10u << 15 : 42u << 12));
    m.set(0, [](int lane) { return lane; });
    for (size_t i = 0; i < 256; i += 4) m.put<uint32_t>(i, 0xff000080);
    m.set(3, [](int) { return 0x11112222; });
    m.set(6, [](int) { return 0x11112222; });
    const std::string d16 = m.gfx9() ? "format_d16_" : "d16_format_",
                      hi = m.gfx9() ? "format_d16_hi_x" : "d16_hi_format_x";
    m.run("buffer_load_format_xyzw v[8:11], v0, s[8:11], s4 idxen\n buffer_load_" + d16 +
          "xyz v[2:3], v0, s[8:11], s4 idxen\n buffer_load_" + hi + " v6, v0, s[8:11], s4 idxen");
    EXPECT_EQ(m.v(8, 3), 0x3f800000u);
    EXPECT_EQ(m.v(9, 3), 0x3f800000u);
    EXPECT_EQ(m.v(10, 3), 0u);
    EXPECT_EQ(m.v(11, 3), register_bits(128 / 255.0, false));
    EXPECT_EQ(m.v(2, 3), 0x3c003c00u);
    EXPECT_EQ(m.v(3, 3), 0x11110000u);
    EXPECT_EQ(m.v(6, 3), 0x3c002222u);
}

TEST_P(Buffers, WithoutAFormatAreUnboundWhateverTheInstructionHas) {
    MemoryWave m(GetParam());
    m.resource(0, 4096, m.gfx9() ? 0 : 3u << 28);
    m.set(0, [](int lane) { return lane * 4; });
    m.set(5, [](int) { return 77; });
    const std::vector<uint8_t> before = m.memory;
    const std::string size = m.gfx9() ? "dword" : "b32", add = m.gfx9() ? "add" : "add_u32";
    m.run("buffer_load_" + size + " v4, v0, s[8:11], s4 offen\nbuffer_store_" + size +
          " v5, v0, s[8:11], s4 offen\nbuffer_atomic_" + add + " v5, v0, s[8:11], s4 offen");
    for (int lane = 0; lane < m.lanes; ++lane) EXPECT_EQ(m.v(4, lane), 0u);
    EXPECT_EQ(m.memory, before);
    // One that adds the thread to the index needs no format.
    m.resource(4, 4096, (m.gfx9() ? 0 : 2u << 28) | 1u << 23);
    m.run("buffer_load_" + size + " v4, off, s[8:11], s4");
    for (int lane = 0; lane < m.lanes; ++lane) EXPECT_EQ(m.v(4, lane), m.at<uint32_t>(4 * static_cast<size_t>(lane)));
}

TEST(Buffer, TfeAddsAStatusOfZero) {
    MemoryWave m(isa::Arch::gfx1100);
    m.resource(0, 4096, 3u << 28 | 20u << 12);
    m.set(0, [](int lane) { return lane * 4; });
    m.set(6, [](int) { return 77; });
    m.run("buffer_load_b32 v[5:6], v0, s[8:11], s4 offen tfe");
    EXPECT_EQ(m.v(5, 7), m.at<uint32_t>(28));
    EXPECT_EQ(m.v(6, 7), 0u);
}

std::string arch_name(const ::testing::TestParamInfo<isa::Arch>& info) {
    return std::string(isa::info(info.param).name);
}
INSTANTIATE_TEST_SUITE_P(Archs, Buffers, ::testing::ValuesIn(kArchs), arch_name);

}  // namespace
}  // namespace strata::emu::harness
