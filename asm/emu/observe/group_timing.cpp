#include "strata/asm/emu/observe/group_timing.h"

#include <algorithm>
#include <bit>

#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/memory/ops.h"

namespace strata::emu {
namespace {

using isa::LatencyClass;

// Instructions of a loop that are measured, by all waves of the workgroup and by one of them. Accounting costs some 50
// ns each.
constexpr uint32_t kMeasuredOfLoop = 8192, kFewestOfWave = 256, kMostOfWave = 4096;
constexpr uint64_t kLine = GroupProfile::kLine;

}  // namespace

GroupTiming::GroupTiming(CostTable& costs, const Model& model, const DeviceMemory& memory, const Place& place)
    : costs_(&costs),
      model_(&model),
      memory_(&memory),
      l0_(static_cast<size_t>(model.l0_kib) * 1024 / kLine, ~0ull),
      stored_(l0_.size(), ~0ull),
      groups_(static_cast<double>(place.groups)),
      in_flight_(static_cast<double>(place.in_flight)),
      caches_(place.caches) {
    const auto waves = static_cast<uint32_t>(place.waves);
    const uint32_t budget = std::clamp(kMeasuredOfLoop / waves, kFewestOfWave, kMostOfWave);
    const size_t registers = registers_of_wave(place.vgprs);
    waves_.reserve(waves);
    for (uint32_t wave = 0; wave < waves; ++wave)
        waves_.emplace_back(WaveLoops(costs, work_, budget)).ready.resize(registers);
    if (place.profiled) profile_ = std::make_unique<GroupProfile>(waves_.size(), registers);
}

/// Part of a line comes to L2, and with it those that the other workgroups in flight bring meanwhile. Several of a die
/// share lines where all together want more than there is.
void GroupTiming::bring(uint64_t line, double share) {
    const Touched& touched = touched_at(line);
    const double wanted = static_cast<double>(touched.fresh * kLine) * in_flight_,
                 there = static_cast<double>(touched.size) * model_->dies;
    brought_ += share * kLine * in_flight_ / std::max(1.0, wanted / there);
}

/// The share of a line, used before, that L2 still holds: all where no more than it holds came since, none beyond twice
/// that.
double GroupTiming::still_in_l2(uint64_t line, double last) {
    const double share = Caches::kept(model_->l2_mib, brought_ - last);
    if (share == 1) return share;
    sum_.displaced_bytes += (1 - share) * kLine;
    bring(line, 1 - share);
    return share;
}

/// Nanoseconds until a line that this workgroup uses for the first time is there. Earlier launches may have left it in
/// a cache. Where all workgroups together use more bytes than the memory has, others of this launch have brought most
/// lines to the last-level cache. Those on the same die have brought them to its L2.
double GroupTiming::fresh_line(uint64_t line, bool writes) {
    Touched& touched = touched_at(line);
    ++touched.fresh;
    bring(line, 1);
    sum_.unique_bytes += kLine;
    const uint64_t address = touched.low + (line & ((uint64_t{1} << GroupProfile::kAllocationBit) - 1)) * kLine;
    const Caches::Held held =
        address < touched.held.end && address + kLine > touched.held.begin ? touched.held : Caches::Held{};
    // Bytes written leave the L2 at the end of the launch if other dies are to see them (LLVM AMDGPU usage, gfx942,
    // release).
    if (!writes || model_->dies == 1) sum_.in_l2_bytes += held.l2 * kLine;
    sum_.in_llc_bytes += held.llc * kLine;
    const auto mixed = [&](double l2, double llc) {
        return l2 * model_->l2_ns + (llc - l2) * model_->llc_ns + (1 - llc) * model_->dram_ns;
    };
    const double wanted = static_cast<double>(touched.fresh * kLine) * groups_,
                 size = static_cast<double>(touched.size);
    if (wanted <= size) return mixed(held.l2, held.llc);
    const double first = size / wanted, of_dies = std::min(1.0, first * model_->dies);
    const double in_l2 = std::min(1.0, model_->l2_mib * kMiB / (wanted * of_dies)),
                 in_llc = std::min(1.0, model_->llc_mib * kMiB / size);
    return first * mixed(held.l2, held.llc) + (of_dies - first) * mixed(held.l2, std::max(held.l2, in_llc)) +
           (1 - of_dies) * mixed(in_l2, std::max(in_l2, in_llc));
}

/// A line goes through the CU's cache, where stores to it that are near one another meet, to L2, and from there once to
/// memory.
void GroupTiming::write_line(uint64_t line) {
    l0_[line % l0_.size()] = line;
    uint64_t& tag = stored_[line % stored_.size()];
    if (tag == line || line == 0) return;
    tag = line;
    sum_.l2_bytes += kLine;
    if (const double last = written_.insert(line, brought_); last >= 0)
        still_in_l2(line, last);
    else
        fresh_line(line, true);
}

/// Brings a line into the CU's cache; cycles until it is there.
double GroupTiming::read_line(uint64_t line) {
    uint64_t& tag = l0_[line % l0_.size()];
    if (tag == line) return model_->l0_clocks;
    tag = line;
    sum_.l2_bytes += kLine;
    if (line == 0) return model_->cycles(model_->l2_ns);  // of no allocation
    double last = written_.use(line, brought_);
    if (last < 0) last = read_.insert(line, brought_);
    if (last < 0) return model_->cycles(fresh_line(line, false));
    const double share = still_in_l2(line, last);
    return model_->cycles(share * model_->l2_ns +
                          (1 - share) * (model_->llc_mib > 0 ? model_->llc_ns : model_->dram_ns));
}

/// A line by its allocation, in the order of first use, and its place there: no host address has a say.
uint64_t GroupTiming::line_of(uint64_t address) {
    auto holds = [&](size_t i) { return i < touched_.size() && address - touched_[i].low < touched_[i].size; };
    if (!holds(last_touched_)) {
        for (last_touched_ = 0; last_touched_ < touched_.size() && !holds(last_touched_);) ++last_touched_;
        if (last_touched_ == touched_.size()) {
            const Allocation* at = memory_->find(address, 1);
            if (!at) return 0;
            touched_.push_back({.low = at->low, .size = at->high - at->low});
            if (caches_) touched_.back().held = caches_->held(at->low);
        }
    }
    Touched& touched = touched_[last_touched_];
    const uint64_t line = (address - touched.low) / kLine;
    touched.first = std::min(touched.first, line);
    touched.last = std::max(touched.last, line);
    return (last_touched_ + 1) << GroupProfile::kAllocationBit | line;
}

/// For the profile: what is read and written, byte by byte.
void GroupTiming::touch_bytes(uint64_t address, uint64_t bytes, bool reads, bool writes) {
    if (static_cast<uint32_t>(address >> 32) == kPrivateAperture) return;
    for (uint64_t end = address + bytes; address < end;) {
        const uint64_t line = line_of(address);
        if (line == 0) return;
        const uint64_t offset = (address - touched_[last_touched_].low) % kLine,
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

/// Busy cycles go to the sum; the result is the latency of the access: of a store none that counts.
double GroupTiming::memory_access(Wave* wave, const Op* op) {
    uint64_t addresses[64];
    const uint64_t active = lane_addresses(wave, op, addresses);
    if (!active) return 1;
    const uint32_t bytes = std::max<uint32_t>(op->memory().bytes, 1);
    Lines found;
    if (!find_dense(op, addresses, active, wave->lanes, found)) find_lines(op, addresses, active, found);
    auto& [lines, count, lowest] = found;
    if (count == 0) return model_->lds_clocks;
    // Private memory is interleaved: one dword of all lanes is one line.
    const bool scratch =
        op->memory().space == Space::scratch || static_cast<uint32_t>(lines[0] >> 25) == kPrivateAperture;
    if (scratch) count = (bytes + 3) / 4 * static_cast<size_t>(wave->lanes) / 32;
    double latency = model_->l0_clocks;
    const bool atomic = op->memory().is(kIsAtomic), writes = atomic || op->memory().is(kIsStore);
    for (size_t i = 0; i < count && !scratch; ++i) {
        const uint64_t line = line_of(std::max(lines[i] * kLine, lowest));
        Touched none, &touched = line ? touched_[last_touched_] : none;
        touched.written |= writes;
        touched.read |= atomic || !writes;
        if (atomic || !writes) latency = std::max(latency, read_line(line));
        if (writes) write_line(line);
    }
    const double busy = static_cast<double>(count) * kLine / model_->l0_bytes;
    sum_.memory += busy;
    return latency + busy;
}

double GroupTiming::local_access(Wave* wave, const Op* op, LoopWork& work) {
    uint64_t addresses[64];
    const uint64_t active = lane_addresses(wave, op, addresses);
    const uint32_t dwords =
        std::max<uint32_t>((op->memory().bytes + 3) / 4, 1) * (op->memory().is(kTwoAddresses) ? 2 : 1);
    const LocalBanks::Cycles cycles =
        banks_.access(reinterpret_cast<uintptr_t>(op), addresses, active, wave->lanes, dwords);
    work.conflicts += cycles.conflicts;
    work.local += cycles.all;
    return model_->lds_clocks + cycles.all;
}

double GroupTiming::scalar_access(Wave* wave, const Op* op) {
    const uint64_t address =
        scalar64(wave, op->scalar_memory().base) +
        static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(op->scalar_memory().offset)));
    const uint64_t line = line_of(address);
    if (line) touched_[last_touched_].read = true;
    return read_line(line) == model_->l0_clocks ? model_->scalar_clocks : model_->cycles(model_->l2_ns);
}

/// When the waves go on after a barrier. The work between two barriers takes at least as long as its units are busy:
/// nothing else of the workgroup is in flight then.
double GroupTiming::after(size_t barrier) const {
    const Barrier& here = barriers_[barrier];
    const double start = barrier > 0 ? barriers_[barrier - 1].time : 0;
    const double simds = std::min<double>(isa::Unit::kSimds, static_cast<double>(waves_.size())),
                 cus = std::min<double>(model_->unit().cus, static_cast<double>(waves_.size()));
    return std::max({here.time, start + std::max(here.vector, here.matrix) / simds, start + here.local / cus});
}

/// The wave has been let through the barrier that it came to.
void GroupTiming::pass_barrier(WaveState& state) {
    if (!state.waiting) return;
    state.waiting = false;
    Barrier& barrier = barriers_[state.barriers - 1];
    barrier.time = after(state.barriers - 1);
    barrier.vector = barrier.matrix = barrier.local = 0;
    state.time = std::max(state.time, barrier.time);
}

/// Waits for the registers that the instruction reads.
void GroupTiming::wait(WaveState& state, const Cost& cost) {
    double time = state.time;
    for (uint8_t i = 0; i < cost.sources; ++i)
        for (const double ready : state.registers(cost.source[i])) time = std::max(time, ready);
    state.time = time;
}

/// The wave waits there until the last one comes.
void GroupTiming::come_to_barrier(WaveState& state) {
    if (barriers_.size() <= state.barriers) barriers_.resize(state.barriers + 1);
    Barrier& barrier = barriers_[state.barriers++];
    barrier.time = std::max(barrier.time, state.time);
    barrier.vector += state.vector;
    barrier.matrix += state.matrix;
    barrier.local += state.local;
    state.vector = state.matrix = state.local = 0;
    state.waiting = true;
}

/// Occupies the unit; gives the cycles until the result is there.
double GroupTiming::occupy(Wave& wave, const Op& op, WaveState& state, const Cost& cost) {
    LoopWork& work = state.loops.work();
    switch (cost.unit) {
        case LatencyClass::valu:
        case LatencyClass::valu64:
        case LatencyClass::valu_quarter:
        case LatencyClass::trans:
        case LatencyClass::trans64:
            work.vector += cost.busy;
            state.vector += cost.busy;
            break;
        case LatencyClass::matrix:
            state.time = std::max(state.time, state.matrix_free);
            state.matrix_free = state.time + cost.busy;
            work.vector += cost.issue;
            (cost.matrix_core ? state.matrix : state.vector) += cost.busy;
            if (cost.matrix_core) work.matrix += cost.busy;
            break;
        case LatencyClass::salu:
        case LatencyClass::salu_float:
        case LatencyClass::message: work.scalar += cost.busy; break;
        case LatencyClass::branch: state.time += cost.latency; break;
        case LatencyClass::scalar_memory: work.scalar += 1; return scalar_access(&wave, &op);
        case LatencyClass::vector_memory: return memory_access(&wave, &op);
        case LatencyClass::lds: {
            const double before = work.local, latency = local_access(&wave, &op, work);
            state.local += work.local - before;
            return latency;
        }
        case LatencyClass::barrier: come_to_barrier(state); break;
        case LatencyClass::export_:
        case LatencyClass::none: break;
    }
    return cost.latency;
}

/// Counts an instruction of a loop turn that is skipped.
void GroupTiming::leave_out(Wave& wave, const Op& op, WaveState& state, const Cost& cost) {
    if (cost.unit == LatencyClass::barrier) come_to_barrier(state);
    if (cost.unit == LatencyClass::vector_memory) memory_access(&wave, &op);
    if (cost.unit == LatencyClass::scalar_memory) scalar_access(&wave, &op);
}

Wants GroupTiming::before(Wave& wave, const Site& site) {
    WaveState& state = waves_[wave.wave_in_group];
    const Op* const op = &site.op();
    const Cost& cost = costs_->at(site);
    pass_barrier(state);
    if (!state.loops.arrive(site, cost, clock_of(&wave, op), state.time)) {
        leave_out(wave, *op, state, cost);
        return Wants::watched;
    }
    const double arrived = state.time;
    wait(state, cost);
    const GroupProfile::Step before{wave.wave_in_group, op, arrived, 0, sum_.memory, state.loops.work().conflicts};
    const double latency = occupy(wave, *op, state, cost);
    if (profile_) keep(before, cost);
    state.time += cost.issue;
    const double there = state.time + latency - cost.issue;
    for (uint8_t i = 0; i < cost.results; ++i)
        for (double& ready : state.registers(cost.result[i])) ready = there;
    return Wants::every;
}

/// Keeps an instruction for the profile; `before`: its wave, its op, when the wave came to it, what was asked of the
/// memories.
void GroupTiming::keep(GroupProfile::Step before, const Cost& cost) {
    WaveState& state = waves_[before.wave];
    const double taken = cost.unit == LatencyClass::branch ? cost.latency : 0;
    before.issued = state.time - taken;
    before.lines = sum_.memory - before.lines;
    before.conflicts = state.loops.work().conflicts - before.conflicts;
    profile_->add(before, cost, state.ready);
}

void GroupTiming::ended(const Wave& wave) {
    WaveState& state = waves_[wave.wave_in_group];
    state.executed = wave.executed;
    state.loops.end(wave.executed, state.time);
}

double GroupTiming::times(const Site& site) const { return work_[site.chunk->number][costs_->at(site).loop].times(); }

double GroupTiming::executed() const {
    double sum = 0;
    for (const WaveState& wave : waves_) sum += static_cast<double>(wave.executed);
    return sum;
}

Demand GroupTiming::demand() const {
    Demand demand = sum_;
    double measured = 0, unmeasured = 0;
    for (const std::vector<LoopWork>& chunk : work_)
        for (const LoopWork& loop : chunk) {
            (loop.measured > 0 ? measured : unmeasured) += loop.ran;
            demand.add(loop, loop.times());
        }
    // Loops of which nothing was measured are taken to be as the others are on average.
    if (measured > 0 && unmeasured > 0) demand.scale_work(1 + unmeasured / measured);
    for (const WaveState& wave : waves_) demand.latency = std::max(demand.latency, wave.time);
    return demand;
}

}  // namespace strata::emu
