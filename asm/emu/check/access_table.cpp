#include "strata/asm/emu/check/access_table.h"

#include "strata/asm/emu/program/build.h"

namespace strata::emu {
namespace {

bool is_move(const isa::Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
    return (name == "v_mov_b32" || name.starts_with("v_accvgpr_")) && inst.src[0].is_vector() &&
           inst.dst[0].is_vector() && inst.dpp.kind == isa::DppKind::none && !inst.sdwa.present && !inst.row_y;
}

Checked checked(const Program& program, const lint::Recent& rules, const isa::Inst& inst) {
    if (!inst.row) return {};
    const isa::Family family = isa::info(program.arch()).family;
    const auto transfer = [&](const isa::Row* row) {
        return row ? transfer_of(handler_name(family, row->mnemonic)) : nullptr;
    };
    const lint::Access access = lint::access_of(program.arch(), inst, program.wave_size());
    return {access,
            rules.know(inst, access),
            inst.row->mnemonic.starts_with("s_barrier"),
            access.counters || inst.row->format == isa::Format::SOPP || inst.row->format == isa::Format::SOPK,
            transfer(inst.row),
            transfer(inst.row_y),
            is_move(inst)};
}

bool is_last_of_instruction(const Chunk& chunk, size_t at) {
    const Op& op = chunk.ops[at];
    if (op.run == go_on_elsewhere) return false;
    if (at + 1 == chunk.ops.size()) return true;
    const Op& next = chunk.ops[at + 1];
    return next.index != op.index || next.run == go_on_elsewhere;
}

}  // namespace

AccessTable::OfChunk AccessTable::make(const Chunk& chunk) {
    const lint::Recent rules = lint::recent_for(program_.arch(), program_.wave_size());
    OfChunk all;
    all.instructions.reserve(chunk.insts.size());
    for (const isa::Inst& inst : chunk.insts) all.instructions.push_back(checked(program_, rules, inst));
    for (size_t at = 0; at < chunk.ops.size(); ++at) all.is_last.push_back(is_last_of_instruction(chunk, at));
    RunBuilder found(chunk, all.instructions, program_, accesses_private_);
    all.in_run = std::move(found.in_run);
    all.runs = std::move(found.runs);
    all.run_at.resize(chunk.ops.size());
    uint32_t next = 0;
    for (size_t at = 0; at < chunk.ops.size(); ++at)
        if (all.in_run[at] == InRun::start) all.run_at[at] = next++;
    for (Run& run : all.runs) run.id = runs_++;
    return all;
}

const AccessTable::OfChunk& AccessTable::of(const Chunk& chunk) {
    return checked_.get(chunk, [&] { return make(chunk); });
}

}  // namespace strata::emu
