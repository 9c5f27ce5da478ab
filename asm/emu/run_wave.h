#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/asm/isa/arch.h"
#include "strata/core/support/result.h"

namespace strata::emu {

/// One wave as a workgroup of its own: the unit test of single instructions.
struct WaveRun {
    /// [256][lanes], row-major. gfx942 and gfx90a have [512][lanes]: v0 to v255, then a0 to a255. A shorter vector sets
    /// the first rows, the others are 0; the result has all.
    std::vector<uint32_t> vgpr;
    std::array<uint32_t, 106> sgpr{};
    uint64_t exec = ~0ull, vcc = 0;
    bool scc = false;
    /// As kernels start that clang compiles: round to nearest, all denormals kept, IEEE, clamp makes NaN zero. gfx1201
    /// has no bits for the latter two, and starts and ends with 0xf0.
    uint32_t m0 = 0, mode = 0x3f0;
    std::vector<uint8_t> lds;  ///< size = LDS bytes
    uint32_t scratch = 0;      ///< bytes a lane
    struct Mapping {
        uint64_t address;
        std::span<uint8_t> bytes;
    };
    std::vector<Mapping> memory;  ///< changed in place
    int wave_size = 32;
    uint64_t max_instructions = 1'000'000;
    // results
    uint64_t instructions = 0;
    uint64_t pc = 0;  ///< byte offset of the last instruction
};
Result<void> run_wave(isa::Arch arch, std::span<const uint8_t> code, WaveRun& run);

}  // namespace strata::emu
