#include "strata/asm/emu/fidelity_report.h"

#include <map>

#include "strata/asm/emu/gpu_p.h"

namespace strata::emu {
namespace {

/// What the decoded code of a kernel has; `counts` gives those of a chunk's instructions, or none.
template <class Counts>
std::vector<InstructionUse> instructions_of(const Program& program, Counts counts) {
    const isa::Family family = isa::info(program.arch()).family;
    std::map<std::string_view, InstructionUse> uses;
    for (const Chunk* chunk : program.chunks()) {
        const std::vector<uint64_t> executed = counts(*chunk);
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

}  // namespace

Result<std::vector<InstructionUse>> kernel_fidelity(const isa::CodeObject& object, std::string_view kernel) {
    const isa::KernelInfo* const info = object.find(kernel);
    if (!info) return make_error(ErrorKind::Usage, "the code object has no kernel '{}'", kernel);
    STRATA_TRY(LoadedKernel loaded, decode_kernel(object, *info, 0));
    return instructions_of(*loaded.program, [](const Chunk&) { return std::vector<uint64_t>(); });
}

std::vector<InstructionUse> executed_instructions(const LoadedKernel& kernel) {
    return instructions_of(*kernel.program, [&](const Chunk& chunk) { return kernel.measured->counts(chunk); });
}

}  // namespace strata::emu
