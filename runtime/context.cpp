#include "strata/runtime/context_p.h"
#include "strata/runtime/run_program_p.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "strata/core/support/settings.h"
#include "strata/core/uop/sweep_due.h"

namespace strata::runtime {
namespace {

std::atomic<void (*)(UOp)> also_on_free{nullptr};
std::atomic<bool (*)()> after_collection{nullptr};

void forget(UOp node) {
    if (node.is(Op::buffer)) context().buffers.forget(node);
    if (node.is(Op::custom)) context().custom.forget(node);
    context().results.forget(node);
    if (auto* callback = also_on_free.load()) callback(node);
}

/// glibc gives freed memory back to the system above 128 KB, and a compilation frees more: the next one has hundreds of
/// page faults. Once a block of this size was freed, glibc keeps twice as much. Any process that has let go of a large
/// array is in that state (mallopt(3), M_MMAP_THRESHOLD).
void keep_freed_memory() {
    constexpr size_t kLarge = 24 << 20;
    void* volatile const block = std::malloc(kLarge);  // never written: it takes no memory
    std::free(block);
}

}  // namespace

Context::Context() {
    on_free(forget);
    keep_freed_memory();
}

Context& context() {
    static auto* process = new Context;
    return *process;
}

Results::Views::iterator Results::place(UOp node, uint16_t device) {
    auto [first, end] = views_.equal_range(node);
    for (; first != end; ++first)
        if (device_under(first->second.get()) == device) return first;
    return views_.end();
}

UOp Results::find(UOp node, const Device& device) {
    std::lock_guard lock(mutex_);
    auto found = place(node, device.index());
    return found == views_.end() ? UOp() : found->second.get();
}

void Results::remember(UOp node, UOp view) {
    std::lock_guard lock(mutex_);
    if (auto found = place(node, device_under(view)); found != views_.end())
        found->second = Root(view);
    else
        views_.emplace(node, view);
}

void Results::forget(UOp node) {
    std::lock_guard lock(mutex_);
    views_.erase(node);
}

void Results::forget_all() {
    Views last;  // freed outside the lock
    std::lock_guard lock(mutex_);
    last.swap(views_);
}

void Sweeper::sweep() {
    bool (*const callback)() = after_collection.load();
    do {
        const size_t before = collections();
        strata::sweep();
        if (collections() == before) return;  // a thread uses nodes
        allocated_since_ = 0;
    } while (callback && callback());
}

void Sweeper::sweep_for(size_t bytes) {
    if (allocated_since_ + bytes > settings().garbage_mb << 20) sweep();
}

void on_forget(void (*callback)(UOp)) { also_on_free = callback; }

void on_collected(bool (*callback)()) { after_collection = callback; }

void forget_results() { context().results.forget_all(); }

void collect() { context().sweeper.sweep(); }

void collect_dropped() noexcept {
    if (!is_sweep_due()) return;
    try {
        collect();
    } catch (const std::exception&) {  // the child of a fork: what it has not made it does not free
    }
}

Stats stats() {
    collect_dropped();
    Context& c = context();
    Stats out = c.counters.get();
    c.memory.count_into(out);
    c.programs.count_into(out);
    c.plans.count_into(out);
    out.pooled_bytes = c.devices.pooled_bytes();
    out.graph_nodes = live_nodes();
    out.collections = collections();
    return out;
}

void reset_stats() {
    ask_for_times();
    context().counters.reset();
    context().plans.reset_counts();
    context().memory.reset_peak();
}

}  // namespace strata::runtime
