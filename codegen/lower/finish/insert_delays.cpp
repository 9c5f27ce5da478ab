// insert_delays: s_delay_alu in front of vector and scalar instructions of RDNA whose operands are not there yet, so
// that another wave is issued meanwhile. One names two delays where both are near (LLVM's AMDGPUInsertDelayAlu).
// Before:  v_add_f32 v1, v0, v0; v_mul_f32 v2, v1, v1
// After:   v_add_f32 v1, v0, v0; s_delay_alu instid0(VALU_DEP_1); v_mul_f32 v2, v1, v1
#include "strata/asm/isa/facts.h"
#include "strata/codegen/lower/finish/dataflow_p.h"
#include "strata/codegen/lower/finish/delays_p.h"
#include "strata/codegen/machine/passes.h"

namespace strata::codegen {
namespace {

using isa::Format;

DelayKind kind_of(const isa::Inst& inst) {
    const isa::FormatUnit unit = isa::kFormats[static_cast<size_t>(inst.row->format)].unit;
    if (unit == isa::FormatUnit::vector)
        return inst.row->flags & isa::kTrans ? DelayKind::transcendental : DelayKind::vector;
    return unit == isa::FormatUnit::scalar ? DelayKind::scalar : DelayKind::other;
}

/// Instructions that wait by themselves until vector results are there.
bool waits_for_vectors(const isa::Inst& inst) {
    const Format format = inst.row->format;
    constexpr int32_t kVectorResults = 0xf000;  // the counter va_vdst
    return (isa::is_memory(format) && format != Format::SMEM) || inst.row->mnemonic.starts_with("s_sendmsg_rtn") ||
           (inst.row->mnemonic == "s_waitcnt_depctr" && !(inst.offset & kVectorResults));
}

/// VCC of instructions that have no field for it is not looked at.
bool is_implied(const isa::Inst& inst, const lint::Registers& registers) {
    return (registers.first | 1) == isa::code::vcc_hi && isa::has_half_registers(inst.row->format);
}

int clocks_of(const isa::Inst& inst) { return inst.row->mnemonic == "s_nop" ? (inst.offset & 15) + 1 : 1; }

class DelayInserter {
  public:
    explicit DelayInserter(MachineFunction& function) : function_(function), accesses_(accesses_of(function)) {}

    void run() {
        insert_by_flow(function_, Delays(),
                       [&](uint32_t block, const auto& state, auto& added) { return walk(block, state, added); });
    }

  private:
    Delays walk(uint32_t block, Delays state, std::vector<Insertion>& added) {
        open_ = false;
        const std::vector<Instruction>& code = function_.blocks[block].code;
        for (size_t i = 0; i < code.size(); ++i) {
            const isa::Inst& inst = code[i].inst;
            const DelayKind kind = kind_of(inst);
            const lint::Access& access = accesses_[block][i];
            if (kind == DelayKind::scalar || inst.row->format == Format::SMEM) state.scalars_are_there();
            if (waits_for_vectors(inst)) {
                state.settle();
            } else if (kind != DelayKind::other) {
                Delay delay;
                for (const lint::Read& read : access.all_reads())
                    if (read.source >= 0 || (lint::is_vector(read.registers) && read.use == lint::Use::value))
                        if (!is_implied(inst, read.registers)) delay.join(state.take(read.registers));
                tell(delay, code[i].origin, i, added);
            }
            if (kind != DelayKind::other)
                for (const lint::Write& write : access.all_writes())
                    if (!is_implied(inst, write.registers) && write.registers.first != lint::kScc &&
                        write.registers.first != lint::kMode)
                        state.leave(write.registers, kind, result_clocks(inst));
            state.pass(kind, clocks_of(inst));
        }
        return state;
    }

    int result_clocks(const isa::Inst& inst) const {
        const int clocks = isa::facts(function_.family, *inst.row).result;
        return inst.row_y ? std::max<int>(clocks, isa::facts(function_.family, *inst.row_y).result) : clocks;
    }

    /// As an instruction of its own, or in the last one where that has room.
    void tell(const Delay& delay, uint32_t origin, size_t before, std::vector<Insertion>& added) {
        const int value = delay.immediate();
        if (!value) return;
        constexpr size_t kFarthest = 5;  // instructions between the two, "instskip"
        if (value < 16 && open_ && before - added.back().before <= kFarthest) {
            const auto between = static_cast<int>(before - added.back().before);
            added.back().instruction.inst.offset |= value << 7 | between << 4;
            open_ = false;
            return;
        }
        added.push_back({before, immediate(function_, "s_delay_alu", value, origin)});
        open_ = value < 16;
    }

    MachineFunction& function_;
    std::vector<std::vector<lint::Access>> accesses_;  ///< by block
    bool open_ = false;                                ///< the last one has room for another delay
};

}  // namespace

Result<void> insert_delays(MachineFunction& function) {
    if (!isa::is_cdna(function.family)) DelayInserter(function).run();
    return {};
}

}  // namespace strata::codegen
