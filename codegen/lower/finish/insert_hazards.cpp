// insert_hazards: what the rules of asm/lint/hazards.def want between instructions, by data flow over the blocks.
// Before:  v_readfirstlane_b32 s4, v0; v_readlane_b32 s5, v1, s4     (CDNA)
// After:   v_readfirstlane_b32 s4, v0; s_nop 3; v_readlane_b32 s5, v1, s4
#include "strata/asm/lint/hazards.h"
#include "strata/codegen/lower/finish/dataflow_p.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/workarounds.h"

namespace strata::codegen {
namespace {

/// Instructions are as far apart as if each had this size. A path is identified by its places, and inserted
/// instructions move none.
constexpr uint8_t kSize = 64;

class HazardInserter {
  public:
    explicit HazardInserter(MachineFunction& function)
        : function_(function), fresh_(lint::recent_for(function.target.arch, function.wave_size())) {
        size_t instructions = 0;
        for (const Block& block : function.blocks) instructions += block.code.size();
        prepared_.reserve(instructions);
        for (const Block& block : function.blocks) {
            first_.push_back(prepared_.size());
            for (const Instruction& one : block.code) prepared_.push_back(prepare(one.inst, kSize));
        }
    }

    void run() {
        insert_by_flow(function_, fresh_,
                       [&](uint32_t block, const auto& state, auto& added) { return walk(block, state, added); });
    }

  private:
    struct Prepared {
        isa::Inst inst;
        lint::Access access;
        lint::Recent::Known known;
    };
    Prepared prepare(isa::Inst inst, uint8_t size) const {
        inst.size = size;
        const lint::Access access = lint::access_of(function_.target.arch, inst, function_.wave_size());
        return {inst, access, fresh_.know(inst, access)};
    }

    lint::Recent walk(uint32_t block, lint::Recent state, std::vector<Insertion>& added) {
        lint::Findings none;
        const std::vector<Instruction>& code = function_.blocks[block].code;
        for (size_t i = 0; i < code.size(); ++i) {
            const Prepared& now = prepared_[first_[block] + i];
            const uint64_t pc = (first_[block] + i) * kSize;
            const lint::Step step{pc, &now.inst, &now.access};
            while (const auto lack = state.lacks(step, now.known)) {
                const Instruction mend = remedy(*lack, code[i]);
                const Prepared put = prepare(mend.inst, 0);
                state.step({pc, &put.inst, &put.access}, put.known, none);
                added.push_back({i, mend});
            }
            state.step(step, now.known, none);
        }
        return state;
    }

    Instruction remedy(const lint::Lack& lack, const Instruction& consumer) const {
        constexpr int32_t kNoVectorResult = 0x0fff, kNoScalarResult = 0xfffe;  // counters va_vdst, sa_sdst at 0
        const uint32_t origin = consumer.origin;
        switch (lack.fix) {
            case lint::Fix::nops: return immediate(function_, "s_nop", std::min(lack.missing, 16) - 1, origin);
            case lint::Fix::another: return immediate(function_, "s_nop", 0, origin);
            case lint::Fix::vector_nop: return immediate(function_, "v_nop", 0, origin);
            case lint::Fix::vdst_wait: return immediate(function_, "s_waitcnt_depctr", kNoVectorResult, origin);
            case lint::Fix::sdst_wait:
                return immediate(function_, "s_waitcnt_depctr", static_cast<int16_t>(kNoScalarResult), origin);
            case lint::Fix::vector_move: break;
        }
        Instruction move = immediate(function_, "v_mov_b32", 0, origin);
        const isa::Row& row = *move.inst.row;
        move.inst.dst[0] = {consumer.inst.src[0].code, row.dst[0]};
        move.inst.src[0] = {consumer.inst.src[0].code, row.src[0]};
        return move;
    }

    MachineFunction& function_;
    lint::Recent fresh_;
    std::vector<size_t> first_;  ///< prepared instructions before each block
    std::vector<Prepared> prepared_;
};

/// The amount of a shift of 64 bits is not in the last register that a wave has.
void allocate_behind_shifts(MachineFunction& function) {
    const int granule = value_of(Workaround::shift_amount_last, function.target);
    if (!granule || function.agprs || function.vgprs % granule) return;
    for (const Block& block : function.blocks)
        for (const Instruction& one : block.code) {
            const std::string_view name = one.inst.row->mnemonic;
            const bool shifts = name == "v_lshlrev_b64" || name == "v_lshrrev_b64" || name == "v_ashrrev_i64";
            if (!shifts || one.inst.src[0].code != isa::code::vgpr0 + function.vgprs - 1) continue;
            ++function.vgprs;
            return;
        }
}

}  // namespace

Result<void> insert_hazards(MachineFunction& function) {
    HazardInserter(function).run();
    allocate_behind_shifts(function);
    return {};
}

}  // namespace strata::codegen
