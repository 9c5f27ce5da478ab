#include <bit>
#include <cfloat>
#include <set>

#include "valu_harness.h"
#include "valu_reference.h"

namespace strata::emu {
namespace {

using namespace valu_test;
using namespace reference;

enum class Check { b16, high16, b32, b64, b128, f16, highf16, bf16, f32, f64, pk, near16, near32, near64 };

// ---- references too long for a row ----
uint32_t norm_i16(Wide x) {
    return std::isnan(x) ? 0
                         : static_cast<uint32_t>(std::lrint(static_cast<float>(std::clamp<Wide>(x, -1, 1)) * 32767.0f));
}
uint32_t norm_u16(Wide x) {
    return std::isnan(x) ? 0
                         : static_cast<uint32_t>(std::lrint(static_cast<float>(std::clamp<Wide>(x, 0, 1)) * 65535.0f));
}
int frexp_exponent(Wide x) {
    int exponent = 0;
    if (std::isfinite(x)) std::frexp(x, &exponent);
    return exponent;
}
Wide frexp_mantissa(Wide x) {
    int exponent = 0;
    return std::isfinite(x) ? std::frexp(x, &exponent) : x;
}
struct Cube {
    float id, s, t, axis;
};
Cube cube(const In& in) {
    const float x = in.f(0), y = in.f(1), z = in.f(2);
    if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y))
        return {z < 0 ? 5.0f : 4.0f, z < 0 ? -x : x, -y, 2 * z};
    if (std::fabs(y) >= std::fabs(x)) return {y < 0 ? 3.0f : 2.0f, x, y < 0 ? -z : z, 2 * y};
    return {x < 0 ? 1.0f : 0.0f, x < 0 ? z : -z, -y, 2 * x};
}
uint32_t permuted(const In& x) {
    const uint64_t data = uint64_t{x.u(0)} << 32 | x.u(1);
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) r |= byte_permute(data, x.u(2) >> (8 * i) & 255) << (8 * i);
    return r;
}
uint64_t quad(const In& x, bool masked) {
    uint64_t r = 0;
    for (int i = 0; i < 4; i++)
        r |= uint64_t{(sad(static_cast<uint32_t>(x.q(0) >> (8 * i)), x.u(2), masked) +
                       static_cast<uint32_t>(x.q(2) >> (16 * i) & 0xffff)) &
                      0xffff}
             << (16 * i);
    return r;
}
Out quad32(const In& x) {
    Out out;
    for (int i = 0; i < 4; i++) out.w[i] = sad(static_cast<uint32_t>(x.q(0) >> (8 * i)), x.u(2), true) + x.u(2 + i);
    return out;
}
uint32_t lerp(const In& x) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i += 8) r |= ((x.u(0) >> i & 255) + (x.u(1) >> i & 255) + (x.u(2) >> i & 1)) / 2 << i;
    return r;
}
uint32_t fixup16(const In& x) {
    const Wide d = x.h(1), n = x.h(2);
    const uint32_t sign = (x.u16(1) ^ x.u16(2)) & 0x8000;
    if (std::isnan(n)) return x.u16(2) | 0x200;
    if (std::isnan(d)) return x.u16(1) | 0x200;
    if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n))) return 0xfe00;
    if (d == 0 || std::isinf(n)) return sign | 0x7c00;
    if (std::isinf(d) || n == 0) return sign;
    return sign | (x.u16(0) & 0x7fff);
}
float dot2(const In& x, float sum) {
    sum = std::fma(static_cast<float>(x.h(0)), static_cast<float>(x.h(1)), sum);
    return std::fma(static_cast<float>(x.hh(0)), static_cast<float>(x.hh(1)), sum);
}
float dot2_bf16(const In& x) {
    const float low =
        std::fma(static_cast<float>(bf16_value(x.u16(0))), static_cast<float>(bf16_value(x.u16(1))), x.f(2));
    return std::fma(static_cast<float>(bf16_value(x.hi16(0))), static_cast<float>(bf16_value(x.hi16(1))), low);
}
uint32_t dot2_bf16_bf16(const In& x) {
    const float low = std::fma(static_cast<float>(bf16_value(x.u16(0))), static_cast<float>(bf16_value(x.u16(1))),
                               static_cast<float>(bf16_value(x.u16(2))));
    const float first = static_cast<float>(bf16_value(bf16_bits(low)));
    return bf16_bits(
        std::fma(static_cast<float>(bf16_value(x.hi16(0))), static_cast<float>(bf16_value(x.hi16(1))), first));
}
uint32_t dot(const In& x, int width, bool signed_a, bool signed_b, bool clamp) {
    int64_t sum = x.i(2);
    for (int i = 0; i < 32; i += width) {
        const uint64_t a = x.u(0) >> i & ((1u << width) - 1), b = x.u(1) >> i & ((1u << width) - 1);
        sum += (signed_a ? sext(a, width) : static_cast<int64_t>(a)) *
               (signed_b ? sext(b, width) : static_cast<int64_t>(b));
    }
    return static_cast<uint32_t>(clamp ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum);
}
float flushed(Wide x) { return std::fabs(x) < 0x1p-126L ? 0.0f : static_cast<float>(x); }
constexpr Wide kPi = 3.14159265358979323846264338327950288L;
/// Exact at multiples of a quarter turn.
Wide sine(Wide turns) {
    if (std::isinf(turns) || std::isnan(turns)) return std::numeric_limits<Wide>::quiet_NaN();
    const Wide r = turns - std::nearbyint(turns);
    if (std::fabs(r) == 0.5L) return 0;
    return r == 0 ? std::copysign(r, turns) : std::sin(2 * kPi * r);
}
Wide cosine(Wide turns) {
    if (std::isinf(turns) || std::isnan(turns)) return std::numeric_limits<Wide>::quiet_NaN();
    const Wide r = std::fabs(turns - std::nearbyint(turns));
    return r == 0.25L ? 0 : std::cos(2 * kPi * r);
}

struct Case {
    const char* text;
    Check check;
    Out (*reference)(const In&);
};
constexpr Case kCases[] = {
#define CASE(text, check, ...) {text, Check::check, [](const In& x) { return Out(__VA_ARGS__); }},
#include "valu_cases.inc"
#undef CASE
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), by);
    return text;
}
std::string for_wave(std::string text, int lanes) {
    text = replaced(text, "$vcc", lanes == 32 ? "vcc_lo" : "vcc");
    text = replaced(text, "$m", lanes == 32 ? "s10" : "s[10:11]");
    return replaced(text, "$n", lanes == 32 ? "s12" : "s[12:13]");
}

bool nan16(uint32_t x) { return (x & 0x7fff) > 0x7c00; }
bool nan32(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; }
bool nan64(uint64_t x) { return (x & ~(uint64_t{1} << 63)) > uint64_t{0x7ff} << 52; }
int64_t order(uint64_t x, int bits) {
    const uint64_t sign = uint64_t{1} << (bits - 1);
    return x & sign ? -static_cast<int64_t>(x & (sign - 1)) : static_cast<int64_t>(x);
}
bool near(uint64_t a, uint64_t b, int bits) { return std::llabs(order(a, bits) - order(b, bits)) <= 1; }

/// What the destination registers must hold, NaN payloads and the last place of approximations aside.
bool agrees(Check check, const Out& want, const uint32_t* got, const uint32_t* old) {
    const uint32_t w = want.w[0], low = got[0] & 0xffff, high = got[0] >> 16;
    const bool high_kept = got[0] >> 16 == old[0] >> 16, low_kept = low == (old[0] & 0xffff);
    const uint64_t want64 = w | uint64_t{want.w[1]} << 32, got64 = got[0] | uint64_t{got[1]} << 32;
    switch (check) {
        case Check::b16: return low == w && high_kept;
        case Check::high16: return high == w && low_kept;
        case Check::f16: return (low == w || (nan16(low) && nan16(w))) && high_kept;
        case Check::bf16: return (low == w || (nan32(low << 16) && nan32(w << 16))) && high_kept;
        case Check::highf16: return (high == w || (nan16(high) && nan16(w))) && low_kept;
        case Check::b32: return got[0] == w;
        case Check::b64: return got64 == want64;
        case Check::b128: return std::memcmp(got, want.w, 16) == 0;
        case Check::f32: return got[0] == w || (nan32(got[0]) && nan32(w));
        case Check::f64: return got64 == want64 || (nan64(got64) && nan64(want64));
        case Check::pk:
            return (low == (w & 0xffff) || (nan16(low) && nan16(w))) &&
                   (high == w >> 16 || (nan16(high) && nan16(w >> 16)));
        case Check::near16: return (nan16(low) ? nan16(w) : !nan16(w) && near(low, w, 16)) && high_kept;
        case Check::near32: return nan32(got[0]) ? nan32(w) : !nan32(w) && near(got[0], w, 32);
        case Check::near64: return nan64(got64) ? nan64(want64) : !nan64(want64) && near(got64, want64, 64);
    }
    return false;
}

struct State {
    std::vector<In> in;
    uint64_t exec;
};

State randomise(Bench& bench, int lanes, Inputs& inputs, bool ieee, bool full) {
    State state;
    const uint64_t all = lanes == 64 ? ~uint64_t{0} : 0xffffffff;
    state.exec = full ? all : inputs.next() & all;
    bench.set_exec(state.exec);
    bench.wave().mode = mode::kPlain | (ieee ? mode::kIeee | mode::kDx10Clamp : 0);
    const uint64_t carry = inputs.next() & all;
    bench.set_mask(10, ~uint64_t{0});
    bench.set_mask(12, carry);
    bench.set_mask(106, carry);
    for (int lane = 0; lane < lanes; lane++) {
        In in;
        for (int i = 0; i < 6; i++) bench.v(i, lane) = in.v[i] = inputs.dword();
        for (int i = 0; i < 4; i++) bench.v(8 + i, lane) = in.old[i] = inputs.dword();
        in.carry = carry >> lane & 1, in.ieee = ieee, in.lane = lane;
        state.in.push_back(in);
    }
    return state;
}

std::string describe(const In& in, const Out& want, const uint32_t* got) {
    std::string text;
    auto words = [&](const char* name, const uint32_t* w, int n) {
        text += name;
        for (int i = 0; i < n; i++) {
            char buffer[16];
            std::snprintf(buffer, sizeof buffer, " %08x", w[i]);
            text += buffer;
        }
    };
    words("inputs", in.v, 6), words(" old", in.old, 2), words(" want", want.w, 4), words(" got", got, 4);
    return text + (in.carry ? " carry" : "") + " lane " + std::to_string(in.lane);
}

/// Checks one instruction on random lanes: results of active lanes, the rest untouched, mask bits of inactive lanes
/// zero.
void check_case(const Case& row, const Variant& variant, int lanes, Bench& bench, const Code& code) {
    const std::string text = row.text;
    const bool masked = text.find("$m") != std::string::npos, vcc = text.find("$vcc,") != std::string::npos;
    Inputs inputs(std::hash<std::string>{}(text));
    for (int round = 0; round < 24; round++) {
        const State state = randomise(bench, lanes, inputs, round & 1, round % 3 != 0);
        ASSERT_TRUE(bench.run(code)) << bench.fault();
        const uint64_t mask = masked ? bench.s64(10) : vcc ? bench.s64(106) : 0;
        for (int lane = 0; lane < lanes; lane++) {
            const In& in = state.in[lane];
            const uint32_t got[4] = {bench.v(8, lane), bench.v(9, lane), bench.v(10, lane), bench.v(11, lane)};
            const bool active = state.exec >> lane & 1;
            const Out want = active ? row.reference(in) : Out();
            const bool right = active ? agrees(row.check, want, got, in.old) : std::memcmp(got, in.old, 16) == 0;
            ASSERT_TRUE(right) << variant.name << " wave" << lanes << (active ? " " : " inactive lane changed: ")
                               << text << "\n"
                               << describe(in, want, got) << (in.ieee ? " ieee" : "");
            if (masked || vcc) {
                ASSERT_EQ(mask >> lane & 1, want.mask ? 1u : 0u) << variant.name << " mask of " << text << "\n"
                                                                 << describe(in, want, got);
            }
        }
    }
}

class ValuCases : public testing::TestWithParam<int> {};

TEST_P(ValuCases, AgreeWithAScalarReferenceOfTheDocument) {
    const int lanes = GetParam();
    if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    Bench bench(lanes);
    for (const Case& row : kCases) {
        SCOPED_TRACE(row.text);
        const std::vector<uint32_t> words = assembled(for_wave(row.text, lanes), lanes);
        for (const Variant& variant : variants()) {
            Code code;
            if (words.empty() || !code.load(variant, words, lanes)) continue;
            check_case(row, variant, lanes, bench, code);
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Waves, ValuCases, testing::Values(32, 64),
                         [](const auto& info) { return "wave" + std::to_string(info.param); });

/// Rows with no handler: interpolation has no use in compute; the rest is executed.
TEST(Valu, EveryRowOfTheTableHasAHandler) {
    const std::set<std::string> allowed = {"v_interp_p10_f16_f32", "v_interp_p10_f32", "v_interp_p10_rtz_f16_f32",
                                           "v_interp_p2_f16_f32",  "v_interp_p2_f32",  "v_interp_p2_rtz_f16_f32"};
    using isa::Format;
    const std::set<Format> formats = {Format::VOP1,   Format::VOP2,  Format::VOPC,   Format::VOP3,
                                      Format::VOP3SD, Format::VOP3P, Format::VINTERP};
    for (const Variant& variant : variants()) {
        std::set<std::string> missing;
        for (const isa::Row& row : isa::rows(isa::Family::rdna3)) {
            if (!formats.count(row.format)) continue;
            isa::Inst inst;
            inst.row = &row;
            inst.encoding = row.format;
            auto place = [](isa::Type type) {
                const bool mask = type == isa::Type::lanes;
                return isa::Operand{static_cast<uint16_t>(mask ? isa::code::vcc_lo : isa::code::vgpr0 + 16), type};
            };
            for (size_t i = 0; i < row.dst.size(); i++) inst.dst[i] = place(row.dst[i]);
            for (size_t i = 0; i < row.src.size(); i++) inst.src[i] = place(row.src[i]);
            Op op;
            if (!variant.choose(Choice{inst, isa::Arch::gfx1100, 32, op})) missing.insert(std::string(row.mnemonic));
        }
        EXPECT_EQ(missing, allowed) << variant.name;
    }
}

}  // namespace
}  // namespace strata::emu
