#pragma once
#include "harness.h"
#include "reference.h"

// One instruction against a scalar reference of it, on random lanes.
namespace strata::emu::valu_test {

using namespace reference;

enum class Check {
    b16,
    high16,
    b32,
    b64,
    b128,
    f16,
    highf16,
    bf16,
    f32,
    f64,
    pk,
    near16,
    near32,
    near64,
    sine32,
    pair32
};

struct Case {
    const char* text;
    Check check;
    Out (*reference)(const In&);
};
inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), by);
    return text;
}
inline std::string for_wave(std::string text, int lanes) {
    text = replaced(text, "$vcc", lanes == 32 ? "vcc_lo" : "vcc");
    text = replaced(text, "$m", lanes == 32 ? "s10" : "s[10:11]");
    return replaced(text, "$n", lanes == 32 ? "s12" : "s[12:13]");
}

inline bool nan16(uint32_t x) { return (x & 0x7fff) > 0x7c00; }
inline bool nan32(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; }
inline bool nan64(uint64_t x) { return (x & ~(uint64_t{1} << 63)) > uint64_t{0x7ff} << 52; }
inline int64_t order(uint64_t x, int bits) {
    const uint64_t sign = uint64_t{1} << (bits - 1);
    return x & sign ? -static_cast<int64_t>(x & (sign - 1)) : static_cast<int64_t>(x);
}
inline bool near(uint64_t a, uint64_t b, int bits, int64_t steps = 1) {
    return std::llabs(order(a, bits) - order(b, bits)) <= steps;
}
/// RDNA's sines and cosines of singles stray this far (trans_rdna.inc), but nowhere by 2^-22.
constexpr int64_t kSineSteps = 12;

/// The fate of the half of a register that a 16-bit result does not fill.
enum class High { kept, zero };

/// Compares the destination registers, NaN payloads and the last place of approximations aside.
inline bool agrees(Check check, const Out& want, const uint32_t* got, const uint32_t* old, High rest) {
    const uint32_t w = want.w[0], low = got[0] & 0xffff, high = got[0] >> 16;
    const bool high_right = got[0] >> 16 == (rest == High::kept ? old[0] >> 16 : 0),
               low_kept = low == (old[0] & 0xffff);
    const uint64_t want64 = w | uint64_t{want.w[1]} << 32, got64 = got[0] | uint64_t{got[1]} << 32;
    switch (check) {
        case Check::b16: return low == w && high_right;
        case Check::high16: return high == w && low_kept;
        case Check::f16: return (low == w || (nan16(low) && nan16(w))) && high_right;
        case Check::bf16: return (low == w || (nan32(low << 16) && nan32(w << 16))) && high_right;
        case Check::highf16: return (high == w || (nan16(high) && nan16(w))) && low_kept;
        case Check::b32: return got[0] == w;
        case Check::b64: return got64 == want64;
        case Check::b128: return std::memcmp(got, want.w, 16) == 0;
        case Check::f32: return got[0] == w || (nan32(got[0]) && nan32(w));
        case Check::f64: return got64 == want64 || (nan64(got64) && nan64(want64));
        case Check::pk:
            return (low == (w & 0xffff) || (nan16(low) && nan16(w))) &&
                   (high == w >> 16 || (nan16(high) && nan16(w >> 16)));
        case Check::pair32:
            for (int i = 0; i < 2; ++i)
                if (got[i] != want.w[i] && !(nan32(got[i]) && nan32(want.w[i]))) return false;
            return true;
        case Check::near16: return (nan16(low) ? nan16(w) : !nan16(w) && near(low, w, 16)) && high_right;
        case Check::near32: return nan32(got[0]) ? nan32(w) : !nan32(w) && near(got[0], w, 32);
        case Check::sine32:
            if (nan32(got[0]) || nan32(w)) return nan32(got[0]) && nan32(w);
            return near(got[0], w, 32, kSineSteps) && std::fabs(to_float(got[0]) - to_float(w)) < 0x1p-22f;
        case Check::near64: return nan64(got64) ? nan64(want64) : !nan64(want64) && near(got64, want64, 64);
    }
    return false;
}

struct State {
    std::vector<In> in;
    uint64_t exec;
};

inline State randomise(Bench& bench, int lanes, Inputs& inputs, bool ieee, bool full) {
    State state;
    const uint64_t all = lanes == 64 ? ~uint64_t{0} : 0xffffffff;
    state.exec = full ? all : inputs.next() & all;
    bench.set_exec(state.exec);
    bench.wave().mode = mode::kPlain | (ieee ? mode::kIeee | mode::kDx10Clamp : 0);
    const uint64_t carry = inputs.next() & all;
    bench.set_mask(10, ~uint64_t{0});
    bench.set_mask(12, carry);
    bench.set_mask(106, carry);
    for (int lane = 0; lane < lanes; ++lane) {
        In in;
        for (int i = 0; i < 6; ++i) bench.v(i, lane) = in.v[i] = inputs.dword();
        for (int i = 0; i < 4; ++i) bench.v(8 + i, lane) = in.old[i] = inputs.dword();
        in.vcc_low = static_cast<uint32_t>(carry), in.vcc_high = static_cast<uint32_t>(carry >> 32);
        in.carry = carry >> lane & 1, in.ieee = ieee, in.lane = lane;
        state.in.push_back(in);
    }
    return state;
}

inline std::string describe(const In& in, const Out& want, const uint32_t* got) {
    std::string text;
    auto words = [&](const char* name, const uint32_t* w, int n) {
        text += name;
        for (int i = 0; i < n; ++i) {
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
inline void check_case(const Case& row, const Variant& variant, int lanes, Bench& bench, const Code& code,
                       High rest = High::kept) {
    const std::string text = row.text;
    const bool masked = text.find("$m") != std::string::npos, vcc = text.find("$vcc,") != std::string::npos;
    Inputs inputs(std::hash<std::string>{}(text));
    for (int round = 0; round < 24; ++round) {
        const State state = randomise(bench, lanes, inputs, round & 1, round % 3 != 0);
        ASSERT_TRUE(bench.run(code)) << bench.fault();
        const uint64_t mask = masked ? bench.s64(10) : vcc ? bench.s64(106) : 0;
        for (int lane = 0; lane < lanes; ++lane) {
            const In& in = state.in[lane];
            const uint32_t got[4] = {bench.v(8, lane), bench.v(9, lane), bench.v(10, lane), bench.v(11, lane)};
            const bool active = state.exec >> lane & 1;
            const Out want = active ? row.reference(in) : Out();
            const bool right = active ? agrees(row.check, want, got, in.old, rest) : std::memcmp(got, in.old, 16) == 0;
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

}  // namespace strata::emu::valu_test
