#include "strata/asm/emu/launch/faults.h"

#include <fmt/format.h>

#include "strata/asm/emu/program/program.h"
#include "strata/asm/object/line_table.h"

namespace strata::emu {
namespace {

/// Of a byte offset in the code, where the code object has line tables.
isa::SourceLine line_of(const Launch& launch, uint64_t pc) {
    if (!launch.object) return {};
    Result<isa::LineTable> lines = isa::LineTable::read(*launch.object);
    return lines ? lines->find(launch.text_address + pc) : isa::SourceLine{};
}

/// " at file:line:column".
std::string source_of(const isa::SourceLine& at) {
    if (at.file.empty()) return "";
    return at.column ? fmt::format(" at {}:{}:{}", at.file, at.line, at.column)
                     : fmt::format(" at {}:{}", at.file, at.line);
}

}  // namespace

std::string over_budget(uint64_t executed) {
    return fmt::format(
        "ran {} instructions without coming to its end; an endless loop? The budget of a wave is set by "
        "STRATA_EMU_BUDGET or max_instructions",
        executed);
}

std::string over_launch_budget(uint64_t budget) {
    return fmt::format(
        "the launch ran {} instructions without coming to its end; an endless loop? A larger budget is set by "
        "config(emu_launch_budget=...), STRATA_EMU_LAUNCH_BUDGET",
        budget);
}

std::string fault_message(const Wave& wave) {
    const Workgroup& group = *wave.group;
    const Op* op = wave.last;
    if (op) op = group.code->plain(op);
    const Program& program = *group.launch->program;
    uint64_t pc = op ? program.pc(op) : 0;
    const isa::SourceLine line = line_of(*group.launch, pc);
    const std::string source = source_of(line);
    return fmt::format("kernel '{}'{}{} code offset {:#x} ({}), workgroup ({}, {}, {}), wave {}: {}{}",
                       group.launch->kernel, source, source.empty() ? " at" : ",", pc, program.disassembly(pc),
                       group.id[0], group.id[1], group.id[2], wave.wave_in_group,
                       wave.fault ? *wave.fault : std::string(), isa::excerpt(line));
}

}  // namespace strata::emu
