#include "strata/asm/emu/check/access_table.h"

#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {
namespace {

Checked checked(const Program& program, const isa::Inst& inst) {
    if (!inst.row) return {};
    const isa::Family family = isa::info(program.arch()).family;
    const auto transfer = [&](const isa::Row* row) {
        return row ? transfer_of(handler_name(family, row->mnemonic)) : nullptr;
    };
    return {lint::access_of(program.arch(), inst, program.wave_size()), transfer(inst.row), transfer(inst.row_y)};
}

}  // namespace

const std::vector<Checked>& AccessTable::of(const Chunk& chunk) {
    return checked_.get(chunk, [&] {
        std::vector<Checked> all;
        all.reserve(chunk.insts.size());
        for (const isa::Inst& inst : chunk.insts) all.push_back(checked(program_, inst));
        return all;
    });
}

}  // namespace strata::emu
