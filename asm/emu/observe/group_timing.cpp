#include "strata/asm/emu/observe/group_timing.h"

#include <algorithm>
#include <bit>

#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/memory/ops.h"

namespace strata::emu {
namespace {

using isa::LatencyClass;

// Instructions measured of a workgroup, and until its waves are at the start of a loop again: what follows is taken to be alike.
// Accounting costs some 50 ns each.
constexpr uint32_t kMeasuredOfGroup = 16384, kFewestOfWave = 512, kMostOfWave = 8192;
constexpr uint64_t kLine = 128;
constexpr size_t kL0Lines = 32768 / kLine;  // 32 KiB a CU
constexpr double kL0Latency = 100, kLocalLatency = 30,
                 kScalarHitLatency = 50;  // cycles; RDNA3 microbenchmarks, rounded
constexpr int kBanks = 32;

}  // namespace

GroupTiming::GroupTiming(CostTable& costs, const Model& model, const DeviceMemory& memory, int waves, int vgprs)
    : costs_(&costs), model_(&model), memory_(&memory), waves_(static_cast<size_t>(waves)), l0_(kL0Lines, ~0ull) {
    limit_ = std::clamp(kMeasuredOfGroup / static_cast<uint32_t>(waves), kFewestOfWave, kMostOfWave);
    for (WaveState& wave : waves_) wave.ready.resize(256 + static_cast<size_t>(vgprs) + 32);
}

/// Brings a line into the CU's cache; true if it was there. `fresh`: this workgroup has never touched it.
bool GroupTiming::touch_line(uint64_t line, bool& fresh) {
    uint64_t& tag = l0_[line % kL0Lines];
    if (tag == line) return true;
    tag = line;
    sum_.l2_bytes += kLine;
    if (lines_.insert(line).second) {
        fresh = true;
        sum_.unique_bytes += kLine;
    }
    return false;
}

/// A line by its allocation, in the order of first use, and its place there: no host address has a say.
uint64_t GroupTiming::line_of(uint64_t address) {
    auto holds = [&](size_t i) { return i < touched_.size() && address - touched_[i].first < touched_[i].second; };
    if (!holds(last_touched_)) {
        for (last_touched_ = 0; last_touched_ < touched_.size() && !holds(last_touched_);) ++last_touched_;
        if (last_touched_ == touched_.size()) {
            const Allocation* at = memory_->find(address, 1);
            if (!at) return 0;
            touched_.emplace_back(at->low, at->high - at->low);
        }
    }
    return (last_touched_ + 1) << 40 | (address - touched_[last_touched_].first) / kLine;
}

/// Busy cycles go to the sum; the result is the latency of the access.
double GroupTiming::memory_access(Wave* wave, const Op* op) {
    uint64_t addresses[64];
    uint64_t active = lane_addresses(wave, op, addresses);
    if (!active) return 1;
    const bool atomic = op->memory().is(kIsAtomic);
    const uint32_t bytes = std::max<uint32_t>(op->memory().bytes, 1);
    uint64_t lines[64 * 2];
    size_t count = 0;
    uint64_t lowest = ~0ull;
    for (uint64_t left = active; left; left &= left - 1) {
        const uint64_t address = addresses[std::countr_zero(left)];
        const uint32_t aperture = static_cast<uint32_t>(address >> 32);
        if (op->memory().space == Space::flat && aperture == kSharedAperture) continue;
        lowest = std::min(lowest, address);
        if (atomic) {
            uint32_t& updates = atomics_[address];
            sum_.hot_atomics = std::max<double>(sum_.hot_atomics, ++updates);
        }
        for (uint64_t line = address / kLine; line <= (address + bytes - 1) / kLine; ++line) lines[count++] = line;
    }
    std::sort(lines, lines + count);
    count = static_cast<size_t>(std::unique(lines, lines + count) - lines);
    if (count == 0) return kLocalLatency;
    // Private memory is interleaved: one dword of all lanes is one line.
    const bool scratch =
        op->memory().space == Space::scratch || static_cast<uint32_t>(lines[0] >> 25) == kPrivateAperture;
    if (scratch) count = (bytes + 3) / 4 * static_cast<size_t>(wave->lanes) / 32;
    bool missed = false, fresh = false;
    if (!scratch) {
        for (size_t i = 0; i < count; ++i) missed |= !touch_line(line_of(std::max(lines[i] * kLine, lowest)), fresh);
    }
    sum_.memory += static_cast<double>(count);
    const double latency = fresh    ? model_->cycles(model_->dram_ns)
                           : missed ? model_->cycles(model_->l2_ns)
                                    : kL0Latency;
    return latency + static_cast<double>(count);
}

/// Local memory serves 32 banks a clock: an access takes as many cycles as the busiest bank has different dwords.
double GroupTiming::local_access(Wave* wave, const Op* op) {
    uint64_t addresses[64];
    uint64_t active = lane_addresses(wave, op, addresses);
    const uint32_t dwords =
        std::max<uint32_t>((op->memory().bytes + 3) / 4, 1) * (op->memory().is(kTwoAddresses) ? 2 : 1);
    const int phase_lanes = static_cast<int>(32 / std::bit_ceil(std::min<uint32_t>(dwords, 4)));
    double cycles = 0;
    for (int first = 0; first < wave->lanes; first += phase_lanes) {
        uint32_t words[32 * 4];
        size_t count = 0;
        for (int lane = first; lane < first + phase_lanes; ++lane)
            if (active >> lane & 1)
                for (uint32_t i = 0; i < dwords && i < 4; ++i)
                    words[count++] = static_cast<uint32_t>(addresses[lane]) / 4 + i;
        std::sort(words, words + count);
        count = static_cast<size_t>(std::unique(words, words + count) - words);
        int busy[kBanks] = {}, worst = 1;
        for (size_t i = 0; i < count; ++i) worst = std::max(worst, ++busy[words[i] % kBanks]);
        cycles += worst;
    }
    sum_.local += cycles;
    return kLocalLatency + cycles;
}

double GroupTiming::scalar_access(Wave* wave, const Op* op) {
    const uint64_t address =
        scalar64(wave, op->scalar_memory().base) +
        static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(op->scalar_memory().offset)));
    bool fresh = false;
    sum_.scalar += 1;
    if (touch_line(line_of(address), fresh)) return kScalarHitLatency;
    return model_->cycles(model_->l2_ns);
}

/// Waits for barriers and for the registers that the instruction reads.
void GroupTiming::wait(WaveState& state, const Cost& cost) {
    if (state.waiting) {
        state.waiting = false;
        state.time = std::max(state.time, barrier_times_[state.barriers - 1]);
    }
    for (uint8_t i = 0; i < cost.sources; ++i)
        for (double& ready : state.registers(cost.source[i])) state.time = std::max(state.time, ready);
}

/// Occupies the unit; gives the cycles until the result is there.
double GroupTiming::occupy(Wave& wave, const Op& op, WaveState& state, const Cost& cost) {
    switch (cost.unit) {
        case LatencyClass::valu:
        case LatencyClass::valu64:
        case LatencyClass::valu_quarter:
        case LatencyClass::trans:
        case LatencyClass::trans64: sum_.vector += cost.busy; break;
        case LatencyClass::matrix:
            state.time = std::max(state.time, state.matrix_free);
            state.matrix_free = state.time + cost.busy;
            sum_.vector += cost.issue;
            if (cost.matrix_core) sum_.matrix += cost.busy;
            break;
        case LatencyClass::salu:
        case LatencyClass::salu_float:
        case LatencyClass::message: sum_.scalar += cost.busy; break;
        case LatencyClass::branch: state.time += cost.latency; break;
        case LatencyClass::scalar_memory: return scalar_access(&wave, &op);
        case LatencyClass::vector_memory: return memory_access(&wave, &op);
        case LatencyClass::lds: return local_access(&wave, &op);
        case LatencyClass::barrier:
            if (barrier_times_.size() == state.barriers) barrier_times_.push_back(0);
            barrier_times_[state.barriers] = std::max(barrier_times_[state.barriers], state.time);
            ++state.barriers;
            state.waiting = true;
            break;
        case LatencyClass::export_:
        case LatencyClass::none: break;
    }
    return cost.latency;
}

bool GroupTiming::before(Wave& wave, const Site& site) {
    WaveState& state = waves_[wave.wave_in_group];
    const Op* const op = &site.op();
    if (state.counted >= limit_ && (op <= state.last || state.counted >= kMostOfWave)) state.cut = true;
    if (state.cut) return false;
    state.last = op;
    ++state.counted;
    const Cost& cost = costs_->at(site);
    wait(state, cost);
    const double latency = occupy(wave, site.op(), state, cost);
    state.time += cost.issue;
    for (uint8_t i = 0; i < cost.results; ++i)
        for (double& ready : state.registers(cost.result[i])) ready = state.time + latency - cost.issue;
    return true;
}

void GroupTiming::ended(const Wave& wave) {
    waves_[wave.wave_in_group].executed = static_cast<uint32_t>(std::min<uint64_t>(wave.executed, ~0u));
}

Demand GroupTiming::demand() const {
    double counted = 0, executed = 0, latency = 0;
    for (const WaveState& wave : waves_) {
        counted += wave.counted;
        executed += wave.executed;
        double scale = wave.counted ? std::max(1.0, static_cast<double>(wave.executed) / wave.counted) : 1;
        if (!wave.cut) scale = 1;
        latency = std::max(latency, wave.time * scale);
    }
    // Waves that were measured to their end need no scaling: instructions left out of the code are not counted.
    const bool cut = std::ranges::any_of(waves_, &WaveState::cut);
    const double scale = cut && counted > 0 ? std::max(1.0, executed / counted) : 1;
    Demand demand = sum_;
    for (double* part : {&demand.vector, &demand.matrix, &demand.scalar, &demand.local, &demand.memory,
                         &demand.l2_bytes, &demand.unique_bytes, &demand.hot_atomics})
        *part *= scale;
    demand.latency = latency;
    return demand;
}

}  // namespace strata::emu
