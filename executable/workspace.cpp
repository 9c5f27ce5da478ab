#include "strata/executable/workspace.h"

#include <algorithm>
#include <numeric>

#include "strata/executable/memory.h"

namespace strata::executable {
namespace {

/// When a place holds something, and how much of it.
struct Use {
    uint64_t bytes = 0;
    size_t first = ~size_t{0}, last = 0;  ///< steps
    bool overlaps(const Use& other) const { return first <= other.last && other.first <= last; }
};

std::vector<Use> uses_of_places(const Executable& exe) {
    std::vector<Use> uses(exe.places);
    for (size_t s = 0; s < exe.steps.size(); ++s)
        for (uint32_t at : exe.steps[s].operands) {
            const uint32_t place = exe.operands[last_heir(exe, at)].place;
            if (place == kNone) continue;
            Use& use = uses[place];
            use.bytes = std::max(use.bytes, exe.operands[at].bytes());
            use.first = std::min(use.first, s);
            use.last = s;
        }
    return uses;
}

}  // namespace

Workspace lay_out_workspace(const Executable& exe, uint64_t alignment) {
    const std::vector<Use> uses = uses_of_places(exe);
    std::vector<uint32_t> order(uses.size()), placed;
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
        return uses[a].bytes != uses[b].bytes ? uses[a].bytes > uses[b].bytes : a < b;
    });
    Workspace out{.offsets = std::vector<uint64_t>(uses.size())};
    const auto end_of = [&](uint32_t place) {
        return (out.offsets[place] + uses[place].bytes + alignment - 1) / alignment * alignment;
    };
    for (uint32_t place : order) {
        uint64_t offset = 0;
        for (uint32_t other : placed) {  // by offset
            if (!uses[other].overlaps(uses[place])) continue;
            if (offset + uses[place].bytes <= out.offsets[other]) break;
            offset = std::max(offset, end_of(other));
        }
        out.offsets[place] = offset;
        out.bytes = std::max(out.bytes, end_of(place));
        placed.insert(std::ranges::upper_bound(placed, offset, {}, [&](uint32_t at) { return out.offsets[at]; }),
                      place);
    }
    return out;
}

}  // namespace strata::executable
