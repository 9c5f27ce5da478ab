// remove_unused: instructions whose results nothing reads go.
#include "strata/codegen/lower/operands_p.h"
#include "strata/codegen/lower/passes_p.h"

namespace strata::codegen {
/// A register is read where any of its parts is. SCC that is written and not read stays with its instruction: what reads
/// it stands right behind.
void remove_unused(MachineFunction& function) {
    std::vector<uint32_t> reads(function.registers.size());
    auto each_read = [&](const Instruction& instruction, auto&& visit) {
        for (Place s : instruction.src)
            if (s) visit(s.reg);
        if (instruction.gate) visit(instruction.gate.reg);
        if (function.all_lanes && instruction.gate) visit(function.all_lanes.reg);
    };
    for (const Block& block : function.blocks)
        for (const Instruction& instruction : block.code) each_read(instruction, [&](uint32_t reg) { reads[reg]++; });
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = function.blocks.size(); b-- > 0;) {
            std::vector<Instruction>& code = function.blocks[b].code;
            bool scc = false;  // read below
            std::vector<bool> gone(code.size());
            for (size_t i = code.size(); i-- > 0;) {
                const Instruction& instruction = code[i];
                const bool sets_scc = writes_scc(function, instruction);
                const bool used = has_effect(instruction) || (sets_scc && scc) ||
                                  (instruction.dst[0] && reads[instruction.dst[0].reg]) ||
                                  (instruction.dst[1] && reads[instruction.dst[1].reg]);
                const bool compares = !instruction.dst[0] && sets_scc;
                gone[i] = compares ? !scc : !used;
                if (gone[i]) {
                    each_read(instruction, [&](uint32_t reg) { reads[reg]--; });
                    changed = true;
                    continue;
                }
                if (sets_scc) scc = false;
                if (reads_scc(function, instruction)) scc = true;
            }
            size_t kept = 0;
            for (size_t i = 0; i < code.size(); ++i)
                if (!gone[i]) {
                    if (kept != i) code[kept] = std::move(code[i]);
                    ++kept;
                }
            code.resize(kept);
        }
    }
}

}  // namespace strata::codegen
