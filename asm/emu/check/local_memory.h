#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/asm/emu/check/local_copies.h"
#include "strata/asm/emu/check/moment.h"
#include "strata/asm/emu/check/places.h"
#include "strata/asm/emu/check/recent.h"
#include "strata/asm/emu/check/touch.h"

namespace strata::emu {

class Registers;

/// Where a wave stands between its workgroup's barriers: how many it signalled and how many it passed. All that one
/// wave does before its signal n happens before all that another does once it passed n.
struct Progress {
    uint32_t signalled = 0, passed = 0;
};

/// The local memory of a workgroup, byte by byte: who wrote and read it since which barrier, and which bits come from
/// what was written. Bytes of a dword that are touched together are kept together; who read them is noted when somebody
/// asks.
class LocalMemory {
  public:
    LocalMemory(uint32_t bytes, uint32_t waves)
        : size_(bytes), written_((bytes + 3) / 4), read_(written_.size()), known_(written_.size()), progress_(waves) {}
    void start();
    Progress& progress(const Wave& wave) { return progress_[wave.wave_in_group]; }
    const Progress& progress_of(size_t wave) const { return progress_[wave]; }
    /// A memory instruction about to run.
    void step(const Moment& moment, Registers& registers);
    /// The same for an instruction of local memory whose data is known. False if it must be checked lane by lane; then
    /// nothing was noted.
    bool pass(Wave& wave, const Op& op);
    /// A load to local memory about to run. Its bytes may be touched once the wave has waited for it.
    void begin_copy(const Moment& moment);
    bool has_copies() const { return copies_.any(); }
    /// The wave is at an instruction while there are such loads.
    void step_copies(const Moment& moment);
    /// A wave signals its next barrier: the number of that one.
    uint32_t signal(const Wave& wave);

  private:
    enum class Way : uint8_t { load, store, atomic };
    static constexpr uint32_t kLatest = 0xfffffe;  ///< of `when`
    static constexpr size_t kMostLate = 1 << 15;
    static constexpr int32_t kMostKnown = 1 << 14, kKnownTries = 4;  ///< bytes at once, and how often between barriers
    static constexpr Touch kSplit = ~kAtomic;  ///< in place of a dword's: those of its bytes are in bytes_
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
        uint32_t shift;  ///< bits of the stored row below the item
    };
    /// One lane's access to contiguous bytes.
    struct Part {
        Way way;
        int lane;
        const uint8_t* stored;  ///< the bytes that the lane stores; nullptr: not known before
    };
    /// Bytes that lanes touch, one after the other.
    struct Extent {
        int32_t first, end;
    };
    /// A wave's read that no cell records yet: its places are extents if `bytes` is 0, else the starts of
    /// items.
    struct Late {
        Touch now;
        uint32_t count, bytes;
    };

    static Way way_of(const MemoryFields& fields);
    Now now(const Wave& wave) const {
        const Progress& progress = progress_[wave.wave_in_group];
        const Touch own = wave.wave_in_group << 2;
        return {static_cast<Touch>(base_ + progress.passed + 1) << kWhen, own,
                static_cast<Touch>(base_ + progress.signalled + 1) << kWhen | own};
    }
    bool races(Touch touch, const Moment& moment, Way way) const;
    static bool stores_what_is_there(const Wave& wave, uint32_t offset, uint32_t bytes, const Part& part);
    void report(const Moment& moment, uint32_t offset, const Cell& cell, Part part, bool with_write) const;
    bool touch(const Moment& moment, uint32_t offset, uint32_t bytes, Cell& cell, const Part& part, bool reported);
    void touch(const Moment& moment, uint32_t offset, uint32_t bytes, const Part& part);
    void forget(int64_t old);
    bool all_known(uint32_t first, uint32_t bytes) const;
    void move(const Moment& moment, Registers& registers, int lane, const Item& item, uint32_t first);

    void touch_copied(const Moment& moment, uint32_t first, int lane);
    void meet_copy(const Moment& moment, uint32_t first, uint32_t bytes, int lane, Way way) const;
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
    static int extents_of(const Places& places, Extent* extents);
    static int all_extents(const Places& places, int32_t apart, Extent* extents);
    bool are_known(const Places& places, int32_t apart) const;
    bool are_known(std::span<const Extent> extents) const;
    bool are_free(const Places& places, Way way, const Now& now) const;
    bool are_free(std::span<const Extent> extents, Way way, const Now& now) const;
    void note(const Places& places, Way way, const Now& now);
    void note(std::span<const Extent> extents, Way way, const Now& now);
    void note_bytes(const Places& places, const Now& now);
    void note_dwords(const Places& places, const Now& now);
    bool pass_loads(const Places& places, int32_t apart, bool near, const Now& now);
    bool pass_writes(const Places& places, int32_t apart, Way way, bool near, const Now& now);
    bool lies_known(int32_t first, int32_t end);
    void renew(const Now& now);
    void keep(std::span<const int32_t> places, uint32_t bytes, const Now& now);
    void catch_up();
    template <class OfPart, class OfWhole>
    static bool each(Extent extent, OfPart part, OfWhole whole);

    uint32_t size_;
    std::vector<Touch> written_, read_;  ///< by dword
    std::vector<Cells> bytes_;           ///< by dword; empty while no bytes were touched one by one
    std::vector<uint32_t> known_;        ///< bits, by dword
    std::vector<Progress> progress_;
    int32_t known_first_ = 0, known_end_ = 0;  ///< bytes that are known, from one place to the next
    int32_t known_tries_ = 0;
    Stretches read_lately_, written_lately_;
    RecentAccesses recent_;
    LocalCopies copies_;
    Touch latest_ = 0;                 ///< when the last access was
    std::vector<Late> lates_;          ///< reads that are not in read_ or bytes_, in their order
    std::vector<int32_t> late_bytes_;  ///< their places
    int64_t base_ = 0;                 ///< what happened up to here belongs to earlier workgroups
};

}  // namespace strata::emu
