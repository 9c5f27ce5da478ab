#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "strata/asm/isa/print.h"
#include "strata/asm/lint/hazards.h"

namespace strata::lint::testing {

using isa::Arch;
using isa::Inst;

/// Instructions that a wave runs one after the other.
struct Path {
    Arch arch;
    int wave_size;
    std::vector<Inst> insts = {};

    std::vector<Finding> findings(bool replays = true) const {
        Recent recent(arch, wave_size, replays);
        Findings found;
        uint64_t pc = 0;
        for (const Inst& inst : insts) {
            const Access access = access_of(arch, inst, wave_size);
            recent.step({pc, &inst, &access}, found);
            pc += inst.size;
        }
        return found.sorted();
    }
    std::string text() const {
        std::string text = fmt::format("{} wave{}:", info(arch).name, wave_size);
        for (const Inst& inst : insts) text += "\n    " + print(inst, arch);
        for (const Finding& finding : findings())
            text += fmt::format("\n  at {}, earlier {}: {} | {}", finding.pc, finding.earlier.value(), finding.what,
                                finding.fix);
        return text;
    }
};

}  // namespace strata::lint::testing
