#include "strata/asm/emu/fidelity_report.h"

#include <map>

#include "strata/asm/emu/gpu_p.h"

namespace strata::emu {
Result<std::vector<InstructionUse>> kernel_fidelity(const isa::CodeObject& object, std::string_view kernel) {
    const isa::KernelInfo* const info = object.find(kernel);
    if (!info) return make_error(ErrorKind::Usage, "the code object has no kernel '{}'", kernel);
    const isa::Segment* const text = code_segment(object, info->entry_address);
    if (!text) return make_error(ErrorKind::Unsupported, "kernel '{}' has its entry outside the code", kernel);
    const isa::ArchInfo& arch = isa::info(object.arch);
    Program program(object.arch, static_cast<int>(info->wave_size), info->descriptor.vgprs(arch),
                    info->descriptor.accum_offset(), text->bytes, text->address);
    STRATA_TRY(const Op* entry, program.entry(info->entry_address - text->address));

    std::map<std::string_view, InstructionUse> uses;
    auto use = [&](const isa::Row& row) {
        InstructionUse& found = uses[row.mnemonic];
        found.mnemonic = row.mnemonic;
        found.fidelity = fidelity(arch.family, row);
        ++found.count;
    };
    for (const isa::Inst& inst : program.chunk(entry)->insts) {
        if (inst.row) use(*inst.row);
        if (inst.row_y) use(*inst.row_y);
    }
    std::vector<InstructionUse> list;
    for (auto& [mnemonic, found] : uses) list.push_back(found);
    return list;
}

}  // namespace strata::emu
