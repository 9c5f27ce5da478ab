#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/asm/isa/print.h"
#include "strata/asm/lint/hazards.h"
#include "strata/asm/llvm/assemble.h"

namespace strata::lint::harness {

/// Instructions that a wave runs one after the other.
struct Path {
    isa::Arch arch;
    int wave_size = isa::info(arch).wave_size;
    std::vector<isa::Inst> insts = {};

    static Path of(isa::Arch arch, std::string_view text, int wave_size = 0) {
        Path path{arch};
        if (wave_size) path.wave_size = wave_size;
        const auto words = isa::assemble_instructions(text, arch, path.wave_size);
        EXPECT_TRUE(words) << text << "\n" << (words ? "" : words.error().message);
        if (!words) return path;
        for (std::span<const uint32_t> rest = *words; !rest.empty(); rest = rest.subspan(path.insts.back().size / 4))
            path.insts.push_back(isa::decode(arch, rest, path.wave_size).value());
        return path;
    }

    /// Findings of the rules on it from `pc` on; they are an Outstanding or a Recent.
    template <class Rules>
    std::vector<Finding> run(Rules& rules, uint64_t pc = 0) const {
        Findings found;
        for (const isa::Inst& inst : insts) {
            const Access access = access_of(arch, inst, wave_size);
            rules.step({pc, &inst, &access}, found);
            pc += inst.size;
        }
        return found.sorted();
    }
    std::vector<Finding> hazards(bool replays = true) const {
        Recent recent(arch, wave_size, replays);
        return run(recent);
    }
    std::string text() const {
        std::string text = fmt::format("{} wave{}:", isa::info(arch).name, wave_size);
        for (const isa::Inst& inst : insts) text += "\n    " + isa::print(inst, arch);
        for (const Finding& finding : hazards())
            text += fmt::format("\n  at {}, earlier {}: {} | {}", finding.pc, finding.earlier.value(), finding.what,
                                finding.fix);
        return text;
    }
};

}  // namespace strata::lint::harness
