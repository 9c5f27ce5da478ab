#include "strata/codegen/machine/dependencies.h"

#include <algorithm>

#include "strata/codegen/machine/operands.h"
#include "strata/codegen/target/schedule_classes.h"

namespace strata::codegen {
namespace {

namespace code = isa::code;
namespace implicit = isa::implicit;

/// Clocks of LDS and the scalar cache while others use them too; the facts have them idle.
constexpr uint32_t kNearMemory = 64;

bool names_exec(const Instruction& instruction) {
    return writes_named(instruction, code::exec_lo) || writes_named(instruction, code::exec_hi);
}

/// Waits, barriers of the workgroup, messages: memory before them is not memory after them.
bool is_fence(isa::Family family, const isa::Row& row) {
    const isa::LatencyClass latency = isa::facts(family, row).latency;
    if (latency == isa::LatencyClass::barrier || latency == isa::LatencyClass::message) return true;
    if (row.mnemonic.starts_with("s_barrier") || row.mnemonic.starts_with("s_wait")) return true;
    const bool memory = row.flags & isa::kMemory;
    const bool to_local = row.mnemonic.find("_lds") != std::string_view::npos;
    if (memory && !to_local && !row.dst_kind[0] && !(row.flags & (isa::kStore | isa::kAtomic))) return true;  // caches
    return row.format == isa::Format::SOPP && !(row.flags & isa::kBranch);
}

}  // namespace

int schedule_classes(const MachineFunction& function, const Instruction& instruction) {
    using namespace schedule_class;
    if (instruction.pseudo != Pseudo::none)
        return alu | (function.bank(instruction.dst[0]) == Bank::scalar ? salu : valu);
    const isa::Row& row = *instruction.inst.row;
    const bool stores = row.flags & (isa::kStore | isa::kAtomic);
    if (row.flags & isa::kMatrix) return alu | matrix;
    if (row.format == isa::Format::DS) return lds | (stores ? lds_write : lds_read);
    const isa::FormatUnit unit = isa::kFormats[static_cast<size_t>(row.format)].unit;
    if (unit == isa::FormatUnit::vector) return alu | valu | (row.flags & isa::kTrans ? trans : 0);
    if (row.flags & isa::kMemory && row.format != isa::Format::SMEM) return vmem | (stores ? vmem_write : vmem_read);
    return unit == isa::FormatUnit::scalar && row.format != isa::Format::SOPP ? alu | salu : 0;
}

uint32_t result_latency(const MachineFunction& function, const Instruction& instruction) {
    if (instruction.pseudo != Pseudo::none) return function.bank(instruction.dst[0]) == Bank::scalar ? 2 : 5;
    const isa::Facts& facts = isa::facts(function.family, *instruction.inst.row);
    const bool memory = instruction.inst.row->flags & isa::kMemory;
    return memory ? std::max<uint32_t>(facts.result, kNearMemory) : facts.result;
}

Dependencies::Dependencies(const MachineFunction& function, const Liveness& liveness)
    : function_(function), live_(liveness), states_(liveness.units() + kSpecials) {}

Dependencies::State& Dependencies::state(size_t i) {
    State& state = states_[i];
    if (state.block != block_) state = {block_, kNone, kNone};
    return state;
}

void Dependencies::add(uint32_t from, uint32_t to, uint32_t latency) {
    if (from == to || from == kNone) return;
    if (last_[from] == to && latency <= 1) return;
    last_[from] = to;
    found_.push_back({from, to, latency});
}

void Dependencies::read(State& state, uint32_t i) {
    if (state.writer != kNone && last_[state.writer] != i) add(state.writer, i, latency_[state.writer]);
    if (state.readers != kNone && readers_[state.readers].instruction == i) return;
    readers_.push_back({i, state.readers});
    state.readers = static_cast<uint32_t>(readers_.size() - 1);
}

void Dependencies::write(State& state, uint32_t i) {
    add(state.writer, i, 1);
    for (uint32_t at = state.readers; at != kNone; at = readers_[at].next) add(readers_[at].instruction, i, 0);
    state.writer = i;
    state.readers = kNone;
}

const std::vector<Dependency>& Dependencies::of(const Block& block, uint32_t count) {
    ++block_;
    found_.clear();
    readers_.clear();
    scc_readers_.clear();
    scc_dead_.clear();
    scc_writer_ = fence_ = check_ = barrier_ = kNone;
    for (size_t space = 0; space < kSpaces; ++space) {
        loads_[space].clear();
        stores_[space].clear();
    }
    latency_.resize(count);
    last_.assign(count, kNone);
    for (uint32_t i = 0; i < count; ++i) latency_[i] = result_latency(function_, block.code[i]);
    implied_.clear();
    for (const Instruction& instruction : block.code)
        implied_.push_back({implicit_reads(function_, instruction), implicit_writes(function_, instruction)});
    find_live_scc(block, count);
    for (uint32_t i = 0; i < count; ++i) {
        const Instruction& instruction = block.code[i];
        registers(instruction, i);
        specials(instruction, i);
        scc(instruction, i);
        if (instruction.pseudo == Pseudo::none && instruction.passes < 0) memory(instruction, i);
        add(barrier_, i, 0);
        const bool everything = instruction.pseudo == Pseudo::none &&
                                (instruction.inst.row->flags & isa::kBranch ||
                                 implied_[i].writes & (implicit::mode | implicit::exec) || names_exec(instruction));
        if (everything) barrier(i);
    }
    schedule_barriers(block, count);
    return found_;
}

void Dependencies::registers(const Instruction& instruction, uint32_t i) {
    auto each_unit = [&](Place place, auto visit) {
        for (uint32_t unit = live_.unit(place), end = unit + place.dwords; unit < end; ++unit) visit(state(unit));
    };
    const auto reads = [&](Place place) { each_unit(place, [&](State& unit) { read(unit, i); }); };
    each_read(function_, instruction, reads);
    if (instruction.predicate && function_.all_lanes) reads(function_.all_lanes);  // exec_masks restores EXEC from it
    each_write(instruction, [&](Place place) { each_unit(place, [&](State& unit) { write(unit, i); }); });
}

void Dependencies::specials(const Instruction& instruction, uint32_t i) {
    const size_t first = live_.units();
    if (reads_vcc(function_, instruction)) read(state(first + kVcc), i);
    if (writes_vcc(function_, instruction)) write(state(first + kVcc), i);
    if (implied_[i].reads & implicit::m0 || reads_named(instruction, code::m0)) read(state(first + kM0), i);
    if (implied_[i].writes & implicit::m0 || writes_named(instruction, code::m0)) write(state(first + kM0), i);
}

/// Writers of SCC that nobody reads change places with each other, but never stand between one that is read and its
/// readers.
void Dependencies::scc(const Instruction& instruction, uint32_t i) {
    if (reads_scc(instruction, i)) {
        if (scc_writer_ != kNone) add(scc_writer_, i, latency_[scc_writer_]);
        scc_readers_.push_back(i);
    }
    if (!(implied_[i].writes & implicit::scc)) return;
    add(scc_writer_, i, 0);
    for (uint32_t reader : scc_readers_) add(reader, i, 0);
    if (!scc_live_[i]) return scc_dead_.push_back(i);
    for (uint32_t writer : scc_dead_) add(writer, i, 0);
    scc_dead_.clear();
    scc_readers_.clear();
    scc_writer_ = i;
}

bool Dependencies::reads_scc(const Instruction& instruction, uint32_t i) const {
    return implied_[i].reads & implicit::scc || reads_named(instruction, code::scc);
}

void Dependencies::find_live_scc(const Block& block, uint32_t count) {
    scc_live_.assign(count, false);
    bool live = false;
    for (auto i = static_cast<uint32_t>(block.code.size()); i-- > 0;) {
        const Instruction& instruction = block.code[i];
        if (implied_[i].writes & implicit::scc) {
            if (i < count) scc_live_[i] = live;
            live = false;
        }
        live |= reads_scc(instruction, i);
    }
}

/// Loads pass loads. Those of memory that nobody writes pass everything but checks of indices. Stores and atomics keep
/// their order with what may be of the same memory: address spaces differ, but FLAT may be any of them.
void Dependencies::memory(const Instruction& instruction, uint32_t i) {
    const isa::Row& row = *instruction.inst.row;
    if (isa::kFormats[static_cast<size_t>(row.format)].unit == isa::FormatUnit::vector) return;
    if (is_fence(function_.family, row)) {
        for (size_t space = 0; space < kSpaces; ++space) {
            for (std::vector<uint32_t>* all : {&loads_[space], &stores_[space]}) {
                for (uint32_t other : *all) add(other, i, 0);
                all->clear();
            }
        }
        add(fence_, i, 0);
        fence_ = i;
        return;
    }
    if (!(row.flags & isa::kMemory)) return;
    add(check_, i, 0);
    if (instruction.unchanging) return;
    if (instruction.checks) check_ = i;
    add(fence_, i, 0);
    const bool any = row.format == isa::Format::FLAT || instruction.inst.lds || instruction.inst.gds ||
                     row.mnemonic.find("_lds") != std::string_view::npos;
    const bool stores = row.flags & (isa::kStore | isa::kAtomic) || instruction.inst.lds ||
                        row.mnemonic.find("_lds") != std::string_view::npos;
    for (size_t space = 0; space < kSpaces; ++space) {
        const size_t mine = row.format == isa::Format::DS        ? kLds
                            : row.format == isa::Format::SCRATCH ? kScratch
                                                                 : kGlobal;
        if (!any && space != mine) continue;
        for (uint32_t store : stores_[space]) add(store, i, 0);
        if (!stores) {
            loads_[space].push_back(i);
            continue;
        }
        for (uint32_t load : loads_[space]) add(load, i, 0);
        loads_[space].clear();
        stores_[space].assign(1, i);
    }
}

/// Instructions that may not pass a place stay on its side. Those of a group come after the groups before.
void Dependencies::schedule_barriers(const Block& block, uint32_t count) {
    for (uint32_t at = 0; at < count; ++at) {
        const Instruction& place = block.code[at];
        if (place.passes < 0 && !place.group) continue;
        for (uint32_t i = 0; i < count; ++i) {
            const Instruction& other = block.code[i];
            const bool stays = place.passes >= 0 && !place.group_size && i != at &&
                               (other.passes >= 0 || !(schedule_classes(function_, other) & place.passes));
            if (stays) add(std::min(i, at), std::max(i, at), 0);
            if (place.group && other.group == place.group + 1 && at < i) add(at, i, 0);
        }
    }
}

/// Nothing crosses it.
void Dependencies::barrier(uint32_t i) {
    for (uint32_t other = barrier_ == kNone ? 0 : barrier_; other < i; ++other) add(other, i, 0);
    barrier_ = i;
}

}  // namespace strata::codegen
