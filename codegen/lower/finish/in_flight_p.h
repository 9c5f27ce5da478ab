#pragma once
#include <array>
#include <vector>

#include "strata/asm/lint/access.h"
#include "strata/asm/lint/queues.h"

// The memory operations in flight at a place of the code, as insert_waits knows them.
namespace strata::codegen {

/// Counters by the number of their bit in isa::counter.
constexpr size_t kCounters = 10;
/// For each counter the most operations that may be under way; kNoWait: any number.
constexpr uint8_t kNoWait = 255;
using Waits = std::array<uint8_t, kCounters>;
constexpr Waits kNoWaits = [] {
    Waits waits{};
    waits.fill(kNoWait);
    return waits;
}();

using lint::Queue;

/// An operation as a counter sees it; FLAT raises two.
struct Begun {
    uint8_t counter = 0;
    Queue queue{};
    bool operator==(const Begun&) const = default;
};

/// Operations that may be under way: of one path, or with join() of any.
///
/// An ordered queue has at most n operations in flight if a counter is at most n, whatever else it counts. An operation
/// has therefore ended once a wait lets through no more than began after it in its queue.
class InFlight {
  public:
    explicit InFlight(isa::Arch arch) : arch_(arch) {}

    /// The waits that an instruction needs before it reads and writes its registers.
    Waits before(const isa::Inst& inst, const lint::Access& access) const;
    /// The waits after which no operation of these queues is in flight.
    Waits until_ended(std::initializer_list<Queue> queues) const;
    bool any(Queue queue, uint16_t counters) const;

    void wait(const Waits& waits);
    void begin(const isa::Inst& inst, const lint::Access& access);
    void join(const InFlight& other);
    bool operator==(const InFlight& other) const { return fills_ == other.fills_ && queues_ == other.queues_; }

  private:
    /// Registers that an operation fills.
    struct Fill {
        lint::Registers registers;
        Begun begun;
        uint8_t younger = 0;  ///< of its queue, begun after it
        bool operator==(const Fill&) const = default;
    };

    struct Begins {
        std::array<Begun, 2> all{};
        size_t count = 0;
        auto begin() const { return all.begin(); }
        auto end() const { return all.begin() + static_cast<std::ptrdiff_t>(count); }
    };
    Begins begun_by(const isa::Inst& inst, uint16_t counters) const;
    void add(const Fill& fill);

    isa::Arch arch_;
    std::vector<Fill> fills_;                   ///< in order of their registers
    std::array<uint16_t, kCounters> queues_{};  ///< bits of those from which some operation may be under way
};

}  // namespace strata::codegen
