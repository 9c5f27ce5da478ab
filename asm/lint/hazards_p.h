#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "strata/asm/lint/access.h"
#include "strata/asm/lint/hazards.h"

// The words of hazards.def and its rows.
namespace strata::lint {

/// The classes of an instruction for the rules, as bits; and conditions on them.
struct Class {
    uint64_t all = 0, none = 0;  ///< bits that it has, bits that it lacks
    constexpr bool has(uint64_t bits) const { return (bits & all) == all && !(bits & none); }
    friend constexpr Class operator&(Class a, Class b) { return {a.all | b.all, a.none | b.none}; }
    constexpr Class operator!() const { return {none, all}; }
};

namespace classes {
enum Bit : uint8_t {
    valu_bit,
    salu_bit,
    smem_bit,
    vector_memory_bit,  // buffers, flat, global, scratch, images
    memory_bit,         // those and LDS
    vector_bit,         // whatever has vector operands
    computes_bit,       // vector or scalar ALU
    loads_bit,
    stores_bit,
    loses_address_bit,  // writes what it reads
    trans_bit,
    dot_bit,
    matrix_bit,
    doubles_bit,
    narrow_bit,
    xdl_bit,
    shifted_bit,  // leaves its result in another part of the register than it computed it in
    dpp_bit,
    lane_read_bit,
    lane_index_bit,
    lane_access_bit,
    div_fmas_bit,
    fma_f64_bit,
    zero_flag_bit,
    setreg_bit,
    sets_trap_status_bit,
    getreg_bit,
    rfe_bit,
    sets_skip_bit,       // s_setvskip
    sets_mode_skip_bit,  // s_setreg of that bit of the mode
    gets_mode_bit,
    uses_m0_bit,
    cmpx_bit,
    permlane_bit,
    masked_bit,    // reads a bit a lane: carries, v_cndmask, v_div_fmas
    releases_bit,  // gives vector registers back
    nop_bit,       // s_nop
    vector_nop_bit,
    waits_alu_bit,  // for counters of the vector and scalar ALU
    nothing_bit,
};
constexpr Class of(Bit bit) { return {uint64_t{1} << bit, 0}; }
inline constexpr Class valu = of(valu_bit), salu = of(salu_bit), smem = of(smem_bit),
                       vector_memory = of(vector_memory_bit), memory = of(memory_bit), vector = of(vector_bit),
                       computes = of(computes_bit), loads = of(loads_bit), stores = of(stores_bit),
                       loses_address = of(loses_address_bit), trans = of(trans_bit), dot = of(dot_bit),
                       matrix = of(matrix_bit), doubles = of(doubles_bit), narrow = of(narrow_bit), xdl = of(xdl_bit),
                       shifted = of(shifted_bit), dpp = of(dpp_bit), lane_read = of(lane_read_bit),
                       lane_index = of(lane_index_bit), lane_access = of(lane_access_bit), div_fmas = of(div_fmas_bit),
                       fma_f64 = of(fma_f64_bit), zero_flag = of(zero_flag_bit), setreg = of(setreg_bit),
                       sets_trap_status = of(sets_trap_status_bit), getreg = of(getreg_bit), rfe = of(rfe_bit),
                       sets_skip = of(sets_skip_bit), sets_mode_skip = of(sets_mode_skip_bit),
                       gets_mode = of(gets_mode_bit), uses_m0 = of(uses_m0_bit), cmpx = of(cmpx_bit),
                       permlane = of(permlane_bit), masked = of(masked_bit), releases = of(releases_bit),
                       nop = of(nop_bit), nothing = of(nothing_bit);
/// The kind of instruction that a rule's producer is: one that is nearer takes its registers over.
constexpr Class kind(Class producer) {
    const Class details = doubles & narrow & xdl;
    return {producer.all & details.all ? matrix.all : producer.all & ~(loads & loses_address).all};
}
}  // namespace classes

/// The part of a producer that a rule keeps.
enum class Leaves : uint8_t {
    written,            ///< registers that it writes
    read,               ///< registers that it reads
    accumulator,        ///< the third operand of a matrix product
    stored,             ///< more than 8 bytes of data that it stores from registers it does not read at once
    mask,               ///< a bit a lane
    rewritten_mask,     ///< a scalar register that may still be read as a mask
    across_exec,        ///< registers that it writes, and others written before EXEC changed
    hardware_register,  ///< its number
    itself,             ///< nothing but having run
};

/// Registers that a rule is about.
enum class Where : uint8_t { none, vectors, scalars, masks, vcc, exec, m0 };

/// How a consumer meets what was kept.
enum class Meets : uint8_t {
    always,             ///< it is there
    reads,              ///< reads one of the registers; EXEC only where it is an operand
    reads_value,        ///< reads one as a number
    reads_mask,         ///< reads one as a bit a lane
    writes,             ///< writes one
    touches,            ///< reads or writes one
    selects,            ///< takes a lane's number from one
    reads_factor,       ///< reads one otherwise than as the summand of a product
    accumulates_part,   ///< the summand shares some registers with them
    accumulates_whole,  ///< the summand is just those registers
    same_register,      ///< names the hardware register
    forwards,           ///< reads one of them, and one written before EXEC changed
    remembered,         ///< nothing: what was left matters to what others leave
};

enum class Clock : uint8_t { states, valus };
enum class Waves : uint8_t { any, wave64, replayed, before_rdna35 };

/// Events that end a rule's interest, as bits.
enum Event : uint8_t {
    vdst = 1,             ///< all vector instructions have written: memory, exports, the counter va_vdst at 0
    sdst = 2,             ///< all scalar instructions have written: the counter sa_sdst at 0
    moves = 4,            ///< a vector instruction that is not v_nop
    scalar_operands = 8,  ///< a vector instruction reads a scalar register or a literal
    not_scalar_memory = 16,
    not_vector_memory = 32,
};

struct Pair {
    int passes = 0;        ///< of the producer, a matrix product
    int trans = 0;         ///< transcendental instructions since
    bool doubles = false;  ///< a matrix product of doubles since
    bool same = false;     ///< both are the same instruction
    int to_doubles = 0;    ///< 1 where the consumer is a matrix product of doubles
};
constexpr int kUntilEnded = 255;

/// A row of hazards.def.
struct Hazard {
    isa::FamilySet families;
    Waves waves;
    std::string_view name;
    Class producer;
    Leaves leaves;
    Where where;
    Class consumer;
    Meets meets;
    Clock clock;
    int (*needs)(const Pair&);
    uint8_t ended;
    Fix fix;
    std::string_view words, source;
    int most = 0;  ///< that it ever needs
};

inline constexpr auto kHazards = [] {
    using namespace classes;
    Hazard rows[] = {
#define HAZARD(families_, waves, name, producer, leaves, where, consumer, meets, clock, needs, ended, fix, words, \
               source)                                                                                            \
    {isa::families::families_,                                                                                    \
     Waves::waves,                                                                                                \
     #name,                                                                                                       \
     producer,                                                                                                    \
     Leaves::leaves,                                                                                              \
     Where::where,                                                                                                \
     consumer,                                                                                                    \
     Meets::meets,                                                                                                \
     Clock::clock,                                                                                                \
     [](const Pair& p [[maybe_unused]]) -> int { return needs; },                                                 \
     ended,                                                                                                       \
     Fix::fix,                                                                                                    \
     words,                                                                                                       \
     source},
#include "strata/asm/lint/hazards.def"
#undef HAZARD
    };
    std::array<Hazard, std::size(rows)> all;
    for (size_t i = 0; i < all.size(); ++i) {
        all[i] = rows[i];
        for (int passes : {0, 2, 4, 8, 16})
            for (bool flag : {false, true})
                all[i].most = std::max(all[i].most, rows[i].needs({passes, 0, flag, flag, flag}));
    }
    return all;
}();
static_assert(kHazards.size() <= 64, "a set of rules is a word");

/// The classes of an instruction for the rules, as classes::Bit bits.
uint64_t classes_of(isa::Arch arch, const isa::Inst& inst, const Access& access);
/// The Event bits that it causes.
uint8_t events_of(const isa::Inst& inst, const Access& access, uint64_t is);
/// Wait states that it makes.
int states_of(const isa::Inst& inst, uint64_t is);

}  // namespace strata::lint
