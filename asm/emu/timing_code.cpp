#include <algorithm>

#include "strata/asm/emu/timing_p.h"

// Issue costs and latencies of instructions, and the copies of code that account for them.
namespace strata::emu {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;
using isa::Type;

constexpr uint16_t kScc = 128, kVgpr0 = 256;

Unit unit_of(const Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
    switch (inst.row->format) {
        case Format::SOP1:
        case Format::SOP2:
        case Format::SOPK:
        case Format::SOPC: return inst.row->flags & isa::kBranch ? Unit::branch : Unit::scalar;
        case Format::SOPP:
            if (name == "s_barrier" || name == "s_barrier_wait") return Unit::barrier;
            return inst.row->flags & isa::kBranch ? Unit::branch : Unit::none;
        case Format::SMEM: return Unit::scalar_memory;
        case Format::DS: return Unit::local;
        case Format::MUBUF:
        case Format::MTBUF:
        case Format::FLAT:
        case Format::SCRATCH:
        case Format::GLOBAL: return Unit::memory;
        default: break;
    }
    if (inst.row->flags & isa::kMatrix) return Unit::matrix;
    if (inst.row->flags & isa::kTrans) return Unit::transcendental;
    auto wide = [](const Operand& operand) { return operand.type == Type::f64; };
    if (std::ranges::any_of(inst.src, wide) || std::ranges::any_of(inst.dst, wide)) return Unit::wide;
    return Unit::vector;
}

/// Cycles of issue and of latency for a wave32. Latencies: LLVM's SISchedule.td for gfx11. Rates: a transcendental
/// takes four slots, double precision 16 (1/32 of the dual-issue single rate), a 16x16x16 matrix product 32.
void set_cycles(const Inst& inst, int wave_size, Cost& cost) {
    const std::string_view name = inst.row->mnemonic;
    struct Row {
        uint16_t issue, latency;
    };
    constexpr Row rows[] = {{0, 0}, {1, 2}, {1, 5}, {4, 10}, {16, 38}, {32, 32},
                            {1, 8}, {1, 0}, {1, 0}, {1, 0},  {1, 1}};
    Row row = rows[static_cast<int>(cost.unit)];
    if (name.starts_with("v_mul_lo_u32") || name.starts_with("v_mul_hi_") || name.starts_with("v_mad_u64") ||
        name.starts_with("v_mad_i64"))
        row = {4, 10};
    const bool vector = cost.unit >= Unit::vector && cost.unit <= Unit::matrix;
    cost.issue =
        static_cast<uint16_t>(vector && wave_size == 64 && cost.unit != Unit::matrix ? row.issue * 2 : row.issue);
    cost.latency = row.latency;
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
    GroupTiming& timing = *wave->group->timing;
    if (timing.enough(wave)) {
        const Op* const plain = timing.plain(op);
        STRATA_EMU_GOTO(plain);
    }
    const Handler run = timing.account(wave, op);
#if defined(__clang__)
    [[clang::musttail]]
#endif
    return run(wave, op);
}

}  // namespace

Cost cost_of(const Inst& inst, int wave_size) {
    Cost cost;
    cost.unit = unit_of(inst);
    set_cycles(inst, wave_size, cost);
    for (const Operand& operand : inst.src) add_register(operand, wave_size, cost.source, cost.sources, 6);
    for (const Operand& operand : inst.src_y) add_register(operand, wave_size, cost.source, cost.sources, 6);
    if (inst.row->flags & isa::kReadsScc && cost.sources < 6) cost.source[cost.sources++] = {kScc, 1};
    for (const Operand& operand : inst.dst) add_register(operand, wave_size, cost.result, cost.results, 3);
    add_register(inst.dst_y, wave_size, cost.result, cost.results, 3);
    if (inst.row->flags & isa::kWritesScc && cost.results < 3) cost.result[cost.results++] = {kScc, 1};
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
        Cost cost = inst && inst->row ? cost_of(*inst, program_.wave_size()) : Cost{};
        cost.run = handlers().plain(op);
        copy.costs.push_back(cost);
        op.run = account;
    }
    size_t at = count_.load();
    published_[at].store(&copy, std::memory_order_release);
    count_.store(at + 1, std::memory_order_release);
    return look();
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
