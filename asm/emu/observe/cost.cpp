// Clocks of an instruction: memory coalescing, bank conflicts and what else a wave waits for.
#include "strata/asm/emu/observe/cost.h"

#include <algorithm>
#include <span>

// Issue costs and latencies of instructions.
namespace strata::emu {
namespace {

using isa::Inst;
using isa::LatencyClass;
using isa::Operand;

constexpr uint16_t kScc = 128, kVgpr0 = 256;
constexpr uint16_t kCdnaSlot = 4;  // cycles between two instructions of a wave64 (CDNA3 ISA, 2)

/// Class and cycles from the instruction's facts. Cache control is a memory instruction without an access to measure.
void set_cycles(isa::Family family, const Inst& inst, int wave_size, Cost& cost) {
    const isa::Facts& facts = isa::facts(family, *inst.row);
    const bool memory = facts.latency >= LatencyClass::lds && facts.latency <= LatencyClass::vector_memory;
    cost.unit = memory && !(inst.row->flags & isa::kMemory) ? LatencyClass::none : facts.latency;
    cost.busy = static_cast<uint16_t>(isa::issue_cycles(family, facts, wave_size));
    cost.matrix_core = isa::matrix_passes(family, facts) > 0;
    cost.issue = cost.matrix_core ? kCdnaSlot : cost.busy;
    cost.latency = facts.result;
}

void add_register(const Operand& operand, int wave_size, RegisterRange* list, uint8_t& count, uint8_t limit) {
    if (!operand.present() || count == limit) return;
    auto dwords = static_cast<uint16_t>(std::max(isa::dwords(operand.type, wave_size), 1));
    if (operand.is_vector())
        list[count++] = {static_cast<uint16_t>(kVgpr0 + operand.row()), dwords};
    else if (operand.code == isa::code::scc)
        list[count++] = {kScc, 1};
    else if (operand.is_sgpr() && operand.code != isa::code::null)
        list[count++] = {operand.code, dwords};
}

/// Registers that the wave does not have are left out.
void keep_within(size_t registers, std::span<RegisterRange> list) {
    for (RegisterRange& range : list) {
        range.first = static_cast<uint16_t>(std::min<size_t>(range.first, registers));
        range.count = static_cast<uint16_t>(std::min<size_t>(range.count, registers - range.first));
    }
}

}  // namespace

Cost cost_of(isa::Family family, const Inst& inst, int wave_size) {
    Cost cost;
    set_cycles(family, inst, wave_size, cost);
    for (const Operand& operand : inst.src) add_register(operand, wave_size, cost.source, cost.sources, 6);
    for (const Operand& operand : inst.src_y) add_register(operand, wave_size, cost.source, cost.sources, 6);
    const uint8_t reads = isa::implicit_reads(family, inst);
    if (reads & isa::implicit::scc && cost.sources < 6) cost.source[cost.sources++] = {kScc, 1};
    if (reads & isa::implicit::vcc && cost.sources < 6) cost.source[cost.sources++] = {isa::code::vcc_lo, 2};
    if (reads & isa::implicit::destination) add_register(inst.dst[0], wave_size, cost.source, cost.sources, 6);
    for (const Operand& operand : inst.dst) add_register(operand, wave_size, cost.result, cost.results, 3);
    add_register(inst.dst_y, wave_size, cost.result, cost.results, 3);
    if (isa::implicit_writes(family, inst) & isa::implicit::scc && cost.results < 3)
        cost.result[cost.results++] = {kScc, 1};
    return cost;
}

std::vector<Cost> CostTable::costs_of(const Chunk& chunk) const {
    const isa::Family family = isa::info(program_.arch()).family;
    const size_t registers = registers_of_wave(program_.vgprs());
    std::vector<Cost> costs;
    costs.reserve(chunk.ops.size());
    for (const Op& op : chunk.ops) {
        const bool own = op.layout != Layout::none;  // not one before it, that prepares it
        const Inst* const inst = own ? program_.inst(&op) : nullptr;
        Cost& cost = costs.emplace_back(inst && inst->row ? cost_of(family, *inst, program_.wave_size()) : Cost{});
        keep_within(registers, cost.source);
        keep_within(registers, cost.result);
    }
    return costs;
}

CostTable::OfChunk CostTable::look_at(const Chunk& chunk) const {
    OfChunk made{costs_of(chunk), loops_of(chunk), {}};
    for (size_t at = 0; at < made.costs.size(); ++at) {
        Cost& cost = made.costs[at];
        cost.loop = made.loops.of_op[at];
        cost.enters = made.loops.entered[at];
        cost.is_header = cost.loop > 0 && made.loops.loops[cost.loop].first == at;
        cost.is_watched = made.loops.arrived[at] || cost.enters || cost.unit == LatencyClass::barrier ||
                          cost.unit == LatencyClass::vector_memory || cost.unit == LatencyClass::scalar_memory;
        made.watched.push_back(cost.is_watched);
    }
    return made;
}

}  // namespace strata::emu
