#include <algorithm>
#include <bit>
#include <vector>

#include "strata/asm/emu/scalar/scalar.h"

namespace strata::emu {
namespace {

struct none {};

constexpr u64 field_u(u64 a, u32 offset, u32 width, u32 bits) {
    if (width == 0) return 0;
    u64 value = a >> offset;
    return width >= bits ? value : value & ((1ull << width) - 1);
}

/// Sign-extended field of the register, whose sign fills in above bit 31 or 63.
constexpr u64 field_i(u64 a, u32 offset, u32 width, u32 bits) {
    if (width == 0) return 0;
    if (bits == 32) a = u64(i64(i32(a)));
    i64 value = i64(a) >> offset;
    if (offset + width >= bits) return u64(value);
    return u64(i64(u64(value) << (64 - width)) >> (64 - width));
}

constexpr u64 reverse(u64 a) {
    u64 r = 0;
    for (int i = 0; i < 64; ++i) r |= (a >> i & 1) << (63 - i);
    return r;
}

/// Position of the first bit that differs from the sign, from the top; -1 if none. `x` has the sign folded out.
template <class T>
constexpr u32 sign_run(T x) {
    return x ? u32(std::countl_zero(x)) : ~0u;
}

constexpr u64 spread(u32 a) {
    u64 r = 0;
    for (int i = 0; i < 32; ++i) r |= u64{a >> i & 1} << 2 * i;
    return r;
}

constexpr u64 quad_mask(u64 a) {
    u64 r = 0;
    for (int i = 0; i < 16; ++i) r |= u64{(a >> 4 * i & 15) != 0} << i;
    return r;
}

constexpr u64 whole_quads(u64 a) {
    u64 any = (a | a >> 1 | a >> 2 | a >> 3) & 0x1111111111111111ull;
    return any * 15;
}

enum class Scc { keep, nonzero, carry };

template <class T>
T operand(Wave* wave, const Op* op, int i) {
    if constexpr (std::is_same_v<T, none>)
        return {};
    else
        return source<T>(wave, op, i);
}

#define SOP(mnemonic, R, A, B, scc_rule, ...)                                \
    const Op* mnemonic(Wave* wave, const Op* op) {                           \
        {                                                                    \
            [[maybe_unused]] const A a = operand<A>(wave, op, 0);            \
            [[maybe_unused]] const B b = operand<B>(wave, op, 1);            \
            [[maybe_unused]] const R d = at<R>(wave, op->scalar().dst);      \
            [[maybe_unused]] u32 c = wave->scc;                              \
            R r;                                                             \
            __VA_ARGS__;                                                     \
            put<R>(wave, op->scalar().dst, r);                               \
            if constexpr (Scc::scc_rule == Scc::nonzero) wave->scc = r != 0; \
            if constexpr (Scc::scc_rule == Scc::carry) wave->scc = c;        \
        }                                                                    \
        STRATA_EMU_NEXT;                                                     \
    }
#define SOPK(mnemonic, scc_rule, ...)                                       \
    const Op* mnemonic(Wave* wave, const Op* op) {                          \
        {                                                                   \
            const u32 k = op->scalar().imm;                                 \
            [[maybe_unused]] const u32 d = at<u32>(wave, op->scalar().dst); \
            [[maybe_unused]] u32 c = wave->scc;                             \
            u32 r;                                                          \
            __VA_ARGS__;                                                    \
            put<u32>(wave, op->scalar().dst, r);                            \
            if constexpr (Scc::scc_rule == Scc::carry) wave->scc = c;       \
        }                                                                   \
        STRATA_EMU_NEXT;                                                    \
    }
#define COMPARE(mnemonic, A, B, condition)         \
    const Op* mnemonic(Wave* wave, const Op* op) { \
        const A a = source<A>(wave, op, 0);        \
        const B b = source<B>(wave, op, 1);        \
        wave->scc = condition;                     \
        STRATA_EMU_NEXT;                           \
    }
#define COMPAREK(mnemonic, A, K, condition)           \
    const Op* mnemonic(Wave* wave, const Op* op) {    \
        const A a = source<A>(wave, op, 0);           \
        const A b = static_cast<K>(op->scalar().imm); \
        wave->scc = condition;                        \
        STRATA_EMU_NEXT;                              \
    }
#define EXEC_HANDLER(name, T, what, saved)                               \
    const Op* name(Wave* wave, const Op* op) {                           \
        const T a = source<T>(wave, op, 0);                              \
        const T e = at<T>(wave, Wave::scalar_place(isa::code::exec_lo)); \
        const T r = what;                                                \
        put<T>(wave, op->scalar().dst, saved);                           \
        put<T>(wave, Wave::scalar_place(isa::code::exec_lo), r);         \
        wave->scc = r != 0;                                              \
        STRATA_EMU_NEXT;                                                 \
    }
#define SAVEEXEC(mnemonic, what) EXEC_HANDLER(mnemonic##_b32, u32, what, e) EXEC_HANDLER(mnemonic##_b64, u64, what, e)
#define WREXEC(mnemonic, what) EXEC_HANDLER(mnemonic##_b32, u32, what, r) EXEC_HANDLER(mnemonic##_b64, u64, what, r)
#include "strata/asm/emu/scalar/alu.def"
#undef SOP
#undef SOPK
#undef COMPARE
#undef COMPAREK
#undef SAVEEXEC
#undef WREXEC

// Relative register moves: M0 is added to the register number.
template <class T>
const Op* s_movrels(Wave* wave, const Op* op) {
    u32 from = op->scalar().src[0] + 4 * (wave->s[isa::code::m0] & 127);
    if (op->scalar().constant & 1 || from > Wave::scalar_place(isa::code::vcc_lo) - sizeof(T))
        return fail(wave, op, "M0 leads past the scalar registers");
    put<T>(wave, op->scalar().dst, at<T>(wave, from));
    STRATA_EMU_NEXT;
}
template <class T>
const Op* s_movreld(Wave* wave, const Op* op) {
    u32 to = op->scalar().dst + 4 * (wave->s[isa::code::m0] & 127);
    if (to > Wave::scalar_place(isa::code::vcc_lo) - sizeof(T))
        return fail(wave, op, "M0 leads past the scalar registers");
    put<T>(wave, to, source<T>(wave, op, 0));
    STRATA_EMU_NEXT;
}
const Op* s_movrelsd_2_b32(Wave* wave, const Op* op) {
    u32 from = op->scalar().src[0] + 4 * (wave->s[isa::code::m0] & 0x3ff),
        to = op->scalar().dst + 4 * (wave->s[isa::code::m0] >> 16 & 0x3ff);
    if (op->scalar().constant & 1 || std::max(from, to) >= Wave::scalar_place(isa::code::vcc_lo))
        return fail(wave, op, "M0 leads past the scalar registers");
    put<u32>(wave, to, at<u32>(wave, from));
    STRATA_EMU_NEXT;
}

const std::vector<NamedHandler>& table() {
    static const std::vector<NamedHandler> rows = [] {
        std::vector<NamedHandler> all = {
#define ROW(mnemonic) {#mnemonic, mnemonic},
#define SOP(mnemonic, ...) ROW(mnemonic)
#define SOPK(mnemonic, ...) ROW(mnemonic)
#define COMPARE(mnemonic, ...) ROW(mnemonic)
#define COMPAREK(mnemonic, ...) ROW(mnemonic)
#define SAVEEXEC(mnemonic, ...) ROW(mnemonic##_b32) ROW(mnemonic##_b64)
#define WREXEC(mnemonic, ...) ROW(mnemonic##_b32) ROW(mnemonic##_b64)
#include "strata/asm/emu/scalar/alu.def"
            {"s_movrels_b32", s_movrels<u32>},      {"s_movrels_b64", s_movrels<u64>},
            {"s_movreld_b32", s_movreld<u32>},      {"s_movreld_b64", s_movreld<u64>},
            {"s_movrelsd_2_b32", s_movrelsd_2_b32},
        };
        std::ranges::sort(all, {}, &NamedHandler::mnemonic);
        return all;
    }();
    return rows;
}

}  // namespace

Handler choose_sop(const Decoded& decoded) {
    auto it = std::ranges::lower_bound(table(), decoded.name, {}, &NamedHandler::mnemonic);
    return it != table().end() && it->mnemonic == decoded.name ? it->run : nullptr;
}

}  // namespace strata::emu
