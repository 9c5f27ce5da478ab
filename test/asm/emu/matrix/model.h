#pragma once
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "../vector/reference.h"
#include "strata/asm/isa/inst.h"

// A model of the matrix instructions, written from the mnemonic and from the documents' "register to element" formulas.
// It gives the element of each register, lane and piece. Sums are plain triple loops.
namespace strata::emu::matrix_model {

using isa::Arch;

struct Case {
    Arch arch;
    std::string mnemonic;
    int blocks = 1, lanes = 64;
    // from the mnemonic
    int m = 0, n = 0, k = 0;
    std::string result, a, b;  ///< "f32", "bf16", "fp8", ...
    bool sparse = false;

    bool cdna() const { return arch == Arch::gfx942 || arch == Arch::gfx90a; }
    int stored() const { return sparse ? k / 2 : k; }
};

inline int bits_of(const std::string& type) {
    if (type == "f64") return 64;
    if (type == "f32" || type == "xf32" || type == "i32") return 32;
    if (type == "f16" || type == "bf16") return 16;
    return type == "iu4" ? 4 : 8;
}

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.mnemonic; }

/// v_mfma_f32_32x32x4_2b_f16, v_mfma_f32_32x32x8bf16_1k, v_swmmac_f32_16x16x32_fp8_bf8, ...
inline Case parse(Arch arch, std::string mnemonic, int lanes, int blocks) {
    Case c{arch, mnemonic, blocks, lanes};
    std::string text = mnemonic.substr(2);
    c.sparse = text[0] == 's';
    text = text.substr(text.find('_') + 1);
    c.result = text.substr(0, text.find('_'));
    text = text.substr(text.find('_') + 1);
    char types[32] = "";
    sscanf(text.c_str(), "%dx%dx%d%31s", &c.m, &c.n, &c.k, types);
    std::string rest = types;
    if (rest.find("b_") != std::string::npos) rest = rest.substr(rest.find("b_") + 1);  // _2b_
    if (rest.ends_with("_1k")) rest.resize(rest.size() - 3);
    if (rest[0] == '_') rest = rest.substr(1);
    c.a = rest.substr(0, rest.find('_'));
    c.b = rest.find('_') == std::string::npos ? c.a : rest.substr(rest.find('_') + 1);
    return c;
}

// ---- values ----

inline double byte_float(uint32_t x, int mantissa, int bias, bool fnuz) {
    const int magnitude = x & 0x7f, exponent = magnitude >> mantissa, fraction = magnitude & ((1 << mantissa) - 1);
    const double sign = x & 0x80 ? -1 : 1;
    if (fnuz && x == 0x80) return NAN;
    if (!fnuz && mantissa == 3 && magnitude == 0x7f) return NAN;
    if (!fnuz && mantissa == 2 && exponent == 31) return fraction ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
    return sign * std::ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
}

/// The value of an element's bits as the instruction reads them.
inline double value_of(const Case& c, const std::string& type, uint64_t bits, bool is_signed) {
    const bool fnuz = c.cdna();
    if (type == "f64") return std::bit_cast<double>(bits);
    const auto x = static_cast<uint32_t>(bits);
    if (type == "f32") return std::bit_cast<float>(x);
    if (type == "xf32") return std::isnan(std::bit_cast<float>(x)) ? NAN : std::bit_cast<float>(x & 0xffffe000);
    const bool flushes = c.arch == Arch::gfx90a;
    if (type == "f16") {
        const auto value = static_cast<double>(reference::half_value(x));
        return flushes && std::fabs(value) < 0x1p-14 ? std::copysign(0, x & 0x8000 ? -1.0 : 1.0) : value;
    }
    if (type == "bf16") {
        const float value = std::bit_cast<float>(x << 16);
        return flushes && std::fabs(value) < 0x1p-126 ? std::copysign(0, value) : value;
    }
    if (type == "fp8") return byte_float(x, 3, fnuz ? 8 : 7, fnuz);
    if (type == "bf8") return byte_float(x, 2, fnuz ? 16 : 15, fnuz);
    const int bits_ = bits_of(type);
    const int limit = 1 << bits_;
    return (is_signed || type == "i8") && x >= static_cast<uint32_t>(limit / 2) ? static_cast<int>(x) - limit
                                                                                : static_cast<int>(x);
}

// ---- places: what a lane's element `e` is ----

struct At {
    int i, k, block;  ///< row of A (column of B), column of A (row of B)
    bool used = true;
};

inline At input_cdna(const Case& c, int outer, int columns, int lane, int e) {
    const int each = columns * outer * c.blocks / 64;
    return {lane % outer, each * (lane / (outer * c.blocks)) + e, lane / outer % c.blocks};
}

inline At input_rdna4(const Case& c, const std::string& type, int columns, bool b_of_sparse, int lane, int e) {
    const int bits = bits_of(type), i = lane % 16, g0 = lane / 16 % 2, g1 = lane / 32;
    if (b_of_sparse) {
        if (c.lanes == 32 && bits == 16) return {i, 16 * (e / 8) + 8 * g0 + e % 8, 0};
        if (c.lanes == 32) return {i, (columns == 64 ? 32 : 16) * g0 + e, 0};
        if (bits == 16) return {i, 16 * g1 + 8 * g0 + e, 0};
        return columns == 64 ? At{i, 16 * g1 + 32 * g0 + e, 0} : At{i, 8 * g1 + 16 * g0 + e, 0};
    }
    if (c.lanes == 32) {
        if (bits == 16) return {i, 8 * (e / 4) + 4 * g0 + e % 4, 0};
        return {i, (columns == 32 ? 16 : 8) * g0 + e, 0};
    }
    if (bits == 16) return {i, 8 * g1 + 4 * g0 + e, 0};
    if (bits == 8) return {i, 4 * g1 + 8 * g0 + e, 0};
    if (columns == 32) return {i, 8 * g1 + 16 * g0 + e, 0};
    return {i, 8 * g0 + e, 0, lane < 32};
}

/// Elements of A or B in one lane.
inline int elements(const Case& c, bool is_a) {
    const int columns = is_a ? c.stored() : c.k, outer = is_a ? c.m : c.n;
    if (c.cdna()) return columns * outer * c.blocks / 64;
    if (c.arch == Arch::gfx1100) return columns;
    const bool half_used = c.lanes == 64 && bits_of(c.a) == 4 && columns == 16;
    return columns * 16 / (half_used ? 32 : c.lanes);
}

inline At input_at(const Case& c, bool is_a, int lane, int e) {
    const int columns = is_a ? c.stored() : c.k;
    if (c.cdna()) return input_cdna(c, is_a ? c.m : c.n, columns, lane, e);
    if (c.arch == Arch::gfx1100) return {lane, e, 0, lane < 16};
    return input_rdna4(c, is_a ? c.a : c.b, columns, c.sparse && !is_a, lane, e);
}

/// Row, column and block of result number r (16-bit packed ones: two a register) in a lane.
struct ResultAt {
    int i, j, block;
};
inline ResultAt result_at(const Case& c, int r, int lane) {
    if (c.arch == Arch::gfx1100) return {c.lanes / 16 * r + lane / 16, lane % 16, 0};
    if (c.arch == Arch::gfx1201)
        return {c.lanes == 32 ? 8 * (lane / 16) + r : 4 * (lane / 32) + 8 * (lane / 16 % 2) + r, lane % 16, 0};
    if (c.result == "f64") {
        if (c.n == 16) return {4 * r + lane / 16, lane % 16, 0};
        return {lane / 16, lane % 4, lane / 4 % 4};
    }
    if (c.n == 4) return {r, lane % 4, lane / 4};
    if (c.n == 16) return {4 * (lane / 16) + r % 4, lane % 16, r / 4};
    return {8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4, lane % 32, r / 16};
}
inline int results(const Case& c) { return c.m * c.n * c.blocks / c.lanes; }

/// The lane of B that stands in for `lane` (BLGP), and the block of A for `block` (CBSZ, ABID).
inline int permuted(int lane, int blgp) {
    static constexpr int fours[8][4] = {{0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
                                        {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
    return 16 * fours[blgp][lane / 16] + lane % 16;
}
inline int broadcast(int block, int cbsz, int abid) { return (block >> cbsz << cbsz) + abid; }

// ---- instructions under test ----

constexpr int kA = 0, kB = 16, kC = 64, kD = 128, kIndex = 200;  // vector registers

/// Modifiers and operands of one run.
struct Form {
    int cbsz = 0, abid = 0, blgp = 0, neg = 0, neg_hi = 0, op_sel = 0;
    bool clamp = false;
    int c = kC, d = kD;
    uint16_t constant = 0;  ///< operand code of C, instead of a register
    uint32_t constant_bits = 0;
    uint32_t literal = 0;
    int values = 0;  ///< 0 moderate ones, 1 tiny ones too, 2 infinities and NaN too, 3 zeros too
};

inline std::vector<Case> all_cases() {
    std::vector<Case> cases;
    auto add = [&](Arch arch, const char* mnemonic, int blocks) {
        const bool cdna = arch == Arch::gfx942 || arch == Arch::gfx90a;
        if (!cdna) cases.push_back(parse(arch, mnemonic, 32, 1));
        cases.push_back(parse(arch, mnemonic, 64, blocks));
    };
#include "cases.inc"
    return cases;
}

inline isa::Inst instruction(const Case& c, const Form& form, const isa::Row& row) {
    auto v = [](int r) { return isa::Operand{static_cast<uint16_t>(256 + r), isa::Type::b256}; };
    isa::Inst inst;
    inst.row = &row;
    inst.encoding = isa::Format::VOP3P;
    inst.dst[0] = v(form.d);
    inst.src = {v(kA), v(kB), v(c.sparse ? kIndex : form.c), {}};
    if (form.constant) inst.src[2] = {form.constant, isa::Type::b256};
    inst.cbsz = static_cast<uint8_t>(form.cbsz), inst.abid = static_cast<uint8_t>(form.abid);
    inst.blgp = static_cast<uint8_t>(form.blgp), inst.neg = static_cast<uint8_t>(form.neg);
    inst.neg_hi = static_cast<uint8_t>(form.neg_hi), inst.op_sel = static_cast<uint8_t>(form.op_sel);
    inst.clamp = form.clamp;
    inst.literal = form.literal;
    return inst;
}

inline std::string case_name(const ::testing::TestParamInfo<Case>& info) {
    const Case& c = info.param;
    return std::string(isa::info(c.arch).name) + "_" + c.mnemonic + "_" + std::to_string(c.lanes);
}

}  // namespace strata::emu::matrix_model
