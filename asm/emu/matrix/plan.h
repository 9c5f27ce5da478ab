#pragma once
#include <cstdint>
#include <string_view>

#include "strata/asm/emu/machine/wave.h"

// Where the elements of a matrix instruction live: a row of matrix.def with the places worked out. The formulas are
// those of AMD's matrix instruction calculator ("Matrix element to register mapping"), stated in matrix.cpp.
namespace strata::emu {

/// iu8 and iu4 are unsigned; an instruction that marks them signed reads i8 and i4.
enum class Element : uint8_t {
    f64,
    f32,
    xf32,
    f16,
    bf16,
    f16_flushed,
    bf16_flushed,
    fp8,
    bf8,
    fp8_fnuz,
    bf8_fnuz,
    i8,
    iu8,
    i4,
    iu4
};
enum class MatrixResult : uint8_t { f64, f32, f32_flushed, i32, f16_half, bf16_half, f16_packed, bf16_packed };
enum class MatrixLayout : uint8_t { cdna, rdna3, rdna4 };

namespace matrix_mod {
enum : uint8_t {
    none = 0,
    broadcast = 1,  ///< cbsz, abid: one block of A stands for 2^cbsz
    permute = 2,    ///< blgp: lanes of B
    negate = 4,     ///< blgp: bit i negates source i
    signs = 8,      ///< neg, neg_hi: signs of float sources, signedness of integer ones
    sparse = 16     ///< A has two of four elements, and src2 tells which
};
}

constexpr int bits_of_element(Element e) {
    switch (e) {
        case Element::f64: return 64;
        case Element::f32:
        case Element::xf32: return 32;
        case Element::f16:
        case Element::bf16:
        case Element::f16_flushed:
        case Element::bf16_flushed: return 16;
        case Element::i4:
        case Element::iu4: return 4;
        default: return 8;
    }
}

struct MatrixPlan {
    static constexpr int kMaxK = 64, kMaxRows = 32;
    std::string_view mnemonic;
    isa::Family family = isa::Family::rdna3;
    int lanes = 64;
    int m = 0, n = 0, k = 0, blocks = 0;
    Element a = Element::f32, b = Element::f32;
    MatrixResult result = MatrixResult::f32;
    uint8_t modifiers = 0;

    int slots = 0;        ///< stored columns of A: k, or half of it
    int input_lanes = 0;  ///< lanes of A and B that count
    int index_bits = 0;   ///< of the elements of a sparse A in one lane
    int a_registers = 0, b_registers = 0, c_registers = 0;
    /// Widened inputs lie element by element, input_lanes each: A[i][slot] of block b is at a_at[slot] + m * b + i,
    /// B[k][j] at b_at[k] + n * b + j.
    uint16_t a_at[kMaxK] = {}, b_at[kMaxK] = {};
    /// C[i][j] of block b is dword c_at[i] + c_block * b + j of the register rows. The half of a 16-bit packed one is i
    /// % 2. A double has its low dword there, the high one a row later.
    uint16_t c_at[kMaxRows] = {};
    int c_block = 0;

    constexpr bool has(int modifier) const { return modifiers & modifier; }
    constexpr bool wide() const { return n == 4; }  ///< blocks side by side in a row of lanes
};

/// The plan of an instruction, or nullptr.
const MatrixPlan* find_matrix_plan(isa::Family family, std::string_view mnemonic, int lanes);

/// MatrixFields::flags.
namespace matrix_bit {
constexpr uint32_t kA = 0, kB = 4;  ///< shifts of the Elements
constexpr uint32_t kConstant = 1 << 8, kCopy = 1 << 9, kClamp = 1 << 10, kHigh = 1 << 11;
constexpr uint32_t kCbsz = 12, kAbid = 15, kBlgp = 19;              ///< shifts
constexpr uint32_t kIndexSet = 22;                                  ///< shift of the index's first bit
constexpr uint32_t kAbsC = 1 << 27, kNegC = 1 << 28;                ///< of the addend, abs first
constexpr uint32_t kMoves = 7 << kCbsz | 15 << kAbid | 7 << kBlgp;  ///< any element is elsewhere
}  // namespace matrix_bit

/// Resolves operands and modifiers; none: no matrix instruction, or a modifier that means nothing to it.
std::optional<MatrixFields> resolve_matrix(const Decoded& decoded);

}  // namespace strata::emu
