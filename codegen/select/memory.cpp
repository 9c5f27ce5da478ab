// Loads and stores of global, local and register memory.
#include <algorithm>
#include <array>

#include "strata/codegen/select/select_p.h"

namespace strata::codegen {

using namespace number_class;
namespace {

/// Instructions by the bytes they move; those below four by what becomes of the upper bits.
struct Mnemonics {
    int bytes;
    bool extends_sign;
    const char *global_load, *local_load, *buffer_load, *global_store, *local_store, *buffer_store;
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

Place Selector::gate_of(UOp index) {
    if (index.src().size() < 3) return {};
    return mask_of(value(index.src(2))).place;
}

bool Selector::load(UOp u) {
    switch (memory_of(u.src(0)).as<ParamArg>().space) {
        case Space::global: return load_scalar(u) || load_vector(u);
        case Space::local: return load_vector(u);
        case Space::reg: return load_register(u);
    }
    return false;
}

/// One address for all lanes, in memory that the kernel does not write: scalar caches hold it.
bool Selector::load_scalar(UOp u) {
    const UOp index = u.src(0), memory = memory_of(index);
    const int bytes = u.dtype().element().bytes() * u.dtype().lanes;
    static constexpr std::pair<int, const char*> kLoads[] = {
        {4, "s_load_b32"}, {8, "s_load_b64"}, {16, "s_load_b128"}, {32, "s_load_b256"}, {64, "s_load_b512"}};
    if (index.src().size() > 2 || written_.contains(memory) || !is_uniform(index)) return false;
    for (auto [size, name] : kLoads) {
        if (size != bytes) continue;
        const Address at = global_address(index, isa::Format::SMEM);
        if (at.whole) return false;
        Instruction& made = code_.add(name);
        made.src[0] = at.base.place;
        made.inst.src[1].code = isa::code::null;
        made.inst.offset = at.offset;
        made.stride = stride(index);
        made.unchanging = true;
        const Place data = made.dst[0] = function_.add(Bank::scalar, bytes / 4);
        set(u, unpacked(data, u.dtype()));
        return true;
    }
    return false;
}

/// Where a vector instruction finds memory, and for which lanes.
Selector::Access Selector::access_to(UOp index) {
    const bool global = memory_of(index).as<ParamArg>().space == Space::global;
    Access to{.at = global ? global_address(index, isa::Format::GLOBAL) : local_address(index),
              .global = global,
              .stride = stride(index)};
    to.lanes = code_.in_vector(to.at.lanes, to.at.whole ? 2 : 1);
    to.gate = gate_of(index);
    return to;
}

/// A vector instruction with its address: `lanes` come first, then what it writes, then the base of global memory.
Instruction& Selector::add_access(const char* name, const Access& to, Place data) {
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
    made.gate = to.gate;
    made.stride = to.stride;
    return made;
}

bool Selector::load_vector(UOp u) {
    const Mnemonics* row = mnemonics(u.dtype());
    if (!row) return false;
    if (load_bounded(u, row->buffer_load)) return true;
    const Access from = access_to(u.src(0));
    const Place data = function_.add(Bank::vector, dwords_of(u.dtype()));
    if (from.gate) code_.copy(data, u.src().size() > 1 ? packed(value(u.src(1)), u.dtype()) : Source::of_number(0));
    Instruction& made = add_access(from.global ? row->global_load : row->local_load, from, {});
    made.dst[0] = data;
    made.keeps = static_cast<bool>(from.gate);
    made.unchanging = from.global && !written_.contains(memory_of(u.src(0)));
    loaded_[u] = data;
    set(u, unpacked(data, u.dtype()));
    return true;
}

bool Selector::store(UOp u) {
    const UOp index = u.src(0);
    if (memory_of(index).as<ParamArg>().space == Space::reg) return store_register(u);
    const DType type = u.src(1).dtype();
    const Mnemonics* row = mnemonics(type);
    if (!row) return false;
    const Place data = code_.in_vector(packed(value(u.src(1)), type), dwords_of(type));
    if (store_bounded(index, row->buffer_store, data)) return true;
    const Access to = access_to(index);
    add_access(to.global ? row->global_store : row->local_store, to, data);
    return true;
}

/// The elements of loaded registers.
Value Selector::unpacked(Place data, DType type) {
    const DType element = type.element();
    const int bytes = element.bytes();
    const bool scalar = function_.bank(data) == Bank::scalar;
    auto one = [&](int i) -> Value {
        if (bytes >= 4) return Source::of(data.part(i * bytes / 4, bytes / 4));
        const Source dword = Source::of(data.part(i * bytes / 4));
        const auto shift = static_cast<uint64_t>(i * bytes % 4 * 8), bits = static_cast<uint64_t>(bytes * 8);
        const bool sign = element.is_integer() && !element.is_unsigned();
        Value out = dword;
        if (scalar) {
            out = Source::of(
                code_.scalar(sign ? "s_bfe_i32" : "s_bfe_u32", {dword, Source::of_number(bits << 16 | shift)}));
        } else if (type.lanes > 1 && !(shift == 0 && element.scalar == Scalar::float16)) {
            if (shift + bits == 32)
                out = Source::of(
                    code_.vector(sign ? "v_ashrrev_i32" : "v_lshrrev_b32", {Source::of_number(shift), dword}));
            else
                out = Source::of(code_.vector(sign ? "v_bfe_i32" : "v_bfe_u32",
                                              {dword, Source::of_number(shift), Source::of_number(bits)}));
        }
        const auto number = static_cast<uint32_t>(i % (4 / bytes));
        if (type.lanes > 1 && out.place != dword.place) parts_[out.place.reg] = {dword, bytes, number};
        if (!element.is_bool()) return out;
        return {Source::of(code_.compare("v_cmp_ne_u32", out, Source::of_number(0))), true};
    };
    if (type.lanes == 1) return one(0);
    Value all;
    for (int i = 0; i < type.lanes; ++i) all.lanes.push_back(one(i));
    return all;
}

/// Where an element of so many bytes was loaded from, or the element itself.
Selector::Part Selector::part_of(const Source& element, int bytes) const {
    const auto found = element.place ? parts_.find(element.place.reg) : parts_.end();
    return found != parts_.end() && found->second.bytes == bytes ? found->second : Part{element, bytes, 0};
}

/// The dwords that a store takes.
Source Selector::packed(const Value& value, DType type) {
    const DType element = type.element();
    auto one = [&](const Value& v) -> Source {
        if (!element.is_bool()) return plain(v, element);
        if (!v.mask) return v;
        return Source::of(code_.vector("v_cndmask_b32", {Source::of_number(0), Source::of_number(1), v}));
    };
    if (type.lanes == 1) return one(value);
    std::vector<Source> parts;
    for (int i = 0; i < type.lanes; ++i)
        parts.push_back(one(value.lanes.empty() ? value : value.lanes[static_cast<size_t>(i)]));
    const int bytes = element.bytes(), each = std::max(1, bytes / 4);
    if (bytes < 4) {
        // v_perm_b32 picks bytes 0 to 3 of its second source and 4 to 7 of its first; 12 is a zero byte.
        const bool halves = bytes == 2;
        auto join = [&](const Source& low, const Source& high, uint32_t pick) {
            return Source::of(code_.vector("v_perm_b32", {high, low, Source::of_number(pick)}));
        };
        auto join_halves = [&](const Source& low, const Source& high) {
            const Part a = part_of(low, 2), b = part_of(high, 2);
            if (a.dword.place && a.dword.place == b.dword.place && a.number == 0 && b.number == 1) return a.dword;
            return join(a.dword, b.dword, (a.number ? 0x0302u : 0x0100u) | (b.number ? 0x07060000u : 0x05040000u));
        };
        std::vector<Source> dwords;
        for (size_t i = 0; i < parts.size(); i += static_cast<size_t>(4 / bytes)) {
            if (halves) {
                dwords.push_back(join_halves(parts[i], parts[i + 1]));
            } else if (parts.size() == 2) {
                dwords.push_back(join(parts[0], parts[1], 0x0c0c0400));
            } else {
                std::array<Byte, 4> of;
                for (size_t k = 0; k < 4; ++k) {
                    const Part part = part_of(parts[i + k], 1);
                    of[k] = {part.dword, part.number};
                }
                dwords.push_back(joined(of.data()));
            }
        }
        parts = std::move(dwords);
        if (parts.size() == 1) return parts[0];
    }
    const Place all = function_.add(Bank::vector, static_cast<int>(parts.size()) * each);
    for (size_t i = 0; i < parts.size(); ++i) code_.copy(all.part(static_cast<int>(i) * each, each), parts[i]);
    return Source::of(all);
}

/// Whether nothing is stored to the register between a load and the last use of what was loaded.
bool Selector::stays(UOp load) const {
    auto found = stores_.find(memory_of(load.src(0)));
    if (found == stores_.end()) return true;
    const size_t from = position_[numbers_.find(load)];
    const size_t to = std::max(from, uses_[from].last);
    return std::none_of(found->second.begin(), found->second.end(), [&](size_t at) { return at > from && at < to; });
}

bool Selector::load_register(UOp u) {
    const UOp index = u.src(0);
    const std::vector<Place>& elements = registers_.at(memory_of(index));
    const UOp offset = skip_after(index.src(1));
    if (u.dtype() != memory_of(index).dtype() || index.src().size() > 2) return false;
    Value out;
    if (offset.is_const()) {
        const Place element = elements[static_cast<size_t>(const_int(offset))];
        if (stays(u)) {
            out = Source::of(element);
        } else {
            const Place now = function_.add(Bank::vector, element.dwords);
            code_.copy(now, Source::of(element));
            out = Source::of(now);
        }
    } else {
        const Source at = value(offset);
        Place chosen = elements[0];
        for (size_t i = 1; i < elements.size(); ++i) {
            const Source here = Source::of(code_.compare("v_cmp_eq_u32", at, Source::of_number(i)));
            const Place next = function_.add(Bank::vector, chosen.dwords);
            for (int k = 0; k < chosen.dwords; ++k)
                code_.vector_to(next.part(k), "v_cndmask_b32",
                                {Source::of(chosen.part(k)), Source::of(elements[i].part(k)), here});
            chosen = next;
        }
        out = Source::of(chosen);
    }
    if (u.dtype().lanes > 1) {
        loaded_[u] = out.place;
        set(u, unpacked(out.place, u.dtype()));
        return true;
    }
    if (u.dtype().is_bool()) out = {Source::of(code_.compare("v_cmp_ne_u32", out, Source::of_number(0))), true};
    set(u, out);
    return true;
}

bool Selector::store_register(UOp u) {
    const UOp index = u.src(0);
    const DType type = u.src(1).dtype();
    const std::vector<Place>& elements = registers_.at(memory_of(index));
    if (type != memory_of(index).dtype()) return false;
    const auto loaded = loaded_.find(skip_after(u.src(1)));
    const bool as_it_is = type.lanes > 1 && loaded != loaded_.end();
    const Source data = as_it_is ? Source::of(loaded->second) : packed(value(u.src(1)), type);
    const UOp offset = skip_after(index.src(1));
    const Place gate = gate_of(index);
    for (size_t i = 0; i < elements.size(); ++i) {
        if (offset.is_const() && static_cast<size_t>(const_int(offset)) != i) continue;
        if (offset.is_const() && !gate) {
            code_.copy(elements[i], data);
            continue;
        }
        Source here = Source::of(gate);
        if (!offset.is_const()) {
            here = Source::of(code_.compare("v_cmp_eq_u32", value(offset), Source::of_number(i)));
            if (gate)
                here = Source::of(
                    code_.scalar(gate.dwords == 1 ? "s_and_b32" : "s_and_b64", {here, Source::of(gate)}, gate.dwords));
        }
        for (int k = 0; k < elements[i].dwords; ++k)
            code_.vector_to(elements[i].part(k), "v_cndmask_b32",
                            {Source::of(elements[i].part(k)), dword(data, k), here});
    }
    return true;
}

}  // namespace strata::codegen
