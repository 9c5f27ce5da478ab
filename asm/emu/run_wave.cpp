#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "strata/asm/emu/gpu_p.h"

// One wave on its own, without a code object: its registers come from the caller and go back to it.
namespace strata::emu {
namespace {

struct FreeDeleter {
    void operator()(void* p) const { std::free(p); }
};

constexpr int kVgprs = 256;

/// Memory of the wave: the struct and its 256 rows.
std::unique_ptr<Wave, FreeDeleter> make_wave(int lanes) {
    size_t bytes = sizeof(Wave) + sizeof(uint32_t) * kVgprs * static_cast<size_t>(lanes);
    void* at = std::aligned_alloc(alignof(Wave), bytes);
    if (!at) throw std::bad_alloc();
    memset(at, 0, bytes);
    return std::unique_ptr<Wave, FreeDeleter>(new (at) Wave());
}

void load_state(Wave& wave, const WaveRun& run, int lanes) {
    wave.lanes = lanes;
    wave.vgprs = kVgprs;
    size_t count = std::min(run.vgpr.size(), static_cast<size_t>(kVgprs * lanes));
    std::copy_n(run.vgpr.begin(), count, wave.row(0));
    std::ranges::copy(run.sgpr, wave.s);
    wave.s[106] = static_cast<uint32_t>(run.vcc);
    wave.s[107] = static_cast<uint32_t>(run.vcc >> 32);
    wave.s[125] = run.m0;
    wave.s[126] = static_cast<uint32_t>(run.exec);
    wave.s[127] = static_cast<uint32_t>(run.exec >> 32);
    wave.scc = run.scc;
    wave.mode = run.mode;
    wave.lds_size = static_cast<uint32_t>(run.lds.size());
    wave.scratch_size = run.scratch;
}

void store_state(Wave& wave, WaveRun& run, int lanes) {
    run.vgpr.assign(wave.row(0), wave.row(0) + kVgprs * lanes);
    std::copy_n(wave.s, run.sgpr.size(), run.sgpr.begin());
    run.vcc = wave.vcc();
    run.exec = wave.exec();
    run.m0 = wave.s[125];
    run.scc = wave.scc != 0;
    run.mode = wave.mode;
    run.instructions = wave.executed;
}

constexpr uint64_t kCodeAddress = 1ull << 44;  // above any mapping a caller makes up
constexpr uint64_t kQuantum = 1u << 16;

/// Runs the wave to its end; waits and barriers of a lone wave are passed at once.
Result<void> run_to_end(Wave& wave, uint64_t budget) {
    for (;;) {
        wave.budget = std::min(wave.executed + kQuantum, budget);
        wave.stop = Stop::none;
        wave.run_start = wave.pc;
        for (const Op* op = wave.pc; op;) op = op->run(&wave, op);
        if (wave.stop == Stop::end) return {};
        if (wave.stop == Stop::fault) return Error{ErrorKind::MemoryFault, fault_message(wave)};
        if (wave.stop == Stop::budget && wave.executed >= budget) {
            *wave.fault =
                "ran " + std::to_string(wave.executed) + " instructions without coming to its end; an endless loop?";
            return Error{ErrorKind::Launch, fault_message(wave)};
        }
    }
}

}  // namespace

Result<void> run_wave(isa::Arch arch, std::span<const uint8_t> code, WaveRun& run) {
    if (isa::info(arch).family != isa::Family::rdna3)
        return make_error(ErrorKind::Unsupported, "the emulator does not run {} yet", isa::info(arch).name);
    if (run.wave_size != 32 && run.wave_size != 64)
        return make_error(ErrorKind::Usage, "wave_size is {}; it is 32 or 64", run.wave_size);
    const int lanes = run.wave_size;
    DeviceMemory memory(0);
    for (WaveRun::Mapping& mapping : run.memory) {
        if (mapping.bytes.empty()) continue;
        if (memory.overlaps(mapping.address, mapping.bytes.size()))
            return make_error(ErrorKind::Usage, "two mappings overlap at {:#x}", mapping.address);
        memory.map(mapping.address, mapping.bytes.data(), mapping.bytes.size(), "memory");
    }
    // s_endpgm follows, so that code without its own end stops there.
    std::vector<uint32_t> words((code.size() + 3) / 4 + 1, 0xbfb00000);
    if (!code.empty()) memcpy(words.data(), code.data(), code.size() / 4 * 4);
    Program program(arch, lanes, kVgprs, std::span(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4),
                    kCodeAddress);
    STRATA_TRY(const Op* entry, program.entry(0));

    Launch launch;
    launch.memory = &memory;
    launch.program = &program;
    launch.kernel = "wave";
    launch.strict = false;
    Workgroup group;
    group.launch = &launch;
    group.waves = 1;
    auto wave = make_wave(lanes);
    load_state(*wave, run, lanes);
    std::vector<uint8_t> scratch((size_t{run.scratch} + 3) / 4 * 4 * static_cast<size_t>(lanes) + 128);
    std::string fault;
    wave->lds = run.lds.data();
    wave->scratch = scratch.data() + (-reinterpret_cast<uintptr_t>(scratch.data()) & 127);  // rows are aligned
    wave->group = &group;
    wave->fault = &fault;
    wave->pc = entry;
    Result<void> result = run_to_end(*wave, run.max_instructions);
    store_state(*wave, run, lanes);
    run.pc = wave->last ? program.pc(wave->last) : 0;
    return result;
}

}  // namespace strata::emu
