// forward_registers: store-to-load forwarding of register memory, and dead stores.
//
// Before  store(r[0], x); y = load(r[0]) + 1
// After   y = x + 1
// A load takes the value of the one store that it comes after where both stand in one loop. Registers that nothing
// loads any more are not stored to.
#include <algorithm>

#include "strata/codegen/target/warpgroup_products.h"
#include "strata/codegen/tile/trace_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::lang {
namespace {

bool is_of_registers(UOp access) { return memory_of(access).as<ParamArg>().space == Space::reg; }

/// Effects after which an access's memory comes.
std::span<const UOp> earlier(UOp access) {
    const UOp pointer = access.src(0).src(0);
    return pointer.is(Op::after) ? pointer.src().subspan(1) : std::span<const UOp>();
}

/// The store whose value a load has; none where it is not known.
UOp only_store(UOp load) {
    UOp found;
    for (UOp u : earlier(load)) {
        if (!u.is(Op::store)) continue;
        if (found) return {};
        found = u;
    }
    if (!found || found.src(0).src().size() > 2 || found.src(0).src(1) != load.src(0).src(1)) return {};
    if (found.src(1).dtype() != load.dtype()) return {};
    // The sums of a warpgroup are there when their registers are read, not before.
    if (found.src(1).is(Op::lane) && codegen::warpgroup_product(found.src(1).src(0))) return {};
    for (UOp u : earlier(load))
        if (u.is(Op::range) && std::ranges::find(earlier(found), u) == earlier(found).end()) return {};
    return found;
}

UOp forwarded(UOp sink) {
    UOpMap<UOp> rebuilt;
    const std::vector<UOp> nodes = toposort(sink);
    return rebuild(nodes, rebuilt, [&](UOp u, std::span<const UOp> sources) {
        if (u.is(Op::load) && u.src(0).is(Op::index) && u.src(0).src().size() == 2 && is_of_registers(u))
            if (const UOp store = only_store(u)) return rebuilt.at(store.src(1));
        return u.with_src(sources);
    });
}

/// Without stores to registers that nothing loads; empty where there were none.
UOp without_dead_stores(UOp sink) {
    const std::vector<UOp> nodes = toposort(sink);
    UOpMap<bool> is_read;
    for (UOp u : nodes)
        if (u.is(Op::load)) is_read[memory_of(u)] = true;
    bool found = false;
    const UOp out = rebuild(nodes, [&](UOp u, std::vector<UOp>& sources) {
        if (u.is(Op::store) && is_of_registers(u) && !is_read.contains(memory_of(u))) {
            found = true;
            return UOp();
        }
        if (u.is(Op::end) && !sources[0]) return UOp();
        std::erase_if(sources, [](UOp s) { return !s; });
        if (u.is(Op::group)) return sources.empty() ? UOp() : uop::group(sources);
        if (u.is(Op::after)) return uop::after(sources[0], std::span(sources).subspan(1));
        return u.with_src(sources);
    });
    return found ? out : UOp();
}

}  // namespace

UOp forward_registers(UOp sink) {
    sink = forwarded(sink);
    while (const UOp fewer = without_dead_stores(sink)) sink = fewer;
    return sink;
}

}  // namespace strata::lang
