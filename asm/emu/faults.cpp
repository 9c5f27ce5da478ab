#include <fmt/format.h>

#include "strata/asm/emu/memory_p.h"
#include "strata/asm/emu/program_p.h"
#include "strata/asm/emu/timing_p.h"
#include "strata/asm/emu/workgroup_p.h"
#include "strata/asm/object/line_table.h"

namespace strata::emu {
namespace {

std::string who(int lane, uint32_t bytes, Access access) {
    constexpr std::string_view verbs[] = {"reads", "writes", "updates"};
    std::string lanes = lane < 0 ? "the wave" : fmt::format("lane {}", lane);
    return fmt::format("{} {} {} bytes", lanes, verbs[static_cast<int>(access)], bytes);
}

/// " at file:line:column" of a byte offset in the code, where the code object has line tables.
std::string source_of(const Launch& launch, uint64_t pc) {
    if (!launch.object) return "";
    Result<isa::LineTable> lines = isa::LineTable::read(*launch.object);
    if (!lines) return "";
    const isa::SourceLine at = lines->find(launch.text_address + pc);
    if (at.file.empty()) return "";
    return at.column ? fmt::format(" at {}:{}:{}", at.file, at.line, at.column)
                     : fmt::format(" at {}:{}", at.file, at.line);
}

}  // namespace

const Op* fail(Wave* wave, const Op* op, std::string text) {
    wave->stop = Stop::fault;
    wave->last = op;
    wave->pc = op;
    if (wave->run_start) end_run(wave, op, op);
    if (wave->fault) *wave->fault = std::move(text);
    return nullptr;
}

const Op* fail_global(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, Access access) {
    const DeviceMemory& memory = *wave->group->launch->memory;
    const Allocation* at = memory.find(address, bytes);
    if (at)
        return fail(wave, op,
                    fmt::format("{} at {:#x}, which is read-only: {}", who(lane, bytes, access), address,
                                memory.describe(address, bytes)));
    return fail(wave, op,
                fmt::format("{} at {:#x}: {}", who(lane, bytes, access), address, memory.describe(address, bytes)));
}

const Op* fail_local(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, Access access) {
    return fail(wave, op,
                fmt::format("{} at byte {} of local memory (LDS), of which the workgroup has {} bytes",
                            who(lane, bytes, access), address, wave->lds_size));
}

const Op* fail_scratch(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, Access access) {
    return fail(wave, op,
                fmt::format("{} at byte {} of private memory (scratch), of which a lane has {} bytes",
                            who(lane, bytes, access), address, wave->scratch_size));
}

const Op* fail_alignment(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes) {
    return fail(
        wave, op,
        fmt::format("{} at {:#x}, which is not aligned to {}", who(lane, bytes, Access::atomic), address, bytes));
}

bool find_memory(const Wave* wave, uint64_t address, uint64_t bytes, bool store, Wave::Hit& hit) {
    for (int i = store ? Wave::kStoreHits : 0; i < Wave::kHits; ++i) {  // where another instruction met memory
        const Wave::Hit& other = wave->hits[i];
        if (address >= other.low && other.high >= bytes && address <= other.high - bytes) {
            hit = other;
            return true;
        }
    }
    const Allocation* at = wave->group->launch->memory->find(address, bytes);
    if (!at || (store && !at->writable)) return false;
    hit = {at->low, at->high, at->bias};
    return true;
}

const Op* code_at(Wave* wave, const Op* op, uint64_t address) {
    Program& program = *wave->group->launch->program;
    uint64_t offset = address - program.address();
    if (offset >= program.size())
        return fail(wave, op, fmt::format("jumps to {:#x}, which is no code of this module", address));
    Result<const Op*> to = program.at(offset);
    if (!to) return fail(wave, op, to.error().message);
    return wave->group->measured ? wave->group->measured->measured(*to) : *to;
}

std::string over_budget(uint64_t executed) {
    return fmt::format(
        "ran {} instructions without coming to its end; an endless loop? The budget of a wave is set by "
        "STRATA_EMU_BUDGET or max_instructions",
        executed);
}

std::string fault_message(const Wave& wave) {
    const Workgroup& group = *wave.group;
    const Op* op = wave.last;
    if (group.measured && op) op = group.measured->plain(op);
    const Program& program = *group.launch->program;
    uint64_t pc = op ? program.pc(op) : 0;
    const std::string source = source_of(*group.launch, pc);
    return fmt::format("kernel '{}'{}{} code offset {:#x} ({}), workgroup ({}, {}, {}), wave {}: {}",
                       group.launch->kernel, source, source.empty() ? " at" : ",", pc, program.disassembly(pc),
                       group.id[0], group.id[1], group.id[2], wave.wave_in_group,
                       wave.fault ? *wave.fault : std::string());
}

}  // namespace strata::emu
