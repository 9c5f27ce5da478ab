#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "strata/asm/lint/access.h"
#include "strata/asm/lint/finding.h"
#include "strata/asm/lint/queues.h"

// Which operations of a wave may still be under way, and which registers they fill or read.
namespace strata::lint {

/// Operations that may be outstanding at a place of the code: on one path, or with join() on any of several.
///
/// An operation has ended once a wait lets through no more than began after it in its queue.
///
/// Barriers want no wait for DS instructions, on any arch. "LDS operations for all waves are executed in a total global
/// ordering as observed by all waves" (LLVM, SIMemoryLegalizer). WGP mode keeps that order. Threadgroup split mode has
/// no local memory (LLVM AMDGPUUsage, "Memory Model"). Loads to local memory that vmcnt counts have no such order:
/// emu/check/local_copies.h follows them to the access that needs their wait.
class Outstanding {
  public:
    explicit Outstanding(isa::Arch arch) : arch_(arch) {}
    /// The instruction runs: finds uses of what is under way, lets waits end what they cover, adds what it starts.
    void step(const Step& step, Findings& found);
    /// Adds what another path left; whether anything was new. Counters take the path that waited less.
    bool join(const Outstanding& other);
    /// True if nothing is under way, and the vector registers are there.
    bool idle() const { return operations_.empty() && !released_; }
    /// Everything has ended: functions wait for all when they are entered and before they return.
    void settle();
    bool operator==(const Outstanding&) const = default;

  private:
    struct Count {
        Counted by;           ///< no counter: waited for
        uint8_t younger = 0;  ///< of its queue in this counter, begun after it
        bool operator==(const Count&) const = default;
    };
    struct Operation {
        uint64_t pc = 0;
        const isa::Row* row = nullptr;
        std::array<Count, 2> counts{};
        Registers fills;
        std::array<Registers, 3> holds{};  ///< what it still reads, until an export is granted
        bool is_private_store = false;
        bool operator==(const Operation&) const = default;
    };

    bool wait(const isa::Inst& inst);
    void let_through(uint16_t counter, uint32_t count);
    void check_use(const Step& step, Findings& found);
    void check_release(const Step& step, Findings& found);
    void start(const Step& step);
    void mark();
    bool may_touch(const Registers& registers) const;
    bool ends_before(const Operation& operation, const isa::Inst& later) const;
    void report(Findings& found, const Step& step, const Operation& operation, Kind kind, std::string what) const;
    std::string wait_for(const Operation& operation) const;
    std::array<Count, 2> counts_of(const isa::Inst& inst, uint16_t counters) const;

    isa::Arch arch_;
    bool released_ = false;              ///< the vector registers were given back
    std::vector<Operation> operations_;  ///< by pc: of one instruction the last time it began
    std::array<uint64_t, 12> marks_{};   ///< a bit for each register that some operation fills or holds
};

}  // namespace strata::lint
