#include "strata/asm/emu/report/use.h"

#include <map>

namespace strata::emu {
std::vector<InstructionUse> instructions_of(const Program& program, const CountsOf& counts) {
    const isa::Family family = isa::info(program.arch()).family;
    std::map<std::string_view, InstructionUse> uses;
    for (const Chunk* chunk : program.chunks()) {
        const std::vector<uint64_t> executed = counts ? counts(*chunk) : std::vector<uint64_t>();
        for (size_t i = 0; i < chunk->insts.size(); ++i)
            for (const isa::Row* row : {chunk->insts[i].row, chunk->insts[i].row_y}) {
                if (!row) continue;
                InstructionUse& use = uses[row->mnemonic];
                use.mnemonic = row->mnemonic;
                use.fidelity = fidelity(family, *row);
                ++use.count;
                if (!executed.empty()) use.executed = use.executed.value_or(0) + executed[i];
            }
    }
    std::vector<InstructionUse> list;
    for (auto& [mnemonic, use] : uses) list.push_back(use);
    return list;
}

}  // namespace strata::emu
