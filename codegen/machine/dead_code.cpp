// remove_dead_code: dead code elimination. Instructions whose results nothing reads go.
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"

namespace strata::codegen {
/// SCC that is written and not read stays with its instruction: what reads it stands right after it.
void remove_dead_code(MachineFunction& function) {
    std::vector<uint32_t> base{0};  // first dword of each register
    for (const VirtualRegister& reg : function.registers) base.push_back(base.back() + reg.dwords);
    struct Dword {
        uint32_t reads = 0;
        bool passed = false;  // by the way up through the text: who writes it has been kept
    };
    std::vector<Dword> dwords(base.back());
    auto each_dword = [&](Place place, auto&& visit) {
        for (int i = 0; place && i < place.dwords; ++i)
            visit(dwords[base[place.reg] + place.first + static_cast<uint32_t>(i)]);
    };
    auto each_read = [&](const Instruction& instruction, auto&& visit) {
        for (Place s : instruction.src) each_dword(s, visit);
        if (!instruction.predicate) return;
        each_dword(instruction.predicate, visit);
        each_dword(function.all_lanes, visit);
    };
    auto is_read = [&](Place place) {
        bool any = false;
        each_dword(place, [&](const Dword& dword) { any |= dword.reads != 0; });
        return any;
    };
    for (const Block& block : function.blocks)
        for (const Instruction& instruction : block.code) each_read(instruction, [](Dword& dword) { ++dword.reads; });
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = function.blocks.size(); b-- > 0;) {
            std::vector<Instruction>& code = function.blocks[b].code;
            bool scc = false;  // read below
            std::vector<bool> gone(code.size());
            for (size_t i = code.size(); i-- > 0;) {
                const Instruction& instruction = code[i];
                const bool sets_scc = writes_scc(function, instruction);
                const bool used = has_effect(instruction) || (sets_scc && scc) || is_read(instruction.dst[0]) ||
                                  is_read(instruction.dst[1]);
                const bool compares = !instruction.dst[0] && sets_scc;
                gone[i] = compares ? !scc : !used;
                if (gone[i]) {
                    each_read(instruction, [&](Dword& dword) { changed |= --dword.reads == 0 && dword.passed; });
                    continue;
                }
                for (Place d : instruction.dst) each_dword(d, [](Dword& dword) { dword.passed = true; });
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
