#include "strata/codegen/optimize/beam.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/cost.h"
#include "strata/codegen/optimize/variations_p.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/parallel.h"
#include "strata/core/uop/root.h"

namespace strata::codegen {
namespace {

constexpr double kWorthIt = 0.99;      // a round must gain 1 %, else the search ends
constexpr double kWorthOther = 0.999;  // less is not worth another schedule than the heuristic's, nor to run it in full
constexpr int kMaxRounds = 12;
constexpr size_t kKeptRejections = 16;

struct Candidate : Scheduled {
    double ms = 0, clocks = 0;  ///< clocks: by static_cost
};

/// Candidates that are compiled together: enough for all cores, few enough that limits are looked at in between.
size_t batch_size() { return std::max<size_t>(8, 2 * core_count()); }

/// One action more.
std::vector<std::vector<Action>> with_one_more(const Scheduled& scheduled) {
    std::vector<std::vector<Action>> out;
    for (size_t row = 0; row < action_rows().size(); ++row) {
        const auto kind = static_cast<ActionKind>(row);
        const auto axes = static_cast<int>(axes_of(scheduled.kernel, kind).size());
        for (int axis = 0; axis < axes; ++axis)
            for (const int64_t amount : action_rows()[row].amounts)
                out.emplace_back(scheduled.actions).push_back({kind, axis, amount});
    }
    return out;
}

class Search {
  public:
    Search(const Target& target, int width, Judge& judge, const Limits& limits)
        : target_(target), width_(static_cast<size_t>(std::max(width, 1))), judge_(judge), limits_(limits) {}

    Result<SearchResult> run(const Kernel& kernel, std::span<const Scheduled> starts, Schedules& schedules) {
        const Scheduled& start = starts.front();
        std::vector<Candidate> beam = timed(candidates(starts), true);
        if (beam.empty() && result_.interruption) std::rethrow_exception(result_.interruption);
        if (beam.empty())
            return make_error(ErrorKind::Device, "no schedule of kernel {} runs: {}", kernel.name,
                              result_.rejections.empty() ? "nothing was tried" : result_.rejections[0]);
        result_.start_ms = beam.front().ms;
        for (const Candidate& c : beam)
            if (c.kernel.sink == start.kernel.sink) result_.start_ms = c.ms;
        std::vector<Candidate> usable = beam;
        for (int round = 0; round < kMaxRounds && !is_over(); ++round) {
            const double best = beam.front().ms;
            std::vector<Candidate> next = timed(found([&] { return promising(successors(schedules, beam)); }), false);
            usable.insert(usable.end(), next.begin(), next.end());
            if (!gains(next, best)) {
                next = timed(found([&] { return promising(neighbours(schedules, usable)); }), false);
                usable.insert(usable.end(), next.begin(), next.end());
                if (!gains(next, best)) break;
            }
            next.resize(std::min(next.size(), width_));
            beam = std::move(next);
        }
        std::ranges::sort(usable, faster);
        const auto is_start = [&](const Candidate& c) { return c.kernel.sink == start.kernel.sink; };
        const auto first = std::ranges::find_if(usable, is_start);
        if (first != usable.end() && usable.front().ms > first->ms * kWorthOther)
            std::rotate(usable.begin(), first, first + 1);
        return won(kernel, usable);
    }

  private:
    static bool faster(const Candidate& a, const Candidate& b) {
        return a.ms != b.ms ? a.ms < b.ms : to_string(a.actions) < to_string(b.actions);
    }

    static std::vector<Candidate> candidates(std::span<const Scheduled> all) {
        std::vector<Candidate> out;
        for (const Scheduled& one : all) out.push_back(Candidate{one});
        return out;
    }

    static bool gains(const std::vector<Candidate>& found, double best) {
        return !found.empty() && found.front().ms <= best * kWorthIt;
    }

    /// None where it was interrupted.
    template <class F>
    std::vector<Candidate> found(F find) {
        try {
            return find();
        } catch (const Interrupted&) {
            be_interrupted();
            return {};
        }
    }
    void be_interrupted() {
        result_.interruption = std::current_exception();
        result_.stopped = Stopped::interrupted;
    }

    bool is_over() {
        if (result_.interruption) return true;
        if (limits_.candidates && result_.tried >= limits_.candidates) result_.stopped = Stopped::candidates;
        if (limits_.time.count() > 0 && Clock::now() - begin_ >= limits_.time) result_.stopped = Stopped::time;
        return result_.stopped != Stopped::no;
    }

    /// The fastest to which the judge has no objection.
    Result<SearchResult> won(const Kernel& kernel, std::span<const Candidate> usable) {
        for (const Candidate& candidate : usable) {
            const std::string objection = judge_.objection(candidate);
            if (objection.empty()) {
                result_.best = candidate;
                result_.ms = candidate.ms;
                return std::move(result_);
            }
            reject(candidate, objection);
        }
        return make_error(ErrorKind::Device, "no schedule of kernel {} is right: {}", kernel.name,
                          result_.rejections[0]);
    }

    void reject(const Candidate& candidate, const std::string& why) {
        result_.rejected++;
        if (result_.rejections.size() < kKeptRejections)
            result_.rejections.push_back(fmt::format("{}: {}", to_string(candidate.actions), why));
    }

    /// One action more, or where tiles have been made, which is last, another one.
    std::vector<Candidate> successors(Schedules& schedules, const std::vector<Candidate>& beam) {
        std::vector<Candidate> out;
        for (const Candidate& c : beam) {
            if (!c.actions.empty() && makes_tiles(c.actions.back().kind))
                add_new(variations(schedules, c.actions), out);
            add_new(schedules.those_of(with_one_more(c)), out);
        }
        return out;
    }
    void add_new(std::vector<Scheduled> all, std::vector<Candidate>& out) {
        for (Scheduled& other : all)
            if (seen_.insert(other.kernel.sink).second) out.push_back(Candidate{std::move(other)});
    }

    /// The fastest of all, each with one of its actions changed: where no action more is worth it, another choice of before may
    /// be. None where memory bounds the fastest, since all read the same.
    std::vector<Candidate> neighbours(Schedules& schedules, std::vector<Candidate>& usable) {
        std::vector<Candidate> out;
        std::ranges::sort(usable, faster);
        if (is_over() || is_bound_by_memory(usable.front().kernel)) return out;
        for (const Candidate& c : std::span(usable).first(std::min(usable.size(), 2 * width_)))
            add_new(variations(schedules, c.actions), out);
        return out;
    }
    bool is_bound_by_memory(const Kernel& kernel) const {
        const StaticCost cost = static_cost(kernel, target_);
        return cost.memory >= std::max({cost.vector, cost.matrix, cost.local, cost.lines, cost.latency});
    }

    /// Those that cost the least by their form, the cheapest first; the others are not compiled.
    std::vector<Candidate> promising(std::vector<Candidate> candidates) {
        if (limits_.round == 0) return candidates;
        parallel_for(candidates.size(), [&](size_t i) {
            const GraphScope scope;
            candidates[i].clocks = static_cost(candidates[i].kernel, target_).clocks();
        });
        std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
            return a.clocks != b.clocks ? a.clocks < b.clocks : to_string(a.actions) < to_string(b.actions);
        });
        const size_t most = std::min(candidates.size(), static_cast<size_t>(limits_.round));
        result_.left_out += static_cast<int>(candidates.size() - most);
        candidates.resize(most);
        return candidates;
    }

    /// The usable ones of those that the limits let it try, fastest first. `all`: whatever the limits are.
    std::vector<Candidate> timed(std::vector<Candidate> candidates, bool all) {
        for (const Candidate& c : candidates) seen_.insert(c.kernel.sink);
        std::vector<Candidate> usable;
        for (size_t from = 0; from < candidates.size() && (all || !is_over());) {
            size_t count = std::min(candidates.size() - from, batch_size());
            if (limits_.candidates && !all)
                count = std::min(count, static_cast<size_t>(limits_.candidates - result_.tried));
            if (!judge_batch(std::span(candidates).subspan(from, count), usable)) break;
            from += count;
        }
        std::ranges::sort(usable, faster);
        return usable;
    }

    /// False: it was interrupted.
    bool judge_batch(std::span<Candidate> batch, std::vector<Candidate>& usable) {
        std::vector<Trial> trials;
        try {
            trials = judge_.judge(std::vector<Scheduled>(batch.begin(), batch.end()));
        } catch (const Interrupted&) {
            be_interrupted();
            return false;
        }
        for (size_t i = 0; i < batch.size(); ++i) {
            result_.tried++;
            if (trials[i].ms) {
                batch[i].ms = *trials[i].ms;
                usable.push_back(std::move(batch[i]));
            } else if (trials[i].slower) {
                result_.slower++;
            } else {
                reject(batch[i], trials[i].why);
            }
        }
        return true;
    }

    using Clock = std::chrono::steady_clock;

    const Target& target_;
    size_t width_;
    Judge& judge_;
    Limits limits_;
    Clock::time_point begin_ = Clock::now();
    SearchResult result_;
    std::unordered_set<UOp, UOpHash> seen_;
};

}  // namespace

struct BeamSearch::Made {
    Made(const Kernel& kernel, const Target& target, std::span<const std::vector<Action>> known)
        : kernel(kernel), target(target), known(known.begin(), known.end()), schedules(kernel, target) {}

    /// The heuristic's schedule is the first, so that it wins over others of the same time.
    void make_starts() {
        if (!starts.empty()) return;
        starts.push_back(heuristic(kernel, target));
        add({kernel, {}});
        for (const std::vector<Action>& actions : known)
            if (Result<Kernel> made = apply_all(kernel, actions, target)) add({*std::move(made), actions});
    }
    void add(const Scheduled& other) {
        const auto same = [&](const Scheduled& s) { return s.kernel.sink == other.kernel.sink; };
        if (std::ranges::none_of(starts, same)) starts.push_back(other);
    }

    const Kernel kernel;
    const Target& target;
    const std::vector<std::vector<Action>> known;
    std::vector<Scheduled> starts;
    Schedules schedules;
};

BeamSearch::BeamSearch(const Kernel& kernel, const Target& target, std::span<const std::vector<Action>> known)
    : made_(std::make_unique<Made>(kernel, target, known)) {}
BeamSearch::~BeamSearch() = default;

void BeamSearch::prepare() {
    const GraphScope scope;
    made_->make_starts();
    for (const Scheduled& start : made_->starts) (void)made_->schedules.those_of(with_one_more(start));
}

Result<SearchResult> BeamSearch::run(int width, Judge& judge, const Limits& limits) {
    made_->make_starts();
    return Search(made_->target, width, judge, limits).run(made_->kernel, made_->starts, made_->schedules);
}

Result<SearchResult> beam_search(const Kernel& kernel, const Target& target, int width, Judge& judge,
                                 const Limits& limits, std::span<const std::vector<Action>> known) {
    return BeamSearch(kernel, target, known).run(width, judge, limits);
}

}  // namespace strata::codegen
