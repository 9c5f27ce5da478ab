#include "strata/codegen/kernel/thread_order.h"

#include <algorithm>
#include <tuple>

#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kLineBytes = 128;
constexpr int kMostOrders = 120;  // all of five ranges

class Orders {
  public:
    Orders(std::span<const UOp> ranges, std::span<Visit> visits, int wave_size)
        : ranges_(ranges), visits_(visits), wave_size_(wave_size), at_(ranges.size()) {}

    std::vector<size_t> best() {
        std::vector<size_t> order;
        for (size_t r = 0; r < ranges_.size(); ++r)
            if (const Axis axis = axis_of(r); axis == Axis::lane || axis == Axis::local || axis == Axis::group)
                if (size_of(r) > 1) order.push_back(r);
        if (order.size() < 2) return order;
        std::vector<std::tuple<bool, int64_t, int64_t>> key(ranges_.size());
        for (const size_t r : order) {
            const bool is_lane = axis_of(r) == Axis::lane;
            key[r] = {!is_lane, is_lane ? 0 : apart(r), -range_arg(ranges_[r]).id};
        }
        const auto before = [&](size_t a, size_t b) { return key[a] < key[b]; };
        std::ranges::sort(order, before);
        const auto free = std::ranges::find_if(order, [&](size_t r) { return axis_of(r) != Axis::lane; });
        std::vector<size_t> least = order;
        double fewest = lines(order);
        for (int i = 1; i < kMostOrders && std::next_permutation(free, order.end(), before); ++i)
            if (const double touched = lines(order); touched < fewest) fewest = touched, least = order;
        return least;
    }

  private:
    Axis axis_of(size_t r) const { return range_arg(ranges_[r]).axis; }
    int64_t size_of(size_t r) const { return range_arg(ranges_[r]).size; }

    /// Bytes between neighbours, a line's worth at most, summed over the accesses.
    int64_t apart(size_t r) {
        int64_t sum = 0;
        for (Visit& visit : visits_) {
            const int64_t start = visit.offset.at(at_);
            at_[r] = 1;
            sum += std::min(std::abs(visit.offset.at(at_) - start) * visit.bytes, kLineBytes);
            at_[r] = 0;
        }
        return sum;
    }

    /// Lines that the first wave touches, as often as it does.
    double lines(std::span<const size_t> order) {
        std::vector<std::vector<int64_t>> touched(visits_.size());
        for (int lane = 0; lane < wave_size_; ++lane) {
            int64_t rest = lane;
            for (const size_t r : order) at_[r] = rest % size_of(r), rest /= size_of(r);
            if (rest) break;  // the block is smaller than a wave
            for (size_t i = 0; i < visits_.size(); ++i)
                touched[i].push_back(visits_[i].offset.at(at_) * visits_[i].bytes / kLineBytes);
        }
        for (const size_t r : order) at_[r] = 0;
        double sum = 0;
        for (size_t i = 0; i < visits_.size(); ++i) {
            std::ranges::sort(touched[i]);
            const auto distinct = std::ranges::unique(touched[i]).begin() - touched[i].begin();
            sum += visits_[i].times * static_cast<double>(distinct);
        }
        return sum;
    }

    std::span<const UOp> ranges_;
    std::span<Visit> visits_;
    int wave_size_;
    std::vector<int64_t> at_;
};

}  // namespace

std::vector<size_t> thread_order(std::span<const UOp> ranges, std::span<Visit> visits, int wave_size) {
    return Orders(ranges, visits, wave_size).best();
}

}  // namespace strata::codegen
