// Buffer instructions. Lanes that a predicate masks go beyond the bounds of the memory, where loads give 0 and stores
// do nothing. Neither EXEC nor a branch nor a register that is 0 before is needed.
//
//   in1[t + 2] if t < n, else 0     v_cndmask_b32 v2, -0.5, v1, s8      v1 = t << 2
//                                   buffer_load_b32 v3, v2, s[4:7], 0 offen offset:8
#include <algorithm>

#include "strata/codegen/machine/operands.h"
#include "strata/codegen/select/memory/buffers.h"
#include "strata/codegen/target/buffer_access.h"
#include "strata/codegen/target/cache_policies.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

/// The bound of what instructions add to an offset: nothing that is added to kBeyondBuffer wraps.
constexpr int64_t kMostImmediate = int64_t{1} << 23;
static_assert(kBeyondBuffer > kMostBufferBytes && kBeyondBuffer + kMostBufferBytes + kMostImmediate < int64_t{1} << 32);

/// Instructions that a descriptor must save, as making it takes three or four, by accesses; in a loop one alone does.
constexpr int kWorth = 5, kOfLoop = 5;

/// The constant part of an offset: the number that Addresses::split finds.
int64_t constant_of(UOp offset) {
    offset = skip_after(offset);
    if (offset.dtype() != dtypes::int32) return 0;
    if (offset.is_const()) return const_int(offset);
    if (offset.is(Op::add)) return constant_of(offset.src(0)) + constant_of(offset.src(1));
    if (offset.is(Op::sub) && offset.src(1).is_const()) return constant_of(offset.src(0)) - const_int(offset.src(1));
    if (offset.is(Op::mul) && offset.src(1).is_const()) return constant_of(offset.src(0)) * const_int(offset.src(1));
    return 0;
}

}  // namespace

void set_cache_bits(Instruction& made, UOp index, bool stores, isa::Family family) {
    const std::optional<CachePolicy> policy = uop::cache_of(index);
    if (!policy) return;
    const CacheBits bits = cache_bits(family, *policy, stores).value_or(CacheBits{});
    made.inst.glc = bits.glc, made.inst.slc = bits.slc, made.inst.dlc = bits.dlc, made.inst.sc1 = bits.sc1;
    made.inst.th = bits.th, made.inst.scope = bits.scope;
}

Buffers::Buffers(SelectionContext& context, Packing& packing, Addresses& addresses)
    : SelectionPart(context), packing_(packing), addresses_(addresses) {
    find();
}

/// An access whose predicate often holds, or is to go through a descriptor, to memory that an offset reaches.
bool Buffers::may_be_bounded(UOp index) {
    const UOp memory = memory_of(index);
    if (index.src().size() < 3 || memory.as<ParamArg>().space != Space::global) return false;
    const int64_t size = memory.dtype().bytes(), bytes = memory.as<ParamArg>().size * size;
    return bytes > 0 && bytes <= kMostBufferBytes && constant_of(index.src(1)) * size >= -kMostImmediate &&
           skip_after(index.src(1)).dtype() == dtypes::int32 &&
           (is_checked_by_descriptor(index) || predicates_.hold_often(index.src(2)));
}

/// One that gives 0 where its predicate does not hold. Beside a store of the same predicate that is not bounded, EXEC
/// is set in any case.
bool Buffers::may_be_bounded(UOp load, UOp around) {
    const UOp index = load.src(0);
    return may_be_bounded(index) && (load.src().size() == 1 || gives_zero(load.src(1))) &&
           std::ranges::find(predicated_stores_, std::pair(around, skip_after(index.src(2)))) ==
               predicated_stores_.end();
}

/// Counts the instructions that descriptors save. For a load they are its predicate and the zeros before it, for a
/// store its predicate where that is not the one before.
void Buffers::find() {
    std::vector<UOp> around{UOp{}};
    auto each = [&](Op op, auto visit) {
        for (UOp u : program_.ops) {
            if (u.is(Op::range)) around.push_back(u);
            if (u.is(Op::end)) around.pop_back();
            if (u.is(op)) visit(u.src(0), u, around.size() > 1 ? kOfLoop : 1);
        }
    };
    auto note = [&](UOp index) -> Bounded& {
        const UOp memory = memory_of(index);
        Bounded& row = bounded_[memory];
        row.before = std::max(row.before, -constant_of(index.src(1)) * memory.dtype().bytes());
        return row;
    };
    UOpMap<UOp> before;  // of memory, the predicate of the store before
    each(Op::store, [&](UOp index, UOp, int worth) {
        const UOp predicate = index.src().size() > 2 ? skip_after(index.src(2)) : UOp{}, memory = memory_of(index);
        const auto [last, first] = before.try_emplace(memory, predicate);
        if (predicate && (first || last->second != predicate) && may_be_bounded(index))
            note(index).stores += is_checked_by_descriptor(index) ? kWorth : worth;
        last->second = predicate;
    });
    each(Op::store, [&](UOp index, UOp, int) {
        if (index.src().size() > 2 && !bounds_stores(memory_of(index)))
            predicated_stores_.emplace_back(around.back(), skip_after(index.src(2)));
    });
    each(Op::load, [&](UOp index, UOp load, int worth) {
        if (may_be_bounded(load, around.back())) note(index).loads += is_checked_by_descriptor(index) ? kWorth : worth;
    });
}

bool Buffers::bounds_stores(UOp memory) const {
    const auto found = bounded_.find(memory);
    return found != bounded_.end() && found->second.stores >= kWorth;
}

/// Descriptors begin in front of the memory where constants of offsets are negative. The sum of the lanes' and the
/// instruction's offsets is then never below 0.
void Buffers::begin_descriptors() {
    for (UOp memory : program_.params) {
        const auto found = bounded_.find(memory);
        if (found == bounded_.end() || found->second.loads + found->second.stores < kWorth) continue;
        Bounded& row = found->second;
        const Source pointer = value(memory);
        row.bytes = memory.as<ParamArg>().size * memory.dtype().bytes() + row.before;
        row.descriptor = function_.add(Bank::scalar, 4);
        if (row.before) {
            code_.scalar_to(row.descriptor.part(0), "s_sub_u32",
                            {dword(pointer, 0), Source::of_number(static_cast<uint64_t>(row.before))});
            code_.scalar_to(row.descriptor.part(1), "s_subb_u32", {dword(pointer, 1), Source::of_number(0)});
        } else {
            code_.copy(row.descriptor.part(0, 2), pointer);
        }
        code_.copy(row.descriptor.part(2), Source::of_number(static_cast<uint64_t>(row.bytes)));
        code_.copy(row.descriptor.part(3), Source::of_number(descriptor_kind(isa::is_cdna(function_.family))));
    }
}

/// Parts of an offset that are never below 0 go where the instruction adds them up. The scalar one must not be more
/// than the number of records. RDNA subtracts it from that (RDNA3 ISA, "Range Checking"); CDNA leaves it out of the
/// comparison (CDNA3 ISA 9.1.5.1). Others are added up before, modulo 2^32. `is_exact`: all of them
/// are compared.
Address Buffers::address(UOp index, const Bounded& memory, bool is_exact) {
    const int64_t size = memory_of(index).dtype().bytes();
    const Offset& parts = addresses_.split(index.src(1));
    const int64_t most = offset_range(function_.family, isa::Format::MUBUF).high;
    const int64_t constant = parts.constant * size + memory.before, near = constant & most, far = constant - near;
    const bool positive = parts.vector.low >= 0 && parts.scalar.low >= 0 && constant >= 0;
    const bool fits = positive && parts.scalar.high * size + far <= memory.bytes,
               apart = positive && (is_exact || fits);
    Source lanes = Source::of_number(0), scalar = Source::of_number(0);
    if (parts.vector.source) lanes = addresses_.times(*parts.vector.source, size, false);
    if (parts.scalar.source) scalar = addresses_.times(*parts.scalar.source, size, true);
    const auto added = Source::of_number(static_cast<uint32_t>(apart ? far : constant));
    if (apart && *added.number)
        scalar =
            Source::of(scalar.number ? code_.number(*added.number, 1) : code_.scalar("s_add_u32", {scalar, added}));
    const bool is_compared = fits && !isa::is_cdna(function_.family);
    if (apart && is_exact && !is_compared && !(scalar.number && *scalar.number == 0)) {
        lanes = Source::of(code_.vector("v_add_nc_u32", {scalar, Source::of(code_.in_vector(lanes))}));
        scalar = Source::of_number(0);
    }
    if (apart) return {.base = scalar, .lanes = lanes, .offset = static_cast<int32_t>(near)};
    if (!scalar.number) lanes = Source::of(code_.vector("v_add_nc_u32", {scalar, lanes}));
    if (*added.number) lanes = Source::of(code_.vector("v_add_nc_u32", {added, lanes}));
    return {.base = Source::of_number(0), .lanes = lanes};
}

/// Its lanes' offsets, the descriptor and the scalar offset come first, then the data of a store.
Instruction& Buffers::add_access(Mnemonic name, UOp index, const Bounded& memory, bool stores) {
    const std::optional<BufferAccess> known = buffer_access(index);
    const bool is_exact = known && known->is_exact && memory.before == 0 && known->others.size() < 2;
    const Address at = address(index, memory, is_exact);
    Place predicate = is_exact ? context_.active : context_.predicate_of(index);
    if (is_exact && !known->others.empty())
        predicate = context_.among_active(context_.mask_of(value(known->others[0])).place);
    const Place lanes =
        predicate ? code_.vector("v_cndmask_b32", {Source::of_number(kBeyondBuffer), at.lanes, Source::of(predicate)})
                  : code_.in_vector(at.lanes);
    const bool steady = !context_.active && (context_.loops.empty() || addresses_.slope(index.src(2)) == 0);
    Instruction& made = code_.add(name);
    made.src[0] = lanes;
    made.src[1] = memory.descriptor;
    if (at.base.place)
        made.src[2] = at.base.place;
    else
        made.inst.src[2].code = function_.family == isa::Family::rdna4 ? isa::code::null : isa::code::inline_zero;
    made.inst.offen = true;
    set_cache_bits(made, index, stores, function_.family);
    made.inst.offset = at.offset;
    made.stride = steady ? addresses_.stride(index) : Instruction::kUnsteady;
    return made;
}

bool Buffers::load(UOp u, Mnemonic name) {
    const UOp index = u.src(0), around = context_.loops.empty() ? UOp{} : context_.loops.back();
    const auto memory = bounded_.find(memory_of(index));
    if (memory == bounded_.end() || memory->second.loads < kWorth || !may_be_bounded(u, around)) return false;
    const Place data = function_.add(Bank::vector, dwords_of(u.dtype()));
    Instruction& made = add_access(name, index, memory->second, false);
    made.unchanging = !context_.writes(memory->first);
    made.dst[0] = data;
    packing_.set_loaded(u, data);
    set(u, packing_.unpacked(data, u.dtype()));
    return true;
}

bool Buffers::store(UOp index, Mnemonic name, Place data) {
    const UOp memory = memory_of(index);
    if (!bounds_stores(memory) || !may_be_bounded(index)) return false;
    add_access(name, index, bounded_.at(memory), true).src[3] = data;
    return true;
}

}  // namespace strata::codegen
