#pragma once
#include <array>
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

/// The local memory of a workgroup, byte by byte: who wrote and read it since which barrier, and which bits come from what
/// was written. Bytes of a dword that are touched together are kept together.
class LocalMemory {
  public:
    LocalMemory(uint32_t bytes, uint32_t waves)
        : size_(bytes), written_((bytes + 3) / 4), read_(written_.size()), known_(written_.size()), progress_(waves) {}
    void start();
    Progress& progress(const Wave& wave) { return progress_[wave.wave_in_group]; }
    const Progress& progress_of(size_t wave) const { return progress_[wave]; }
    /// A memory instruction about to run.
    void step(const Moment& moment, Registers& registers);
    /// The same of an instruction of local memory whose data is known: false if it must be looked at lane by lane, and nothing was noted.
    bool pass(Wave& wave, const Op& op);
    /// A wave signals its next barrier: the number of that one.
    uint32_t signal(const Wave& wave);

  private:
    enum class Way : uint8_t { load, store, atomic };
    /// Who touched some bytes last: the wave's signals then, counted over workgroups (0: never), above the wave and flags.
    using Touch = uint32_t;
    static constexpr uint32_t kWhen = 8, kWaveBits = 0xfc, kSeveral = 2, kAtomic = 1;
    static constexpr uint32_t kLatest = 0xfffffe;  ///< of `when`
    static constexpr Touch kSplit = ~kAtomic;      ///< in place of a dword's: those of its bytes are in bytes_
    struct Cell {
        Touch write = 0, read = 0;
    };
    /// The bytes of a dword.
    using Touches = uint32_t __attribute__((vector_size(16)));
    struct Cells {
        Touches write{}, read{};
    };
    /// One of the items of an access: the rows that it fills or comes from; -1: none.
    struct Item {
        Way way;
        uint32_t bytes;
        int loaded, stored;
    };
    /// Bytes that lanes touch, one after the other.
    struct Extent {
        int32_t first, end;
    };
    struct Places;
    /// What touches are compared with, of the wave at hand.
    struct Now {
        Touch since, own, now;
    };

    static Way way_of(const MemoryFields& fields);
    Now now(const Wave& wave) const;
    bool races(Touch touch, const Moment& moment, Way way) const;
    bool touch(const Moment& moment, uint32_t offset, Cell& cell, Way way, int lane, bool told);
    void touch(const Moment& moment, uint32_t offset, uint32_t bytes, Way way, int lane);
    void forget(int64_t old);
    bool all_known(uint32_t first, uint32_t bytes) const;
    void move(const Moment& moment, Registers& registers, int lane, const Item& item, uint32_t first);

    Cells& split(size_t dword);
    static bool is_free(const Cell& cell, Way way, const Now& now);
    static Touches wrong_of(const Cells& cells, Way way, const Now& now);
    static void note_where(Cells& cells, const Touches& in_mask, Way way, const Now& now);
    Cells four_from(size_t first) const;
    static bool are_together(const Cells& four);
    static bool are_free(const Cells& cells, uint32_t mask, Way way, const Now& now);
    static void note(Cell& cell, Way way, const Now& now);
    static void note(Cells& cells, uint32_t mask, Way way, const Now& now);
    bool part_is_free(size_t dword, uint32_t mask, Way way, const Now& now) const;
    void note_part(size_t dword, uint32_t mask, Way way, const Now& now);
    bool are_free(size_t first, size_t end, Way way, const Now& now) const;
    void note_all(size_t first, size_t end, Way way, const Now& now);
    void unite(size_t dword, const Cells& cells);
    bool pass_bytes(const Places& places, Way way, const Now& now);
    bool pass_dwords(const Places& places, Way way, const Now& now);
    bool pass_extents(std::span<const Extent> extents, Way way, const Now& now);
    template <class Part, class Whole>
    static bool each(Extent extent, Part part, Whole whole);

    uint32_t size_;
    std::vector<Touch> written_, read_;  ///< by dword
    std::vector<Cells> bytes_;           ///< by dword; empty while no bytes were touched one by one
    std::vector<uint32_t> known_;        ///< bits, by dword
    std::vector<Progress> progress_;
    int64_t base_ = 0;  ///< what happened up to here belongs to earlier workgroups
};

}  // namespace strata::emu
