#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "strata/asm/emu/check/moment.h"

namespace strata::emu {

class Registers;

/// Where a wave stands between its workgroup's barriers: how many it signalled and how many it passed. What one wave does
/// before its signal n happens before what another does once it passed n.
struct Progress {
    uint32_t signalled = 0, passed = 0;
};

/// The local memory of a workgroup, byte by byte: who wrote and read it since which barrier, and whether anybody wrote it.
class LocalMemory {
  public:
    LocalMemory(uint32_t bytes, uint32_t waves) : cells_(bytes), known_(bytes), progress_(waves) {}
    void start();
    Progress& progress(const Wave& wave) { return progress_[wave.wave_in_group]; }
    const Progress& progress_of(size_t wave) const { return progress_[wave]; }
    /// A memory instruction about to run.
    void step(const Moment& moment, Registers& registers);

    enum class Way : uint8_t { load, store, atomic };

  private:
    struct Touch {
        uint32_t when = 0;  ///< the wave's signals then, counted over workgroups; 0: never
        uint16_t wave = 0;
        bool atomic = false, several = false;  ///< several: other waves read it too
    };
    struct Cell {
        Touch write, read;
    };
    void touch(const Moment& moment, uint32_t offset, Way way, int lane);
    bool races(const Touch& touch, uint32_t wave, uint32_t passed, Way way) const;
    uint8_t& known(uint32_t offset);
    void move(const Moment& moment, Registers& registers, int lane, int item, uint32_t first);

    std::vector<Cell> cells_;
    std::vector<uint8_t> known_;  ///< bits of a byte that come from what was written
    std::vector<Progress> progress_;
    uint32_t base_ = 0;  ///< what happened up to here belongs to earlier workgroups
};

}  // namespace strata::emu
