#pragma once
#include <vector>

#include "strata/asm/isa/inst.h"

// Facts of an instruction beyond its operands for later stages: scheduling, waits, the timing model. The last columns
// of <family>.def.
namespace strata::isa {

/// Counters of outstanding operations, by the names of the instructions that wait for them.
/// RDNA3: vmcnt (loads, atomics with a result), vscnt, lgkmcnt, expcnt. CDNA: vmcnt, lgkmcnt, expcnt. RDNA4: the rest.
namespace counter {
constexpr uint16_t vmcnt = 1, vscnt = 2, lgkmcnt = 4, expcnt = 8, loadcnt = 16, storecnt = 32, samplecnt = 64,
                   bvhcnt = 128, dscnt = 256, kmcnt = 512;
}

/// Registers that are read or written without being operands. `destination`: what was in the destination matters,
/// because it is added to or some of its bits or lanes stay.
namespace implicit {
constexpr uint8_t m0 = 1, vcc = 2, scc = 4, exec = 8, flat_scratch = 16, mode = 32, destination = 64;
}

/// A row of latencies.def.
enum class LatencyClass : uint8_t {
#define LATENCY(latency, ...) latency,
#include "strata/asm/isa/latencies.def"
#undef LATENCY
};
struct LatencyInfo {
    std::string_view name;
    bool halves;  ///< a wave64 goes through RDNA's unit in two halves
};
inline constexpr LatencyInfo kLatencies[] = {
#define LATENCY(latency, name, halves) {name, halves},
#include "strata/asm/isa/latencies.def"
#undef LATENCY
};
constexpr const LatencyInfo& info(LatencyClass latency) { return kLatencies[static_cast<size_t>(latency)]; }
constexpr std::string_view name(LatencyClass latency) { return info(latency).name; }

/// Cycles are clocks, of a wave32 on RDNA and of a wave64 on CDNA.
struct Facts {
    uint16_t counters = 0;
    LatencyClass latency = LatencyClass::none;
    uint16_t issue = 0;             ///< until the unit takes the next instruction
    uint16_t result = 0;            ///< until a dependent instruction may issue; memory: with everything near and idle
    uint8_t reads = 0, writes = 0;  ///< implicit:: bits
};

/// A row of the family's own table has facts; another Row has those of "none".
const Facts& facts(Family family, const Row& row);

/// The counters of one instruction: those of its row and of the other half of a VOPD. Modifiers (returning atomics,
/// DPP, SDWA, half destinations, the LDS bit) add theirs.
uint16_t counters(Family family, const Inst& inst);
uint8_t implicit_reads(Family family, const Inst& inst);
uint8_t implicit_writes(Family family, const Inst& inst);

/// Clocks that the instruction holds its unit: a wave64 goes through RDNA's vector units twice.
int issue_cycles(Family family, const Facts& facts, int wave_size);
/// Passes of four clocks of a CDNA matrix instruction; 0 for any other.
int matrix_passes(Family family, const Facts& facts);

std::vector<std::string_view> counter_names(uint16_t counters);
std::vector<std::string_view> implicit_names(uint8_t registers);

}  // namespace strata::isa
