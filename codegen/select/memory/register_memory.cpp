// Memory of registers: an index that is not known chooses among all of them.
#include "strata/codegen/select/memory/register_memory.h"

#include <algorithm>

namespace strata::codegen {

void RegisterMemory::add(UOp memory) {
    std::vector<Place>& elements = registers_[memory];
    const std::span<const size_t> stores = context_.stores_to(memory);
    const bool begins_in_part = !stores.empty() && divergence_.splits(stores.front());
    for (int64_t i = 0; i < memory.as<ParamArg>().size; ++i) {
        elements.push_back(function_.add(Bank::vector, dwords_of(memory.dtype())));
        if (begins_in_part) code_.copy(elements.back(), Source::of_number(0));
    }
}

/// True if it may be written again: values computed from it would differ later.
bool RegisterMemory::has(Place place) const {
    return std::any_of(registers_.begin(), registers_.end(), [&](const auto& memory) {
        return std::any_of(memory.second.begin(), memory.second.end(), [&](Place p) { return p.reg == place.reg; });
    });
}

/// True if nothing is stored to the register between a load and the last use of what was loaded.
bool RegisterMemory::stays(UOp load) const {
    const size_t from = *context_.position(load);
    const size_t to = std::max(from, context_.last_use(from));
    return std::ranges::none_of(context_.stores_to(memory_of(load.src(0))),
                                [&](size_t at) { return at > from && at < to; });
}

bool RegisterMemory::load(UOp u) {
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
        packing_.set_loaded(u, out.place);
        set(u, packing_.unpacked(out.place, u.dtype()));
        return true;
    }
    if (u.dtype().is_bool()) out = {Source::of(code_.compare("v_cmp_ne_u32", out, Source::of_number(0))), true};
    set(u, out);
    return true;
}

bool RegisterMemory::store(UOp u) {
    const UOp index = u.src(0);
    const DType type = u.src(1).dtype();
    const std::vector<Place>& elements = registers_.at(memory_of(index));
    if (type != memory_of(index).dtype()) return false;
    const std::optional<Place> loaded = type.lanes > 1 ? packing_.loaded(skip_after(u.src(1))) : std::nullopt;
    const Source data = loaded ? Source::of(*loaded) : packing_.packed(value(u.src(1)), type);
    const UOp offset = skip_after(index.src(1));
    const Place predicate = context_.predicate_of(index);
    for (size_t i = 0; i < elements.size(); ++i) {
        if (offset.is_const() && static_cast<size_t>(const_int(offset)) != i) continue;
        if (offset.is_const() && !predicate) {
            code_.copy(elements[i], data);
            continue;
        }
        Source here = Source::of(predicate);
        if (!offset.is_const()) {
            here = Source::of(code_.compare("v_cmp_eq_u32", value(offset), Source::of_number(i)));
            if (predicate)
                here = Source::of(code_.scalar(pick(predicate.dwords == 1, "s_and_b32", "s_and_b64"),
                                               {here, Source::of(predicate)}, predicate.dwords));
        }
        for (int k = 0; k < elements[i].dwords; ++k)
            code_.vector_to(elements[i].part(k), "v_cndmask_b32",
                            {Source::of(elements[i].part(k)), dword(data, k), here});
    }
    return true;
}

}  // namespace strata::codegen
