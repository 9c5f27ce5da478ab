#include <gtest/gtest.h>

#include "../rows/buffer_format_run.h"

// Every typed buffer row of every family in every format against rows/buffer_format_model.h.
namespace strata::emu::harness {
namespace {

using isa::Row;

constexpr int kZero = -1, kOne = -2, kX = 4;

/// The descriptor's dst_sel: what each register component is of an element.
struct Selection {
    std::array<int, 4> from{0, 1, 2, 3};
    uint32_t bits() const {
        uint32_t all = 0;
        for (int i = 0; i < 4; ++i) {
            const int from_i = from[static_cast<size_t>(i)];
            all |= static_cast<uint32_t>(from_i == kZero ? 0 : from_i == kOne ? 1 : kX + from_i) << 3 * i;
        }
        return all;
    }
    /// Stores need every component once at most: which of two wins is not documented.
    static Selection any(ScalarValues& values, bool store) {
        Selection s;
        if (values.one_in(3)) return s;
        for (size_t i = 3; i > 0; --i) std::swap(s.from[i], s.from[values.below(static_cast<uint32_t>(i) + 1)]);
        for (int& from : s.from)
            if (values.one_in(4)) from = values.one_in(2) ? kZero : kOne;
        if (!store && values.one_in(4)) s.from.fill(s.from[0]);
        return s;
    }
};

class Check {
  public:
    Check(isa::Arch arch, const Row& row, const DataFormat& format, uint64_t seed)
        : m_(arch, seed),
          access_(row.mnemonic),
          format_(format),
          inst_(m_.scalars.make(row)),
          elements_(m_, format.bytes()) {
        if (!access_.typed) selection_ = Selection::any(m_.values, access_.store);
        // A V# without a format is unbound, whatever the instruction's.
        unbound_ = m_.values.one_in(12);
        const uint32_t own = access_.typed ? any_format() : format.code;
        elements_.describe(m_, access_.typed && m_.values.one_in(2) ? 0xfac : selection_.bits(), unbound_ ? 0 : own);
        lds_ = access_.to_local || (row.modifiers & isa::mod::lds && m_.values.one_in(2));
        inst_.lds = lds_ && !access_.to_local;
        if (access_.typed) inst_.buffer_format = static_cast<uint8_t>(format.code);
        inst_.offen = elements_.offen(), inst_.idxen = elements_.idxen();
        inst_.offset = static_cast<int32_t>(elements_.immediate());
        inst_.src[0] = vector(0, inst_.offen && inst_.idxen ? isa::Type::b64 : isa::Type::u32);
        inst_.src[1] = scalar_pair(8, isa::Type::b128), inst_.src[2] = scalar_pair(12, isa::Type::u32);
        if (access_.store) inst_.src[3] = vector(MemoryRun::kData, row.src[3]);
        if (row.dst_kind[0] && !lds_) inst_.dst[0] = vector(MemoryRun::kResult, row.dst[0]);
        m_.wave.m0 = 64;
        what_ = std::string(isa::info(arch).name) + ": " + std::string(row.mnemonic) + " of " + format.name + ", " +
                elements_.name() + (lds_ ? " to LDS" : "") + (unbound_ ? ", unbound" : "") + ", seed " +
                std::to_string(seed);
        fill();
    }
    void run() {
        const Expected before{m_.wave.vgpr, m_.memory, m_.local};
        m_.run({inst_}, what_);
        m_.wave.vgpr.resize(before.registers.size());  // the result has all registers
        if (::testing::Test::HasFatalFailure()) return;
        if (access_.store) {
            ASSERT_EQ(m_.wave.vgpr, before.registers) << what_;
            return check_memory(before.memory);
        }
        ASSERT_EQ(m_.memory, before.memory) << what_;
        check_loaded(before);
    }

  private:
    uint32_t any_format() { return m_.scalars.cdna() ? 4 | 4 << 4 : 20; }  // 32_UINT
    bool inside(int lane) const { return !unbound_ && elements_.inside(lane); }

    void fill() {
        ElementBits bits(m_.memory, elements_, format_);
        for (int lane = 0; lane < m_.lanes(); ++lane)
            for (int i = 0; i < format_.components() && elements_.inside(lane); ++i)
                bits.put(lane, i, any_component(m_.values, format_.widths[static_cast<size_t>(i)], format_.number));
        for (int lane = 0; lane < m_.lanes() && access_.store; ++lane)
            for (int i = 0; i < access_.count; ++i) {
                const uint32_t value = any_stored(m_.values, format_.widths[0], format_.number, access_.half);
                uint32_t& place = m_.v(MemoryRun::kData + access_.row(i), lane);
                const uint32_t mask = access_.half ? 0xffffu << access_.shift(i) : ~0u;
                place = (place & ~mask) | value << access_.shift(i);
            }
    }
    Allowed loaded_component(ElementBits& bits, int lane, int i) const {
        const int from = selection_.from[static_cast<size_t>(i)];
        if (from == kOne)
            return unbound_                     ? Allowed{}
                   : is_integer(format_.number) ? exactly(1)
                                                : exactly(access_.half ? 0x3c00 : 0x3f800000);
        if (from == kZero || !inside(lane)) return exactly(0);
        // "DST_SEL identity: X000, XY00, XYZ0 or XYZW"; what a V# selects in vain is not documented.
        if (from >= format_.components()) return access_.typed ? exactly(0) : Allowed{};
        return loaded(bits.get(lane, from), format_.widths[static_cast<size_t>(from)], format_.number, access_.half,
                      !m_.scalars.cdna());
    }
    void check_loaded(const Expected& before) {
        std::vector<uint32_t> registers = before.registers;
        ElementBits bits(m_.memory, elements_, format_);
        std::vector<uint8_t> local = before.local;
        for (int lane = 0; lane < m_.lanes(); ++lane) {
            for (int i = 0; i < access_.count && m_.active(lane); ++i) {
                const int shift = access_.shift(i);
                const size_t at = 64 + elements_.immediate() + 4 * static_cast<size_t>(lane);
                uint32_t got;
                memcpy(&got, m_.wave.lds.data() + at, 4);
                if (!lds_) got = m_.v(MemoryRun::kResult + access_.row(i), lane);
                const uint32_t mask = access_.half ? 0xffff : ~0u, value = got >> shift & mask;
                const Allowed want = loaded_component(bits, lane, i);
                ASSERT_TRUE(want.allows(value, access_.half ? kHalf : kSingle))
                    << what_ << ": component " << i << " of lane " << lane << std::hex << " is 0x" << value
                    << ", not 0x" << want.bits << " (kind " << int{want.kind} << ")";
                if (lds_) {
                    memcpy(local.data() + at, &got, 4);
                    continue;
                }
                uint32_t& place = m_.lane_of(registers, lane)(MemoryRun::kResult + access_.row(i));
                place = (place & ~(mask << shift)) | value << shift;
            }
        }
        ASSERT_EQ(m_.wave.vgpr, registers) << what_ << " changed another register";
        ASSERT_EQ(m_.wave.lds, local) << what_ << " changed other local memory";
    }

    /// Stores invert the selection. A component that the instruction lacks is 0. RDNA4 repeats X (RDNA4 ISA 9.3; before
    /// that the documents say "based on dst_sel" only, and Mesa's compiler relies on 0).
    Allowed stored_component(const std::vector<uint32_t>& registers, int lane, int component) const {
        const auto& from = selection_.from;
        auto i = static_cast<int>(std::find(from.begin(), from.end(), component) - from.begin());
        if (i == 4) return exactly(0);
        if (i >= access_.count && m_.scalars.family() != isa::Family::rdna4) return exactly(0);
        if (i >= access_.count) i = 0;
        const auto row = static_cast<size_t>(MemoryRun::kData + access_.row(i));
        const uint32_t dword = registers[row * static_cast<size_t>(m_.lanes()) + static_cast<size_t>(lane)];
        return stored(access_.half ? dword >> access_.shift(i) & 0xffff : dword,
                      format_.widths[static_cast<size_t>(component)], format_.number, access_.half);
    }
    void check_memory(std::vector<uint8_t> before) {
        ElementBits got(m_.memory, elements_, format_), want(before, elements_, format_);
        for (int lane = 0; lane < m_.lanes(); ++lane)
            for (int i = 0; i < format_.components() && m_.active(lane) && inside(lane); ++i) {
                const uint32_t value = got.get(lane, i);
                const int width = format_.widths[static_cast<size_t>(i)];
                const Allowed allowed = stored_component(m_.wave.vgpr, lane, i);
                ASSERT_TRUE(allowed.allows(value, float_format(width)))
                    << what_ << ": component " << i << " of lane " << lane << std::hex << " is 0x" << value
                    << ", not 0x" << allowed.bits << " or 0x" << allowed.other << " (kind " << int{allowed.kind} << ")";
                want.put(lane, i, value);
            }
        ASSERT_EQ(m_.memory, before) << what_ << " changed other memory";
    }

    MemoryRun m_;
    TypedAccess access_;
    const DataFormat& format_;
    isa::Inst inst_;
    Elements elements_;
    Selection selection_;
    bool unbound_ = false, lds_ = false;
    std::string what_;
};

class BufferFormatRows : public ::testing::TestWithParam<isa::Arch> {};

TEST_P(BufferFormatRows, ConvertAsTheDocumentsSay) {
    const isa::Arch arch = GetParam();
    const std::vector<DataFormat> formats = isa::is_cdna(isa::info(arch).family) ? cdna_formats() : rdna_formats();
    int rows = 0;
    for (const Row& row : isa::rows(isa::info(arch).family)) {
        if (row.mnemonic.find("_format_") == row.mnemonic.npos || row.flags & (isa::kNotOnSilicon | isa::kGraphics))
            continue;
        ++rows;
        for (const DataFormat& format : formats)
            for (uint64_t seed = 0; seed < 2; ++seed) {
                Check(arch, row, format, seed * 131 + format.code * 977 + std::hash<std::string_view>{}(row.mnemonic))
                    .run();
                if (HasFatalFailure()) return;
            }
    }
    EXPECT_GE(rows, 34);
}

TEST(BufferFormats, OfTheModelAreThoseThatTheDocumentsList) {
    EXPECT_EQ(rdna_formats().size(), 63u);
    EXPECT_EQ(cdna_formats().size(), 4u * 10 + 2 * 14 + 9);
    for (const DataFormat& format : rdna_formats()) EXPECT_EQ(format.bits_before(format.components()) % 8, 0u);
}

INSTANTIATE_TEST_SUITE_P(Archs, BufferFormatRows,
                         ::testing::Values(isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942,
                                           isa::Arch::gfx90a),
                         [](const auto& param) { return std::string(isa::info(param.param).name); });

}  // namespace
}  // namespace strata::emu::harness
