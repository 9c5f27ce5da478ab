// free_early: steps run as soon as they free more than they fill.
//
// Before  dy <- ...;  dx <- dy, w;  ...all layers below...;  dw <- dy, x      dy and x are kept to the end
// After   dy <- ...;  dx <- dy, w;  dw <- dy, x;  ...all layers below...
// A group is the ready steps that are all that still read one buffer. A group whose outputs take fewer bytes than the
// buffer it reads last runs next, the one that frees most first. Where there is none, the first ready step of the given
// order runs.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

constexpr size_t kMostReaders = 32;  // of a buffer that a group is looked for of

class Ordering {
  public:
    Ordering(std::span<const ScheduleItem> items, std::span<const UOp> roots)
        : fills_(items.size()), waits_(items.size()), placed_(items.size()) {
        StepValues all = values_of(items, roots);
        values_ = std::move(all.values), reads_ = std::move(all.reads), outputs_ = std::move(all.makes);
        for (const Value& value : values_) {
            pending_.push_back(value.readers.size());
            fills_[value.made_by] += value.bytes;
        }
        for (size_t i = 0; i < items.size(); ++i) {
            waits_[i] = reads_[i].size();
            if (waits_[i] == 0) ready_.insert(i);
        }
        net_.resize(values_.size());
    }

    std::vector<size_t> run() {
        while (!ready_.empty()) {
            if (groups_.empty() || groups_.begin()->first >= 0) {
                place(*ready_.begin());
                continue;
            }
            const auto [net, value] = *groups_.begin();
            if (net_of(value) != net) {
                look_at(value);
                continue;
            }
            for (size_t step : pending_readers(value)) place(step);
        }
        return std::move(order_);
    }

  private:
    using Value = StepValues::Value;

    std::vector<size_t> pending_readers(size_t value) const {
        std::vector<size_t> out;
        for (size_t step : values_[value].readers)
            if (!placed_[step]) out.push_back(step);
        return out;
    }

    /// Bytes that the readers of a value fill, less those that they are the last to read; none: not all can run.
    std::optional<int64_t> net_of(size_t value) const {
        const Value& of = values_[value];
        if (of.result || pending_[value] == 0 || pending_[value] > kMostReaders || !placed_[of.made_by]) return {};
        const std::vector<size_t> group = pending_readers(value);
        if (std::ranges::any_of(group, [&](size_t step) { return waits_[step] > 0; })) return {};
        int64_t net = 0;
        std::map<size_t, size_t> read;  // by value, by how many of the group
        for (size_t step : group) {
            net += fills_[step];
            for (size_t other : reads_[step]) ++read[other];
        }
        for (const auto& [other, readers] : read)
            if (!values_[other].result && pending_[other] == readers) net -= values_[other].bytes;
        return net;
    }

    void look_at(size_t value) {
        if (net_[value]) groups_.erase({*net_[value], value});
        net_[value] = net_of(value);
        if (net_[value]) groups_.emplace(*net_[value], value);
    }

    void place(size_t step) {
        ready_.erase(step);
        placed_[step] = true;
        order_.push_back(step);
        std::set<size_t> changed(reads_[step].begin(), reads_[step].end());
        for (size_t value : reads_[step]) --pending_[value];
        for (size_t output : outputs_[step]) {
            changed.insert(output);
            for (size_t reader : values_[output].readers) {
                if (--waits_[reader] > 0) continue;
                ready_.insert(reader);
                changed.insert(reads_[reader].begin(), reads_[reader].end());
            }
        }
        for (size_t value : changed) look_at(value);
    }

    std::vector<Value> values_;
    std::vector<size_t> pending_;                       ///< by value: readers that are not placed
    std::vector<std::vector<size_t>> reads_, outputs_;  ///< of a step: values
    std::vector<int64_t> fills_;                        ///< bytes of its outputs
    std::vector<size_t> waits_;                         ///< values that it reads and that are not there yet
    std::vector<bool> placed_;
    std::set<size_t> ready_;
    std::vector<std::optional<int64_t>> net_;      ///< of a value's group, as it was looked at last
    std::set<std::pair<int64_t, size_t>> groups_;  ///< by net, by value
    std::vector<size_t> order_;
};

}  // namespace

std::vector<ScheduleItem> free_early(std::vector<ScheduleItem> items, std::span<const UOp> roots) {
    std::vector<ScheduleItem> out;
    for (size_t i : Ordering(items, roots).run()) out.push_back(std::move(items[i]));
    return out;
}

}  // namespace strata::codegen
