#include "strata/codegen/lower/regalloc/spill_p.h"

#include <algorithm>

#include "strata/codegen/lower/regalloc/remat_p.h"
#include "strata/codegen/machine/operands.h"
#include "strata/core/support/error.h"

namespace strata::codegen {

namespace code = isa::code;

namespace {

constexpr uint16_t kFlatScratch = 102;  // of CDNA
/// Offsets of all scratch instructions reach so far (13 bits with a sign on gfx9 and gfx11).
constexpr uint32_t kScratchReach = 4096;

bool same_constant(const Instruction& a, const Instruction& b) {
    return a.inst.src[0].code == b.inst.src[0].code &&
           (!a.inst.src[0].is_literal() || a.inst.literal == b.inst.literal);
}

}  // namespace

std::vector<const Instruction*> constants_of(const MachineFunction& function) {
    std::vector<const Instruction*> found(function.registers.size());
    std::vector<bool> varies(function.registers.size());
    for (size_t reg = 0; reg < varies.size(); ++reg)
        varies[reg] = function.registers[reg].dwords > 1 || function.registers[reg].fixed >= 0;
    for (const Block& block : function.blocks)
        for (const Instruction& instruction : block.code)
            each_write(instruction, [&](Place place) {
                const bool constant =
                    is_copy(instruction) && !instruction.src[0] && !instruction.predicate && !instruction.keeps;
                const Instruction*& first = found[place.reg];
                if (!constant || (first && !same_constant(*first, instruction))) varies[place.reg] = true;
                first = &instruction;
            });
    for (size_t reg = 0; reg < varies.size(); ++reg)
        if (varies[reg]) found[reg] = nullptr;
    return found;
}

void Spiller::spill(const std::vector<uint32_t>& registers, const Liveness& live, std::vector<bool>& kept) {
    kept_ = &kept;
    slots_.assign(function_.registers.size(), {});
    accumulations_used_ = function_.agprs;
    const std::vector<const Instruction*> constants = constants_of(function_),
                                          remakes = rematerialisations(function_, live);
    std::vector<bool> goes(function_.registers.size());
    for (uint32_t reg : registers) goes[reg] = true;
    for (uint32_t reg : registers) {
        const Instruction* made = constants[reg] ? constants[reg] : remakes[reg];
        if (made && std::ranges::any_of(made->src, [&](Place source) { return source && goes[source.reg]; }))
            made = nullptr;
        slots_[reg] = choose(reg, made);
    }
    slots_.resize(function_.registers.size());
    out_ = &entry_;
    for (uint32_t reg : registers)
        if (function_.registers[reg].fixed >= 0) save_fixed(reg);
    for (Block& block : function_.blocks) rewrite(block.code);
    std::vector<Instruction>& first = function_.blocks[0].code;
    first.insert(first.begin(), entry_.begin(), entry_.end());
    entry_.clear();
}

Spiller::Slot Spiller::choose(uint32_t reg, const Instruction* made) {
    const VirtualRegister row = function_.registers[reg];
    if (made) return {.kind = Kind::remade, .made = *made};
    if (row.bank == Bank::scalar) {
        Slot slot{.kind = Kind::lanes, .offset = lanes_used_};
        lanes_used_ += row.dwords;
        lanes_register(lanes_used_ - 1);
        return slot;
    }
    // With all vector registers in use, rows of the file after them.
    const int free = std::min(limits_.agprs, limits_.total - limits_.vgprs) - accumulations_used_;
    if (row.bank == Bank::vector && row.dwords <= free) {
        accumulations_used_ += row.dwords;
        return {.kind = Kind::accumulation, .place = function_.add(Bank::accumulation, row.dwords, 1)};
    }
    if (!function_.scratch) begin_scratch();
    const uint32_t offset = function_.scratch;
    function_.scratch += 4u * row.dwords;
    return {.kind = Kind::scratch, .offset = offset};
}

Place Spiller::lanes_register(uint32_t lane) {
    const auto number = static_cast<size_t>(lane) / static_cast<size_t>(function_.wave_size());
    while (lanes_.size() <= number) lanes_.push_back(temporary(Bank::vector, 1));
    return lanes_[number];
}

/// CDNA2 leaves it to the kernel to set FLAT_SCRATCH. The base comes after the argument pointer, the wave's offset
/// after the workgroup ids, all of which move up (KernelSpec::scratch).
void Spiller::begin_scratch() {
    if (function_.family != isa::Family::cdna2) return;
    for (VirtualRegister& reg : function_.registers)
        if (reg.bank == Bank::scalar && reg.fixed >= 2) reg.fixed = static_cast<int16_t>(reg.fixed + 2);
    const auto ids = std::ranges::count(function_.workgroup_ids, true);
    const Place base = temporary(Bank::scalar, 2), offset = temporary(Bank::scalar, 1);
    function_.registers[base.reg].fixed = 2;
    function_.registers[offset.reg].fixed = static_cast<int16_t>(4 + ids);
    for (int half = 0; half < 2; ++half) {
        Instruction add = function_.make(half ? "s_addc_u32" : "s_add_u32", 0);
        add.inst.dst[0].code = static_cast<uint16_t>(kFlatScratch + half);
        add.src[0] = base.part(half);
        if (half)
            add.inst.src[1].code = code::inline_zero;
        else
            add.src[1] = offset;
        entry_.push_back(std::move(add));
    }
}

/// A value that the machine puts into a register leaves it at once.
void Spiller::save_fixed(uint32_t reg) {
    VirtualRegister& row = function_.registers[reg];
    const int16_t fixed = row.fixed;
    row.fixed = -1;
    const Place from = temporary(row.bank, row.dwords);
    function_.registers[from.reg].fixed = fixed;
    save(from, {reg, 0, from.dwords});
}

Place Spiller::temporary(Bank bank, int dwords) {
    const Place place = function_.add(bank, dwords);
    kept_->resize(function_.registers.size());
    (*kept_)[place.reg] = true;
    return place;
}

void Spiller::rewrite(std::vector<Instruction>& code) {
    auto concerned = [&](const Instruction& instruction) {
        bool any = slot_of(instruction.predicate);
        for (Place place : instruction.dst) any |= slot_of(place) != nullptr;
        for (Place place : instruction.src) any |= slot_of(place) != nullptr;
        return any;
    };
    if (std::ranges::none_of(code, concerned)) return;
    std::vector<Instruction> out;
    out.reserve(code.size() * 2);
    out_ = &out;
    for (Instruction& instruction : code) {
        origin_ = instruction.origin;
        if (const Slot* slot = slot_of(instruction.dst[0]); slot && slot->kind == Kind::remade) continue;
        if (!concerned(instruction))
            out.push_back(std::move(instruction));
        else if (!rewrite_copy(instruction))
            rewrite(instruction);
    }
    code = std::move(out);
}

/// A copy to or from a slot needs no register of its own.
bool Spiller::rewrite_copy(const Instruction& copy) {
    if (!is_copy(copy) || copy.predicate || copy.keeps) return false;
    const Place to = copy.dst[0], from = copy.src[0];
    const Slot *to_slot = slot_of(to), *from_slot = slot_of(from);
    if (from && function_.bank(to) != function_.bank(from)) return false;
    if (from_slot && !to_slot) return reload(to, from), true;
    if (to_slot && from && !from_slot) return save(from, to), true;
    return false;
}

void Spiller::rewrite(Instruction& instruction) {
    std::vector<Stand> stands;
    const bool reads_first = reads_destination(function_, instruction);
    for (Place& place : instruction.src)
        if (slot_of(place)) place = stand_in(place, stands, true);
    if (slot_of(instruction.predicate)) instruction.predicate = stand_in(instruction.predicate, stands, true);
    std::vector<Stand> written;
    for (size_t i = 0; i < 2; ++i) {
        Place& place = instruction.dst[i];
        if (!slot_of(place)) continue;
        const Place of = place;
        place = stand_in(of, stands, i == 0 && reads_first);
        written.push_back({of, place});
    }
    out_->push_back(std::move(instruction));
    for (const Stand& stand : written) save(stand.temporary, stand.of);
}

Place Spiller::stand_in(Place place, std::vector<Stand>& stands, bool read) {
    for (const Stand& stand : stands)
        if (stand.of == place) return stand.temporary;
    const Place made = temporary(function_.bank(place), place.dwords);
    stands.push_back({place, made});
    if (read) reload(made, place);
    return made;
}

void Spiller::add_copy(Place to, Place from) {
    Instruction copy;
    copy.pseudo = Pseudo::copy;
    copy.origin = origin_;
    copy.dst[0] = to;
    copy.src[0] = from;
    copy.inst.dst[0].type = copy.inst.src[0].type = isa::Type::b32;
    out_->push_back(std::move(copy));
}

void Spiller::reload(Place to, Place from) {
    const Slot slot = *slot_of(from);
    if (slot.kind == Kind::remade) {
        Instruction made = slot.made;
        made.dst[0] = to;
        made.origin = origin_;
        out_->push_back(std::move(made));
    } else if (slot.kind == Kind::accumulation) {
        add_copy(to, slot.place.part(from.first, from.dwords));
    } else if (slot.kind == Kind::scratch) {
        access_scratch(false, to, slot.offset + 4u * from.first);
    } else {
        for (int i = 0; i < from.dwords; ++i) {
            const uint32_t lane = slot.offset + static_cast<uint32_t>(from.first + i);
            Instruction read = function_.make("v_readlane_b32", origin_);
            read.dst[0] = to.part(i);
            read.src[0] = lanes_register(lane);
            read.inst.src[1].code =
                static_cast<uint16_t>(code::inline_zero + lane % static_cast<uint32_t>(function_.wave_size()));
            out_->push_back(std::move(read));
        }
    }
}

void Spiller::save(Place from, Place to) {
    const Slot slot = *slot_of(to);
    if (slot.kind == Kind::accumulation) return add_copy(slot.place.part(to.first, to.dwords), from);
    if (slot.kind == Kind::scratch) return access_scratch(true, from, slot.offset + 4u * to.first);
    STRATA_CHECK(slot.kind == Kind::lanes, "a rematerialised value is written");
    for (int i = 0; i < to.dwords; ++i) {
        const uint32_t lane = slot.offset + static_cast<uint32_t>(to.first + i);
        Instruction write = function_.make("v_writelane_b32", origin_);
        write.keeps = true;
        write.dst[0] = lanes_register(lane);
        write.src[0] = from.part(i);
        write.inst.src[1].code =
            static_cast<uint16_t>(code::inline_zero + lane % static_cast<uint32_t>(function_.wave_size()));
        out_->push_back(std::move(write));
    }
}

/// In pieces that one instruction moves. The immediate offset holds what it can, a scalar register the rest; gfx90a has
/// no form without a register.
void Spiller::access_scratch(bool store, Place data, uint32_t offset) {
    const bool cdna = isa::is_cdna(function_.family);
    static constexpr std::string_view names[2][2][2] = {
        {{"scratch_load_b32", "scratch_load_b128"}, {"scratch_load_dword", "scratch_load_dwordx4"}},
        {{"scratch_store_b32", "scratch_store_b128"}, {"scratch_store_dword", "scratch_store_dwordx4"}}};
    for (int at = 0; at < data.dwords;) {
        const uint32_t here = offset + 4u * static_cast<uint32_t>(at), page = here / kScratchReach * kScratchReach;
        const bool wide = at + 4 <= data.dwords && here + 16 <= page + kScratchReach && (data.first + at) % 2 == 0;
        const int dwords = wide ? 4 : 1;
        Instruction access = function_.make(names[store][cdna][wide], origin_);
        access.inst.offset = static_cast<int32_t>(here - page);
        access.inst.src[0] = {};
        (store ? access.src[1] : access.dst[0]) = data.part(at, dwords);
        const size_t base = store ? 2 : 1;
        if (page || function_.family == isa::Family::cdna2) {
            const Place register_of_page = temporary(Bank::scalar, 1);
            Instruction copy;
            copy.pseudo = Pseudo::copy;
            copy.origin = origin_;
            copy.dst[0] = register_of_page;
            copy.inst.src[0] = {page ? code::literal : code::inline_zero, isa::Type::b32};
            copy.inst.literal = page;
            out_->push_back(std::move(copy));
            access.src[base] = register_of_page;
        } else {
            access.inst.src[base] = {};
        }
        out_->push_back(std::move(access));
        at += dwords;
    }
}

}  // namespace strata::codegen
