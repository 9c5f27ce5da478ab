#include <algorithm>

#include "strata/asm/emu/observe/timing.h"
#include "strata/asm/emu/program/handlers.h"

// Issue costs and latencies of instructions, and the copies of code that account for them.
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

const Op* account(Wave* wave, const Op* op) {
    const Workgroup& group = *wave->group;
    const bool timed = group.timing && !group.timing->enough(wave);
    if (group.counted) {
        group.measured->count(op);
    } else if (!timed) {
        const Op* const plain = group.measured->plain(op);
        STRATA_EMU_GOTO(plain);
    }
    const Handler run = timed ? group.timing->account(wave, op) : group.measured->cost(op).run;
#if defined(__clang__)
    [[clang::musttail]]
#endif
    return run(wave, op);
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

const Op* MeasuredCode::measured(const Op* plain) {
    const Chunk* chunk = program_.chunk(plain);
    auto look = [&]() -> const Op* {
        for (size_t i = 0; i < count_.load(std::memory_order_acquire); ++i) {
            const Copy* copy = published_[i].load(std::memory_order_acquire);
            if (copy->chunk == chunk) return copy->ops.data() + (plain - chunk->ops.data());
        }
        return nullptr;
    };
    if (!chunk) return plain;
    if (const Op* found = look()) return found;
    std::lock_guard lock(mutex_);
    if (const Op* found = look()) return found;
    Copy& copy = copies_.emplace_back();
    copy.chunk = chunk;
    copy.ops = chunk->ops;
    for (Op& op : copy.ops) {
        const Inst* inst = program_.inst(&chunk->ops[static_cast<size_t>(&op - copy.ops.data())]);
        Cost cost =
            inst && inst->row ? cost_of(isa::info(program_.arch()).family, *inst, program_.wave_size()) : Cost{};
        cost.run = handlers().plain(op);
        copy.costs.push_back(cost);
        op.run = account;
    }
    copy.counts = std::make_unique<std::atomic<uint64_t>[]>(copy.ops.size());
    size_t at = count_.load();
    published_[at].store(&copy, std::memory_order_release);
    count_.store(at + 1, std::memory_order_release);
    return look();
}

Result<const Op*> MeasuredCode::at_address(uint64_t address) {
    STRATA_TRY(const Op* plain, program_.at_address(address));
    return measured(plain);
}

const MeasuredCode::Copy* MeasuredCode::copy_of(const Op* measured) const {
    for (size_t i = 0; i < count_.load(std::memory_order_acquire); ++i) {
        const Copy* copy = published_[i].load(std::memory_order_acquire);
        if (measured >= copy->ops.data() && measured < copy->ops.data() + copy->ops.size()) return copy;
    }
    return nullptr;
}

const Op* MeasuredCode::plain(const Op* measured) const {
    const Copy* copy = copy_of(measured);
    return copy ? copy->chunk->ops.data() + (measured - copy->ops.data()) : measured;
}

const Cost& MeasuredCode::cost(const Op* measured) const {
    const Copy* copy = copy_of(measured);
    return copy->costs[static_cast<size_t>(measured - copy->ops.data())];
}

}  // namespace strata::emu
