// licm: loop-invariant code motion. Values that a loop does not change are computed before it.
// Before:  r0:                                      After:      v_lshlrev_b32 %v3, 2, %v2
//              v_lshlrev_b32 %v3, 2, %v2                    r0:
//              global_load_b128 %v4, %v3, %s6                   global_load_b128 %v4, %v3, %s6
// Inner loops first, so that a value may leave several. Each loop gives away a few registers' worth at most.
#include <algorithm>
#include <array>

#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/unique_defs.h"

namespace strata::codegen {
namespace {

constexpr int kMost = 24;  // dwords of each bank that leave a loop

struct Loop {
    uint32_t first, last;  // blocks
};

/// Inner ones first.
std::vector<Loop> loops_of(const MachineFunction& function) {
    std::vector<Loop> found;
    for (uint32_t b = 0; b < function.blocks.size(); ++b)
        for (const Instruction& instruction : function.blocks[b].code)
            if (is_branch(instruction) && instruction.target <= b && instruction.target > 0)
                found.push_back({instruction.target, b});
    std::ranges::sort(found, {}, [](const Loop& loop) { return std::pair(loop.last - loop.first, loop.first); });
    return found;
}

class Hoist {
  public:
    explicit Hoist(MachineFunction& function) : function_(function), values_(function) {}

    void run(const std::vector<Loop>& loops) {
        for (const Loop& loop : loops) leave(loop);
    }

  private:
    void leave(const Loop& loop) {
        std::vector<Instruction>& before = function_.blocks[loop.first - 1].code;
        if (!before.empty() && is_branch(before.back())) return;
        room_ = {kMost, kMost, kMost};
        for (uint32_t b = loop.first; b <= loop.last; ++b) {
            std::vector<Instruction>& code = function_.blocks[b].code;
            size_t kept = 0;
            for (size_t i = 0; i < code.size();) {
                const size_t end = behind_group(code, i);
                const bool leaves = std::all_of(
                    code.begin() + static_cast<std::ptrdiff_t>(i), code.begin() + static_cast<std::ptrdiff_t>(end),
                    [&](const Instruction& instruction) { return may_leave(instruction, loop); });
                for (; i < end; ++i) {
                    if (leaves) {
                        each_write(code[i], [&](Place place) {
                            values_.moved(place, loop.first - 1);
                            room_[static_cast<size_t>(function_.bank(place))] -= place.dwords;
                        });
                        before.push_back(std::move(code[i]));
                    } else {
                        if (kept != i) code[kept] = std::move(code[i]);
                        ++kept;
                    }
                }
            }
            code.resize(kept);
        }
    }

    /// A writer of SCC and those right after it that read it are one.
    size_t behind_group(const std::vector<Instruction>& code, size_t i) const {
        size_t end = i + 1;
        if (!writes_scc(function_, code[i])) return end;
        size_t next = end;
        for (; next < code.size(); ++next) {
            if (reads_scc(function_, code[next])) end = next + 1;
            if (writes_scc(function_, code[next]) && end != next + 1) break;
        }
        return end;
    }

    bool may_leave(const Instruction& instruction, const Loop& loop) {
        if (!is_pure(function_, instruction)) return false;
        bool may = true;
        for (Place place : instruction.src)
            if (place) may &= stands_outside(place, loop);
        each_write(instruction, [&](Place place) {
            may &= values_.holds(place) && room_[static_cast<size_t>(function_.bank(place))] >= place.dwords;
        });
        return may;
    }

    bool stands_outside(Place place, const Loop& loop) const {
        if (!values_.holds(place)) return false;
        for (int i = 0; i < place.dwords; ++i) {
            const uint32_t block = values_.block(values_.unit(place, i));
            if (block != UniqueDefs::kBefore && block >= loop.first) return false;
        }
        return true;
    }

    MachineFunction& function_;
    UniqueDefs values_;
    std::array<int, 3> room_{};
};

}  // namespace

Result<void> licm(MachineFunction& function) {
    if (const std::vector<Loop> loops = loops_of(function); !loops.empty()) Hoist(function).run(loops);
    return {};
}

}  // namespace strata::codegen
