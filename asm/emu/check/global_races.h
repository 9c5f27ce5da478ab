#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "strata/asm/emu/check/hand_over.h"
#include "strata/asm/emu/check/moment.h"

namespace strata::emu {

class DeviceMemory;

/// Which workgroups of a launch touched a byte of global memory, and whether an order between them is asked for.
///
/// An access of one workgroup comes before one of another if two things hold. The first workgroup released after its
/// access, and the other acquired after an atomic that came later: so the two may have spoken. Whether they did, of
/// that very memory, is not followed. One thread runs all workgroups.
class GlobalRaces {
  public:
    explicit GlobalRaces(const DeviceMemory& memory) : memory_(memory) {}
    /// A workgroup begins: its number here.
    uint32_t begin(const std::array<uint32_t, 3>& id);
    /// A memory instruction about to run; `released`: right after what releases.
    void access(const Moment& moment, uint32_t group, Atomic atomic, bool released);
    void hand_over(uint32_t group, HandOver what);

  private:
    /// Who touched some bytes: a workgroup, 0: nobody; when, in releases of the launch; where, and as what.
    struct Touch {
        uint32_t group = 0, when = 0;
        uint32_t place = 0;  ///< pc, whose lowest bits are the Atomic
        uint64_t pc() const { return place & ~3u; }
        Atomic atomic() const { return static_cast<Atomic>(place & 3); }
        bool operator==(const Touch&) const = default;
    };
    struct Cell {
        Touch write;
        std::array<Touch, 2> reads{};  ///< the last ones, of two workgroups
        bool operator==(const Cell&) const = default;
    };
    using Cells = std::array<Cell, 4>;
    struct Page {
        std::array<Cell, 1024> dwords{};
        std::unordered_map<uint32_t, Cells> bytes{};  ///< of dwords whose bytes are not touched together
    };
    struct Group {
        std::array<uint32_t, 3> id{};
        std::vector<uint32_t> releases{};
        uint32_t heard = 0, acquired = 0;
    };
    struct Now {
        const Moment& moment;
        Touch touch;
        bool writes = false;
    };

    bool races(const Touch& other, const Now& now) const;
    bool is_ordered(const Touch& other, uint32_t group) const;
    void lane(const Now& now, int lane, uint64_t address, uint32_t bytes);
    void touch(const Now& now, int lane, uint64_t address, Cell& cell);
    void report(const Now& now, int lane, uint64_t address, const Touch& other, bool other_writes);
    void tick();
    Page& page(uint64_t number);

    const DeviceMemory& memory_;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
    uint64_t last_number_ = ~0ull;
    Page* last_page_ = nullptr;
    std::vector<Group> groups_{1};
    uint32_t now_ = 1, last_heard_ = 0;
};

}  // namespace strata::emu
