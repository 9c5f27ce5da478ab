// Atomics by the rows of atomic_ops.def. Others are a loop of compare-and-swap (atomics.cpp).
#include "strata/codegen/select/memory/atomic_ops.h"

namespace strata::codegen {

using namespace number_class;
namespace {

struct Fetches {
    AtomicOp operation;
    unsigned types;
    Mnemonic global, local;
};
constexpr Fetches kFetches[] = {
#define FETCHES(operation, types, global, local) {AtomicOp::operation, types, #global, #local},
#include "strata/codegen/select/memory/atomic_ops.def"
};

}  // namespace

AtomicOps::AtomicOps(SelectionContext& context, Packing& packing, Memory& memory, Atomics& swaps)
    : SelectionPart(context), packing_(packing), memory_(memory), swaps_(swaps) {
    for (UOp u : program_.ops)
        if (u.is(Op::fetched)) found_[u.src(0)] = {};
}

bool AtomicOps::run(UOp u) {
    const DType type = u.src(1).dtype();
    if (memory_of(u).as<ParamArg>().space == Space::reg || (type.lanes == 1 && type.bits() < 32)) return false;
    const auto asked = found_.find(u);
    const MemoryAccess to = memory_.access_to(u.src(0));
    const bool compares = u.as<AtomicArg>().operation == AtomicOp::compare_exchange;
    const Place old = function_.add(Bank::vector, dwords_of(type));
    if (asked != found_.end()) asked->second = old;
    if (compares)
        compare_exchange(u, to, old);
    else if (!by_row(u, to, asked != found_.end() || !to.global ? old : Place{}))
        return swap_until_done(u, to, old);
    return true;
}

void AtomicOps::fetched(UOp u) { set(u, packing_.unpacked(found_.at(u.src(0)), u.dtype())); }

/// RDNA4 ISA 10.9: 1 is "SCOPE_SE", which a workgroup is in. CDNA3 ISA 9.1.10: sc1 is the system's.
void AtomicOps::set_scope(Instruction& made, UOp u) const {
    if (memory_of(u).as<ParamArg>().space != Space::global) return;
    const auto scope = static_cast<uint8_t>(u.as<AtomicArg>().scope);
    if (function_.family == isa::Family::rdna4) made.inst.scope = static_cast<uint8_t>(scope + 1);
    if (function_.family == isa::Family::cdna3) made.inst.sc1 = u.as<AtomicArg>().scope == MemoryScope::system;
}

/// `old`: none where nobody asks for it.
bool AtomicOps::by_row(UOp u, MemoryAccess to, Place old) {
    for (const Fetches& row : kFetches) {
        const Mnemonic name = to.global ? row.global : row.local;
        if (row.operation != u.as<AtomicArg>().operation || !(row.types & class_of(u.src(1).dtype())) ||
            !code_.has(name))
            continue;
        const Place given = data(u.src(1));
        if (old && to.predicate) code_.copy(old, Source::of_number(0));
        Instruction& made = memory_.add_access(name, to, given);
        set_scope(made, u);
        made.dst[0] = old;
        made.keeps = old && to.predicate;
        if (!old)
            made.inst.dst[0] = {};
        else if (to.global)
            returns(made, function_.family);
        return true;
    }
    return false;
}

void AtomicOps::compare_exchange(UOp u, const MemoryAccess& to, Place old) {
    const Place given = data(u.src(1)), expected = data(u.src(2));
    code_.copy(old, Source::of_number(0));
    set_scope(swaps_.compare_and_swap(to, old, given, expected), u);
}

/// Atomics of floats and of two halves, where the machine has no instruction.
bool AtomicOps::swap_until_done(UOp u, MemoryAccess to, Place old) {
    struct Row {
        AtomicOp operation;
        Mnemonic single, twice;
    };
    static constexpr Row kRows[] = {{AtomicOp::add, "v_add_f32", "v_add_f64"},
                                    {AtomicOp::max, "v_max_f32", "v_max_f64"},
                                    {AtomicOp::min, "v_min_f32", "v_min_f64"}};
    const bool wide = old.dwords == 2;
    const Row* row = nullptr;
    for (const Row& one : kRows)
        if (one.operation == u.as<AtomicArg>().operation) row = &one;
    const DType type = u.src(1).dtype();
    if (!row || !type.is_float() || (type.lanes == 2 && type.scalar != Scalar::float16)) return false;
    const Mnemonic sum = type.lanes == 2 ? Mnemonic("v_pk_add_f16") : wide ? row->twice : row->single;
    const Source given = Source::of(data(u.src(1)));
    const Place again = function_.add(Bank::scalar, function_.mask_dwords());
    code_.copy(old, Source::of_number(0));
    code_.copy(again, to.predicate ? Source::of(to.predicate) : all_lanes());
    to.predicate = again;
    code_.open_block("swap", code_.depth() + 1);
    const uint32_t loop = code_.block();
    const Place next = code_.vector(sum, {given, Source::of(old)}, old.dwords);
    const Place now = function_.add(Bank::vector, old.dwords);
    code_.copy(now, Source::of(old));
    set_scope(swaps_.compare_and_swap(to, now, next, old), u);
    code_.vector_to(again, pick(wide, "v_cmp_ne_u64", "v_cmp_ne_u32"), {Source::of(now), Source::of(old)});
    code_.copy(old, Source::of(now));
    code_.scalar_compare(pick(again.dwords == 2, "s_cmp_lg_u64", "s_cmp_lg_u32"), Source::of(again),
                         Source::of_number(0));
    code_.add("s_cbranch_scc1").target = loop;
    code_.open_block("", code_.depth() - 1);
    return true;
}

}  // namespace strata::codegen
