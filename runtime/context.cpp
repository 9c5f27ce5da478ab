#include "strata/runtime/context_p.h"

namespace strata::runtime {
namespace {

constexpr size_t kKeptLaunches = 4096;
constexpr size_t kFewNodes = 1 << 14;  // a sweep over so many takes well under a millisecond
constexpr size_t kManyBytes = size_t{64} << 20;

void on_free(UOp node) {
    if (node.is(Op::buffer)) context().buffers.forget(node);
    if (node.is(Op::custom)) context().custom.forget(node);
    context().results.forget(node);
}

}  // namespace

Context& context() {
    static auto* process = new Context;
    return *process;
}

UOp Results::find(UOp node) {
    std::lock_guard lock(mutex_);
    auto found = views_.find(node);
    return found == views_.end() ? UOp() : found->second.get();
}

void Results::remember(UOp node, UOp view) {
    std::lock_guard lock(mutex_);
    views_.insert_or_assign(node, Root(view));
}

void Results::forget(UOp node) {
    Root last;  // freed outside the lock
    std::lock_guard lock(mutex_);
    if (auto found = views_.find(node); found != views_.end()) {
        last = std::move(found->second);
        views_.erase(found);
    }
}

void Results::forget_all() {
    UOpMap<Root> last;  // freed outside the lock
    std::lock_guard lock(mutex_);
    last.swap(views_);
}

Stats Counters::get() {
    std::lock_guard lock(mutex_);
    Stats out = stats_;
    if (out.launches.size() > kKeptLaunches)
        out.launches.erase(out.launches.begin(), out.launches.end() - kKeptLaunches);
    return out;
}

void Counters::reset() {
    std::lock_guard lock(mutex_);
    stats_ = Stats{};
}

void Counters::add_times(double schedule_ms, double compile_ms) {
    std::lock_guard lock(mutex_);
    stats_.schedule_ms += schedule_ms;
    stats_.compile_ms += compile_ms;
}

void Counters::add(Stats::Launch launch, bool modelled) {
    std::lock_guard lock(mutex_);
    stats_.kernels++;
    stats_.time_ms += launch.time_ms;
    stats_.modelled |= modelled;
    stats_.wall_ms += launch.wall_ms;
    stats_.bytes += launch.bytes;
    stats_.flops += launch.flops;
    stats_.launches.push_back(std::move(launch));
    if (stats_.launches.size() >= 2 * kKeptLaunches)  // all at once: moving thousands for each launch takes its time
        stats_.launches.erase(stats_.launches.begin(), stats_.launches.end() - kKeptLaunches);
}

void Sweeper::sweep_now() {
    while (sweep(on_free) > 0) {  // a freed result lets go of its buffer, which the next round frees
    }
    allocated_since_ = 0;
    nodes_after_sweep_ = live_nodes();
}

void Sweeper::sweep_if_worthwhile() {
    if (allocated_since_ > kManyBytes || live_nodes() > 2 * nodes_after_sweep_ || live_nodes() < kFewNodes) sweep_now();
}

void collect() { context().sweeper.sweep_if_worthwhile(); }

}  // namespace strata::runtime
