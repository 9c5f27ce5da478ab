#include <algorithm>
#include <bit>

#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/scalar/scalar.h"

// Control flow that splits the wave's lanes. It is gfx9's forks and joins (CDNA3 ISA, S_CBRANCH_I_FORK and on) and
// RDNA3's loops over the halves of a wave64 (RDNA3 ISA, S_SUBVECTOR_LOOP_BEGIN).
namespace strata::emu {
namespace {

u64 exec_of(const Wave* wave) { return at<u64>(wave, Wave::scalar_place(isa::code::exec_lo)); }
void set_exec(Wave* wave, u64 exec) { put<u64>(wave, Wave::scalar_place(isa::code::exec_lo), exec); }

// The stack of paths not taken yet is in SGPRs, four an entry: address, mask. Its depth is MODE.CSP.
u32 depth(const Wave* wave) { return wave->mode >> kForkDepth; }
void set_depth(Wave* wave, u32 depth) { wave->mode = (wave->mode & ((1u << kForkDepth) - 1)) | depth << kForkDepth; }
void push(Wave* wave, u64 address, u64 mask) {
    const u32 place = Wave::scalar_place(static_cast<int>(depth(wave) * 4));
    put<u64>(wave, place, address);
    put<u64>(wave, place + 8, mask);
    set_depth(wave, depth(wave) + 1);
}

/// Lanes of `mask` go to `there`, the others on to `after`; the smaller set goes first. Gives where to go on.
u64 fork(Wave* wave, u64 mask, u64 there, u64 after) {
    const u64 exec = exec_of(wave), pass = mask & exec, fail = ~mask & exec;
    if (pass == exec) return there;
    if (fail == exec) return after;
    if (std::popcount(fail) < std::popcount(pass)) {
        push(wave, there, pass);
        set_exec(wave, fail);
        return after;
    }
    push(wave, after, fail);
    set_exec(wave, pass);
    return there;
}

#define FORK(mask, there)                                                                     \
    do {                                                                                      \
        if (depth(wave) == 7) return fail(wave, op, "more than seven forks wait for a join"); \
        const u64 after = op->scalar().after, address = fork(wave, mask, there, after);       \
        const Op* const to = jump_to(wave, op, address);                                      \
        if (!to) return nullptr;                                                              \
        STRATA_EMU_GOTO(to);                                                                  \
    } while (0)

const Op* s_cbranch_g_fork(Wave* wave, const Op* op) { FORK(source<u64>(wave, op, 0), source<u64>(wave, op, 1)); }
const Op* s_cbranch_i_fork(Wave* wave, const Op* op) {
    FORK(source<u64>(wave, op, 0), op->scalar().after + static_cast<u64>(i64{static_cast<i32>(op->scalar().imm)} * 4));
}
const Op* s_cbranch_join(Wave* wave, const Op* op) {
    if (depth(wave) == source<u32>(wave, op, 0)) STRATA_EMU_NEXT;  // both paths have been here
    if (depth(wave) == 0) return fail(wave, op, "a join without a fork");
    set_depth(wave, depth(wave) - 1);
    const u32 place = Wave::scalar_place(static_cast<int>(depth(wave) * 4));
    const u64 address = at<u64>(wave, place);
    set_exec(wave, at<u64>(wave, place + 8));
    const Op* const to = jump_to(wave, op, address);
    if (!to) return nullptr;
    STRATA_EMU_GOTO(to);
}

#define JUMP(next)                                                                          \
    do {                                                                                    \
        const Op* const to = (next);                                                        \
        end_run(wave, op, to);                                                              \
        if (to <= op && wave->executed >= wave->budget) return out_of_budget(wave, op, to); \
        STRATA_EMU_GOTO(to);                                                                \
    } while (0)

const Op* s_subvector_loop_begin(Wave* wave, const Op* op) {
    u32 &low = wave->s[isa::code::exec_lo], &high = wave->s[isa::code::exec_hi];
    if ((low | high) == 0) JUMP(target(op));
    put<u32>(wave, op->scalar().dst, low == 0 ? low : high);  // what is left to do in a second pass
    if (low != 0) high = 0;
    STRATA_EMU_NEXT;
}
const Op* s_subvector_loop_end(Wave* wave, const Op* op) {
    u32 &low = wave->s[isa::code::exec_lo], &high = wave->s[isa::code::exec_hi];
    const u32 saved = at<u32>(wave, op->scalar().dst);
    if (high != 0) {
        low = saved;
        STRATA_EMU_NEXT;
    }
    if (saved == 0) STRATA_EMU_NEXT;
    high = saved;
    put<u32>(wave, op->scalar().dst, low);
    low = 0;
    JUMP(target(op));
}

constexpr NamedHandler kRows[] = {
    {"s_cbranch_g_fork", s_cbranch_g_fork},
    {"s_cbranch_i_fork", s_cbranch_i_fork},
    {"s_cbranch_join", s_cbranch_join},
};
constexpr NamedHandler kWave64Rows[] = {
    {"s_subvector_loop_begin", s_subvector_loop_begin},
    {"s_subvector_loop_end", s_subvector_loop_end},
};

}  // namespace

Handler choose_fork(const Decoded& decoded) {
    auto it = std::ranges::find(kRows, decoded.name, &NamedHandler::mnemonic);
    if (it != std::end(kRows)) return it->run;
    if (decoded.wave_size != 64) return nullptr;
    auto loop = std::ranges::find(kWave64Rows, decoded.name, &NamedHandler::mnemonic);
    return loop != std::end(kWave64Rows) ? loop->run : nullptr;
}

}  // namespace strata::emu
