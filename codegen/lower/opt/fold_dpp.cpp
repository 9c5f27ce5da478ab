// fold_dpp: what one instruction alone reads of other lanes it reads there itself.
// Before:  v_mov_b32 %v2, %v1 row_xmask:1; v_add_f32 %v3, %v1, %v2      After:  v_add_f32 %v3, %v1, %v1 row_xmask:1
#include <unordered_map>

#include "strata/codegen/machine/builder.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/unique_defs.h"

namespace strata::codegen {
namespace {

class FoldLanes {
  public:
    explicit FoldLanes(MachineFunction& function)
        : function_(function), values_(function), reads_(function.registers.size()) {
        for (const Block& block : function.blocks)
            for (const Instruction& instruction : block.code)
                each_read(function, instruction, [&](Place place) { ++reads_[place.reg]; });
    }

    void run() {
        for (Block& block : function_.blocks) {
            moves_.clear();
            for (const Instruction& instruction : block.code)
                if (moves(instruction)) moves_[instruction.dst[0].reg] = &instruction;
            if (moves_.empty()) continue;
            for (Instruction& instruction : block.code) fold(instruction);
        }
        if (folded_) remove_dead_code(function_);
    }

  private:
    /// A register that is no more than another lane's, for one reader.
    bool moves(const Instruction& one) const {
        return one.pseudo == Pseudo::none && one.inst.dpp.kind == isa::DppKind::dpp16 &&
               one.inst.row->mnemonic == "v_mov_b32" && function_.registers[one.dst[0].reg].dwords == 1 &&
               reads_[one.dst[0].reg] == 1 && is_pure(function_, one) && values_.holds(one.dst[0]) &&
               values_.holds(one.src[0]);
    }

    /// One operation of 32 bits, in the form that has room for DPP.
    bool takes_lanes(const Instruction& one) const {
        const isa::Inst& inst = one.inst;
        if (one.pseudo != Pseudo::none || one.predicate || inst.row_y || inst.sdwa.present) return false;
        const bool form = inst.row->format == isa::Format::VOP1 || inst.row->format == isa::Format::VOP2;
        return form && inst.encoding == inst.row->format && inst.row->modifiers & isa::mod::dpp &&
               inst.dpp.kind == isa::DppKind::none && !inst.neg && !inst.abs && !inst.omod && !inst.clamp &&
               !inst.op_sel && !inst.dst[1].present() && inst.src[2].type == isa::Type::none &&
               isa::span_of(inst.src[0].type) == 1 && !isa::is_half(inst.src[0].type) && is_pure(function_, one);
    }

    bool in_vectors(Place place) const { return place && function_.bank(place) == Bank::vector; }

    void fold(Instruction& one) {
        const bool two = one.pseudo == Pseudo::none && one.inst.row->src[1] != isa::Type::none;
        if (!in_vectors(one.src[0]) || (two && !in_vectors(one.src[1])) || !takes_lanes(one)) return;
        const bool commutes = two && swapped(one.inst.row->mnemonic) == one.inst.row->mnemonic;
        if (commutes && moves_.contains(one.src[1].reg)) std::swap(one.src[0], one.src[1]);
        const auto move = moves_.find(one.src[0].reg);
        if (move == moves_.end()) return;
        one.src[0] = move->second->src[0];
        one.inst.dpp = move->second->inst.dpp;
        folded_ = true;
    }

    MachineFunction& function_;
    UniqueDefs values_;
    std::vector<uint32_t> reads_;  // of each register
    bool folded_ = false;
    std::unordered_map<uint32_t, const Instruction*> moves_;
};

}  // namespace

Result<void> fold_dpp(MachineFunction& function) {
    if (any_of(function, [](const Instruction& one) { return one.inst.dpp.kind == isa::DppKind::dpp16; }))
        FoldLanes(function).run();
    return {};
}

}  // namespace strata::codegen
