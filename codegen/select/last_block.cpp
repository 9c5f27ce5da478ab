// The block of a grid that comes last goes on, the others end.
//
//   release; barrier; number = add 1 to the counter, by one lane of the block; lds = number, by that lane; barrier
//   every wave: if lds is not the last number: end; acquire
// Each wave releases what it stored itself, and acquires what others did: its caches are its own. Where the others of
// the block ended before (first_wave), the one that is left needs no barrier:
//   release; number = add 1 to the counter, by its first lane; if that is not the last number: end; acquire
#include "strata/codegen/machine/placed_code.h"
#include "strata/codegen/select/last_block_p.h"

namespace strata::codegen {
namespace {

enum class Does : uint8_t { releases, acquires };
enum class Of : uint8_t { any, system };

struct FenceRow {
    isa::FamilySet families;
    Does does;
    Mnemonic mnemonic;
    int32_t immediate;
    Of of;
};
constexpr FenceRow kFences[] = {
#define FENCE(which, does, mnemonic, immediate, of) {isa::families::which, Does::does, #mnemonic, immediate, Of::of},
#include "strata/codegen/select/fences.def"
#undef FENCE
};

}  // namespace

/// That of a workgroup is the device's. RDNA4 ISA 10.9: scope 2 is "SCOPE_DEV", 3 "SCOPE_SYS". CDNA3 ISA 9.1.10: sc1 is
/// the device's, sc0 and sc1 the system's.
void LastBlock::fence(bool releases, MemoryScope scope) {
    const bool of_system = scope == MemoryScope::system, cdna3 = function_.family == isa::Family::cdna3;
    for (const FenceRow& row : kFences) {
        if (!row.families.has(function_.family) || (row.does == Does::releases) != releases) continue;
        if (row.of == Of::system && !of_system) continue;
        Instruction& made = code_.add(row.mnemonic);
        made.inst.offset = row.immediate;
        if (made.inst.row->src_kind[0]) made.inst.src[0].code = isa::code::null;
        if (!(made.inst.row->flags & isa::kMemory)) continue;
        made.inst.sc1 = cdna3;
        made.inst.glc = cdna3 && of_system;
        if (function_.family == isa::Family::rdna4) made.inst.scope = of_system ? kScopeDevice + 1 : kScopeDevice;
    }
}

/// The wave ends unless the scalar compares so.
void LastBlock::go_on_where(Mnemonic compare, Source value, uint64_t number, std::string label) {
    code_.scalar_compare(compare, value, Source::of_number(number));
    const uint32_t depth = code_.depth();
    code_.add("s_cbranch_scc1").target = code_.block() + 2;
    code_.open_block("", depth);
    code_.add("s_endpgm");
    code_.open_block(std::move(label), depth);
}

void LastBlock::first_wave(UOp u) {
    const Source thread = Source::of(code_.scalar("v_readfirstlane_b32", {value(u.src(0))}));
    go_on_where("s_cmp_lt_u32", thread, static_cast<uint64_t>(u.as<IndexArg>().index), "first_wave");
}

void LastBlock::last_block(UOp u) {
    const bool one_wave = !u.src(1).is(Op::index);
    fence(true);
    if (!one_wave) control_.barrier();
    const Place one = code_.in_vector(Source::of_number(1)), number = function_.add(Bank::vector, 1);
    code_.copy(number, Source::of_number(0));
    Instruction& counted = memory_.add_access("global_atomic_add_u32", memory_.access_to(u.src(0)), one);
    counted.dst[0] = number;
    counted.keeps = true;
    if (function_.family == isa::Family::rdna4) {
        counted.inst.th = 1;  // returns what was there
        counted.inst.scope = kScopeDevice;
    } else {
        counted.inst.glc = true;
    }
    Place arrivals = number;
    if (!one_wave) {
        memory_.add_access("ds_store_b32", memory_.access_to(u.src(1)), number);
        control_.barrier();
        arrivals = function_.add(Bank::vector, 1);
        memory_.add_access("ds_load_b32", memory_.access_to(u.src(2)), {}).dst[0] = arrivals;
    }
    const Source which = Source::of(code_.scalar("v_readfirstlane_b32", {Source::of(arrivals)}));
    go_on_where("s_cmp_eq_u32", which, static_cast<uint64_t>(u.as<IndexArg>().index - 1), "last");
    fence(false);
}

}  // namespace strata::codegen
