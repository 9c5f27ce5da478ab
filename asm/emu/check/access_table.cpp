#include "strata/asm/emu/check/access_table.h"

#include <algorithm>

#include "strata/asm/emu/check/scalar_loads.h"
#include "strata/asm/emu/program/build.h"

namespace strata::emu {
namespace {

bool is_move(const isa::Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
    return (name == "v_mov_b32" || name.starts_with("v_accvgpr_")) && inst.src[0].is_vector() &&
           inst.dst[0].is_vector() && inst.dpp.kind == isa::DppKind::none && !inst.sdwa.present && !inst.row_y;
}

/// No register gets what the lanes load.
bool loads_to_local(const isa::Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
    return name.find("_load_lds_") != name.npos || (inst.lds && name.find("_load_") != name.npos);
}

/// Memory, but not its caches: it moves something of each active lane.
bool moves_lanes(const isa::Inst& inst, const lint::Access& access) {
    const auto vectors = [](const auto& part) { return is_vector(part.registers); };
    return inst.row->flags & isa::kMemory &&
           (std::ranges::any_of(access.all_reads(), vectors) || std::ranges::any_of(access.all_writes(), vectors));
}

/// Without an active lane it does nothing, or nothing sensible. Private memory is another matter: functions save and
/// restore there what lanes hold that are not active, whether there are such or not.
bool wants_lane(const isa::Inst& inst, bool moves) {
    const bool buffer = inst.row->format == isa::Format::MUBUF || inst.row->format == isa::Format::MTBUF;
    const bool may_be_private = inst.row->format == isa::Format::SCRATCH || (buffer && !inst.offen && !inst.idxen);
    return (moves && !may_be_private) || inst.row->mnemonic.starts_with("v_readfirstlane");
}

Barrier barrier_of(std::string_view name) {
    if (name == "s_barrier") return Barrier::both;
    if (name == "s_barrier_wait") return Barrier::waits;
    if (name.starts_with("s_barrier_signal")) return Barrier::signals;
    return name.starts_with("s_barrier") ? Barrier::other : Barrier::no;
}

uint8_t widened(const isa::Inst& inst, const lint::Access& access) {
    const uint32_t bytes = access.write_count ? 4u * access.writes[0].registers.count : 0;
    return may_be_widened(inst, bytes) ? static_cast<uint8_t>(bytes) : uint8_t{0};
}

Checked checked(const Program& program, const lint::Recent& rules, const isa::Inst& inst) {
    if (!inst.row) return {};
    const isa::Family family = isa::info(program.arch()).family;
    const auto transfer = [&](const isa::Row* row) {
        return row ? transfer_of(handler_name(family, row->mnemonic)) : nullptr;
    };
    const lint::Access access = lint::access_of(program.arch(), inst, program.wave_size());
    const bool moves = moves_lanes(inst, access);
    return {
        .access = access,
        .rules = rules.know(inst, access),
        .barrier = barrier_of(inst.row->mnemonic),
        .starts_or_waits =
            access.counters || inst.row->format == isa::Format::SOPP || inst.row->format == isa::Format::SOPK,
        .transfer = transfer(inst.row),
        .transfer_y = transfer(inst.row_y),
        .is_move = is_move(inst),
        .stores = moves && inst.row->flags & (isa::kStore | isa::kAtomic) && inst.row->format != isa::Format::SCRATCH,
        .to_local = loads_to_local(inst),
        .wants_lane = wants_lane(inst, moves),
        .widened = widened(inst, access),
        .hand_over = hand_over_of(family, inst),
        .atomic = atomic_of(family, inst)};
}

/// Branches on EXEC with the barriers that they lead around, and those of the loops that they end.
void find_branches(const Chunk& chunk, std::vector<Checked>& instructions) {
    for (size_t at = 0; at < chunk.insts.size(); ++at) {
        if (!chunk.insts[at].row) continue;
        const std::string_view name = chunk.insts[at].row->mnemonic;
        const bool around = name == "s_cbranch_execz";
        if (!around && name != "s_cbranch_execnz") continue;
        const int64_t pc = chunk.pcs[at], target = pc + 4 + 4 * int64_t{chunk.insts[at].offset};
        const int64_t first = around ? pc : target, end = around ? target : pc;
        for (size_t i = 0; i < instructions.size(); ++i)
            if (instructions[i].barrier != Barrier::no && chunk.pcs[i] >= first && chunk.pcs[i] < end)
                instructions[i].branch = static_cast<uint32_t>(pc) + 1;
    }
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
    const lint::Recent rules = nothing_near();
    OfChunk all;
    all.instructions.reserve(chunk.insts.size());
    for (const isa::Inst& inst : chunk.insts) all.instructions.push_back(checked(program_, rules, inst));
    find_branches(chunk, all.instructions);
    for (size_t at = 0; at < chunk.ops.size(); ++at) all.is_last.push_back(is_last_of_instruction(chunk, at));
    RunBuilder found(chunk, all.instructions, program_, watched_);
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
