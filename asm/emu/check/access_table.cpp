#include "strata/asm/emu/check/access_table.h"

#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {
namespace {

Checked checked(const Program& program, const lint::Recent& rules, const isa::Inst& inst) {
    if (!inst.row) return {};
    const isa::Family family = isa::info(program.arch()).family;
    const auto transfer = [&](const isa::Row* row) {
        return row ? transfer_of(handler_name(family, row->mnemonic)) : nullptr;
    };
    const lint::Access access = lint::access_of(program.arch(), inst, program.wave_size());
    return {access, rules.know(inst, access), inst.row->mnemonic.starts_with("s_barrier"), transfer(inst.row),
            transfer(inst.row_y)};
}

}  // namespace

const std::vector<Checked>& AccessTable::of(const Chunk& chunk) {
    return checked_.get(chunk, [&] {
        const lint::Recent rules = lint::recent_for(program_.arch(), program_.wave_size());
        std::vector<Checked> all;
        all.reserve(chunk.insts.size());
        for (const isa::Inst& inst : chunk.insts) all.push_back(checked(program_, rules, inst));
        return all;
    });
}

}  // namespace strata::emu
