#include "strata/asm/emu/run_wave.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>

#include "strata/asm/emu/launch/abi.h"
#include "strata/asm/emu/launch/faults.h"
#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/program/program.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/interrupt.h"

// One wave on its own, without a code object: its registers come from the caller and go back to it.
namespace strata::emu {
namespace {

constexpr uint64_t kCodeAddress = 1ull << 44;  // above any mapping a caller makes up
constexpr uint64_t kQuantum = 1u << 16;
constexpr int kAccumOffset = 256;      // both vector files whole, one after the other
constexpr size_t kKeptPrograms = 256;  // decoded code a thread keeps

/// Memory of a wave and its rows, used again by every call of a thread.
class WaveMemory {
  public:
    WaveMemory() = default;
    ~WaveMemory() { std::free(memory_); }
    WaveMemory(const WaveMemory&) = delete;

    Wave& fresh(int rows, int lanes) {
        const size_t bytes = sizeof(Wave) + sizeof(uint32_t) * static_cast<size_t>(rows * lanes);
        if (bytes > bytes_) {
            std::free(memory_);
            bytes_ = 0;
            memory_ = std::aligned_alloc(alignof(Wave), bytes);
            if (!memory_) throw std::bad_alloc();
            bytes_ = bytes;
        }
        return *new (memory_) Wave();
    }

  private:
    void* memory_ = nullptr;
    size_t bytes_ = 0;
};

/// Decoded code with its bytes.
struct KeptProgram {
    isa::Arch arch;
    std::vector<uint32_t> words;
    std::unique_ptr<Program> program;
};

uint32_t end_of_program(isa::Arch arch) {
    const isa::Family family = isa::info(arch).family;
    return isa::is_cdna(family) ? 0xbf810000 : 0xbfb00000;
}

int rows_of(isa::Arch arch) { return isa::info(arch).max_vgprs; }

/// The decoded form of `code`, from the thread's store if it was run before. s_endpgm follows the code, so that code
/// without its own end stops there.
Program& program_of(isa::Arch arch, int lanes, std::span<const uint8_t> code) {
    thread_local std::unordered_multimap<uint64_t, KeptProgram> kept;
    thread_local std::vector<uint32_t> words;
    words.assign(code.size() / 4 + 1, end_of_program(arch));
    if (!code.empty()) memcpy(words.data(), code.data(), code.size());
    uint64_t hash = hash_mix(static_cast<uint64_t>(arch), static_cast<uint64_t>(lanes));
    for (uint32_t word : words) hash = hash_mix(hash, word);
    for (auto [it, end] = kept.equal_range(hash); it != end; ++it)
        if (it->second.arch == arch && it->second.program->wave_size() == lanes && it->second.words == words)
            return *it->second.program;
    if (kept.size() >= kKeptPrograms) kept.clear();
    KeptProgram& fresh = kept.emplace(hash, KeptProgram{arch, words, nullptr})->second;
    fresh.program = std::make_unique<Program>(
        arch, lanes, rows_of(arch), kAccumOffset,
        std::span(reinterpret_cast<const uint8_t*>(fresh.words.data()), fresh.words.size() * 4), kCodeAddress);
    return *fresh.program;
}

void load_state(Wave& wave, WaveRun& run, int rows, int lanes) {
    wave.lanes = lanes;
    wave.vgprs = rows;
    const size_t size = static_cast<size_t>(rows * lanes), count = std::min(run.vgpr.size(), size);
    std::copy_n(run.vgpr.begin(), count, wave.row(0));
    std::fill_n(wave.row(0) + count, size - count, 0u);
    std::ranges::copy(run.sgpr, wave.s);
    wave.s[isa::code::vcc_lo] = static_cast<uint32_t>(run.vcc);
    wave.s[isa::code::vcc_hi] = static_cast<uint32_t>(run.vcc >> 32);
    wave.s[isa::code::m0] = run.m0;
    wave.s[isa::code::exec_lo] = static_cast<uint32_t>(run.exec);
    wave.s[isa::code::exec_hi] = static_cast<uint32_t>(run.exec >> 32);
    wave.scc = run.scc;
    wave.lds_size = static_cast<uint32_t>(run.lds.size());
    wave.lds = run.lds.data();
    wave.scratch_size = run.scratch;
}

void store_state(Wave& wave, WaveRun& run, int rows, int lanes) {
    run.vgpr.assign(wave.row(0), wave.row(0) + rows * lanes);
    std::copy_n(wave.s, run.sgpr.size(), run.sgpr.begin());
    run.vcc = wave.vcc();
    run.exec = wave.exec();
    run.m0 = wave.s[isa::code::m0];
    run.scc = wave.scc != 0;
    run.instructions = wave.executed;
}

/// Runs the wave to its end; waits and barriers of a lone wave are passed at once.
Result<void> run_to_end(Wave& wave, uint64_t budget) {
    for (;;) {
        poll_interrupt();
        wave.budget = std::min(wave.executed + kQuantum, budget);
        wave.turn_start = wave.executed;
        wave.stop = Stop::none;
        wave.run_start = wave.pc;
        for (const Op* op = wave.pc; op;) op = op->run(&wave, op);
        if (wave.stop == Stop::end) return {};
        if (wave.stop == Stop::split_barrier) {
            fail(&wave, wave.last, "waits at a barrier that it has not signalled");
            return Error{ErrorKind::Launch, fault_message(wave)};
        }
        if (wave.stop == Stop::fault) return Error{ErrorKind::MemoryFault, fault_message(wave)};
        const bool waits = wave.stop == Stop::budget || wave.stop == Stop::global_wait;
        if (waits && wave.executed >= budget) {
            *wave.fault = over_budget(wave.executed);
            return Error{ErrorKind::Launch, fault_message(wave)};
        }
    }
}

/// Checks that the device has the registers and the memory that one wave asks for.
Result<void> check_sizes(const isa::ArchInfo& arch, std::span<const uint8_t> code, const WaveRun& run) {
    if (code.size() % 4)
        return make_error(ErrorKind::Usage, "the code is {} bytes long; instructions are whole words of 4 bytes",
                          code.size());
    if (run.lds.size() > static_cast<size_t>(arch.lds_bytes))
        return make_error(ErrorKind::Usage, "{} bytes of local memory; a workgroup of {} has at most {}",
                          run.lds.size(), arch.name, arch.lds_bytes);
    if (run.scratch > most_scratch(arch, run.wave_size))
        return make_error(ErrorKind::Usage, "{} bytes of scratch a lane; a wave of {} lanes of {} has at most {}",
                          run.scratch, run.wave_size, arch.name, most_scratch(arch, run.wave_size));
    return {};
}

}  // namespace

Result<void> run_wave(isa::Arch arch, std::span<const uint8_t> code, WaveRun& run) {
    if (run.wave_size != 32 && run.wave_size != 64)
        return make_error(ErrorKind::Usage, "wave_size is {}; it is 32 or 64", run.wave_size);
    const isa::Family family = isa::info(arch).family;
    if (run.wave_size < isa::info(arch).wave_size)
        return make_error(ErrorKind::Usage, "wave_size is 32; the waves of {} have 64 lanes", isa::info(arch).name);
    STRATA_TRY_VOID(check_sizes(isa::info(arch), code, run));
    const int lanes = run.wave_size, rows = rows_of(arch);
    DeviceMemory memory(0);
    for (WaveRun::Mapping& mapping : run.memory) {
        if (mapping.bytes.empty()) continue;
        if (memory.overlaps(mapping.address, mapping.bytes.size()))
            return make_error(ErrorKind::Usage, "two mappings overlap at {:#x}", mapping.address);
        memory.map(mapping.address, mapping.bytes.data(), mapping.bytes.size(), "memory");
    }
    Program& program = program_of(arch, lanes, code);
    STRATA_TRY(const Op* entry, program.entry(0));

    Launch launch;
    launch.memory = &memory;
    launch.program = &program;
    launch.kernel = "wave";
    launch.strict = false;
    launch.alone = true;
    Workgroup group;
    group.launch = &launch;
    group.waves = 1;
    group.code = &program;
    thread_local WaveMemory wave_memory;
    Wave& wave = wave_memory.fresh(rows, lanes);
    load_state(wave, run, rows, lanes);
    wave.mode = effective_mode(family, run.mode);
    std::vector<uint8_t> scratch((size_t{run.scratch} + 3) / 4 * 4 * static_cast<size_t>(lanes) + 128);
    std::string fault;
    wave.scratch = scratch.data() + (-reinterpret_cast<uintptr_t>(scratch.data()) & 127);  // rows are aligned
    wave.group = &group;
    wave.fault = &fault;
    wave.pc = entry;
    Result<void> result = run_to_end(wave, run.max_instructions);
    store_state(wave, run, rows, lanes);
    run.mode = family == isa::Family::rdna4 ? wave.mode & ~kFixedOnGfx12 : wave.mode;
    run.pc = wave.last ? program.pc(wave.last) : 0;
    return result;
}

}  // namespace strata::emu
