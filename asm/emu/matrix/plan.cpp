#include "strata/asm/emu/matrix/plan.h"

#include <algorithm>
#include <cstring>

#include "strata/asm/emu/machine/operands.h"

// Places of matrix elements (AMD matrix instruction calculator, register_layout of each architecture):
//
// CDNA, lanes 64, M x N x K in B blocks. A lane holds E = K M B / 64 elements of A one after the other:
//   A[i][k].b: element k % E of lane i + M b + M B (k / E); B[k][j].b likewise with N for M and j for i.
//   D[i][j].b, 32 bits: register M N / 64 b + 4 (i / (4 R)) + i % 4 where a register holds R = 64 / N runs of columns,
//   lane j + N (b % S) + N S (i / 4 % R) where S = 16 for 4x4 and 1 else. 64 bits: the same with 1 for 4 (S = 4).
// RDNA3: A[i][k]: element k of lane i, and B[k][j] of lane j; the copies in lanes 16 up are not read.
//   D[i][j]: register i / R, lane j + 16 (i % R) where R = lanes / 16. 16-bit elements are one half of the register.
// RDNA4: runs of consecutive k in a lane, one bit of k (wave64: two) chooses among groups of 16 lanes: table below.
//   D[i][j], 32 bits: wave32 register i % 8, lane j + 16 (i / 8); wave64 register i % 4, lane
//   j + 32 (i / 4 % 2) + 16 (i / 8); 16 bits: two consecutive i share a register.
// Sparse A: of A[i][4q .. 4q + 3] two are stored, as k = 2q and 2q + 1 of a matrix of K / 2 columns. Bits 2e and 2e + 1
//   of the index, in the lane of stored element e, are the position in the four. E elements take 2 E bits; where the
//   index register has several such sets, ABID (CDNA, with CBSZ 0) or index_key (RDNA4) chooses.
namespace strata::emu {
namespace {

using isa::Family;

struct Input {
    uint16_t* at;
    int outer, columns;  ///< M or N; columns (A) or rows (B) stored
    int bits;
};

constexpr int place_cdna(const Input& in, int blocks) {
    const int elements = in.columns * in.outer * blocks / 64;
    for (int k = 0; k < in.columns; ++k)
        in.at[k] = static_cast<uint16_t>(k % elements * 64 + k / elements * in.outer * blocks);
    return elements;
}

constexpr int place_rdna3(const Input& in) {
    for (int k = 0; k < in.columns; ++k) in.at[k] = static_cast<uint16_t>(k * 16);
    return in.columns;
}

/// RDNA4: k % run is the element in a lane; lanes 16 up and 32 up hold the k whose bits of these values are set.
struct Spread {
    int run, bit16, bit32;
};
constexpr Spread spread(int bits, int dense_k, int lanes, bool sparse, bool is_a) {
    if (lanes == 32) {
        const int run = sparse ? (bits == 16 ? 8 : dense_k == 64 ? 32 : 16) : bits == 16 ? 4 : dense_k == 32 ? 16 : 8;
        return {run, run, 0};
    }
    if (bits == 16) return sparse ? Spread{8, 8, 16} : Spread{4, 4, 8};
    if (bits == 8) return sparse ? Spread{8, 16, 8} : Spread{4, 8, 4};
    if (sparse) return dense_k == 64 ? Spread{16, 32, 16} : is_a ? Spread{16, 16, 0} : Spread{8, 16, 8};
    return dense_k == 32 ? Spread{8, 16, 8} : Spread{8, 8, 0};
}

/// `packed` is 2 where only half of the columns are stored.
constexpr int place_rdna4(const Input& in, int lanes, Spread s, int packed) {
    const int groups = s.bit32 ? 4 : 2;
    int elements = 0;
    for (int stored = 0; stored < in.columns; ++stored) {
        const int k = stored * packed;
        const int element = (k % s.run + k / (s.run * groups) * s.run) / packed;
        const int lane = 16 * (k / s.bit16 % 2) + (s.bit32 ? 32 * (k / s.bit32 % 2) : 0);
        in.at[stored] = static_cast<uint16_t>(element * lanes + lane);
        elements = elements > element + 1 ? elements : element + 1;
    }
    return elements;
}

constexpr void place_result_cdna(MatrixPlan& p) {
    const int height = p.result == MatrixResult::f64 ? 1 : 4, dwords = p.result == MatrixResult::f64 ? 2 : 1;
    const int runs = 64 / p.n, side = p.n == 4 ? 64 / (16 / height) : 1;
    for (int i = 0; i < p.m; ++i) {
        const int reg = i / (height * runs) * height + i % height;
        p.c_at[i] = static_cast<uint16_t>(reg * dwords * 64 + i / height % runs * side * p.n);
    }
    p.c_block = p.n == 4 ? p.n : p.m * p.n * dwords;
    p.c_registers = p.m * p.n * p.blocks * dwords / 64;
}

constexpr void place_result_rdna(MatrixPlan& p, MatrixLayout layout) {
    const int groups = p.lanes / 16;
    const bool packed = p.result == MatrixResult::f16_packed || p.result == MatrixResult::bf16_packed;
    p.c_registers = 16 / groups / (packed ? 2 : 1);
    for (int i = 0; i < 16; ++i) {
        int reg = i / groups, lane = 16 * (i % groups);
        if (layout == MatrixLayout::rdna4) {
            reg = i % (16 / groups) / (packed ? 2 : 1);
            lane = p.lanes == 32 ? 16 * (i / 8) : 32 * (i / 4 % 2) + 16 * (i / 8);
        }
        p.c_at[i] = static_cast<uint16_t>(reg * p.lanes + lane);
    }
}

constexpr MatrixPlan plan(Family family, std::string_view mnemonic, MatrixLayout layout, int m, int n, int k,
                          int blocks, Element a, Element b, MatrixResult result, int modifiers, int lanes) {
    MatrixPlan p;
    p.family = family, p.mnemonic = mnemonic, p.lanes = lanes;
    p.m = m, p.n = n, p.k = k, p.blocks = blocks;
    p.a = a, p.b = b, p.result = result, p.modifiers = static_cast<uint8_t>(modifiers);
    const bool sparse = p.has(matrix_mod::sparse);
    p.slots = sparse ? k / 2 : k;
    const int bits = bits_of_element(a);
    const Input in_a{p.a_at, m, p.slots, bits}, in_b{p.b_at, n, k, bits};
    int of_a = 0, of_b = 0;
    if (layout == MatrixLayout::cdna) {
        p.input_lanes = 64;
        of_a = place_cdna(in_a, blocks), of_b = place_cdna(in_b, blocks);
        place_result_cdna(p);
    } else if (layout == MatrixLayout::rdna3) {
        p.input_lanes = 16;
        of_a = place_rdna3(in_a), of_b = place_rdna3(in_b);
        place_result_rdna(p, layout);
    } else {
        p.input_lanes = lanes;
        of_a = place_rdna4(in_a, lanes, spread(bits, k, lanes, sparse, true), sparse ? 2 : 1);
        of_b = place_rdna4(in_b, lanes, spread(bits, k, lanes, sparse, false), 1);
        place_result_rdna(p, layout);
    }
    p.index_bits = 2 * of_a;
    p.a_registers = (of_a * bits + 31) / 32, p.b_registers = (of_b * bits + 31) / 32;
    return p;
}

namespace table {
using namespace matrix_mod;
using enum Element;
// Wave64, then wave32; CDNA has the first only.
#define MATRIX(families, mnemonic, layout, m, n, k, blocks, a, b, result, modifiers)                         \
    constexpr MatrixPlan families##_##mnemonic[] = {                                                         \
        plan(Family::families, #mnemonic, MatrixLayout::layout, m, n, k, blocks, a, b, MatrixResult::result, \
             modifiers, 64),                                                                                 \
        plan(Family::families, #mnemonic, MatrixLayout::layout, m, n, k, blocks, a, b, MatrixResult::result, \
             modifiers, MatrixLayout::layout == MatrixLayout::cdna ? 64 : 32)};
#include "strata/asm/emu/matrix/matrix.def"
#undef MATRIX
constexpr const MatrixPlan* kAll[] = {
#define MATRIX(families, mnemonic, ...) families##_##mnemonic,
#include "strata/asm/emu/matrix/matrix.def"
#undef MATRIX
};
}  // namespace table

isa::Type constant_type(MatrixResult result) {
    switch (result) {
        case MatrixResult::f64: return isa::Type::f64;
        case MatrixResult::f16_half:
        case MatrixResult::f16_packed: return isa::Type::f16;
        case MatrixResult::bf16_half:
        case MatrixResult::bf16_packed: return isa::Type::bf16;
        default: return isa::Type::f32;
    }
}

uint64_t addend_constant(const isa::Operand& operand, uint32_t literal, MatrixResult result) {
    const isa::Type type = constant_type(result);
    const uint64_t value = constant_value({operand.code, type}, literal);
    return type == isa::Type::f16 || type == isa::Type::bf16 ? (value & 0xffff) * 0x10001 : value;
}

/// The modifiers of CDNA. False: they mean nothing to the instruction.
bool take_moves(const isa::Inst& inst, const MatrixPlan& plan, uint32_t& flags) {
    if (plan.has(matrix_mod::sparse)) {
        const int set = inst.cbsz == 0 ? inst.abid : 0;
        if (inst.blgp != 0 || (set + 1) * plan.index_bits > 32) return false;
        flags |= static_cast<uint32_t>(set * plan.index_bits) << matrix_bit::kIndexSet;
        return true;
    }
    const bool in_range = inst.cbsz < 5 && 1 << inst.cbsz <= plan.blocks && inst.abid < 1 << inst.cbsz;
    if (!in_range || (inst.cbsz && !plan.has(matrix_mod::broadcast))) return false;
    if (inst.blgp && !plan.has(matrix_mod::permute | matrix_mod::negate)) return false;
    flags |= uint32_t{inst.cbsz} << matrix_bit::kCbsz | uint32_t{inst.abid} << matrix_bit::kAbid;
    if (plan.has(matrix_mod::permute)) flags |= uint32_t{inst.blgp} << matrix_bit::kBlgp;
    return true;
}

Element with_sign(Element e, bool is_signed) {
    if (!is_signed) return e;
    return e == Element::iu8 ? Element::i8 : e == Element::iu4 ? Element::i4 : e;
}

/// The modifiers of RDNA; on CDNA the signs of f64, which LLVM prints as neg.
bool take_signs(const isa::Inst& inst, const MatrixPlan& plan, MatrixFields& fields) {
    const bool sparse = plan.has(matrix_mod::sparse);
    if (plan.has(matrix_mod::negate)) fields.neg = inst.neg | inst.blgp;
    if (plan.has(matrix_mod::signs) && bits_of_element(plan.a) == 16)
        fields.neg = inst.neg, fields.neg_hi = inst.neg_hi;
    if (!sparse && plan.result != MatrixResult::i32) {
        if ((plan.has(matrix_mod::signs) ? inst.neg : fields.neg) & 4) fields.flags |= matrix_bit::kNegC;
        if (plan.has(matrix_mod::signs) && inst.neg_hi & 4) fields.flags |= matrix_bit::kAbsC;
    }
    if (!plan.has(matrix_mod::signs)) return true;
    if (inst.clamp) fields.flags |= matrix_bit::kClamp;
    if (sparse) {
        const int set = inst.op_sel & 3;
        if ((set + 1) * plan.index_bits > 32) return false;
        fields.flags |= static_cast<uint32_t>(set * plan.index_bits) << matrix_bit::kIndexSet;
    } else if (inst.op_sel & 4) {
        fields.flags |= matrix_bit::kHigh;
    }
    return true;
}

bool overlaps(int a, int b, int count) { return a != b && a < b + count && b < a + count; }

}  // namespace

const MatrixPlan* find_matrix_plan(Family family, std::string_view mnemonic, int lanes) {
    for (const MatrixPlan* plan : table::kAll)
        if (plan->family == family && plan->mnemonic == mnemonic)
            return plan[0].lanes == lanes ? plan : plan[1].lanes == lanes ? plan + 1 : nullptr;
    return nullptr;
}

std::optional<MatrixFields> resolve_matrix(const Decoded& decoded) {
    const isa::Inst& inst = decoded.inst;
    const MatrixPlan* plan = find_matrix_plan(decoded.family(), inst.row->mnemonic, decoded.wave_size);
    if (!plan || !inst.dst[0].is_vector() || !inst.src[0].is_vector() || !inst.src[1].is_vector()) return {};
    auto place = [&](const isa::Operand& operand) { return Wave::vector_place(operand.row(), decoded.wave_size); };
    const bool is_signed = plan->has(matrix_mod::signs);
    MatrixFields fields;
    fields.plan = plan;
    fields.flags = static_cast<uint32_t>(with_sign(plan->a, is_signed && inst.neg & 1)) << matrix_bit::kA |
                   static_cast<uint32_t>(with_sign(plan->b, is_signed && inst.neg & 2)) << matrix_bit::kB;
    if (!take_signs(inst, *plan, fields)) return {};
    if (!is_signed && !take_moves(inst, *plan, fields.flags)) return {};
    fields.dst = fields.addend = place(inst.dst[0]);
    fields.a = place(inst.src[0]);
    fields.b = place(inst.src[1]);
    if (plan->has(matrix_mod::sparse)) {
        if (!inst.src[2].is_vector()) return {};
        fields.index = place(inst.src[2]);
    } else if (inst.src[2].is_vector()) {
        fields.addend = place(inst.src[2]);
        if (overlaps(inst.dst[0].row(), inst.src[2].row(), plan->c_registers)) fields.flags |= matrix_bit::kCopy;
    } else {
        if (inst.src[2].code < isa::code::inline_zero) return {};
        fields.constant = addend_constant(inst.src[2], inst.literal, plan->result);
        fields.flags |= matrix_bit::kConstant;
    }
    return fields;
}

}  // namespace strata::emu
