#include "strata/codegen/machine/machine.h"

#include <fmt/format.h>

#include "strata/asm/isa/facts.h"
#include "strata/asm/isa/print.h"

namespace strata::codegen {
namespace {

std::string name(const MachineFunction& function, Place place) {
    const VirtualRegister& reg = function.registers[place.reg];
    std::string text = fmt::format("%{}{}", "sva"[static_cast<size_t>(reg.bank)], place.reg);
    if (place.dwords == reg.dwords) return text;
    return place.dwords == 1 ? fmt::format("{}[{}]", text, place.first)
                             : fmt::format("{}[{}:{}]", text, place.first, place.first + place.dwords - 1);
}

std::string constant(const Instruction& instruction, const isa::Operand& operand) {
    if (operand.is_literal()) return fmt::format("{:#x}", instruction.inst.literal);
    if (isa::is_inline_integer(operand.code)) return fmt::format("{}", isa::inline_integer(operand.code));
    if (isa::is_inline_real(operand.code)) return std::string(isa::inline_real(operand.code).text);
    switch (operand.code) {
        case isa::code::vcc_lo: return "vcc";
        case isa::code::exec_lo: return "exec";
        case isa::code::m0: return "m0";
        case isa::code::null: return "null";
        default:
            return fmt::format("{}{}", operand.is_vector() ? 'v' : 's',
                               operand.is_vector() ? operand.row() : operand.code);
    }
}

}  // namespace

Instruction instruction_of(const isa::Row& row, uint32_t origin) {
    Instruction made{.origin = origin};
    made.inst.row = &row;
    made.inst.encoding = row.format;
    if (row.format == isa::Format::VOP3P) made.inst.op_sel_hi = 7;
    for (size_t i = 0; i < 2; ++i) made.inst.dst[i].type = row.dst[i];
    for (size_t i = 0; i < 4; ++i) made.inst.src[i].type = row.src[i];
    return made;
}

uint8_t alignment(isa::Family family, Bank bank, int dwords) {
    if (bank == Bank::scalar) return dwords <= 1 ? 1 : dwords == 2 ? 2 : 4;
    return isa::is_cdna(family) && dwords > 1 ? 2 : 1;
}

bool is_branch(const Instruction& instruction) {
    return instruction.pseudo == Pseudo::none && instruction.inst.row->flags & isa::kBranch;
}

Place MachineFunction::add(Bank bank, int dwords, int align) {
    registers.push_back({.bank = bank,
                         .dwords = static_cast<uint8_t>(dwords),
                         .align = align ? static_cast<uint8_t>(align) : alignment(family, bank, dwords)});
    return {static_cast<uint32_t>(registers.size() - 1), 0, static_cast<uint8_t>(dwords)};
}

Instruction MachineFunction::make(std::string_view mnemonic, uint32_t origin) const {
    const isa::Row* row = isa::find_row(family, mnemonic);
    STRATA_CHECK(row, "{} has no {}", isa::info(target.arch).name, mnemonic);
    return instruction_of(*row, origin);
}

std::vector<uint32_t> MachineFunction::successors(uint32_t i) const {
    std::vector<uint32_t> next;
    const std::vector<Instruction>& code = blocks[i].code;
    bool goes_on = true;
    for (const Instruction& instruction : code) {
        if (is_branch(instruction)) {
            next.push_back(instruction.target);
            goes_on &= instruction.inst.row->mnemonic != "s_branch";
        } else if (instruction.pseudo == Pseudo::none && instruction.inst.row->mnemonic == "s_endpgm") {
            goes_on = false;
        }
    }
    if (goes_on && i + 1 < blocks.size()) next.push_back(i + 1);
    return next;
}

uint8_t implicit_reads(const MachineFunction& function, const Instruction& instruction) {
    return instruction.pseudo == Pseudo::none ? isa::implicit_reads(function.family, instruction.inst) : uint8_t{0};
}

uint8_t implicit_writes(const MachineFunction& function, const Instruction& instruction) {
    return instruction.pseudo == Pseudo::none ? isa::implicit_writes(function.family, instruction.inst) : uint8_t{0};
}

std::string to_string(const MachineFunction& function, const Instruction& instruction) {
    const isa::Inst& inst = instruction.inst;
    std::string text = instruction.pseudo == Pseudo::copy ? "copy" : std::string(inst.row->mnemonic);
    bool first = true;
    auto add = [&](Place place, const isa::Operand& operand) {
        if (!place && !operand.present()) return;
        text += first ? " " : ", ";
        text += place ? name(function, place) : constant(instruction, operand);
        first = false;
    };
    for (size_t i = 0; i < 2; ++i) add(instruction.dst[i], inst.dst[i]);
    for (size_t i = 0; i < 4; ++i) add(instruction.src[i], inst.src[i]);
    if (is_branch(instruction)) text += fmt::format(" block{}", instruction.target);
    if (inst.offset && !is_branch(instruction)) text += fmt::format(" offset:{}", inst.offset);
    if (inst.dpp.kind == isa::DppKind::dpp16) text += fmt::format(" dpp:{:#x}", inst.dpp.ctrl);
    if (instruction.keeps) text += " keeps";
    if (instruction.predicate) text += " predicate " + name(function, instruction.predicate);
    return text;
}

std::string to_string(const MachineFunction& function) {
    std::string text;
    for (size_t i = 0; i < function.blocks.size(); ++i) {
        const Block& block = function.blocks[i];
        text += fmt::format("block{}:{}{}\n", i, block.label.empty() ? "" : "  ", block.label);
        for (const Instruction& instruction : block.code)
            text += fmt::format("    {}\n", to_string(function, instruction));
    }
    return text;
}

}  // namespace strata::codegen
