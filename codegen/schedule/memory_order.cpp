// order_for_memory: memory-aware order. Each step as late as its first reader lets it, so that fewer values are kept at
// a time.
//
// Before  a <- x;  b <- y;  c <- a;  d <- b, c      a user of c keeps b meanwhile
// After   a <- x;  c <- a;  b <- y;  d <- b, c
// Among the steps that one reads, the one on the longest chain of steps comes first. A short one comes right before it,
// as values that checkpoints recompute for a gradient that takes long to arrive. Of the roots, the shortest come first.
// A gradient of the last layer is finished, and its inputs are gone, before those of the layers below.
#include <algorithm>

#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

int64_t bytes_of(UOp buffer) { return buffer.as<BufferArg>().size * buffer.dtype().bytes(); }

struct Graph {
    explicit Graph(const StepValues& all) : reads(all.reads.size()), height(all.reads.size()) {
        for (size_t i = 0; i < reads.size(); ++i) {
            for (size_t value : all.reads[i])
                if (const size_t made = all.values[value].made_by; std::ranges::find(reads[i], made) == reads[i].end())
                    reads[i].push_back(made);
            for (size_t made : reads[i]) height[i] = std::max(height[i], height[made] + 1);
        }
    }
    std::vector<std::vector<size_t>> reads;  ///< by step: steps before it
    std::vector<size_t> height;              ///< steps of the longest chain that ends before it
};

}  // namespace

StepValues values_of(std::span<const ScheduleItem> items, std::span<const UOp> roots) {
    using Places = std::vector<std::vector<size_t>>;
    StepValues all{.values = {}, .reads = Places(items.size()), .makes = Places(items.size())};
    UOpMap<size_t> now;  // by buffer: the value in it
    for (size_t i = 0; i < items.size(); ++i) {
        for (UOp u : in_order(items[i].bodies())) {
            const auto read = now.find(u);
            if (read == now.end() || all.values[read->second].made_by == i) continue;
            all.reads[i].push_back(read->second);
            all.values[read->second].readers.push_back(i);
        }
        for (UOp output : items[i].outputs()) {
            const auto [at, first] = now.try_emplace(output, all.values.size());
            if (!first && all.values[at->second].made_by == i) continue;
            at->second = all.values.size();
            all.makes[i].push_back(at->second);
            all.values.push_back({.bytes = bytes_of(output), .made_by = i});
        }
    }
    for (UOp root : roots)
        if (const auto value = now.find(buffer_under(root)); value != now.end())
            all.values[value->second].result = true;
    return all;
}

std::vector<ScheduleItem> order_for_memory(std::vector<ScheduleItem> items, std::span<const UOp> roots) {
    const StepValues all = values_of(items, roots);
    Graph graph(all);
    const auto longest = [&](size_t i) { return std::pair(items.size() - graph.height[i], i); };
    const auto shortest = [&](size_t i) { return std::pair(graph.height[i], i); };
    std::vector<size_t> starts, order;
    for (size_t i = 0; i < items.size(); ++i) {
        std::ranges::sort(graph.reads[i], {}, longest);
        if (std::ranges::any_of(all.makes[i], [&](size_t value) { return all.values[value].result; }))
            starts.push_back(i);
    }
    std::ranges::sort(starts, {}, shortest);
    for (size_t i = 0; i < items.size(); ++i)
        if (items[i].body.is(Op::custom)) starts.push_back(i);
    std::vector<size_t> next(items.size());
    std::vector<bool> placed(items.size());
    for (size_t start : starts) {
        std::vector<size_t> stack{start};
        while (!stack.empty()) {
            const size_t i = stack.back();
            if (!placed[i] && next[i] < graph.reads[i].size()) {
                stack.push_back(graph.reads[i][next[i]++]);
                continue;
            }
            stack.pop_back();
            if (placed[i]) continue;
            placed[i] = true;
            order.push_back(i);
        }
    }
    std::vector<ScheduleItem> out;
    for (size_t i : order) out.push_back(std::move(items[i]));
    return out;
}

int64_t most_kept(std::span<const ScheduleItem> items, std::span<const UOp> roots) {
    UOpMap<size_t> last_use;
    std::vector<int64_t> filled(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
        for (UOp output : items[i].outputs())
            if (last_use.try_emplace(output, i).second) filled[i] += bytes_of(output);
        for (UOp u : in_order(items[i].bodies()))
            if (const auto made = last_use.find(u); made != last_use.end()) made->second = i;
    }
    std::vector<int64_t> freed(items.size() + 1);
    for (UOp root : roots)
        if (const auto made = last_use.find(buffer_under(root)); made != last_use.end()) made->second = items.size();
    for (const auto& [buffer, last] : last_use) freed[last] += bytes_of(buffer);
    int64_t kept = 0, most = 0;
    for (size_t i = 0; i < items.size(); ++i) {
        kept += filled[i];
        most = std::max(most, kept);
        kept -= freed[i];
    }
    return most;
}

}  // namespace strata::codegen
