#include "strata/asm/emu/observe/counter.h"

#include <algorithm>

#include "strata/asm/emu/program/build.h"

namespace strata::emu {

Wants Counter::before(Wave&, const Site& site) {
    Counts& counts = counts_.get(*site.chunk, [&] { return Counts(site.chunk->ops.size()); });
    counts[site.at].fetch_add(1, std::memory_order_relaxed);
    return Wants::every;
}

void Counter::clear() {
    counts_.for_each([](Counts& counts) {
        for (std::atomic<uint64_t>& count : counts) count.store(0, std::memory_order_relaxed);
    });
}

std::vector<uint64_t> Counter::counts(const Chunk& chunk) const {
    constexpr uint64_t kNone = ~0ull;
    std::vector<uint64_t> counts(chunk.insts.size(), kNone);
    const Counts* const of_ops = counts_.find(chunk);
    if (!of_ops) return std::vector<uint64_t>(chunk.insts.size());  // no wave came here
    for (size_t i = 0; i < of_ops->size(); ++i) {
        const Op& op = chunk.ops[i];
        // The first op of an instruction is the one that is always met; glue between chunks is none.
        if (op.run != go_on_elsewhere && counts[op.index] == kNone) counts[op.index] = (*of_ops)[i];
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
