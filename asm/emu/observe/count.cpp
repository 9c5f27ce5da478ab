#include <algorithm>

#include "strata/asm/emu/observe/timing.h"
#include "strata/asm/emu/program/build.h"

// How often instructions ran, by the same copies of the code as the timing model's.
namespace strata::emu {

void MeasuredCode::count(const Op* measured) {
    const Copy* copy = copy_of(measured);
    copy->counts[static_cast<size_t>(measured - copy->ops.data())].fetch_add(1, std::memory_order_relaxed);
}

void MeasuredCode::clear_counts() {
    std::lock_guard lock(mutex_);
    for (Copy& copy : copies_)
        for (size_t i = 0; i < copy.ops.size(); ++i) copy.counts[i].store(0, std::memory_order_relaxed);
}

std::vector<uint64_t> MeasuredCode::counts(const Chunk& chunk) const {
    constexpr uint64_t kNone = ~0ull;
    std::vector<uint64_t> counts(chunk.insts.size(), kNone);
    const Copy* copy = nullptr;
    for (size_t i = 0; i < count_.load(std::memory_order_acquire) && !copy; ++i)
        if (published_[i].load(std::memory_order_acquire)->chunk == &chunk) copy = published_[i].load();
    if (!copy) return std::vector<uint64_t>(chunk.insts.size());  // no wave came here
    for (size_t i = 0; i < copy->ops.size(); ++i) {
        const Op& op = chunk.ops[i];
        // The first op of an instruction is the one that is always met; glue between chunks is none.
        if (op.run != go_on_elsewhere && counts[op.index] == kNone) counts[op.index] = copy->counts[i];
    }
    // No branch leads to a hint without an op: the wave comes from the instruction before it.
    uint64_t after = 0;
    std::vector<uint64_t> of_next(counts.size());
    for (size_t i = counts.size(); i-- > 0; after = counts[i] == kNone ? after : counts[i]) of_next[i] = after;
    for (size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] != kNone) continue;
        counts[i] = i == 0 ? of_next[i] : counts[i - 1];
        if (i > 0 && flow_of(chunk.insts[i - 1]) != Flow::next) counts[i] = std::min(counts[i], of_next[i]);
    }
    return counts;
}

}  // namespace strata::emu
