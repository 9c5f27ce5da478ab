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
constexpr uint64_t kLine = GroupProfile::kLine;
constexpr double kMiB = 1048576;
constexpr double kLocalLatency = 30, kScalarHitLatency = 50;  // cycles; RDNA3 microbenchmarks, rounded

}  // namespace

GroupTiming::GroupTiming(CostTable& costs, const Model& model, const DeviceMemory& memory, uint64_t groups, int waves,
                         int vgprs, bool profiled)
    : costs_(&costs),
      model_(&model),
      memory_(&memory),
      waves_(static_cast<size_t>(waves)),
      l0_(static_cast<size_t>(model.l0_kib) * 1024 / kLine, ~0ull),
      groups_(static_cast<double>(groups)) {
    limit_ = std::clamp(kMeasuredOfGroup / static_cast<uint32_t>(waves), kFewestOfWave, kMostOfWave);
    const size_t registers = registers_of_wave(vgprs);
    for (WaveState& wave : waves_) wave.ready.resize(registers);
    if (profiled) profile_ = std::make_unique<GroupProfile>(waves_.size(), registers);
}

/// Cycles until a line that this workgroup touches for the first time is there. Where all workgroups together touch more than
/// there is, others have brought most lines to the caches behind the CU.
double GroupTiming::fresh_latency(uint64_t line) {
    const size_t allocation = std::max<size_t>(line >> GroupProfile::kAllocationBit, 1) - 1;
    if (fresh_lines_.size() <= allocation) fresh_lines_.resize(allocation + 1);
    const double wanted = static_cast<double>(++fresh_lines_[allocation]) * kLine * groups_,
                 size = allocation < touched_.size() ? static_cast<double>(touched_[allocation].second) : wanted;
    if (wanted <= size) return model_->cycles(model_->dram_ns);
    const double first = size / wanted;
    const double in_l2 = std::min(1.0, model_->l2_mib * kMiB / size),
                 in_llc = std::min(1.0, model_->llc_mib * kMiB / size);
    const double again =
        in_l2 * model_->l2_ns + (1 - in_l2) * (in_llc * model_->llc_ns + (1 - in_llc) * model_->dram_ns);
    return model_->cycles(first * model_->dram_ns + (1 - first) * again);
}

/// Brings a line into the CU's cache; cycles until it is there.
double GroupTiming::line_latency(uint64_t line) {
    uint64_t& tag = l0_[line % l0_.size()];
    if (tag == line) return model_->l0_clocks;
    tag = line;
    sum_.l2_bytes += kLine;
    if (!lines_.insert(line)) return model_->cycles(model_->l2_ns);
    sum_.unique_bytes += kLine;
    return fresh_latency(line);
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
    return (last_touched_ + 1) << GroupProfile::kAllocationBit | (address - touched_[last_touched_].first) / kLine;
}

/// For the profile: what is read and written, byte by byte.
void GroupTiming::touch_bytes(uint64_t address, uint64_t bytes, bool reads, bool writes) {
    if (static_cast<uint32_t>(address >> 32) == kPrivateAperture) return;
    for (uint64_t end = address + bytes; address < end;) {
        const uint64_t line = line_of(address);
        if (line == 0) return;
        const uint64_t offset = (address - touched_[last_touched_].first) % kLine,
                       part = std::min(end - address, kLine - offset);
        profile_->touched(line, offset, part, reads, writes);
        address += part;
    }
}

/// Where lanes read or write, by line.
struct GroupTiming::Lines {
    uint64_t number[64 * 2];  ///< ascending, each once
    size_t count = 0;
    uint64_t lowest = ~0ull;  ///< address
};

/// Those of one access of all lanes that lie side by side.
bool GroupTiming::find_dense(const Op* op, const uint64_t* addresses, uint64_t active, int lanes, Lines& lines) const {
    const uint64_t bytes = op->memory().bytes, first = addresses[0];
    if (profile_ || !bytes || op->memory().is(kIsAtomic) || op->memory().space == Space::flat) return false;
    if (active != ~0ull >> (64 - lanes)) return false;
    uint64_t different = 0;
    for (uint64_t lane = 0; lane < static_cast<uint64_t>(lanes); ++lane)
        different |= addresses[lane] ^ (first + lane * bytes);
    if (different) return false;
    lines.lowest = first;
    for (uint64_t line = first / kLine; line <= (first + static_cast<uint64_t>(lanes) * bytes - 1) / kLine; ++line)
        lines.number[lines.count++] = line;
    return true;
}

void GroupTiming::find_lines(const Op* op, const uint64_t* addresses, uint64_t active, Lines& found) {
    const bool atomic = op->memory().is(kIsAtomic);
    const uint32_t bytes = std::max<uint32_t>(op->memory().bytes, 1);
    auto& [lines, count, lowest] = found;
    for (uint64_t left = active; left; left &= left - 1) {
        const uint64_t address = addresses[std::countr_zero(left)];
        const uint32_t aperture = static_cast<uint32_t>(address >> 32);
        if (op->memory().space == Space::flat && aperture == kSharedAperture) continue;
        lowest = std::min(lowest, address);
        if (profile_)
            touch_bytes(address, bytes, atomic || !op->memory().is(kIsStore), atomic || op->memory().is(kIsStore));
        if (atomic) ++atomics_[address];
        for (uint64_t line = address / kLine; line <= (address + bytes - 1) / kLine; ++line)
            if (count == 0 || lines[count - 1] != line) lines[count++] = line;
    }
    if (!std::is_sorted(lines, lines + count)) std::sort(lines, lines + count);
    count = static_cast<size_t>(std::unique(lines, lines + count) - lines);
}

/// Busy cycles go to the sum; the result is the latency of the access.
double GroupTiming::memory_access(Wave* wave, const Op* op) {
    uint64_t addresses[64];
    const uint64_t active = lane_addresses(wave, op, addresses);
    if (!active) return 1;
    const uint32_t bytes = std::max<uint32_t>(op->memory().bytes, 1);
    Lines found;
    if (!find_dense(op, addresses, active, wave->lanes, found)) find_lines(op, addresses, active, found);
    auto& [lines, count, lowest] = found;
    if (count == 0) return kLocalLatency;
    // Private memory is interleaved: one dword of all lanes is one line.
    const bool scratch =
        op->memory().space == Space::scratch || static_cast<uint32_t>(lines[0] >> 25) == kPrivateAperture;
    if (scratch) count = (bytes + 3) / 4 * static_cast<size_t>(wave->lanes) / 32;
    double latency = model_->l0_clocks;
    if (!scratch) {
        for (size_t i = 0; i < count; ++i)
            latency = std::max(latency, line_latency(line_of(std::max(lines[i] * kLine, lowest))));
    }
    const double busy = static_cast<double>(count) * kLine / model_->l0_bytes;
    sum_.memory += busy;
    return latency + busy;
}

double GroupTiming::local_access(Wave* wave, const Op* op) {
    uint64_t addresses[64];
    const uint64_t active = lane_addresses(wave, op, addresses);
    const uint32_t dwords =
        std::max<uint32_t>((op->memory().bytes + 3) / 4, 1) * (op->memory().is(kTwoAddresses) ? 2 : 1);
    const LocalBanks::Cycles cycles =
        banks_.access(reinterpret_cast<uintptr_t>(op), addresses, active, wave->lanes, dwords);
    sum_.conflicts += cycles.conflicts;
    sum_.local += cycles.all;
    return kLocalLatency + cycles.all;
}

double GroupTiming::scalar_access(Wave* wave, const Op* op) {
    const uint64_t address =
        scalar64(wave, op->scalar_memory().base) +
        static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(op->scalar_memory().offset)));
    sum_.scalar += 1;
    return line_latency(line_of(address)) == model_->l0_clocks ? kScalarHitLatency : model_->cycles(model_->l2_ns);
}

/// Waits for barriers and for the registers that the instruction reads.
void GroupTiming::wait(WaveState& state, const Cost& cost) {
    if (state.waiting) {
        state.waiting = false;
        state.time = std::max(state.time, barrier_times_[state.barriers - 1]);
    }
    double time = state.time;
    for (uint8_t i = 0; i < cost.sources; ++i)
        for (const double ready : state.registers(cost.source[i])) time = std::max(time, ready);
    state.time = time;
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
    const double arrived = state.time;
    wait(state, cost);
    const Demand before = profile_ ? sum_ : Demand{};
    const double latency = occupy(wave, site.op(), state, cost);
    if (profile_) keep(wave.wave_in_group, op, cost, arrived, before);
    state.time += cost.issue;
    const double there = state.time + latency - cost.issue;
    for (uint8_t i = 0; i < cost.results; ++i)
        for (double& ready : state.registers(cost.result[i])) ready = there;
    return true;
}

void GroupTiming::keep(uint32_t wave, const Op* op, const Cost& cost, double arrived, const Demand& before) {
    const WaveState& state = waves_[wave];
    const double taken = cost.unit == LatencyClass::branch ? cost.latency : 0;
    profile_->add(
        {wave, op, arrived, state.time - taken, sum_.memory - before.memory, sum_.conflicts - before.conflicts}, cost,
        state.ready);
}

void GroupTiming::ended(const Wave& wave) {
    waves_[wave.wave_in_group].executed = static_cast<uint32_t>(std::min<uint64_t>(wave.executed, ~0u));
}

double GroupTiming::scale() const {
    // Waves that were measured to their end need no scaling: instructions left out of the code are not counted.
    if (std::ranges::none_of(waves_, &WaveState::cut)) return 1;
    double counted = 0, executed = 0;
    for (const WaveState& wave : waves_) {
        counted += wave.counted;
        executed += wave.executed;
    }
    return counted > 0 ? std::max(1.0, executed / counted) : 1;
}

double GroupTiming::executed() const {
    double sum = 0;
    for (const WaveState& wave : waves_) sum += wave.executed;
    return sum;
}

Demand GroupTiming::demand() const {
    double latency = 0;
    for (const WaveState& wave : waves_) {
        double scale = wave.counted ? std::max(1.0, static_cast<double>(wave.executed) / wave.counted) : 1;
        if (!wave.cut) scale = 1;
        latency = std::max(latency, wave.time * scale);
    }
    Demand demand = sum_;
    const double times = scale();
    for (double* part : {&demand.vector, &demand.matrix, &demand.scalar, &demand.local, &demand.conflicts,
                         &demand.memory, &demand.l2_bytes, &demand.unique_bytes})
        *part *= times;
    demand.latency = latency;
    return demand;
}

}  // namespace strata::emu
