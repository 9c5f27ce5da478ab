#pragma once
#include <array>
#include <vector>

#include "strata/asm/emu/check/places.h"
#include "strata/asm/emu/check/touch.h"

namespace strata::emu {

/// The last accesses to the local memory of a workgroup: a race names the earlier one of the two by them.
class RecentAccesses {
  public:
    /// `apart`: bytes from a lane's first item to its second; 0: there is one.
    void add(const Op* op, const Places& places, int32_t apart, bool writes, Touch now);
    /// The access to a byte at `touch`; nullptr: several may be it, or none is known any more.
    const Op* find(uint32_t byte, bool writes, Touch touch) const;
    void clear() { count_ = 0; }

  private:
    struct Access {
        const Op* op;
        Touch now;
        int32_t first, end, bytes, apart;
        int count;  ///< of firsts; 0: it is known of the stretch alone that all bytes lie in it
        bool writes, is_solid;
        std::array<int32_t, 64> firsts;
        bool has(int32_t byte) const;
    };
    static constexpr size_t kMost = 128;
    std::vector<Access> accesses_;
    size_t count_ = 0;  ///< of all; the last kMost are there
};

}  // namespace strata::emu
