#pragma once
#include <array>
#include <cstdint>

#include "strata/asm/isa/inst.h"

namespace strata::lint {

/// Memory operations by what orders them. A counter tells how many operations are under way, not which. Operations of
/// one queue in one counter end in the order in which they began. Those of `scalar` and `flat` end in any order, so
/// only a wait for none is enough (RDNA3 ISA 5.6, CDNA3 ISA 4.4; LLVM's SIInsertWaitcnts).
enum class Queue : uint8_t { vector, private_store, image, local, global_share, message, export_, scalar, flat };
constexpr bool in_order(Queue queue) { return queue < Queue::scalar; }

/// An operation as one counter sees it.
struct Counted {
    uint16_t counter = 0;  ///< an isa::counter bit; 0: none
    Queue queue{};
    bool operator==(const Counted&) const = default;
};

/// How these counters count an instruction, the lowest first; FLAT raises two.
std::array<Counted, 2> counted(isa::Arch arch, const isa::Inst& inst, uint16_t counters);

}  // namespace strata::lint
