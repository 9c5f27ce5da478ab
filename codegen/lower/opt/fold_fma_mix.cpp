// fold_fma_mix: sums of products take float16 factors as they are.
// Before:  v_lshrrev_b32 %v2, 16, %v1; v_cvt_f32_f16 %v3, %v2; v_fma_f32 %v9, %v3, %v4, %v8
// After:   v_fma_mix_f32 %v9, %v1, %v4, %v8 op_sel:[1,0,0] op_sel_hi:[1,0,0]
// Only where every reader of a conversion is such a sum, so that the conversion goes.
#include "strata/codegen/machine/builder.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/unique_defs.h"

namespace strata::codegen {
namespace {

class MixHalves {
  public:
    MixHalves(MachineFunction& function, const isa::Row& mix)
        : function_(function), mix_(mix), values_(function), written_(values_.units()), other_(values_.units()) {}

    void run() {
        for (Block& block : function_.blocks)
            for (Instruction& instruction : block.code) note(instruction);
        for (Block& block : function_.blocks)
            for (Instruction& instruction : block.code)
                if (is_sum(instruction)) take_halves(instruction);
        if (mixed_) remove_dead_code(function_);
    }

  private:
    static bool is(const Instruction& instruction, std::string_view mnemonic) {
        return instruction.pseudo == Pseudo::none && instruction.inst.row->mnemonic == mnemonic;
    }
    static bool is_sum(const Instruction& instruction) {
        return is(instruction, "v_fma_f32") && !instruction.inst.clamp && !instruction.inst.omod;
    }
    static bool is_plain(const isa::Inst& inst) {
        return !inst.neg && !inst.abs && !inst.op_sel && !inst.clamp && !inst.omod;
    }

    void note(const Instruction& instruction) {
        const bool sum = is_sum(instruction);
        each_read(function_, instruction, [&](Place place) {
            if (sum && place != instruction.predicate) return;
            for (int i = 0; i < place.dwords; ++i) other_[values_.unit(place, i)] = true;
        });
        if (instruction.dst[0] && instruction.dst[0].dwords == 1 && is_pure(function_, instruction) &&
            values_.holds(instruction.dst[0]))
            written_[values_.unit(instruction.dst[0])] = &instruction;
    }

    /// The writer of a value, where it is this instruction without modifiers.
    const Instruction* writer(Place place, std::string_view mnemonic) const {
        if (!place || place.dwords != 1) return nullptr;
        const Instruction* found = written_[values_.unit(place)];
        return found && is(*found, mnemonic) && is_plain(found->inst) ? found : nullptr;
    }

    void take_halves(Instruction& sum) {
        std::array<Place, 4> sources = sum.src;
        uint8_t halves = 0, upper = 0;
        for (size_t i = 0; i < 3; ++i) {
            const Instruction* conversion = writer(sum.src[i], "v_cvt_f32_f16");
            if (!conversion || other_[values_.unit(sum.src[i])]) continue;
            const Place half = conversion->src[0];
            if (!half || function_.bank(half) != Bank::vector || !values_.holds(half)) continue;
            halves |= static_cast<uint8_t>(1 << i);
            sources[i] = half;
            const Instruction* shift = writer(half, "v_lshrrev_b32");
            if (!shift || shift->src[0] || shift->inst.src[0].code != isa::code::inline_zero + 16 || !shift->src[1] ||
                !values_.holds(shift->src[1]))
                continue;
            upper |= static_cast<uint8_t>(1 << i);
            sources[i] = shift->src[1];
        }
        if (!halves) return;
        sum.src = sources;
        isa::Inst& inst = sum.inst;
        inst.row = &mix_;
        inst.encoding = mix_.format;
        inst.neg_hi = inst.abs;
        inst.abs = 0;
        inst.op_sel_hi = halves;
        inst.op_sel = upper;
        mixed_ = true;
    }

    MachineFunction& function_;
    const isa::Row& mix_;
    UniqueDefs values_;
    std::vector<const Instruction*> written_;  // of each unit
    std::vector<bool> other_;                  // units that others read too
    bool mixed_ = false;
};

}  // namespace

Result<void> fold_fma_mix(MachineFunction& function) {
    const isa::Row* const mix = row_of(function.family, "v_fma_mix_f32");
    const isa::Row* const conversion = row_of(function.family, "v_cvt_f32_f16");
    if (mix && any_of(function, [&](const Instruction& one) { return one.inst.row == conversion; }))
        MixHalves(function, *mix).run();
    return {};
}

}  // namespace strata::codegen
