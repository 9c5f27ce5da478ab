#include <fmt/format.h>

#include <algorithm>

#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/machine/operands.h"
#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/program/build.h"

namespace strata::emu {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;

const Op* no_instruction(Wave* wave, const Op* op) {
    const Program& program = *wave->group->launch->program;
    const Op* const plain = wave->group->code->plain(op);
    const Chunk* const chunk = program.chunk(plain);
    const auto why = chunk ? chunk->refused.find(plain->index) : std::map<uint32_t, std::string>::const_iterator();
    const bool known = chunk && why != chunk->refused.end();
    return fail(wave, op, known ? why->second : "there is no instruction that can be executed here");
}

/// VCCZ and EXECZ, just before an instruction that reads them.
const Op* compute_zero_flags(Wave* wave, const Op* op) {
    wave->s[Wave::kVccz] = wave->vcc() == 0;
    wave->s[Wave::kExecz] = wave->exec() == 0;
    STRATA_EMU_NEXT;
}

template <class Visit>
void for_operands(Inst& inst, Visit visit) {
    for (Operand& operand : inst.dst) visit(operand);
    for (Operand& operand : inst.src) visit(operand);
    visit(inst.dst_y);
    for (Operand& operand : inst.src_y) visit(operand);
}

bool is_vector(const Inst& inst) { return inst.row->format > Format::SMEM; }

}  // namespace

const Op* go_on_elsewhere(Wave* wave, const Op* op) {
    const uint64_t address = wave->group->launch->program->address() + op->glue().offset;
    const Op* const to = code_at(wave, op, address);
    if (!to) return nullptr;
    if (wave->run_start == op)
        wave->run_start = to;
    else
        end_run(wave, op, to);
    STRATA_EMU_GOTO(to);
}

Result<std::unique_ptr<Chunk>> ChunkBuilder::build() {
    chunk_->ops.reserve(explored_.found.size() + 8);
    chunk_->pcs.reserve(explored_.found.size());
    chunk_->insts.reserve(explored_.found.size());
    for (const Explored::Found& found : explored_.found) {
        const uint64_t offset = found.offset;
        if (next_ != kNowhere && next_ != offset) glue(next_);
        waiting_.push_back(offset);
        chunk_->pcs.push_back(static_cast<uint32_t>(offset));
        Inst inst = found.inst;
        const Result<void> added = found.valid ? add(offset, inst) : Result<void>();
        if (!added && !found.soft) return added.error();
        if (!added) chunk_->refused[static_cast<uint32_t>(chunk_->pcs.size() - 1)] = added.error().message;
        if (!added || !found.valid) {
            emit(Op(no_instruction));
            next_ = kNowhere;
        }
        chunk_->insts.push_back(added ? inst : found.inst);
    }
    if (next_ != kNowhere) glue(next_);
    for (const Jump& jump : jumps_) link(jump);
    std::vector<Op>& ops = chunk_->ops;
    for (size_t i = 0; i < ops.size();) i += handlers().group(&ops[i], ops.size() - i);
    return std::move(chunk_);
}

/// Both vector files are one file of rows: accumulation registers come after the others, from accum_offset on. Checks
/// the descriptor's counts.
Result<void> ChunkBuilder::place_registers(uint64_t offset, Inst& inst) const {
    int highest_v = -1, highest_a = -1;
    for_operands(inst, [&](Operand& operand) {
        if (!operand.present() || !operand.is_vector()) return;
        const int last = std::max(isa::dwords(operand.type, program_.wave_size_), 1) - 1;
        if (operand.is_agpr()) {
            highest_a = std::max(highest_a, operand.agpr() + last);
            operand.code = static_cast<uint16_t>(isa::code::vgpr0 + program_.accum_offset_ + operand.agpr());
        } else {
            highest_v = std::max(highest_v, operand.vgpr() + last);
        }
    });
    // One allocation holds both kinds (CDNA3 ISA 3.6.4): v registers from accum_offset on are a0 and those after it.
    const int before = std::min(program_.accum_offset_, program_.vgprs_);
    if (highest_v >= program_.vgprs_)
        return program_.refuse(offset, &inst,
                               fmt::format("uses v{}, but the kernel's descriptor allocates {} vector registers",
                                           highest_v, program_.vgprs_));
    if (highest_a >= program_.vgprs_ - before)
        return program_.refuse(
            offset, &inst,
            fmt::format("uses a{}, but the kernel's descriptor allocates {} accumulation registers (rows {} to {})",
                        highest_a, program_.vgprs_ - before, before, program_.vgprs_));
    return {};
}

/// One instruction: its op, and those that prepare it.
Result<void> ChunkBuilder::add(uint64_t offset, Inst& inst) {
    STRATA_TRY_VOID(place_registers(offset, inst));
    const uint64_t after = offset + inst.size;
    std::optional<Op> op =
        make_op({inst, program_.arch_, program_.wave_size_, program_.address_ + after, take_hit_slot(inst)});
    if (!op) return program_.refuse(offset, &inst, "the emulator does not implement this instruction");
    if (op->layout == Layout::release) op->release().user = vector_use_after(after);
    if (op->run != nop || explored_.targets.contains(offset)) {  // hints are left out, except where a branch leads
        if (reads_zero_flags(inst)) emit(Op(compute_zero_flags));
        if (program_.indexed_ && is_vector(inst)) emit(Op(indexed));
        emit(*op);
    }
    const Flow flow = flow_of(inst);
    if (flow == Flow::branch || flow == Flow::conditional || flow == Flow::call)
        jumps_.push_back({chunk_->ops.size() - 1, branch_target(offset, inst)});
    next_ = flow == Flow::branch || flow == Flow::stop ? kNowhere : after;
    return {};
}

/// The first instruction of the straight run from `offset` on that uses a vector register, or ReleaseFields::kNobody.
uint64_t ChunkBuilder::vector_use_after(uint64_t offset) const {
    for (auto it = explored_.at(offset); it != explored_.found.end() && it->valid; it = explored_.at(offset)) {
        Inst inst = it->inst;
        bool uses = false;
        for_operands(inst, [&](const Operand& operand) { uses |= operand.present() && operand.is_vector(); });
        if (uses) return offset;
        if (flow_of(inst) != Flow::next) break;
        offset += inst.size;
    }
    return ReleaseFields::kNobody;
}

/// Memory instructions share a wave's hit slots in turn.
uint8_t ChunkBuilder::take_hit_slot(const Inst& inst) {
    if (!(inst.row->flags & isa::kMemory)) return 0;
    const bool writes = inst.row->flags & (isa::kStore | isa::kAtomic);
    const auto in_turn = [](uint32_t& n, int from, int end) {
        return static_cast<uint8_t>(from + static_cast<int>(n++ % static_cast<uint32_t>(end - from)));
    };
    if (writes) return in_turn(stores_, Wave::kStoreHits, Wave::kHits);
    if (inst.row->format == isa::Format::SMEM) return in_turn(scalar_loads_, Wave::kScalarHits, Wave::kStoreHits);
    return in_turn(loads_, 0, Wave::kScalarHits);
}

/// An op of the instruction at hand, or glue after it.
void ChunkBuilder::emit(Op op) {
    op.index = chunk_->pcs.empty() ? 0 : static_cast<uint32_t>(chunk_->pcs.size() - 1);
    for (uint64_t offset : waiting_) position_.emplace_back(offset, chunk_->ops.size());
    waiting_.clear();
    chunk_->ops.push_back(op);
}

void ChunkBuilder::glue(uint64_t offset) { emit(Op(go_on_elsewhere, GlueFields{offset})); }

void ChunkBuilder::link(const Jump& jump) {
    auto to = std::ranges::lower_bound(position_, jump.target, {}, &std::pair<uint64_t, size_t>::first);
    const bool known = to != position_.end() && to->first == jump.target;
    const size_t at = known ? to->second : chunk_->ops.size();
    if (!known) glue(jump.target);
    chunk_->ops[jump.op].scalar().distance =
        static_cast<int32_t>(static_cast<int64_t>(at) - static_cast<int64_t>(jump.op));
}

}  // namespace strata::emu
