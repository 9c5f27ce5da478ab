// donation: memory of inputs that results may take, since nothing else reaches what is in it.
//
// Before  m is a tensor;  m.assign(m * 0.9 + g);  realize(m)      two buffers of m's size, for a moment
// After   one: m's old buffer is reached from the graph of its new value alone, which goes when that is in memory
//
// Which step may fill a result over such an input is decided as for values between kernels (executable/memory.cpp),
// from what codegen/kernel/in_place.cpp proves.
#include "strata/runtime/realize/donation_p.h"

#include <algorithm>
#include <atomic>

#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"
#include "strata/core/uop/uop_map.h"
#include "strata/runtime/context_p.h"

namespace strata::runtime {
namespace {

Mutex& door() {
    static auto* mutex = new Mutex;  // never destroyed, as the context
    return *mutex;
}
std::atomic<int> computing_now{0};
std::atomic<bool> one_is_alone{false};  ///< it holds the door
thread_local int computing_depth = 0;

/// Sources before users, down to what is known.
std::vector<UOp> order_down_to(std::span<const UOp> roots, const std::function<bool(UOp)>& is_known) {
    std::vector<UOp> order;
    UOpMap<bool> seen;
    std::vector<std::pair<UOp, size_t>> stack;
    for (UOp root : roots) {
        if (!seen.try_emplace(root, true).second) continue;
        stack.emplace_back(root, 0);
        while (!stack.empty()) {
            auto& [u, next] = stack.back();
            const bool ends = next == 0 && !u.is(Op::buffer) && is_known(u);
            if (ends || next == u.src().size()) {
                if (!ends) order.push_back(u);
                stack.pop_back();
            } else if (const UOp s = u.src(next++); seen.try_emplace(s, true).second) {
                stack.emplace_back(s, 0);
            }
        }
    }
    return order;
}

/// Nodes that nothing holds but Roots that go.
UOpMap<bool> nodes_that_go(const Reached& reached) {
    UOpMap<uint32_t> roots, uses;  // Roots that go, uses by nodes that go
    for (size_t i = 0; i < reached.roots.size(); ++i)
        for (UOp held : reached.donation.releases(i)) ++roots[held];
    const auto of = [](const UOpMap<uint32_t>& counts, UOp u) {
        const auto found = counts.find(u);
        return found == counts.end() ? 0 : found->second;
    };
    UOpMap<bool> go;
    const std::vector<UOp> order = order_down_to(reached.roots, reached.is_known);
    for (auto u = order.rbegin(); u != order.rend(); ++u) {
        if (u->node()->roots() != of(roots, *u)) continue;
        if (u->node()->users.load(std::memory_order_relaxed) != of(uses, *u)) continue;
        go[*u] = true;
        for (UOp s : u->src()) ++uses[s];
    }
    return go;
}

/// By input, whether it is worth while, and its memory is Strata's alone.
std::vector<bool> candidates(const Reached& reached) {
    constexpr size_t kMuch = 64 << 10;  // bytes
    std::vector<bool> out;
    for (size_t i = 0; i < reached.inputs.size(); ++i) {
        const std::shared_ptr<Buffer>& memory = reached.memory[i];
        if (memory->bytes() < kMuch || !memory->allocated() || memory->is_borrowed() || memory->holds_constant())
            continue;
        if (memory.use_count() != 2) continue;
        const bool fits = std::ranges::any_of(
            reached.roots, [&](UOp root) { return root.dtype() == memory->dtype() && root.numel() == memory->size(); });
        if (!fits) continue;
        out.resize(reached.inputs.size());
        out[i] = true;
    }
    return out;
}

}  // namespace

Computing::Computing() : outermost_(computing_depth == 0) {
    while (outermost_ && (++computing_now, one_is_alone)) {
        --computing_now;
        const StoppableLock wait(door());
    }
    ++computing_depth;
}

Computing::~Computing() {
    --computing_depth;
    if (outermost_) --computing_now;
    if (!alone_) return;
    one_is_alone = false;
    door().unlock();
}

bool Computing::stay_alone() {
    if (alone_ || !outermost_ || !door().try_lock()) return alone_;
    one_is_alone = true;
    if (computing_now == 1) return alone_ = true;
    one_is_alone = false;
    door().unlock();
    return false;
}

std::vector<bool> find_donated(const Reached& reached, Computing& computing) {
    if (settings().check != "off" || settings().check_races) return {};
    std::vector<bool> out = candidates(reached);
    if (out.empty() || !computing.stay_alone()) return {};
    const UOpMap<bool> go = nodes_that_go(reached);
    for (size_t i = 0; i < out.size(); ++i) out[i] = out[i] && go.contains(reached.inputs[i]);
    if (std::ranges::find(out, true) == out.end()) out.clear();
    return out;
}

}  // namespace strata::runtime
