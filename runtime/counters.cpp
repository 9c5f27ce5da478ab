#include <algorithm>

#include "strata/runtime/context_p.h"

namespace strata::runtime {
namespace {

constexpr size_t kKeptLaunches = 4096;
constexpr size_t kMostPending = 4096;

}  // namespace

Stats Counters::get() {
    read_times(0);
    std::lock_guard lock(mutex_);
    Stats out = stats_;
    if (launches_ > kKeptLaunches)
        std::ranges::rotate(out.launches, out.launches.begin() + static_cast<ptrdiff_t>(launches_ % kKeptLaunches));
    return out;
}

void Counters::reset() {
    std::deque<Pending> unread;  // its events are given back outside the lock
    std::lock_guard lock(mutex_);
    stats_ = Stats{};
    launches_ = 0;
    ++resets_;
    unread.swap(pending_);
}

void Counters::add_times(double schedule_ms, double compile_ms) {
    std::lock_guard lock(mutex_);
    stats_.schedule_ms += schedule_ms;
    stats_.compile_ms += compile_ms;
}

void Counters::add(bool modelled, const std::function<void(Stats::Launch&)>& fill, std::unique_ptr<PendingTime> time) {
    const bool is_timed = time != nullptr;
    {
        std::lock_guard lock(mutex_);
        const bool is_full = stats_.launches.size() == kKeptLaunches;
        Stats::Launch& launch = is_full ? stats_.launches[launches_ % kKeptLaunches] : stats_.launches.emplace_back();
        fill(launch);
        stats_.kernels++;
        stats_.time_ms += launch.time_ms;
        stats_.modelled |= modelled;
        stats_.wall_ms += launch.wall_ms;
        stats_.bytes += launch.bytes;
        stats_.flops += launch.flops;
        if (is_timed) pending_.push_back({std::move(time), launches_});
        ++launches_;
        if (pending_.size() < kMostPending) return;
    }
    read_times(kMostPending / 2);
}

void Counters::add_unlisted(uint64_t kernels, uint64_t bytes, uint64_t flops, std::unique_ptr<PendingTime> time) {
    {
        std::lock_guard lock(mutex_);
        stats_.kernels += kernels;
        stats_.bytes += bytes;
        stats_.flops += flops;
        if (time) pending_.push_back({std::move(time), kUnlisted});
        if (pending_.size() < kMostPending) return;
    }
    read_times(kMostPending / 2);
}

void Counters::read_times(size_t left) {
    const StoppableLock reading(reading_mutex_);
    std::deque<Pending> taken;
    uint64_t resets;
    {
        std::lock_guard lock(mutex_);
        resets = resets_;
        for (; pending_.size() > left; pending_.pop_front()) taken.push_back(std::move(pending_.front()));
    }
    for (const Pending& one : taken) add_time(one.time->ms(), one.launch, resets);
}

void Counters::add_time(double ms, uint64_t launch, uint64_t resets) {
    std::lock_guard lock(mutex_);
    if (resets != resets_) return;
    stats_.time_ms += ms;
    if (launch != kUnlisted && launches_ - launch <= kKeptLaunches)
        stats_.launches[launch % kKeptLaunches].time_ms = ms;
}

}  // namespace strata::runtime
