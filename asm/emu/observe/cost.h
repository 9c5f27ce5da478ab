#pragma once
#include <cstdint>
#include <vector>

#include "strata/asm/emu/observe/instrumented.h"
#include "strata/asm/emu/observe/loops.h"
#include "strata/asm/isa/facts.h"

namespace strata::emu {

/// Registers that an instruction touches: scalars by code, SCC as 128, vector registers from 256.
struct RegisterRange {
    uint16_t first = 0, count = 0;
};

/// The cost of an instruction, whatever its operands hold.
struct Cost {
    isa::LatencyClass unit = isa::LatencyClass::none;
    uint16_t issue = 0;        ///< cycles the wave cannot issue
    uint16_t busy = 0;         ///< cycles the unit is busy
    uint16_t latency = 1;      ///< cycles until the result may be read; memory adds its own
    bool matrix_core = false;  ///< runs beside the vector unit (CDNA)
    uint8_t sources = 0, results = 0;
    RegisterRange source[6], result[3];
    uint16_t loop = 0, enters = 0;  ///< of Loops: the innermost one; the one that may begin right after the op, or 0
    bool is_header = false;         ///< the first op of its loop
    bool is_watched = false;        ///< where a loop is left, or begins; barriers; accesses to memory
};
Cost cost_of(isa::Family family, const isa::Inst& inst, int wave_size);
/// Registers of a wave with `vgprs` vector registers, among them those that a CostTable names.
constexpr size_t registers_of_wave(int vgprs) { return 256 + static_cast<size_t>(vgprs) + 32; }

/// The costs of a program's instructions, and its loops.
class CostTable final : public Watch {
  public:
    explicit CostTable(const Program& program) : program_(program) {}
    const Cost& at(const Site& site) { return of(*site.chunk).costs[site.at]; }
    const Loops& loops(const Chunk& chunk) { return of(chunk).loops; }
    std::span<const uint8_t> watched(const Chunk& chunk) override { return of(chunk).watched; }

  private:
    struct OfChunk {
        std::vector<Cost> costs;  ///< by op
        Loops loops;
        std::vector<uint8_t> watched;  ///< by op
    };
    OfChunk& of(const Chunk& chunk) {
        return chunks_.get(chunk, [&] { return look_at(chunk); });
    }
    OfChunk look_at(const Chunk& chunk) const;
    std::vector<Cost> costs_of(const Chunk& chunk) const;

    const Program& program_;
    PerChunk<OfChunk> chunks_;
};

}  // namespace strata::emu
