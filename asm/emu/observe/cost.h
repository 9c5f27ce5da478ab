#pragma once
#include <cstdint>
#include <vector>

#include "strata/asm/emu/observe/instrumented.h"
#include "strata/asm/isa/facts.h"

namespace strata::emu {

/// Registers that an instruction touches: scalars by code, SCC as 128, vector registers from 256.
struct RegisterRange {
    uint16_t first = 0, count = 0;
};

/// What an instruction costs, whatever its operands hold.
struct Cost {
    isa::LatencyClass unit = isa::LatencyClass::none;
    uint16_t issue = 0;        ///< cycles the wave cannot issue
    uint16_t busy = 0;         ///< cycles the unit is busy
    uint16_t latency = 1;      ///< cycles until the result may be read; memory adds its own
    bool matrix_core = false;  ///< runs beside the vector unit (CDNA)
    uint8_t sources = 0, results = 0;
    RegisterRange source[6], result[3];
};
Cost cost_of(isa::Family family, const isa::Inst& inst, int wave_size);
/// How many a wave with so many vector registers has; what a CostTable names is among them.
constexpr size_t registers_of_wave(int vgprs) { return 256 + static_cast<size_t>(vgprs) + 32; }

/// The costs of a program's instructions.
class CostTable {
  public:
    explicit CostTable(const Program& program) : program_(program) {}
    const Cost& at(const Site& site) {
        return costs_.get(*site.chunk, [&] { return costs_of(*site.chunk); })[site.at];
    }

  private:
    std::vector<Cost> costs_of(const Chunk& chunk) const;  ///< by op

    const Program& program_;
    PerChunk<std::vector<Cost>> costs_;
};

}  // namespace strata::emu
