#include "strata/asm/emu/observe/loops.h"

#include <algorithm>

#include "strata/asm/emu/program/build.h"

// Loops of machine code: intervals of ops closed by backward branches, nested by containment.
namespace strata::emu {
namespace {

/// Calls `edge(from, to)` for each way that control goes within the chunk.
template <class Edge>
void for_each_edge(const Chunk& chunk, Edge edge) {
    for (size_t i = 0; i < chunk.ops.size(); ++i) {
        const Op& op = chunk.ops[i];
        const isa::Inst& inst = chunk.insts[op.index];
        if (op.run == go_on_elsewhere) continue;
        const Flow flow = op.layout == Layout::scalar && inst.row ? flow_of(inst) : Flow::next;
        if (flow != Flow::branch && flow != Flow::stop && i + 1 < chunk.ops.size()) edge(i, i + 1);
        if (flow != Flow::branch && flow != Flow::conditional) continue;
        const auto to = static_cast<size_t>(static_cast<int64_t>(i) + op.scalar().distance);
        if (to < chunk.ops.size()) edge(i, to);
    }
}

/// The intervals of backward branches, one for each target: outer ones first.
std::vector<Loop> intervals_of(const Chunk& chunk) {
    std::vector<Loop> found;
    for_each_edge(chunk, [&](size_t from, size_t to) {
        if (to <= from) found.push_back({to, from});
    });
    std::ranges::sort(
        found, [](const Loop& a, const Loop& b) { return a.first != b.first ? a.first < b.first : a.last > b.last; });
    const auto repeated = std::ranges::unique(found, {}, &Loop::first);
    found.erase(repeated.begin(), repeated.end());
    return found;
}

/// Loops of which one reaches into the other become one loop.
std::vector<Loop> nest(const std::vector<Loop>& intervals, size_t ops) {
    std::vector<Loop> loops = {{0, ops}};
    std::vector<uint16_t> around = {0};
    for (Loop loop : intervals) {
        while (loops[around.back()].last < loop.first) around.pop_back();
        if (loops[around.back()].last < loop.last) {
            for (uint16_t number : around) loops[number].last = std::max(loops[number].last, loop.last);
            continue;
        }
        loop.parent = around.back();
        loop.depth = static_cast<uint16_t>(loops[loop.parent].depth + 1);
        around.push_back(static_cast<uint16_t>(loops.size()));
        loops.push_back(loop);
    }
    return loops;
}

}  // namespace

bool Loops::holds(uint16_t outer, uint16_t inner) const {
    while (loops[inner].depth > loops[outer].depth) inner = loops[inner].parent;
    return inner == outer;
}

Loops loops_of(const Chunk& chunk) {
    const size_t count = chunk.ops.size();
    Loops out{nest(intervals_of(chunk), count), std::vector<uint16_t>(count), std::vector<uint16_t>(count),
              std::vector<uint8_t>(count)};
    for (size_t number = 1; number < out.loops.size(); ++number)
        for (size_t at = out.loops[number].first; at <= out.loops[number].last; ++at)
            out.of_op[at] = static_cast<uint16_t>(number);
    for_each_edge(chunk, [&](size_t from, size_t to) {
        const uint16_t left = out.of_op[from], reached = out.of_op[to];
        if (left == reached) return;
        if (out.holds(left, reached))
            out.entered[from] = reached;
        else
            out.arrived[to] = 1;
    });
    return out;
}

}  // namespace strata::emu
