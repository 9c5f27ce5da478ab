#include "strata/codegen/machine/placed_code.h"

namespace strata::codegen {
Instruction move_mask(const MachineFunction& function, uint16_t dst, uint16_t src, uint32_t origin) {
    Instruction move = function.make(function.wave_size() == 64 ? "s_mov_b64" : "s_mov_b32", origin);
    move.inst.dst[0].code = dst;
    move.inst.src[0].code = src;
    return move;
}

Instruction immediate(const MachineFunction& function, std::string_view mnemonic, int32_t value, uint32_t origin) {
    Instruction made = function.make(mnemonic, origin);
    made.inst.offset = value;
    if (made.inst.row->src_kind[0]) made.inst.src[0].code = isa::code::null;
    return made;
}

Instruction branch(const MachineFunction& function, std::string_view mnemonic, uint32_t target, uint32_t origin) {
    Instruction made = immediate(function, mnemonic, 0, origin);
    made.target = target;
    return made;
}

void insert(Block& block, std::span<const Insertion> insertions) {
    if (insertions.empty()) return;
    std::vector<Instruction> code;
    code.reserve(block.code.size() + insertions.size());
    size_t next = 0;
    for (size_t i = 0; i <= block.code.size(); ++i) {
        for (; next < insertions.size() && insertions[next].before == i; ++next)
            code.push_back(insertions[next].instruction);
        if (i < block.code.size()) code.push_back(block.code[i]);
    }
    STRATA_CHECK(next == insertions.size(), "instructions are put in out of order");
    block.code = std::move(code);
}

}  // namespace strata::codegen
