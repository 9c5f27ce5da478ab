#include "strata/asm/emu/check/access_table.h"

#include <algorithm>

#include "strata/asm/emu/machine/wave.h"
#include "strata/asm/emu/program/build.h"

namespace strata::emu {
namespace {

/// Takes the registers of a kind down; at the end of a list its place.
class Flattener {
  public:
    template <class Part, class Wanted>
    void list(std::span<const Part> parts, uint16_t base, Wanted wanted) {
        for (const Part& part : parts)
            for (uint16_t i = 0; wanted(part) && i < part.registers.count; ++i) add(part.registers.first + i - base);
        flat.ends[lists_++] = static_cast<uint8_t>(count_);
    }
    Flat flat;

  private:
    void add(int reg) {
        if (count_ == Flat::kMost)
            flat.fits = false;
        else
            flat.registers[count_++] = static_cast<uint16_t>(reg);
    }
    size_t count_ = 0, lists_ = 0;
};

Flat flat_of(const Program& program, const isa::Inst& inst, const lint::Access& access) {
    const auto crosses = [&](const lint::Read& read) {
        return read.every_lane || (inst.dpp.kind != isa::DppKind::none && read.source == 0);
    };
    const auto always = [](const lint::Registers& registers) {
        return (registers.first | 1) == isa::code::exec_hi || registers.first == lint::kMode;
    };
    Flattener all;
    all.list(access.all_reads(), lint::kVectors,
             [&](const lint::Read& read) { return is_vector(read.registers) && !crosses(read); });
    all.list(access.all_reads(), lint::kVectors,
             [&](const lint::Read& read) { return is_vector(read.registers) && crosses(read); });
    all.list(access.all_reads(), 0,
             [&](const lint::Read& read) { return !is_vector(read.registers) && !always(read.registers); });
    all.list(access.all_writes(), lint::kVectors, [](const lint::Write& write) { return is_vector(write.registers); });
    all.list(access.all_writes(), 0,
             [&](const lint::Write& write) { return !is_vector(write.registers) && !always(write.registers); });
    const auto every = [](const lint::Write& write) { return write.every_lane; };
    all.flat.fits = all.flat.fits && !access.indexed && std::ranges::none_of(access.all_writes(), every);
    for (size_t i = 0; i < all.flat.ends[4]; ++i) {
        const bool row = i < all.flat.ends[1] || (i >= all.flat.ends[2] && i < all.flat.ends[3]);
        all.flat.fits = all.flat.fits && (!row || all.flat.registers[i] < program.vgprs());
    }
    return all.flat;
}

Checked checked(const Program& program, const lint::Recent& rules, const isa::Inst& inst) {
    if (!inst.row) return {};
    const isa::Family family = isa::info(program.arch()).family;
    const auto transfer = [&](const isa::Row* row) {
        return row ? transfer_of(handler_name(family, row->mnemonic)) : nullptr;
    };
    const lint::Access access = lint::access_of(program.arch(), inst, program.wave_size());
    return {flat_of(program, inst, access),
            access,
            rules.know(inst, access),
            inst.row->mnemonic.starts_with("s_barrier"),
            access.counters || inst.row->format == isa::Format::SOPP || inst.row->format == isa::Format::SOPK,
            transfer(inst.row),
            transfer(inst.row_y)};
}

bool is_last_of_instruction(const Chunk& chunk, size_t at) {
    const Op& op = chunk.ops[at];
    if (op.run == go_on_elsewhere) return false;
    if (at + 1 == chunk.ops.size()) return true;
    const Op& next = chunk.ops[at + 1];
    return next.index != op.index || next.run == go_on_elsewhere;
}

}  // namespace

const AccessTable::OfChunk& AccessTable::of(const Chunk& chunk) {
    return checked_.get(chunk, [&] {
        const lint::Recent rules = lint::recent_for(program_.arch(), program_.wave_size());
        OfChunk all;
        all.instructions.reserve(chunk.insts.size());
        for (const isa::Inst& inst : chunk.insts) all.instructions.push_back(checked(program_, rules, inst));
        for (size_t at = 0; at < chunk.ops.size(); ++at) all.is_last.push_back(is_last_of_instruction(chunk, at));
        return all;
    });
}

}  // namespace strata::emu
