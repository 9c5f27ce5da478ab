#include <algorithm>
#include <array>

#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/unique_defs.h"

namespace strata::codegen {

UniqueDefs::UniqueDefs(const MachineFunction& function) {
    base_.push_back(0);
    for (const VirtualRegister& reg : function.registers) base_.push_back(base_.back() + reg.dwords);
    std::vector<uint8_t> writers(units());
    std::vector<bool> early(units());  // read in front of the writer
    block_.assign(units(), kBefore);
    for (uint32_t b = 0; b < function.blocks.size(); ++b)
        for (const Instruction& instruction : function.blocks[b].code) {
            each_read(function, instruction, [&](Place place) {
                for (int i = 0; i < place.dwords; ++i)
                    if (!writers[unit(place, i)]) early[unit(place, i)] = true;
            });
            each_write(instruction, [&](Place place) {
                for (int i = 0; i < place.dwords; ++i) {
                    uint8_t& count = writers[unit(place, i)];
                    count = static_cast<uint8_t>(std::min(count + 1, 2));
                    block_[unit(place, i)] = b;
                }
            });
        }
    single_.resize(units());
    for (uint32_t reg = 0; reg < function.registers.size(); ++reg) {
        const bool given = function.registers[reg].fixed >= 0;
        for (uint32_t u = base_[reg]; u < base_[reg + 1]; ++u)
            single_[u] = given ? !writers[u] : writers[u] == 1 && !early[u];
    }
}

bool UniqueDefs::holds(Place place) const {
    for (int i = 0; i < place.dwords; ++i)
        if (!single_[unit(place, i)]) return false;
    return true;
}

void UniqueDefs::moved(Place place, uint32_t block) {
    for (int i = 0; i < place.dwords; ++i) block_[unit(place, i)] = block;
}

bool is_pure(const MachineFunction& function, const Instruction& instruction) {
    const isa::Inst& inst = instruction.inst;
    const bool compares = instruction.pseudo == Pseudo::none && inst.row->format == isa::Format::SOPC;
    if (instruction.predicate || reads_destination(function, instruction) || (!instruction.dst[0] && !compares))
        return false;
    auto is_number = [](const isa::Operand& operand) {
        return !operand.present() || operand.is_literal() || isa::is_inline_integer(operand.code) ||
               isa::is_inline_real(operand.code);
    };
    for (size_t i = 0; i < inst.src.size(); ++i)
        if (!instruction.src[i] && !is_number(inst.src[i])) return false;
    if (is_copy(instruction)) return true;
    if (inst.dst[1].present() && !instruction.dst[1]) return false;
    constexpr uint32_t kActs =
        isa::kMemory | isa::kStore | isa::kAtomic | isa::kBranch | isa::kMatrix | isa::kWritesExec;
    if (inst.row->flags & kActs) return false;
    constexpr unsigned kRead = isa::implicit::scc | isa::implicit::exec | isa::implicit::mode | isa::implicit::vcc;
    constexpr unsigned kWritten = isa::implicit::scc | isa::implicit::vcc;
    const unsigned read = implicit_reads(function, instruction), written = implicit_writes(function, instruction);
    if (read & ~kRead || written & ~kWritten) return false;
    if (read & isa::implicit::vcc && reads_vcc(function, instruction)) return false;
    if (written & isa::implicit::vcc && writes_vcc(function, instruction)) return false;
    switch (inst.row->format) {
        case isa::Format::SOP2:
        case isa::Format::SOPC:
        case isa::Format::VOP1:
        case isa::Format::VOP2:
        case isa::Format::VOPC:
        case isa::Format::VOP3:
        case isa::Format::VOP3SD:
        case isa::Format::VOP3P: return true;
        case isa::Format::SOP1: {
            // Others of this format ask the machine: messages, barriers, the program counter.
            const std::string_view name = inst.row->mnemonic;
            return std::ranges::none_of(std::array{"s_get", "s_sendmsg", "s_barrier", "s_sleep", "s_alloc", "s_rfe"},
                                        [&](std::string_view start) { return name.starts_with(start); });
        }
        default: return false;
    }
}

}  // namespace strata::codegen
