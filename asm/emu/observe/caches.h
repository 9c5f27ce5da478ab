#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "strata/asm/emu/observe/model.h"

namespace strata::emu {

/// Memory that a launch used of one allocation.
struct Use {
    uint64_t low = 0;                ///< of the allocation
    uint64_t begin = 0, end = 0;     ///< of what was used, as addresses
    double bytes = 0, l2_bytes = 0;  ///< different ones; with those of each die's L2 that are another's too
    bool written = false;
};

/// The memory that earlier launches left in L2 and in the last-level cache. An allocation is there in full while
/// launches used no more bytes than the caches hold since its last use. Nothing of it is there beyond twice that many
/// bytes.
class Caches {
  public:
    /// Shares of memory that are there, `llc` in either cache.
    struct Held {
        uint64_t begin = 0, end = 0;
        double l2 = 0, llc = 0;
    };

    explicit Caches(const Model& model) : model_(&model) {}
    /// The bytes of an allocation that caches hold.
    Held held(uint64_t low) const;
    /// A launch has used these, all at about the same time.
    void use(std::span<const Use> uses);
    /// The share of a line that a cache of `mib` MiB still holds after uses of `since` bytes.
    static double kept(double mib, double since);

  private:
    struct Past {
        Use use;
        uint64_t launch = 0;
    };
    const Model* model_;
    std::vector<Past> uses_;  ///< an allocation once
    uint64_t launches_ = 0;
};

}  // namespace strata::emu
