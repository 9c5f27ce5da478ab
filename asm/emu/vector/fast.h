#pragma once
#include "strata/asm/emu/vector/table.h"

// Handlers of the plain forms (no modifiers, no DPP) of common operations: one pass over 32 lanes, no buffers.
namespace strata::emu::STRATA_EMU_VARIANT {

template <bool all_vgpr>
STRATA_EMU_INLINE U32 fast_source(Wave* wave, const Op* op, int i, int half) {
    if constexpr (all_vgpr)
        return load(place(wave, op->vector().src[i]) + kLanes * half);
    else
        return source(wave, op, i, half);
}

/// A 16-bit result keeps the register's upper half, or clears it; `modified` ones may go to the upper half.
template <const Signature& signature, bool modified = false>
STRATA_EMU_INLINE void store_fast(const Op* op, uint32_t* row, const U32& x, uint32_t exec) {
    if constexpr (is_16bit(signature.dst) && modified)
        store_active(row, merged_half(op, load(row), x), exec);
    else if constexpr (is_16bit(signature.dst))
        store_active(row, (load(row) & kept_high(op)) | (x & 0xffff), exec);
    else
        store_active(row, x, exec);
}

/// `vectors(a, b, c, mode)` gives the 32 results. Floats in a MODE other than the plain one go the general way.
template <const Signature& signature, auto vectors, int lanes, bool all_vgpr>
const Op* fast(Wave* wave, const Op* op) {
    if constexpr (computes_floats(signature)) {
        if ((wave->mode & mode::kFloat) != mode::kPlain) [[unlikely]]
            STRATA_EMU_TAIL(general<signature>(wave, op));
    }
    for (int half = 0; half < lanes / kLanes; ++half) {
        const U32 a = fast_source<all_vgpr>(wave, op, 0, half);
        const U32 b = signature.sources > 1 ? fast_source<all_vgpr>(wave, op, 1, half) : a;
        const U32 c = signature.sources > 2 ? fast_source<all_vgpr>(wave, op, 2, half) : a;
        store_fast<signature>(op, place(wave, op->vector().dst) + kLanes * half, vectors(a, b, c, wave->mode),
                              wave->s[isa::code::exec_lo + half]);
    }
    STRATA_EMU_NEXT;
}

/// Two halves chosen from each dword, each with a sign of its own.
STRATA_EMU_INLINE U32 chosen_halves(const Op* op, int i, const U32& x) {
    const bool low = op->vector().op_sel >> i & 1,
               high = op->vector().op_sel_hi >> i & 1;  // the upper half stands here
    const U32 chosen = (low ? x >> 16 : x & 0xffff) | (high ? x & 0xffff0000 : x << 16);
    return chosen ^ ((op->vector().neg >> i & 1) << 15 | static_cast<uint32_t>(op->vector().neg_hi >> i & 1) << 31);
}
/// Source i with its half or halves and its signs.
template <Kind kind>
STRATA_EMU_INLINE U32 modified_source(Wave* wave, const Op* op, int i, int half) {
    const U32 x = source(wave, op, i, half);
    if constexpr (kind == Kind::pk_f16) return chosen_halves(op, i, x);
    constexpr uint32_t sign = kind == Kind::f16 ? 0x8000u : 0x80000000u;
    const uint32_t keep = op->vector().abs >> i & 1 ? ~sign : ~0u, flip = op->vector().neg >> i & 1 ? sign : 0;
    return ((kind == Kind::f16 && op->vector().op_sel >> i & 1 ? x >> 16 : x) & keep) ^ flip;
}

/// The same with signs and halves.
template <const Signature& signature, auto vectors>
const Op* fast_modified(Wave* wave, const Op* op) {
    if ((wave->mode & mode::kFloat) != mode::kPlain) [[unlikely]]
        STRATA_EMU_TAIL(general<signature>(wave, op));
    for (int half = 0; half < wave->lanes / kLanes; ++half) {
        const U32 a = modified_source<signature.src[0]>(wave, op, 0, half);
        const U32 b = signature.sources > 1 ? modified_source<signature.src[1]>(wave, op, 1, half) : a;
        const U32 c = signature.sources > 2 ? modified_source<signature.src[2]>(wave, op, 2, half) : a;
        store_fast<signature, true>(op, place(wave, op->vector().dst) + kLanes * half, vectors(a, b, c, wave->mode),
                                    wave->s[isa::code::exec_lo + half]);
    }
    STRATA_EMU_NEXT;
}
constexpr bool all_floats_of_a_dword(const Signature& signature) {
    for (int i = 0; i < signature.sources; ++i)
        if (signature.src[i] != Kind::f32 && signature.src[i] != Kind::f16 && signature.src[i] != Kind::pk_f16)
            return false;
    return true;
}
template <const Signature& signature, auto vectors>
constexpr Handler modified_handler() {
    if constexpr (all_floats_of_a_dword(signature))
        return &fast_modified<signature, vectors>;
    else
        return nullptr;
}

/// The same for a comparison: `vectors` gives a condition.
template <const Signature& signature, auto vectors, int lanes, bool all_vgpr>
const Op* fast_compare(Wave* wave, const Op* op) {
    if constexpr (computes_floats(signature)) {
        if ((wave->mode & mode::kFloat) != mode::kPlain) [[unlikely]]
            STRATA_EMU_TAIL(general<signature>(wave, op));
    }
    uint32_t mask[2] = {0, 0};
    for (int half = 0; half < lanes / kLanes; ++half) {
        const U32 a = fast_source<all_vgpr>(wave, op, 0, half), b = fast_source<all_vgpr>(wave, op, 1, half);
        mask[half] = collect(vectors(a, b)) & wave->s[isa::code::exec_lo + half];
    }
    for (int half = 0; half < lanes / kLanes; ++half) place(wave, op->vector().dst2)[half] = mask[half];
    STRATA_EMU_NEXT;
}

/// v_cndmask_b32.
template <int lanes, bool all_vgpr>
const Op* fast_select(Wave* wave, const Op* op) {
    for (int half = 0; half < lanes / kLanes; ++half) {
        const uint32_t mask = place(wave, op->vector().src[2])[half];
        const U32 a = fast_source<all_vgpr>(wave, op, 0, half), b = fast_source<all_vgpr>(wave, op, 1, half);
        store_active(place(wave, op->vector().dst) + kLanes * half, expand(mask) ? b : a,
                     wave->s[isa::code::exec_lo + half]);
    }
    STRATA_EMU_NEXT;
}

/// v_sub_co_u32, v_sub_co_ci_u32 and, the operands exchanged, the same with rev.
template <bool borrow_in, bool reverse>
const Op* fast_subtract_borrow(Wave* wave, const Op* op) {
    uint32_t mask[2] = {0, 0};
    for (int half = 0; half < wave->lanes / kLanes; ++half) {
        const uint32_t exec = wave->s[isa::code::exec_lo + half];
        const U32 a = source(wave, op, reverse, half), b = source(wave, op, !reverse, half);
        U32 rest = a - b;
        I32 borrow = a < b;
        if constexpr (borrow_in) {
            const I32 in = expand(mask_source(wave, op, 2, half));
            borrow |= in & (rest == 0);
            rest += bits(in);
        }
        mask[half] = collect(borrow) & exec;
        store_active(place(wave, op->vector().dst) + kLanes * half, rest, exec);
    }
    for (int half = 0; half < wave->lanes / kLanes; ++half) place(wave, op->vector().dst2)[half] = mask[half];
    STRATA_EMU_NEXT;
}

/// v_add_co_u32, v_add_co_ci_u32.
template <bool carry_in, int lanes, bool all_vgpr>
const Op* fast_add_carry(Wave* wave, const Op* op) {
    uint32_t mask[2] = {0, 0};
    for (int half = 0; half < lanes / kLanes; ++half) {
        const uint32_t exec = wave->s[isa::code::exec_lo + half];
        const U32 a = fast_source<all_vgpr>(wave, op, 0, half), b = fast_source<all_vgpr>(wave, op, 1, half);
        U32 sum = a + b;
        I32 carry = sum < a;
        if constexpr (carry_in) {
            const U32 more = sum - bits(expand(place(wave, op->vector().src[2])[half]));
            carry |= more < sum;
            sum = more;
        }
        mask[half] = collect(carry) & exec;
        store_active(place(wave, op->vector().dst) + kLanes * half, sum, exec);
    }
    for (int half = 0; half < lanes / kLanes; ++half) place(wave, op->vector().dst2)[half] = mask[half];
    STRATA_EMU_NEXT;
}

/// Source i as 64 bits a lane; a 32-bit one is extended by zeros.
template <const Signature& signature, int i>
STRATA_EMU_INLINE U64 wide_source(Wave* wave, const Op* op, int half) {
    constexpr bool wide = is_64bit(signature.src[i]);
    if (op->vector().uniform >> i & 1) return uniform_value(wave, op, i, signature.src[i]) - U64{};
    const uint32_t* row = place(wave, op->vector().src[i]) + kLanes * half;
    if constexpr (wide)
        return joined(load(row), load(row + wave->lanes));
    else
        return __builtin_convertvector(load(row), U64);
}

/// Operations with a 64-bit result; with a mask result `carry(result, a, b, c)` gives it.
template <const Signature& signature, auto vectors, auto carry>
const Op* fast_wide(Wave* wave, const Op* op) {
    if constexpr (computes_floats(signature)) {
        if ((wave->mode & mode::kFloat) != mode::kPlain) [[unlikely]]
            STRATA_EMU_TAIL(general<signature>(wave, op));
    }
    [[maybe_unused]] uint32_t mask[2] = {0, 0};
    for (int half = 0; half < wave->lanes / kLanes; ++half) {
        const uint32_t exec = wave->s[isa::code::exec_lo + half];
        const U64 a = wide_source<signature, 0>(wave, op, half), b = wide_source<signature, 1>(wave, op, half);
        const U64 c = wide_source<signature, signature.sources - 1>(wave, op, half);
        const U64 result = vectors(a, b, c);
        if constexpr (signature.writes_mask) mask[half] = collect(carry(result, c)) & exec;
        uint32_t* row = place(wave, op->vector().dst) + kLanes * half;
        store_active(row, low_dwords(result), exec);
        store_active(row + wave->lanes, high_dwords(result), exec);
    }
    if constexpr (signature.writes_mask)
        for (int half = 0; half < wave->lanes / kLanes; ++half) place(wave, op->vector().dst2)[half] = mask[half];
    STRATA_EMU_NEXT;
}
constexpr auto kBelowAddend = [](const U64& result, const U64& addend)
                                  STRATA_LAMBDA_INLINE -> I64 { return result < addend; };
template <auto fn, auto vectors>
constexpr ValuEntry wide_entry(std::string_view mnemonic) {
    constexpr Handler handler = &fast_wide<KernelOf<fn>::signature, vectors, kBelowAddend>;
    return with_fast(lane_entry<fn>(mnemonic), handler, handler);
}

template <const Signature& signature, auto vectors>
constexpr ValuEntry hot_entry_of(std::string_view mnemonic) {
    return {mnemonic,
            &general<signature>,
            &signature,
            &direct<signature>,
            {&fast<signature, vectors, 32, false>, &fast<signature, vectors, 64, false>},
            {&fast<signature, vectors, 32, true>, &fast<signature, vectors, 64, true>},
            modified_handler<signature, vectors>()};
}
template <auto fn, auto vectors>
constexpr ValuEntry hot_entry(std::string_view mnemonic) {
    return hot_entry_of<KernelOf<fn>::signature, vectors>(mnemonic);
}
template <auto fn, auto vectors>
constexpr ValuEntry hot_compare_entry(std::string_view mnemonic) {
    constexpr const Signature& signature = KernelOf<fn>::signature;
    return {mnemonic,
            &general<signature>,
            &signature,
            &direct<signature>,
            {&fast_compare<signature, vectors, 32, false>, &fast_compare<signature, vectors, 64, false>},
            {&fast_compare<signature, vectors, 32, true>, &fast_compare<signature, vectors, 64, true>}};
}

}  // namespace strata::emu::STRATA_EMU_VARIANT

/// A row with fast forms: the expression computes 32 lanes from the dword vectors a, b, c (and MODE in `mode_bits`).
/// The parentheses keep a > in it from ending the template's arguments.
#define HOT_AS(mnemonic, fn, ...)                                                                                  \
    hot_entry<&fn, ([](const U32& a, const U32& b, const U32& c, uint32_t mode_bits) STRATA_LAMBDA_INLINE -> U32 { \
        (void)a, (void)b, (void)c, (void)mode_bits;                                                                \
        return __VA_ARGS__;                                                                                        \
    })>(#mnemonic)
#define HOT(mnemonic, ...) HOT_AS(mnemonic, mnemonic, __VA_ARGS__)
/// The same of a result that the rounding mode does not touch.
#define HOT_TRANS(mnemonic, ...)                                                                                \
    hot_entry_of<Approximate<&mnemonic>::signature, ([](const U32& a, const U32&, const U32&, uint32_t)         \
                                                         STRATA_LAMBDA_INLINE -> U32 { return __VA_ARGS__; })>( \
        #mnemonic)
#define HOT_COMPARE(mnemonic, fn, ...)                                                                            \
    hot_compare_entry<&fn, ([](const U32& a, const U32& b) STRATA_LAMBDA_INLINE -> I32 { return __VA_ARGS__; })>( \
        #mnemonic)
/// The same for 64-bit results.
#define HOT_WIDE(mnemonic, ...)                                                                       \
    wide_entry<&mnemonic, ([](const U64& a, const U64& b, const U64& c) STRATA_LAMBDA_INLINE -> U64 { \
        (void)c;                                                                                      \
        return __VA_ARGS__;                                                                           \
    })>(#mnemonic)
