#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "rounded.h"

// A model of the scalar instructions, written from the operation descriptions of the RDNA3, RDNA4 and CDNA3 documents
// ("SOP2 Instructions" and the following sections).
namespace strata::emu::harness {

/// One instruction's inputs, replaced by its results. Sources are zero-extended from their width.
struct ScalarCase {
    uint64_t a = 0, b = 0;  ///< sources in the order of the text
    uint64_t d = 0;         ///< the destination before; the result
    uint64_t exec = 0;
    bool scc = false;
    int32_t simm = 0;      ///< sign-extended
    uint32_t literal = 0;  ///< K of fmaak and fmamk
    uint32_t mode = 0xf0;
    bool writes = true;       ///< false: the destination keeps its value
    bool any_nan = false;     ///< the result is a quiet NaN whose payload the documents leave open
    bool float_mode = false;  ///< may be run with any rounding and denormal mode

    uint32_t ua() const { return static_cast<uint32_t>(a); }
    uint32_t ub() const { return static_cast<uint32_t>(b); }
    int32_t ia() const { return static_cast<int32_t>(a); }
    int32_t ib() const { return static_cast<int32_t>(b); }
    int64_t la() const { return static_cast<int64_t>(a); }
    void set(uint64_t value) { d = value; }
    void set32(int64_t value) { d = static_cast<uint32_t>(value); }
    void set_scc32(int64_t value) { set32(value), scc = d != 0; }
    void set_scc64(uint64_t value) { d = value, scc = d != 0; }
};

using ScalarRule = std::function<void(ScalarCase&)>;

/// Rules by mnemonic. A rule has all spellings of the families.
inline const std::map<std::string, ScalarRule, std::less<>>& scalar_rules();

namespace scalar {

template <class T>
constexpr int kBits = sizeof(T) * 8;

/// Position of the first bit from the top (or the bottom) for which `is` holds, else -1.
template <class Is>
int first(int bits, bool from_top, Is is) {
    for (int i = 0; i < bits; ++i)
        if (is(from_top ? bits - 1 - i : i)) return i;
    return -1;
}
inline bool bit(uint64_t value, int i) { return value >> i & 1; }

/// Leading bits that equal the sign bit: position of the first that does not, else -1.
inline int differs_from_sign(uint64_t value, int bits) {
    const int at = first(bits, true, [&](int i) { return bit(value, i) != bit(value, bits - 1); });
    return at;
}
inline uint64_t reversed(uint64_t value, int bits) {
    uint64_t out = 0;
    for (int i = 0; i < bits; ++i) out |= uint64_t{bit(value, i)} << (bits - 1 - i);
    return out;
}
/// For every group of four bits whether one is set: spread over the group, or packed.
inline uint64_t quads(uint64_t value, int bits, bool spread) {
    uint64_t out = 0;
    for (int i = 0; i < bits; i += 4)
        if (value >> i & 15) out |= spread ? 15ull << i : 1ull << (i / 4);
    return out;
}
inline uint64_t field(uint64_t value, uint32_t control, int bits, bool is_signed) {
    const int offset = static_cast<int>(control & static_cast<uint32_t>(bits - 1)), width = control >> 16 & 127;
    uint64_t out = 0;
    for (int i = 0; i < width && i < bits; ++i) {
        const int at = offset + i;
        const bool one = at < bits ? bit(value, at) : is_signed && bit(value, bits - 1);
        out |= uint64_t{one} << i;
    }
    if (is_signed && width > 0 && width < bits && bit(out, width - 1)) out |= ~0ull << width;
    return bits == 32 ? static_cast<uint32_t>(out) : out;
}

inline uint64_t logic(std::string_view op, uint64_t a, uint64_t b) {
    if (op == "and") return a & b;
    if (op == "or") return a | b;
    if (op == "xor") return a ^ b;
    if (op == "nand") return ~(a & b);
    if (op == "nor") return ~(a | b);
    if (op == "xnor") return ~(a ^ b);
    if (op == "and_not0" || op == "andn1") return ~a & b;
    if (op == "or_not0" || op == "orn1") return ~a | b;
    if (op == "and_not1" || op == "andn2") return a & ~b;
    return a | ~b;  // or_not1, orn2
}

template <class Rules>
void add_logic(Rules& rules) {
    for (const char* name : {"and", "or", "xor", "nand", "nor", "xnor", "and_not0", "andn1", "or_not0", "orn1",
                             "and_not1", "andn2", "or_not1", "orn2"}) {
        const std::string op = name, s = "s_" + op;
        rules[s + "_b32"] = [op](ScalarCase& c) { c.set_scc32(static_cast<int64_t>(logic(op, c.a, c.b))); };
        rules[s + "_b64"] = [op](ScalarCase& c) { c.set_scc64(logic(op, c.a, c.b)); };
        auto exec = [op](ScalarCase& c, uint64_t mask, bool save) {
            const uint64_t old = c.exec & mask, now = logic(op, c.a, old) & mask;
            c.exec = (c.exec & ~mask) | now;
            c.d = save ? old : now;
            c.scc = now != 0;
        };
        rules[s + "_saveexec_b32"] = [exec](ScalarCase& c) { exec(c, 0xffffffff, true); };
        rules[s + "_saveexec_b64"] = [exec](ScalarCase& c) { exec(c, ~0ull, true); };
        rules[s + "_wrexec_b32"] = [exec](ScalarCase& c) { exec(c, 0xffffffff, false); };
        rules[s + "_wrexec_b64"] = [exec](ScalarCase& c) { exec(c, ~0ull, false); };
    }
}

template <class Rules, class Rule>
void put(Rules& rules, std::initializer_list<const char*> names, Rule rule) {
    for (const char* name : names) rules[name] = rule;
}

template <class Rules>
void add_arithmetic(Rules& r) {
    using C = ScalarCase&;
    auto signed_overflow = [](int64_t exact) { return exact != static_cast<int32_t>(exact); };
    put(r, {"s_add_u32", "s_add_co_u32"}, [](C c) { c.scc = (c.a + c.b) >> 32, c.set32(c.ia() + int64_t{c.ib()}); });
    put(r, {"s_addc_u32", "s_add_co_ci_u32"}, [](C c) {
        const uint64_t sum = c.a + c.b + c.scc;
        c.scc = sum >> 32, c.set32(static_cast<int64_t>(sum));
    });
    put(r, {"s_sub_u32", "s_sub_co_u32"}, [](C c) { c.scc = c.b > c.a, c.set32(c.ia() - int64_t{c.ib()}); });
    put(r, {"s_subb_u32", "s_sub_co_ci_u32"}, [](C c) {
        const bool borrow = c.b + c.scc > c.a;
        c.set32(static_cast<int64_t>(c.a - c.b - c.scc)), c.scc = borrow;
    });
    put(r, {"s_add_i32", "s_add_co_i32"}, [=](C c) {
        const int64_t sum = int64_t{c.ia()} + c.ib();
        c.scc = signed_overflow(sum), c.set32(sum);
    });
    put(r, {"s_sub_i32", "s_sub_co_i32"}, [=](C c) {
        const int64_t difference = int64_t{c.ia()} - c.ib();
        c.scc = signed_overflow(difference), c.set32(difference);
    });
    put(r, {"s_addk_i32", "s_addk_co_i32"}, [=](C c) {
        const int64_t sum = int64_t{static_cast<int32_t>(c.d)} + c.simm;
        c.scc = signed_overflow(sum), c.set32(sum);
    });
    r["s_mulk_i32"] = [](C c) { c.set32(int64_t{static_cast<int32_t>(c.d)} * c.simm); };
    r["s_mul_i32"] = [](C c) { c.set32(int64_t{c.ia()} * c.ib()); };
    r["s_mul_hi_i32"] = [](C c) { c.set32((int64_t{c.ia()} * c.ib()) >> 32); };
    r["s_mul_hi_u32"] = [](C c) { c.set32(static_cast<int64_t>((c.a * c.b) >> 32)); };
    r["s_add_nc_u64"] = [](C c) { c.set(c.a + c.b); };
    r["s_sub_nc_u64"] = [](C c) { c.set(c.a - c.b); };
    r["s_mul_u64"] = [](C c) { c.set(c.a * c.b); };
    r["s_abs_i32"] = [](C c) { c.set_scc32(c.ia() < 0 ? -int64_t{c.ia()} : c.ia()); };
    r["s_absdiff_i32"] = [](C c) {
        const auto difference = static_cast<int32_t>(c.ua() - c.ub());
        c.set_scc32(difference < 0 ? -int64_t{difference} : difference);
    };
    for (int n = 1; n <= 4; ++n)
        r["s_lshl" + std::to_string(n) + "_add_u32"] = [n](C c) {
            const uint64_t sum = (c.a << n) + c.b;
            c.scc = sum >> 32 != 0, c.set32(static_cast<int64_t>(sum));
        };
    r["s_min_i32"] = [](C c) { c.scc = c.ia() < c.ib(), c.set(c.scc ? c.a : c.b); };
    r["s_min_u32"] = [](C c) { c.scc = c.a < c.b, c.set(c.scc ? c.a : c.b); };
    r["s_max_i32"] = [](C c) { c.scc = c.ia() >= c.ib(), c.set(c.scc ? c.a : c.b); };
    r["s_max_u32"] = [](C c) { c.scc = c.a >= c.b, c.set(c.scc ? c.a : c.b); };
}

template <class Rules>
void add_bits(Rules& r) {
    using C = ScalarCase&;
    r["s_lshl_b32"] = [](C c) { c.set_scc32(static_cast<int64_t>(c.a << (c.b & 31))); };
    r["s_lshl_b64"] = [](C c) { c.set_scc64(c.a << (c.b & 63)); };
    r["s_lshr_b32"] = [](C c) { c.set_scc32(static_cast<int64_t>(c.a >> (c.b & 31))); };
    r["s_lshr_b64"] = [](C c) { c.set_scc64(c.a >> (c.b & 63)); };
    r["s_ashr_i32"] = [](C c) { c.set_scc32(c.ia() >> (c.b & 31)); };
    r["s_ashr_i64"] = [](C c) { c.set_scc64(static_cast<uint64_t>(c.la() >> (c.b & 63))); };
    r["s_bfe_u32"] = [](C c) { c.set_scc64(field(c.a, c.ub(), 32, false)); };
    r["s_bfe_i32"] = [](C c) { c.set_scc64(field(c.a, c.ub(), 32, true)); };
    r["s_bfe_u64"] = [](C c) { c.set_scc64(field(c.a, c.ub(), 64, false)); };
    r["s_bfe_i64"] = [](C c) { c.set_scc64(field(c.a, c.ub(), 64, true)); };
    r["s_bfm_b32"] = [](C c) { c.set32(static_cast<int64_t>(((1ull << (c.a & 31)) - 1) << (c.b & 31))); };
    r["s_bfm_b64"] = [](C c) { c.set(((1ull << (c.a & 63)) - 1) << (c.b & 63)); };
    r["s_pack_ll_b32_b16"] = [](C c) { c.set((c.a & 0xffff) | (c.b & 0xffff) << 16); };
    r["s_pack_lh_b32_b16"] = [](C c) { c.set((c.a & 0xffff) | (c.b & 0xffff0000)); };
    r["s_pack_hl_b32_b16"] = [](C c) { c.set(c.a >> 16 | (c.b & 0xffff) << 16); };
    r["s_pack_hh_b32_b16"] = [](C c) { c.set(c.a >> 16 | (c.b & 0xffff0000)); };
    r["s_not_b32"] = [](C c) { c.set_scc32(~c.ia()); };
    r["s_not_b64"] = [](C c) { c.set_scc64(~c.a); };
    for (int bits : {32, 64}) {
        const std::string n = std::to_string(bits);
        const uint64_t last = static_cast<uint64_t>(bits) - 1;
        r["s_brev_b" + n] = [=](C c) { c.set(reversed(c.a, bits)); };
        r["s_wqm_b" + n] = [=](C c) { c.set_scc64(quads(c.a, bits, true)); };
        r["s_quadmask_b" + n] = [=](C c) { c.set_scc64(quads(c.a, bits, false)); };
        r["s_bcnt0_i32_b" + n] = [=](C c) { c.set_scc32(bits - std::popcount(c.a)); };
        r["s_bcnt1_i32_b" + n] = [=](C c) { c.set_scc32(std::popcount(c.a)); };
        r["s_bitset0_b" + n] = [=](C c) { c.d &= ~(1ull << (c.a & last)); };
        r["s_bitset1_b" + n] = [=](C c) { c.d |= 1ull << (c.a & last); };
        r["s_bitcmp0_b" + n] = [=](C c) { c.scc = !bit(c.a, static_cast<int>(c.b & last)); };
        r["s_bitcmp1_b" + n] = [=](C c) { c.scc = bit(c.a, static_cast<int>(c.b & last)); };
        auto zeros = [=](bool top, bool value) {
            return [=](C c) { c.set32(first(bits, top, [&](int i) { return bit(c.a, i) == value; })); };
        };
        r["s_ff0_i32_b" + n] = zeros(false, false);
        r["s_ff1_i32_b" + n] = r["s_ctz_i32_b" + n] = zeros(false, true);
        r["s_flbit_i32_b" + n] = r["s_clz_i32_u" + n] = zeros(true, true);
        r[bits == 32 ? "s_flbit_i32" : "s_flbit_i32_i64"] =
            r[bits == 32 ? "s_cls_i32" : "s_cls_i32_i64"] = [=](C c) { c.set32(differs_from_sign(c.a, bits)); };
    }
    r["s_bitreplicate_b64_b32"] = [](C c) {
        uint64_t out = 0;
        for (int i = 0; i < 32; ++i)
            if (bit(c.a, i)) out |= 3ull << (2 * i);
        c.set(out);
    };
    r["s_sext_i32_i8"] = [](C c) { c.set32(static_cast<int8_t>(c.a)); };
    r["s_sext_i32_i16"] = [](C c) { c.set32(static_cast<int16_t>(c.a)); };
}

template <class Rules>
void add_moves(Rules& r) {
    using C = ScalarCase&;
    for (const char* n : {"32", "64"}) {
        r[std::string("s_mov_b") + n] = [](C c) { c.set(c.a); };
        r[std::string("s_cmov_b") + n] = [](C c) { c.writes = c.scc, c.set(c.scc ? c.a : c.d); };
        r[std::string("s_cselect_b") + n] = [](C c) { c.set(c.scc ? c.a : c.b); };
    }
    r["s_movk_i32"] = [](C c) { c.set32(c.simm); };
    r["s_cmovk_i32"] = [](C c) { c.writes = c.scc, c.set(c.scc ? static_cast<uint32_t>(c.simm) : c.d); };
}

template <class Rules>
void add_compares(Rules& r) {
    using C = ScalarCase&;
    auto rows = [&](const char* op, auto compare) {
        const std::string o = op;
        r["s_cmp_" + o + "_i32"] = [=](C c) { c.scc = compare(int64_t{c.ia()}, int64_t{c.ib()}); };
        r["s_cmp_" + o + "_u32"] = r["s_cmp_" + o + "_u64"] = [=](C c) { c.scc = compare(c.a, c.b); };
        r["s_cmpk_" + o + "_i32"] = [=](C c) { c.scc = compare(int64_t{c.ia()}, int64_t{c.simm}); };
        r["s_cmpk_" + o + "_u32"] = [=](C c) { c.scc = compare(c.a, static_cast<uint64_t>(c.simm & 0xffff)); };
    };
    rows("eq", [](auto a, auto b) { return a == b; });
    rows("lg", [](auto a, auto b) { return a != b; });
    rows("gt", [](auto a, auto b) { return a > b; });
    rows("ge", [](auto a, auto b) { return a >= b; });
    rows("lt", [](auto a, auto b) { return a < b; });
    rows("le", [](auto a, auto b) { return a <= b; });
}

}  // namespace scalar
}  // namespace strata::emu::harness

#include "scalar_float_model.h"

namespace strata::emu::harness {
inline const std::map<std::string, ScalarRule, std::less<>>& scalar_rules() {
    static const auto all = [] {
        std::map<std::string, ScalarRule, std::less<>> rules;
        scalar::add_logic(rules);
        scalar::add_arithmetic(rules);
        scalar::add_bits(rules);
        scalar::add_moves(rules);
        scalar::add_compares(rules);
        scalar::add_floats(rules);
        return rules;
    }();
    return all;
}
}  // namespace strata::emu::harness
