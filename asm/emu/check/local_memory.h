#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "strata/asm/emu/check/moment.h"

namespace strata::emu {

class Registers;

/// Where a wave stands between its workgroup's barriers: how many it signalled and how many it passed. What one wave does
/// before its signal n happens before what another does once it passed n.
struct Progress {
    uint32_t signalled = 0, passed = 0;
};

/// The local memory of a workgroup, byte by byte: who wrote and read it since which barrier, and which bits come from what
/// was written. Bytes of a dword that are touched together are kept together.
class LocalMemory {
  public:
    LocalMemory(uint32_t bytes, uint32_t waves)
        : size_(bytes), dwords_((bytes + 3) / 4), known_(dwords_.size()), progress_(waves) {}
    void start();
    Progress& progress(const Wave& wave) { return progress_[wave.wave_in_group]; }
    const Progress& progress_of(size_t wave) const { return progress_[wave]; }
    /// A memory instruction about to run.
    void step(const Moment& moment, Registers& registers);

  private:
    enum class Way : uint8_t { load, store, atomic };
    struct Touch {
        uint32_t when = 0;  ///< the wave's signals then, counted over workgroups; 0: never
        uint16_t wave = 0;
        bool atomic = false, several = false;  ///< several: other waves read it too
        bool operator==(const Touch&) const = default;
    };
    struct Cell {
        Touch write, read;
        bool operator==(const Cell&) const = default;
    };
    /// One of the items of an access: the rows that it fills or comes from; -1: none.
    struct Item {
        Way way;
        uint32_t bytes;
        int loaded, stored;
    };

    static Way way_of(const MemoryFields& fields);
    bool races(const Touch& touch, const Moment& moment, Way way) const;
    void touch(const Moment& moment, uint32_t offset, Cell& cell, Way way, int lane);
    void touch(const Moment& moment, uint32_t offset, uint32_t bytes, Way way, int lane);
    bool all_known(uint32_t first, uint32_t bytes) const;
    void move(const Moment& moment, Registers& registers, int lane, const Item& item, uint32_t first);

    uint32_t size_;
    std::vector<Cell> dwords_;
    std::unordered_map<uint32_t, std::array<Cell, 4>> bytes_;  ///< of dwords whose bytes were touched one by one
    std::vector<uint32_t> known_;                              ///< bits, by dword
    std::vector<Progress> progress_;
    uint32_t base_ = 0;  ///< what happened up to here belongs to earlier workgroups
};

}  // namespace strata::emu
