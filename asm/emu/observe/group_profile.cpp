#include "strata/asm/emu/observe/group_profile.h"

#include <algorithm>

// Which events happened to which instruction of a measured workgroup.
namespace strata::emu {
namespace {

constexpr double kLong = 16;         // cycles of a stall that a span keeps
constexpr size_t kMostStalls = 256;  // of a span

}  // namespace

/// The instruction that the wave waited for: the writer of the register that was ready last, else the one issued before
/// (a barrier, the unit).
const Op* GroupProfile::culprit(const Step& step, const Cost& cost, std::span<const double> ready) const {
    for (uint8_t i = 0; i < cost.sources; ++i)
        for (size_t at = cost.source[i].first;
             at < ready.size() && at < cost.source[i].first + size_t{cost.source[i].count}; ++at)
            if (ready[at] == step.issued && writers_[step.wave][at]) return writers_[step.wave][at];
    return last_[step.wave];
}

void GroupProfile::add(const Step& step, const Cost& cost, std::span<const double> ready) {
    OfOp& of_op = ops_[step.op];
    ++of_op.runs;
    of_op.lines += step.lines;
    of_op.conflicts += step.conflicts;
    const double stalled = step.issued - step.arrived;
    Span& span = spans_[step.wave];
    span.end = step.issued + cost.issue;
    if (stalled > 0) {
        of_op.stalled += stalled;
        if (stalled > of_op.longest) of_op.longest = stalled, of_op.waited_for = culprit(step, cost, ready);
        if (stalled >= kLong && span.stalls.size() < kMostStalls)
            span.stalls.push_back({step.arrived, step.issued, step.op});
    }
    std::vector<const Op*>& writers = writers_[step.wave];
    for (uint8_t i = 0; i < cost.results; ++i)
        for (size_t at = cost.result[i].first;
             at < writers.size() && at < cost.result[i].first + size_t{cost.result[i].count}; ++at)
            writers[at] = step.op;
    last_[step.wave] = step.op;
}

void GroupProfile::touched(uint64_t line, uint64_t offset, uint64_t bytes, bool reads, bool writes) {
    std::array<std::bitset<kLine>, 2>& of_line = lines_[line];
    for (uint64_t at = offset; at < offset + bytes; ++at) {
        if (reads) of_line[0].set(at);
        if (writes) of_line[1].set(at);
    }
}

std::vector<std::array<double, 2>> GroupProfile::distinct_bytes(size_t allocations) const {
    std::vector<std::array<double, 2>> out(allocations);
    for (const auto& [line, bytes] : lines_)
        for (size_t way = 0; way < 2; ++way)
            out[(line >> kAllocationBit) - 1][way] += static_cast<double>(bytes[way].count());
    return out;
}

}  // namespace strata::emu
