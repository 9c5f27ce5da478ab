#pragma once
#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "strata/asm/emu/observe/cost.h"

namespace strata::emu {

/// Records of one measured workgroup that the profile of a launch needs beyond its demands.
class GroupProfile {
  public:
    struct OfOp {
        uint64_t runs = 0;
        double stalled = 0, longest = 0, lines = 0, conflicts = 0;
        const Op* waited_for = nullptr;  ///< in the longest stall
    };
    /// One instruction of a wave: when the wave came to it, when it issued, what it asked of the memories.
    struct Step {
        uint32_t wave = 0;
        const Op* op = nullptr;
        double arrived = 0, issued = 0, lines = 0, conflicts = 0;
    };

    struct Stall {
        double from = 0, to = 0;
        const Op* op = nullptr;
    };
    struct Span {
        double end = 0;
        std::vector<Stall> stalls = {};  ///< the first of the longer ones
    };

    GroupProfile(size_t waves, size_t registers)
        : writers_(waves, std::vector<const Op*>(registers)), spans_(waves), last_(waves) {}

    /// `ready`: by register, until when the wave waited for it.
    void add(const Step& step, const Cost& cost, std::span<const double> ready);
    /// Bytes of a line of memory, whose allocation is the upper part of the number.
    void touched(uint64_t line, uint64_t offset, uint64_t bytes, bool reads, bool writes);

    const std::unordered_map<const Op*, OfOp>& ops() const { return ops_; }
    const std::vector<Span>& spans() const { return spans_; }
    /// Different bytes that were read, and those that were written, by allocation.
    std::vector<std::array<double, 2>> distinct_bytes(size_t allocations) const;

    static constexpr uint64_t kLine = 128;
    static constexpr int kAllocationBit = 40;

  private:
    const Op* culprit(const Step& step, const Cost& cost, std::span<const double> ready) const;

    std::unordered_map<const Op*, OfOp> ops_;
    std::vector<std::vector<const Op*>> writers_;                            ///< by wave and register
    std::vector<Span> spans_;                                                ///< by wave
    std::vector<const Op*> last_;                                            ///< by wave: what it issued
    std::unordered_map<uint64_t, std::array<std::bitset<kLine>, 2>> lines_;  ///< read, written
};

}  // namespace strata::emu
