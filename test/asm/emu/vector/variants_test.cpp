#include <cmath>
#include <set>

#include "harness.h"

// The handlers of every host width give the same bits, whatever instruction, operands and MODE. Which payload a NaN has
// is each host instruction's own.
namespace strata::emu {
namespace {

using namespace valu_test;
using isa::Arch;
using isa::Family;
using isa::Format;
using isa::Type;

enum class Float { none, half, single, wide };

/// The kind of float of the result.
Float float_kind(const isa::Row& row) {
    if (row.mnemonic.starts_with("v_pk_") && row.mnemonic.ends_with("_f32")) return Float::single;
    switch (row.dst[0]) {
        case Type::f16:
        case Type::bf16:
        case Type::pk16: return Float::half;
        case Type::f32: return Float::single;
        case Type::f64: return Float::wide;
        default: return Float::none;
    }
}
bool nan16(uint32_t x) { return (x & 0x7fff) > 0x7c00; }
bool nan16_of_any_format(uint32_t x, uint32_t y) {
    return (nan16(x) && nan16(y)) || ((x & 0x7fff) > 0x7f80 && (y & 0x7fff) > 0x7f80);
}
bool nan32(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; }

/// An instruction of this row with its registers far apart: sources v0, v4, v8, destination v16, masks in VCC.
isa::Inst instruction(const isa::Row& row) {
    isa::Inst inst;
    inst.row = &row;
    inst.encoding = row.format;
    if (row.format == Format::VOP3P) inst.op_sel_hi = 7;
    auto operand = [](Type type, int vgpr, bool vector) -> isa::Operand {
        if (type == Type::none) return {};
        if (type == Type::lanes) return {isa::code::vcc_lo, type};
        return {static_cast<uint16_t>(vector ? isa::code::vgpr0 + vgpr : 20), type};
    };
    for (size_t i = 0; i < row.dst.size(); ++i)
        inst.dst[i] = operand(row.dst[i], 16, !(row.dst_kind[i] & isa::kSgpr) || row.dst_kind[i] & isa::kVgpr);
    for (size_t i = 0; i < row.src.size(); ++i)
        inst.src[i] = operand(row.src[i], static_cast<int>(4 * i), row.src_kind[i] & isa::kVgpr);
    if (row.mnemonic.starts_with("v_cmpx")) inst.dst[0] = {isa::code::exec_lo, Type::lanes};
    return inst;
}

struct Result {
    bool ran = false;
    std::vector<uint32_t> rows;  ///< v0..v23
    std::vector<uint32_t> scalars;
};

/// One run from a state that `seed` fixes.
Result run_once(const Variant& variant, Arch arch, const isa::Inst& inst, int lanes, uint32_t mode, uint64_t seed) {
    Bench bench(lanes);
    Inputs inputs(seed);
    for (int row = 0; row < 24; ++row)
        for (int lane = 0; lane < lanes; ++lane) bench.v(row, lane) = inputs.dword();
    for (int code = 0; code < 128; ++code) bench.wave().s[code] = inputs.dword();
    bench.wave().s[isa::code::null] = 0;
    bench.wave().s[isa::code::m0] = 1;
    bench.set_exec(seed & 1 ? inputs.next() | 1 : ~uint64_t{0});
    bench.wave().mode = mode;
    Code code;
    Result result;
    if (!code.add(variant, inst, lanes, arch)) return result;
    code.end();
    if (!bench.run(code)) return result;
    result.ran = true;
    for (int row = 0; row < 24; ++row)
        for (int lane = 0; lane < lanes; ++lane) result.rows.push_back(bench.v(row, lane));
    result.scalars.assign(bench.wave().s, bench.wave().s + 128);
    return result;
}

/// Equal bits, or NaN both in the format of the result.
bool same(Float kind, const Result& a, const Result& b, size_t at, size_t lanes) {
    const uint32_t x = a.rows[at], y = b.rows[at];
    if (x == y) return true;
    const bool both = nan32(x) && nan32(y);
    const uint32_t low_x = x & 0xffff, low_y = y & 0xffff, high_x = x >> 16, high_y = y >> 16;
    switch (kind) {
        case Float::single: return both;
        case Float::half:
            return (low_x == low_y || nan16_of_any_format(low_x, low_y)) &&
                   (high_x == high_y || nan16_of_any_format(high_x, high_y));
        case Float::wide: {  // the low dword of a NaN counts only with its high one
            auto wide_nan = [](uint32_t high) { return (high & 0x7fffffff) >= 0x7ff00000; };
            const size_t high = at / lanes % 2 ? at : at + lanes;
            return wide_nan(a.rows[high]) && wide_nan(b.rows[high]);
        }
        default: return false;
    }
}

class ValuVariants : public testing::TestWithParam<std::tuple<Arch, int>> {};

/// The first difference between two runs of one instruction; empty: there is none.
std::string difference(const isa::Row& row, const Result& want, const Result& got, int lanes) {
    if (got.ran != want.ran) return "one of them does not run it";
    if (got.scalars != want.scalars) return "scalars differ";
    for (size_t at = 0; at < want.rows.size(); ++at) {
        if (same(float_kind(row), want, got, at, static_cast<size_t>(lanes))) continue;
        char text[80];
        std::snprintf(text, sizeof text, "v%d lane %d: %08x, %08x", static_cast<int>(at) / lanes,
                      static_cast<int>(at) % lanes, got.rows[at], want.rows[at]);
        return text;
    }
    return {};
}

TEST_P(ValuVariants, GiveTheSameBits) {
    const auto [arch, lanes] = GetParam();
    const std::vector<Variant> all = variants();
    if (all.size() < 2) GTEST_SKIP() << "one variant only in this build or on this host";
    constexpr uint32_t kModes[] = {mode::kPlain, mode::kPlain | mode::kIeee, 0, mode::kPlain | 5,
                                   mode::kPlain | mode::kFp16Ovfl | 0xf};
    const std::set<Format> formats = {Format::VOP1,   Format::VOP2,  Format::VOPC,   Format::VOP3,
                                      Format::VOP3SD, Format::VOP3P, Format::VINTERP};
    for (const isa::Row& row : isa::rows(isa::info(arch).family)) {
        constexpr uint32_t kElsewhere = isa::kMatrix | isa::kNotOnSilicon | isa::kGraphics | isa::kLiteral;
        if (!formats.count(row.format) || row.flags & kElsewhere) continue;
        const isa::Inst inst = instruction(row);
        std::string wrong;
        for (uint64_t seed = 1; seed <= std::size(kModes) && wrong.empty(); ++seed) {
            const Result want = run_once(all.back(), arch, inst, lanes, kModes[seed - 1], seed);
            for (size_t i = 0; i + 1 < all.size() && wrong.empty(); ++i) {
                const Result got = run_once(all[i], arch, inst, lanes, kModes[seed - 1], seed);
                wrong = difference(row, want, got, lanes);
                EXPECT_EQ(wrong, "") << isa::name(row.format) << " " << row.mnemonic << " MODE " << std::hex
                                     << kModes[seed - 1] << " on " << all[i].name << " and " << all.back().name;
            }
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Archs, ValuVariants,
                         testing::Values(std::tuple(Arch::gfx1100, 32), std::tuple(Arch::gfx1100, 64),
                                         std::tuple(Arch::gfx1201, 32), std::tuple(Arch::gfx942, 64)));

}  // namespace
}  // namespace strata::emu
