#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "strata/asm/isa/inst.h"

// The seam between the emulator's core and its instruction handlers.
namespace strata::emu {

struct Wave;
struct Op;

/// A handler executes one decoded instruction and returns the next one, or nullptr to leave the wave (its end, a wait,
/// a barrier, a fault: Wave::stop tells). Where the compiler guarantees tail calls a handler calls the next one itself.
using Handler = const Op* (*)(Wave*, const Op*);

#if defined(__clang__)
#define STRATA_EMU_GOTO(target)                                           \
    do {                                                                  \
        const ::strata::emu::Op* strata_next_ = (target);                 \
        [[clang::musttail]] return strata_next_->run(wave, strata_next_); \
    } while (0)
#else
#define STRATA_EMU_GOTO(target) return (target)
#endif
/// Ends a handler whose parameters are named `wave` and `op`.
#define STRATA_EMU_NEXT STRATA_EMU_GOTO(op + 1)

/// One instruction ready to run: 64 bytes, operands resolved to places.
/// A source place is a byte offset from the Wave for registers (vector rows and scalars alike), or, with the bit in
/// `constant`, an index into `value`. `uniform` bit i: source i is one dword for all lanes (scalar register or
/// constant).
struct alignas(64) Op {
    Handler run = nullptr;
    uint32_t dst = 0, dst2 = 0;   ///< byte offset from the Wave
    uint32_t src[3] = {0, 0, 0};  ///< byte offset from the Wave, or index into value
    uint8_t uniform = 0, constant = 0;
    uint8_t neg = 0, abs = 0;  ///< VOP3 source modifiers
    uint8_t op_sel = 0, op_sel_hi = 0, neg_hi = 0;
    uint8_t omod_clamp = 0;            ///< bits 0-1 omod, bit 2 clamp
    uint32_t value[4] = {0, 0, 0, 0};  ///< constants of src0..2 (64-bit ones take two), or the handler's own use
    uint32_t imm = 0;                  ///< simm16, memory offset, branch distance in Ops, ...
    uint32_t index = 0;                ///< ordinal of the instruction in its Chunk; differences count instructions
    uint32_t aux = 0;                  ///< the handler's own use
};
static_assert(sizeof(Op) == 64);

/// barrier: arrived at an s_barrier; split_barrier: in s_barrier_wait, until the workgroup's count of completed
/// barriers is another than Wave::barriers_passed.
enum class Stop : uint8_t { none, end, wait, barrier, fault, budget, split_barrier };

/// The state of one wave. Vector registers follow the struct directly: row r is `lanes` dwords, 64-byte aligned.
struct alignas(64) Wave {
    static constexpr int kScalars = 136;   ///< by hardware code 0..127 (VCC 106, NULL 124, M0 125, EXEC 126), then:
    static constexpr int kTrash = 128;     ///< writes to NULL land here (code 124 always reads 0); two dwords
    static constexpr int kComputed = 130;  ///< operands computed just before an instruction that reads them: 130..133
    static constexpr int kVccz = 134, kExecz = 135;  ///< VCC and EXEC compared with zero, computed likewise
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
    // Global memory: allocations hit last, half-open. A memory Op keeps to one slot; those from kStoreHits on hold
    // writable allocations only.
    struct Hit {
        uint64_t low = ~0ull, high = 0;  ///< test: address < low || address > high - bytes
        uint64_t bias = 0;               ///< host address - device address
    };
    static constexpr int kHits = 8, kStoreHits = 5;
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

/// The handler's view of one source: 32 bits of a uniform source, wherever it lives.
inline uint32_t uniform_source(const Wave* wave, const Op* op, int i) {
    const char* place = (op->constant >> i & 1) ? reinterpret_cast<const char*>(op->value + op->src[i])
                                                : reinterpret_cast<const char*>(wave) + op->src[i];
    return *reinterpret_cast<const uint32_t*>(place);
}

/// Stops the wave with a fault: `text` says what happened; the core adds kernel, pc, disassembly and wave.
const Op* fail(Wave* wave, const Op* op, std::string text);

/// Instructions that the wave has run before `op`: the emulator's clock.
inline uint64_t clock_of(const Wave* wave, const Op* op) { return wave->executed + op->index - wave->run_start->index; }

/// The name under which the handlers know an instruction: RDNA3's where families spell one operation differently
/// (aliases.def), else the mnemonic itself.
std::string_view handler_name(isa::Family family, std::string_view mnemonic);

/// Filled by the core before a handler is chosen: operands of `inst` are resolved into `op` already; the chooser
/// returns the handler and may change `op` for its own use. nullptr: this instruction is not implemented.
struct Choice {
    Choice(const isa::Inst& inst_, isa::Arch arch_, int wave_size_, Op& op_)
        : inst(inst_),
          arch(arch_),
          wave_size(wave_size_),
          op(op_),
          name(handler_name(isa::info(arch_).family, inst_.row->mnemonic)) {}
    const isa::Inst& inst;
    isa::Arch arch;
    int wave_size;
    Op& op;
    std::string_view name;  ///< what the handlers call the instruction: handler_name() of its mnemonic
    isa::Family family() const { return isa::info(arch).family; }
};
using Chooser = Handler (*)(const Choice&);

}  // namespace strata::emu
