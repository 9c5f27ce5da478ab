// Atomic additions: one instruction where the machine has it, else a loop that swaps until nobody else came between.
//
//   swap: new = old + value; now = compare-and-swap(memory, old -> new); again = now != old; old = now; branch to swap
//   if any
//
// Lanes that are done take no part in the next swap. The first guess is zero: to load it would take as long as to swap,
// and would race with the others. An element narrower than a dword is a field of the dword around it.
#include "strata/codegen/select/memory/atomics.h"

namespace strata::codegen {

using namespace number_class;

Atomics::Atomics(SelectionContext& context, Packing& packing, Memory& memory)
    : SelectionPart(context), packing_(packing), memory_(memory), wide_(context) {}

bool Atomics::add(UOp u) {
    const DType type = u.src(1).dtype();
    const Space space = memory_of(u.src(0)).as<ParamArg>().space;
    const bool is_byte_float = type.is_float() && type.bits() == 8;
    if (space == Space::reg || type.lanes != 1 || is_byte_float) return false;
    if (!by_row(u)) swap_until_added(u);
    return true;
}

bool Atomics::by_row(UOp u) {
    struct Row {
        unsigned types;
        Mnemonic global, local;
    };
    static constexpr Row kRows[] = {{i32 | u32, "global_atomic_add_u32", "ds_add_u32"},
                                    {i64 | u64, "global_atomic_add_u64", "ds_add_u64"},
                                    {f32, "global_atomic_add_f32", "ds_add_f32"},
                                    {f64, "global_atomic_add_f64", "ds_add_f64"}};
    const DType type = u.src(1).dtype();
    if (type.bits() < 32) return false;
    const bool global = memory_of(u.src(0)).as<ParamArg>().space == Space::global;
    for (const Row& row : kRows) {
        const Mnemonic name = global ? row.global : row.local;
        if (!(row.types & class_of(type)) || !code_.has(name)) continue;
        const Place data = code_.in_vector(packing_.packed(value(u.src(1)), type), dwords_of(type));
        Instruction& made = memory_.add_access(name, memory_.access_to(u.src(0)), data);
        made.inst.dst[0] = {};
        if (global && function_.family == isa::Family::rdna4) made.inst.scope = kScopeDevice;
        return true;
    }
    return false;
}

/// The dword around what an access is of, and where in it that begins.
Atomics::Field Atomics::field_around(MemoryAccess to, DType type) {
    const Source offset = Source::of_number(static_cast<uint32_t>(to.at.offset));
    to.at.offset = 0;
    Source low = Source::of(to.lanes.part(0));
    if (to.global) {
        Value address = Source::of(to.lanes);
        if (!to.at.whole) {
            const Place wide = function_.add(Bank::vector, 2);
            code_.copy(wide.part(0), low);
            code_.copy(wide.part(1), Source::of_number(0));
            address = wide_.sum(false, to.at.base, Source::of(wide));
        }
        const auto distance = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(*offset.number)));
        if (distance) address = wide_.sum(false, address, Source::of_number(distance));
        const Place whole = function_.add(Bank::vector, 2);
        low = dword(address, 0);
        code_.vector_to(whole.part(0), "v_and_b32", {Source::of_number(~3u), low});
        code_.copy(whole.part(1), dword(address, 1));
        to.at.whole = true;
        to.lanes = whole;
    } else {
        if (*offset.number) low = Source::of(code_.vector("v_add_nc_u32", {offset, low}));
        to.lanes = code_.vector("v_and_b32", {Source::of_number(~3u), low});
    }
    to.stride = Instruction::kUnsteady;
    const Place first = code_.vector("v_lshlrev_b32", {Source::of_number(3), low});
    const Place shift = code_.vector("v_and_b32", {Source::of_number(24), Source::of(first)});
    const Place bits =
        code_.vector("v_lshlrev_b32", {Source::of(shift), Source::of_number((uint64_t{1} << type.bits()) - 1)});
    return {to, Source::of(shift), Source::of(bits)};
}

/// The dword with the value added to the field of it that has the type.
Source Atomics::added_to_field(const Field& field, DType type, const Source& old, const Source& added) {
    const auto shifted = [&](const Source& x) { return Source::of(code_.vector("v_lshlrev_b32", {field.shift, x})); };
    if (type.is_bool()) return Source::of(code_.vector("v_or_b32", {shifted(added), old}));
    Source sum;
    if (type.is_integer()) {
        sum = Source::of(code_.vector("v_add_nc_u32", {shifted(added), old}));
    } else {
        sum = Source::of(code_.vector("v_lshrrev_b32", {field.shift, old}));
        if (class_of(type) == f16) {
            sum = Source::of(code_.vector("v_add_f16", {added, sum}));
        } else {
            const Source sixteen = Source::of_number(16);
            const Place a = code_.vector("v_lshlrev_b32", {sixteen, sum}),
                        b = code_.vector("v_lshlrev_b32", {sixteen, added});
            sum = rounded_to_bfloat16(Source::of(code_.vector("v_add_f32", {Source::of(a), Source::of(b)})));
        }
        sum = shifted(sum);
    }
    return Source::of(code_.vector("v_bfi_b32", {field.bits, sum, old}));
}

/// To nearest, ties to even; NaN stays NaN.
Source Atomics::rounded_to_bfloat16(const Source& x) {
    const Place odd = code_.vector("v_bfe_u32", {x, Source::of_number(16), Source::of_number(1)});
    const Place near = code_.vector("v_add3_u32", {x, Source::of(odd), Source::of_number(0x7fff)});
    const Place quiet = code_.vector("v_or_b32", {Source::of_number(0x400000), x});
    const Source is_nan = Source::of(code_.compare("v_cmp_u_f32", x, x));
    const Place chosen = code_.vector("v_cndmask_b32", {Source::of(near), Source::of(quiet), is_nan});
    return Source::of(code_.vector("v_lshrrev_b32", {Source::of_number(16), Source::of(chosen)}));
}

void Atomics::swap_until_added(UOp u) {
    const DType type = u.src(1).dtype();
    const uint8_t dwords = type.bits() == 64 ? 2 : 1;
    const Source added = Source::of(code_.in_vector(packing_.packed(value(u.src(1)), type), dwords));
    Field field{memory_.access_to(u.src(0)), {}, {}};
    if (dwords == 1) field = field_around(field.dword, type);
    const Place old = function_.add(Bank::vector, dwords), again = function_.add(Bank::scalar, function_.mask_dwords());
    code_.copy(old, Source::of_number(0));
    code_.copy(again, field.dword.predicate ? Source::of(field.dword.predicate) : all_lanes());
    field.dword.predicate = again;
    code_.open_block("swap", code_.depth() + 1);
    const uint32_t loop = code_.block();
    const Place sum = dwords == 2 ? code_.vector("v_add_f64", {added, Source::of(old)}, 2)
                                  : added_to_field(field, type, Source::of(old), added).place;
    const Place now = function_.add(Bank::vector, dwords);
    code_.copy(now, Source::of(old));
    compare_and_swap(field.dword, now, sum, old);
    code_.vector_to(again, pick(dwords == 2, "v_cmp_ne_u64", "v_cmp_ne_u32"), {Source::of(now), Source::of(old)});
    code_.copy(old, Source::of(now));
    code_.scalar_compare(pick(again.dwords == 2, "s_cmp_lg_u64", "s_cmp_lg_u32"), Source::of(again),
                         Source::of_number(0));
    code_.add("s_cbranch_scc1").target = loop;
    code_.open_block("", code_.depth() - 1);
}

Instruction& Atomics::compare_and_swap(const MemoryAccess& where, Place now, Place to, Place from) {
    const bool wide = now.dwords == 2;
    if (!where.global) {
        Instruction& made = memory_.add_access(pick(wide, "ds_cmpstore_rtn_b64", "ds_cmpstore_rtn_b32"), where, to);
        made.src[2] = from;
        if (isa::is_cdna(function_.family)) std::swap(made.src[1], made.src[2]);  // CDNA3 ISA 11.3.1, DS_CMPST
        made.dst[0] = now;
        made.keeps = true;
        return made;
    }
    const Place both = function_.add(Bank::vector, 2 * now.dwords);
    code_.copy(both.part(0, now.dwords), Source::of(to));
    code_.copy(both.part(now.dwords, now.dwords), Source::of(from));
    Instruction& made =
        memory_.add_access(pick(wide, "global_atomic_cmpswap_b64", "global_atomic_cmpswap_b32"), where, both);
    made.dst[0] = now;
    made.keeps = true;
    returns(made, function_.family);
    if (function_.family == isa::Family::rdna4) made.inst.scope = kScopeDevice;
    return made;
}

void returns(Instruction& atomic, isa::Family family) {
    if (family == isa::Family::rdna4)
        atomic.inst.th = 1;  // RDNA4 ISA 10.9, "TH_ATOMIC_RETURN"
    else
        atomic.inst.glc = true;
}

}  // namespace strata::codegen
