#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "strata/asm/emu/machine/op.h"
#include "strata/asm/isa/inst.h"

// The seam between the emulator's core and its instruction handlers.
namespace strata::emu {

/// barrier: arrived at an s_barrier; split_barrier: in s_barrier_wait, until the workgroup's count of completed
/// barriers is another than Wave::barriers_passed. sleep: in s_sleep; global_wait: at a barrier or semaphore of GWS
/// that does not let it pass, which it asks again in its next turn.
enum class Stop : uint8_t { none, end, wait, barrier, fault, budget, split_barrier, sleep, global_wait };

/// The state of one wave. Vector registers follow the struct directly: row r is `lanes` dwords, 64-byte aligned.
struct alignas(64) Wave {
    static constexpr int kScalars = 132;  ///< by hardware code 0..127 (VCC 106, NULL 124, M0 125, EXEC 126), then:
    static constexpr int kTrash = 128;    ///< writes to NULL land here (code 124 always reads 0); two dwords
    static constexpr int kVccz = 130, kExecz = 131;  ///< VCC and EXEC compared with zero, computed before a reader
    uint32_t s[kScalars] = {};
    uint32_t scc = 0;
    uint32_t mode = 0;
    int lanes = 32;
    int vgprs = 0;
    Stop stop = Stop::none;
    const Op* pc = nullptr;         ///< where to go on
    const Op* run_start = nullptr;  ///< first op of the current straight run; leave() and jump() count it
    uint64_t executed = 0, budget = 0;
    uint64_t turn_start = 0;  ///< `executed` when its turn on the host's thread began
    // Global memory: allocations hit last, half-open. A memory Op keeps to one slot. Vector loads take those before
    // kScalarHits, scalar loads those after them; from kStoreHits on they hold writable allocations only.
    struct Hit {
        uint64_t low = ~0ull, high = ~0ull;  ///< test: address < low || address > high - bytes; none passes at first
        uint64_t bias = 0;                   ///< host address - device address
    };
    static constexpr int kHits = 10, kScalarHits = 5, kStoreHits = 7;
    Hit hits[kHits];
    uint8_t* lds = nullptr;
    uint32_t lds_size = 0;
    uint8_t* scratch = nullptr;  ///< this wave's scratch, lane-interleaved by dword
    uint32_t scratch_size = 0;   ///< bytes a lane
    struct Workgroup* group = nullptr;
    uint32_t wave_in_group = 0;
    uint32_t barriers_passed = 0, barriers_signalled = 0;  ///< split barriers: Workgroup::completed when last passed;
                                                           ///< one more than that when last signalled
    const Op* last = nullptr;                              ///< the op the wave stopped after, or faulted at
    std::string* fault = nullptr;                          ///< set by a handler through fail()

    uint32_t* row(int vgpr) {
        return reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(this) + sizeof(Wave)) + vgpr * lanes;
    }
    uint64_t exec() const { return lanes == 32 ? s[126] : s[126] | uint64_t{s[127]} << 32; }
    uint64_t vcc() const { return lanes == 32 ? s[106] : s[106] | uint64_t{s[107]} << 32; }
    static uint32_t scalar_place(int code);             ///< byte offset of scalar `code`
    static uint32_t vector_place(int vgpr, int lanes);  ///< byte offset of a vector row
};
static_assert(sizeof(Wave) % 64 == 0);

inline uint32_t Wave::scalar_place(int code) {
    return static_cast<uint32_t>(offsetof(Wave, s)) + 4u * static_cast<uint32_t>(code);
}
inline uint32_t Wave::vector_place(int vgpr, int lanes) {
    return static_cast<uint32_t>(sizeof(Wave) + 4u * static_cast<uint32_t>(vgpr * lanes));
}

/// MODE of gfx9: vector instructions add M0's index to register numbers; or do nothing; the depth of the fork stack.
constexpr uint32_t kGprIndex = 1u << 27, kVskip = 1u << 28, kForkDepth = 29;

// Aperture bases of flat addresses: bits 63:32 of an address in local and in private memory (AMDGPUUsage, "Flat").
constexpr uint32_t kSharedAperture = 0x00010000, kPrivateAperture = 0x00020000;

/// Where gfx9 code finds its wave's scratch by address: the base of the private segment buffer and of FLAT_SCRATCH. No
/// host address has this bit. Bytes from here on are those of Wave::scratch, lanes interleaved by dword.
constexpr uint64_t kScratchWindow = 1ull << 47;

/// Counts the straight run that ends with `op` and goes on at `next`.
inline void end_run(Wave* wave, const Op* op, const Op* next) {
    wave->executed += op->index - wave->run_start->index + 1;
    wave->run_start = next;
}

/// Leaves the wave after `op`; it will go on at `next`. For `return leave(...)`.
inline const Op* leave(Wave* wave, const Op* op, const Op* next, Stop stop) {
    end_run(wave, op, next);
    wave->pc = next;
    wave->last = op;
    wave->stop = stop;
    return nullptr;
}

/// Stops the wave with a fault: `text` says what happened; the core adds kernel, pc, disassembly and wave.
const Op* fail(Wave* wave, const Op* op, std::string text);

/// Instructions that the wave has run before `op`: the emulator's clock.
inline uint64_t clock_of(const Wave* wave, const Op* op) { return wave->executed + op->index - wave->run_start->index; }

/// The name under which the handlers know an instruction: RDNA3's where families spell one operation differently
/// (asm/isa/spellings.def), a handler's of aliases.def, else the mnemonic itself.
std::string_view handler_name(isa::Family family, std::string_view mnemonic);

/// One instruction of a program, as its chooser sees it.
struct Decoded {
    Decoded(const isa::Inst& inst_, isa::Arch arch_, int wave_size_, uint64_t after_ = 0, uint8_t hit_ = 0)
        : inst(inst_),
          arch(arch_),
          wave_size(wave_size_),
          after(after_),
          hit(hit_),
          name(handler_name(isa::info(arch_).family, inst_.row->mnemonic)) {}
    const isa::Inst& inst;
    isa::Arch arch;
    int wave_size;
    uint64_t after;         ///< address of the next instruction
    uint8_t hit;            ///< of Wave::hits, for a memory access
    std::string_view name;  ///< what the handlers call the instruction: handler_name() of its mnemonic
    isa::Family family() const { return isa::info(arch).family; }
};
/// The op of an instruction with all but its index; none: it is not implemented.
using Chooser = std::optional<Op> (*)(const Decoded&);

}  // namespace strata::emu
