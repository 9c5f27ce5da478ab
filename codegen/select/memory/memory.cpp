// Loads and stores of global, local and register memory.
#include <algorithm>
#include <array>

#include "strata/codegen/select/memory/memory.h"
#include "strata/codegen/target/async_copy.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {

using namespace number_class;
namespace {

/// Instructions by the bytes they move; those below four by what becomes of the upper bits.
struct Mnemonics {
    int bytes;
    bool extends_sign;
    Mnemonic global_load, local_load, buffer_load, global_store, local_store, buffer_store;
};
constexpr Mnemonics kMnemonics[] = {
    {1, false, "global_load_u8", "ds_load_u8", "buffer_load_u8", "global_store_b8", "ds_store_b8", "buffer_store_b8"},
    {1, true, "global_load_i8", "ds_load_i8", "buffer_load_i8", "global_store_b8", "ds_store_b8", "buffer_store_b8"},
    {2, false, "global_load_u16", "ds_load_u16", "buffer_load_u16", "global_store_b16", "ds_store_b16",
     "buffer_store_b16"},
    {2, true, "global_load_i16", "ds_load_i16", "buffer_load_i16", "global_store_b16", "ds_store_b16",
     "buffer_store_b16"},
    {4, false, "global_load_b32", "ds_load_b32", "buffer_load_b32", "global_store_b32", "ds_store_b32",
     "buffer_store_b32"},
    {8, false, "global_load_b64", "ds_load_b64", "buffer_load_b64", "global_store_b64", "ds_store_b64",
     "buffer_store_b64"},
    {12, false, "global_load_b96", "ds_load_b96", "buffer_load_b96", "global_store_b96", "ds_store_b96",
     "buffer_store_b96"},
    {16, false, "global_load_b128", "ds_load_b128", "buffer_load_b128", "global_store_b128", "ds_store_b128",
     "buffer_store_b128"},
};

const Mnemonics* mnemonics(DType type) {
    const int bytes = type.element().bytes() * type.lanes;
    const bool extends = type.is_integer() && !type.is_unsigned() && bytes < 4 && type.lanes == 1;
    for (const Mnemonics& row : kMnemonics)
        if (row.bytes == bytes && row.extends_sign == extends) return &row;
    return nullptr;
}

}  // namespace

Memory::Memory(SelectionContext& context, Packing& packing, RegisterMemory& registers, Addresses& addresses,
               Buffers& buffers)
    : SelectionPart(context), packing_(packing), registers_(registers), addresses_(addresses), buffers_(buffers) {}

bool Memory::load(UOp u) {
    switch (memory_of(u.src(0)).as<ParamArg>().space) {
        case Space::global: return load_scalar(u) || load_vector(u);
        case Space::local: return load_vector(u);
        case Space::reg: return registers_.load(u);
    }
    return false;
}

/// One address for all lanes, in memory that the kernel does not write: scalar caches hold it.
bool Memory::load_scalar(UOp u) {
    const UOp index = u.src(0), memory = memory_of(index);
    const int bytes = u.dtype().element().bytes() * u.dtype().lanes;
    struct Row {
        int bytes;
        Mnemonic name;
    };
    static constexpr Row kLoads[] = {
        {4, "s_load_b32"}, {8, "s_load_b64"}, {16, "s_load_b128"}, {32, "s_load_b256"}, {64, "s_load_b512"}};
    if (uop::cache_of(index) || index.src().size() > 2 || context_.writes(memory) || !addresses_.is_uniform(index))
        return false;
    for (auto [size, name] : kLoads) {
        if (size != bytes) continue;
        const Address at = addresses_.global(index, isa::Format::SMEM);
        if (at.whole) return false;
        Instruction& made = code_.add(name);
        made.src[0] = at.base.place;
        made.inst.src[1].code = isa::code::null;
        made.inst.offset = at.offset;
        made.stride = addresses_.stride(index);
        made.unchanging = true;
        const Place data = made.dst[0] = function_.add(Bank::scalar, bytes / 4);
        set(u, packing_.unpacked(data, u.dtype()));
        return true;
    }
    return false;
}

/// Where a vector instruction finds memory, and for which lanes.
MemoryAccess Memory::access_to(UOp index) {
    const bool global = memory_of(index).as<ParamArg>().space == Space::global;
    MemoryAccess to{.at = global ? addresses_.global(index, isa::Format::GLOBAL) : addresses_.local(index),
                    .global = global,
                    .stride = addresses_.stride(index)};
    to.lanes = code_.in_vector(to.at.lanes, to.at.whole ? 2 : 1);
    to.predicate = context_.predicate_of(index);
    return to;
}

/// A vector instruction with its address: `lanes` come first, then what it writes, then the base of global memory.
Instruction& Memory::add_access(Mnemonic name, const MemoryAccess& to, Place data) {
    Instruction& made = code_.add(name);
    const size_t base = data ? 2 : 1;
    made.src[0] = to.lanes;
    if (data) made.src[1] = data;
    if (to.global && !to.at.whole) {
        made.inst.src[0].type = isa::Type::u32;
        made.src[base] = to.at.base.place;
    } else if (to.global) {
        made.inst.src[base] = {};
    }
    made.inst.offset = to.at.offset;
    made.predicate = to.predicate;
    made.stride = to.stride;
    return made;
}

bool Memory::load_vector(UOp u) {
    const Mnemonics* row = mnemonics(u.dtype());
    if (!row) return false;
    if (buffers_.load(u, row->buffer_load)) return true;
    const MemoryAccess from = access_to(u.src(0));
    const Place data = function_.add(Bank::vector, dwords_of(u.dtype()));
    if (from.predicate)
        code_.copy(data, u.src().size() > 1 ? packing_.packed(value(u.src(1)), u.dtype()) : Source::of_number(0));
    Instruction& made = add_access(from.global ? row->global_load : row->local_load, from, {});
    made.dst[0] = data;
    made.keeps = static_cast<bool>(from.predicate);
    if (from.global) set_cache_bits(made, u.src(0), false, function_.family);
    made.unchanging = from.global && !context_.writes(memory_of(u.src(0)));
    packing_.set_loaded(u, data);
    set(u, packing_.unpacked(data, u.dtype()));
    return true;
}

bool Memory::store(UOp u) {
    const UOp index = u.src(0);
    if (memory_of(index).as<ParamArg>().space == Space::reg) return registers_.store(u);
    const DType type = u.src(1).dtype();
    const Mnemonics* row = mnemonics(type);
    if (!row) return false;
    const Place data = code_.in_vector(packing_.packed(value(u.src(1)), type), dwords_of(type));
    if (buffers_.store(index, row->buffer_store, data)) return true;
    const MemoryAccess to = access_to(index);
    Instruction& made = add_access(to.global ? row->global_store : row->local_store, to, data);
    if (to.global) set_cache_bits(made, index, true, function_.family);
    return true;
}

/// The lanes' dwords of global memory go to M0 + 4 * lane (CDNA3 ISA 9.1.9). An instruction's offset counts on both
/// sides, so that it is 0 and addresses have all of it.
bool Memory::copy_async(UOp u) {
    if (!has_async_copy(function_.target, 8 * u.as<IndexArg>().index * u.src(0).dtype().bytes())) return false;
    const Address to = addresses_.local(u.src(0));
    Place first = code_.scalar("v_readfirstlane_b32", {to.lanes});
    if (to.offset)
        first = code_.scalar("s_add_u32", {Source::of(first), Source::of_number(static_cast<uint32_t>(to.offset))});
    MemoryAccess from = access_to(u.src(1));
    if (from.at.offset) {
        const Place base = function_.add(Bank::scalar, 2);
        const Source beyond = Source::of_number(static_cast<uint64_t>(int64_t{from.at.offset}));
        code_.scalar_to(base.part(0), "s_add_u32", {dword(from.at.base, 0), dword(beyond, 0)});
        code_.scalar_to(base.part(1), "s_addc_u32", {dword(from.at.base, 1), dword(beyond, 1)});
        from.at.base = Source::of(base);
        from.at.offset = 0;
    }
    Instruction& m0 = code_.add("s_mov_b32");
    m0.inst.dst[0].code = isa::code::m0;
    m0.src[0] = first;
    const bool is_named = code_.has("global_load_lds_dword");
    Instruction& made = add_access(pick(is_named, "global_load_lds_dword", "global_load_b32"), from, {});
    made.inst.lds = !is_named;
    if (!is_named) made.inst.dst[0] = {};
    made.stride = Instruction::kUnsteady;
    return true;
}

}  // namespace strata::codegen
