#pragma once
#include <algorithm>
#include <vector>

#include "strata/codegen/machine/liveness.h"

namespace strata::codegen {

/// Who is in one register of the machine, and where: segments that do not overlap, in ascending order.
class LiveIntervalUnion {
  public:
    struct Stay {
        uint32_t begin, end, who;
    };
    /// The first stay that overlaps, nullptr for none.
    const Stay* overlap(Segment segment) const {
        if (stays_.empty() || stays_.back().end <= segment.begin) return nullptr;
        const Stay* stay = after(segment.begin);
        return stay->begin < segment.end ? stay : nullptr;
    }
    /// True if nobody is there. Intervals placed in the order of their starts meet the last stay first.
    bool is_free(Segment segment) const {
        if (stays_.empty() || stays_.back().end <= segment.begin) return true;
        return stays_.back().begin >= segment.end && !overlap(segment);
    }
    const Stay* end() const { return stays_.data() + stays_.size(); }
    void add(Segment segment, uint32_t who) {
        auto at = stays_.end();
        if (!stays_.empty() && stays_.back().end > segment.begin)
            at = stays_.begin() + (after(segment.begin) - stays_.data());
        stays_.insert(at, {segment.begin, segment.end, who});
    }
    void remove(Segment segment) { stays_.erase(stays_.begin() + (after(segment.begin) - stays_.data())); }

  private:
    /// The first stay that ends after the position.
    const Stay* after(uint32_t position) const {
        return &*std::upper_bound(stays_.begin(), stays_.end(), position,
                                  [](uint32_t at, const Stay& stay) { return at < stay.end; });
    }
    std::vector<Stay> stays_;
};

}  // namespace strata::codegen
