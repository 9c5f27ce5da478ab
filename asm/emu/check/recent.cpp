// recent: which instruction touched a byte of local memory before.
#include "strata/asm/emu/check/recent.h"

#include <algorithm>

namespace strata::emu {

/// Where each lane stores is kept. Of loads, which are far more, only the stretch is.
void RecentAccesses::add(const Op* op, const Places& places, int32_t apart, bool writes, Touch now) {
    if (accesses_.empty()) accesses_.resize(kMost);
    Access& access = accesses_[count_++ % kMost];
    access.op = op, access.now = now, access.writes = writes;
    access.first = places.lowest, access.end = places.highest + places.bytes;
    access.bytes = places.bytes, access.apart = apart;
    access.is_solid = places.are_together();
    access.count = access.is_solid || !writes ? 0 : places.count;
    std::copy_n(places.firsts, access.count, access.firsts.begin());
}

bool RecentAccesses::Access::has(int32_t byte) const {
    if (byte < first || byte >= end) return false;
    const auto is_in = [&](int32_t from) { return byte >= from && byte < from + bytes; };
    return count == 0 || std::any_of(firsts.begin(), firsts.begin() + count, is_in);
}

const Op* RecentAccesses::find(uint32_t byte, bool writes, Touch touch) const {
    const Op* found = nullptr;
    bool is_sure = false;
    const auto at = static_cast<int32_t>(byte);
    for (size_t back = 1; back <= std::min(count_, kMost) && !is_sure; ++back) {
        const Access& access = accesses_[(count_ - back) % kMost];
        if (access.writes != writes || (access.now ^ touch) >> 2) continue;  // without the flags
        if (!access.has(at) && !(access.apart && access.has(at - access.apart))) continue;
        if (found && found != access.op) return nullptr;
        found = access.op;
        is_sure = access.is_solid || access.count;
    }
    return found;
}

}  // namespace strata::emu
