#include "strata/codegen/lower/added_p.h"

namespace strata::codegen {
namespace {

const isa::Row& row_of(const MachineFunction& function, std::string_view mnemonic) {
    const isa::Row* row = isa::find_row(function.family, mnemonic);
    STRATA_CHECK(row, "{} has no {}", isa::info(function.target.arch).name, mnemonic);
    return *row;
}

}  // namespace

Instruction move_mask(const MachineFunction& function, uint16_t dst, uint16_t src, uint32_t origin) {
    Instruction move{.origin = origin};
    const isa::Row& row = row_of(function, function.wave_size() == 64 ? "s_mov_b64" : "s_mov_b32");
    move.inst.row = &row;
    move.inst.encoding = row.format;
    move.inst.dst[0] = {dst, row.dst[0]};
    move.inst.src[0] = {src, row.src[0]};
    return move;
}

Instruction immediate(const MachineFunction& function, std::string_view mnemonic, int32_t value, uint32_t origin) {
    Instruction made{.origin = origin};
    const isa::Row& row = row_of(function, mnemonic);
    made.inst.row = &row;
    made.inst.encoding = row.format;
    made.inst.offset = value;
    if (row.src_kind[0]) made.inst.src[0] = {isa::code::null, row.src[0]};
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
