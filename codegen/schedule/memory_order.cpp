// order_for_memory: each step as late as its first reader lets it, so that fewer values are kept at a time.
//
// Before  a <- x;  b <- y;  c <- a;  d <- b, c      a user of c keeps b meanwhile
// After   a <- x;  c <- a;  b <- y;  d <- b, c
// Of what a step reads, what hangs on the longest chain of steps comes first; what is short, as values that checkpoints make
// once more for a gradient that takes long to arrive, comes right before it. Of the roots, the shortest come first: a gradient
// of the last layer is finished, and what it was made of is gone, before those of the layers below.
#include <algorithm>

#include "strata/codegen/schedule/plan_p.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {
namespace {

int64_t bytes_of(UOp buffer) { return buffer.as<BufferArg>().size * buffer.dtype().bytes(); }

struct Graph {
    explicit Graph(std::span<const ScheduleItem> items) : reads(items.size()), height(items.size()) {
        UOpMap<size_t> made_at;
        for (size_t i = 0; i < items.size(); ++i) {
            for (UOp u : in_order(items[i].bodies())) {
                const auto made = made_at.find(u);
                if (made == made_at.end() || made->second == i) continue;
                if (std::ranges::find(reads[i], made->second) == reads[i].end()) reads[i].push_back(made->second);
            }
            for (size_t made : reads[i]) height[i] = std::max(height[i], height[made] + 1);
            for (UOp output : items[i].outputs()) made_at[output] = i;
        }
    }
    std::vector<std::vector<size_t>> reads;  ///< by step: steps before it
    std::vector<size_t> height;              ///< steps of the longest chain that ends before it
};

}  // namespace

std::vector<ScheduleItem> order_for_memory(std::vector<ScheduleItem> items, std::span<const UOp> roots) {
    Graph graph(items);
    UOpSet wanted;
    for (UOp root : roots) wanted.insert(buffer_under(root));
    const auto longest = [&](size_t i) { return std::pair(items.size() - graph.height[i], i); };
    const auto shortest = [&](size_t i) { return std::pair(graph.height[i], i); };
    std::vector<size_t> starts, order;
    for (size_t i = 0; i < items.size(); ++i) {
        std::ranges::sort(graph.reads[i], {}, longest);
        if (std::ranges::any_of(items[i].outputs(), [&](UOp u) { return wanted.contains(u); })) starts.push_back(i);
    }
    std::ranges::sort(starts, {}, shortest);
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
    for (size_t i = 0; i < items.size(); ++i) {
        for (UOp output : items[i].outputs()) last_use[output] = i;
        for (UOp u : in_order(items[i].bodies()))
            if (const auto made = last_use.find(u); made != last_use.end()) made->second = i;
    }
    std::vector<int64_t> freed(items.size() + 1);
    for (UOp root : roots)
        if (const auto made = last_use.find(buffer_under(root)); made != last_use.end()) made->second = items.size();
    for (const auto& [buffer, last] : last_use) freed[last] += bytes_of(buffer);
    int64_t kept = 0, most = 0;
    for (size_t i = 0; i < items.size(); ++i) {
        for (UOp output : items[i].outputs()) kept += bytes_of(output);
        most = std::max(most, kept);
        kept -= freed[i];
    }
    return most;
}

}  // namespace strata::codegen
