#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "strata/asm/emu/machine/wave.h"
#include "strata/core/support/result.h"

namespace strata::isa {
class CodeObject;
}

namespace strata::emu {

class DeviceMemory;
class Program;
class Observer;
class GlobalShare;

/// MODE bits that gfx12 does not have: DX10_CLAMP always holds there and IEEE never. Handlers find them in Wave::mode.
constexpr uint32_t kFixedOnGfx12 = 0x300;
/// MODE as the handlers want it, from what the descriptor or the caller asks for.
constexpr uint32_t effective_mode(isa::Family family, uint32_t mode) {
    return family == isa::Family::rdna4 ? (mode & ~kFixedOnGfx12) | 0x100 : mode;
}

/// The code that the waves of a workgroup run: a program as it was decoded, or an instrumented copy of it.
class Code {
  public:
    /// The op at a device address, decoded on demand. The error says why there is none.
    virtual Result<const Op*> at_address(uint64_t address) = 0;
    /// The op of the program that an op of this code stands for.
    virtual const Op* plain(const Op* op) const = 0;

  protected:
    ~Code() = default;
};

/// State that the waves of one launch share.
struct Launch {
    const DeviceMemory* memory = nullptr;
    Program* program = nullptr;
    std::string kernel = {};
    const isa::CodeObject* object = nullptr;  ///< whose line tables tell where a fault comes from; may be null
    uint64_t text_address = 0;                ///< of the program within the object
    bool strict = true;   ///< local and scratch accesses out of range are faults; else they read 0 as in hardware
    uint64_t groups = 0;  ///< of the grid
    uint64_t most_groups = ~0ull;  ///< that the GPU holds at once
    bool alone = false;            ///< one host thread runs all workgroups
    std::atomic<bool> stop{false};
    std::shared_ptr<GlobalShare> global_share = {};  ///< GDS and GWS: made when an instruction that uses them is met
    std::once_flag global_share_once = {};
};

/// One workgroup while it runs.
struct Workgroup {
    Launch* launch = nullptr;
    std::array<uint32_t, 3> id{};
    uint32_t waves = 0, ended = 0, arrived = 0;  ///< of the barrier
    uint32_t signals = 0, completed = 0;         ///< of the split barrier: of this round; rounds done
    Code* code = nullptr;                        ///< that its waves run
    std::span<Observer* const> observers =
        {};                 ///< they see every instruction; if there are any, the code is instrumented
    bool in_turns = false;  ///< waves change at every wait, as in hardware
};

/// A wave signals the split barrier, or ends: the round is complete once all waves that have not ended signalled.
void check_split_barrier(Workgroup& group);

/// The op at a device address of code, decoded on demand; nullptr after fail().
const Op* code_at(Wave* wave, const Op* op, uint64_t address);

/// The allocation that holds an access enters `hit`; false if none does or a store meets read-only memory.
bool find_memory(const Wave* wave, uint64_t address, uint64_t bytes, bool store, Wave::Hit& hit);

/// Faults of one lane (-1: the whole wave, a scalar access).
enum class Access : uint8_t { load, store, atomic };
const Op* fail_global(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, Access access);
const Op* fail_local(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, Access access);
const Op* fail_scratch(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, Access access);
const Op* fail_alignment(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes);

}  // namespace strata::emu
