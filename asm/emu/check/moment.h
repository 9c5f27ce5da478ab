#pragma once
#include <string>

#include "strata/asm/emu/check/transfer.h"
#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/lint/access.h"
#include "strata/asm/lint/finding.h"

namespace strata::emu {

/// An instruction that a wave is about to run.
struct Moment {
    Wave& wave;
    const lint::Step& step;
    const Op* op;  ///< with its fields as the program has them; nullptr: a hint that has none
    lint::Findings& found;
    Transfer transfer = nullptr, transfer_y = nullptr;
    bool is_move = false;  ///< of a whole vector register, lane by lane

    const isa::Inst& inst() const { return *step.inst; }
    const isa::Row& row() const { return *step.inst->row; }
    uint64_t exec() const { return wave.exec(); }
    /// Reports a finding at this place; `words` makes the text of the first of its kind.
    template <class Words>
    void report(lint::Kind kind, uint64_t lanes, Words words) const {
        if (found.again(kind, step.pc)) return;
        lint::Finding finding = words();
        finding.kind = kind;
        finding.pc = step.pc;
        if (!finding.witness) finding.witness = lint::Witness{wave.group->id, wave.wave_in_group};
        finding.witness->lanes = lanes;
        found.add(std::move(finding));
    }
};

}  // namespace strata::emu
