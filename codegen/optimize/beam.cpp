#include "strata/codegen/optimize/beam.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/cost.h"
#include "strata/codegen/optimize/neighbours_p.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/parallel.h"
#include "strata/core/uop/root.h"
#include "strata/core/uop/uop_set.h"

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

using Seen = UOpSet;  ///< schedules that were tried, or left out

/// The candidates of the next round, and what they need to know of schedules.
struct Round {
    std::vector<Candidate> tried;
    int left_out = 0;
    Seen seen;
};

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

void add_new(std::vector<Scheduled> all, Seen& seen, std::vector<Candidate>& out) {
    for (Scheduled& other : all)
        if (seen.insert(other.kernel.sink).second) out.push_back(Candidate{std::move(other)});
}

/// One action more, or where tiles have been made, which is last, another one.
template <class From>
std::vector<Candidate> successors(Schedules& schedules, std::span<const From> beam, Seen& seen) {
    std::vector<Candidate> out;
    for (const Scheduled& c : beam) {
        if (!c.actions.empty() && makes_tiles(c.actions.back().kind))
            add_new(neighbours(schedules, c.actions), seen, out);
        add_new(schedules.those_of(with_one_more(c)), seen, out);
    }
    return out;
}

/// Keeps those that cost the least by their form, the cheapest first; the others are not compiled. `most` 0: all. Gives
/// how many it leaves out.
int keep_promising(std::vector<Candidate>& candidates, int most, const Target& target) {
    if (most == 0) return 0;
    parallel_for(candidates.size(), [&](size_t i) {
        const GraphScope scope;
        candidates[i].clocks = static_cost(candidates[i].kernel, target).clocks();
    });
    std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
        return a.clocks != b.clocks ? a.clocks < b.clocks : to_string(a.actions) < to_string(b.actions);
    });
    const size_t kept = std::min(candidates.size(), static_cast<size_t>(most)), all = candidates.size();
    candidates.resize(kept);
    return static_cast<int>(all - kept);
}

/// The start of a search, and the candidates of its first round.
class Start {
  public:
    Start(const Kernel& kernel, const Target& target, std::span<const std::vector<Action>> known)
        : kernel(kernel), target(target), schedules(kernel, target), known_(known.begin(), known.end()) {}

    const std::vector<Scheduled>& starts() {
        std::call_once(started_, [&] { make_starts(); });
        return starts_;
    }
    /// Where all starts are usable. Two threads may ask, always for the same `most`.
    const Round& first_round(int most) {
        std::call_once(first_made_, [&] {
            Round round;
            for (const Scheduled& start : starts()) round.seen.insert(start.kernel.sink);
            round.tried = successors(schedules, std::span<const Scheduled>(starts()), round.seen);
            round.left_out = keep_promising(round.tried, most, target);
            first_ = std::move(round);
        });
        return first_;
    }

    const Kernel kernel;
    const Target& target;
    Schedules schedules;

  private:
    /// The heuristic's schedule is the first, so that it wins over others of the same time.
    void make_starts() {
        starts_ = {heuristic(kernel, target)};
        add({kernel, {}});
        for (const std::vector<Action>& actions : known_)
            if (Result<Kernel> made = apply_all(kernel, actions, target)) add({*std::move(made), actions});
    }
    void add(const Scheduled& other) {
        const auto same = [&](const Scheduled& s) { return s.kernel.sink == other.kernel.sink; };
        if (std::ranges::none_of(starts_, same)) starts_.push_back(other);
    }

    const std::vector<std::vector<Action>> known_;
    std::once_flag started_, first_made_;
    std::vector<Scheduled> starts_;
    Round first_;
};

class Search {
  public:
    Search(Start& start, int width, Judge& judge, const Limits& limits)
        : start_(start), width_(static_cast<size_t>(std::max(width, 1))), judge_(judge), limits_(limits) {}

    Result<SearchResult> run() {
        const Kernel& kernel = start_.kernel;
        const std::vector<Scheduled>& starts = start_.starts();
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
            const bool first = round == 0 && beam.size() == starts.size();
            std::vector<Candidate> next = timed(found([&] { return first ? first_round() : next_round(beam); }), false);
            usable.insert(usable.end(), next.begin(), next.end());
            if (!gains(next, best)) {
                next = timed(found([&] { return promising(neighbours_of(usable)); }), false);
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

    std::vector<Candidate> first_round() {
        const Round& round = start_.first_round(limits_.round);
        seen_.insert(round.seen.begin(), round.seen.end());
        result_.left_out += round.left_out;
        return round.tried;
    }
    std::vector<Candidate> next_round(const std::vector<Candidate>& beam) {
        return promising(successors(start_.schedules, std::span(beam), seen_));
    }
    std::vector<Candidate> promising(std::vector<Candidate> candidates) {
        result_.left_out += keep_promising(candidates, limits_.round, start_.target);
        return candidates;
    }

    /// The fastest of all, each with one of its actions changed: where no action more is worth it, another choice of
    /// before may be. None where memory bounds the fastest, since all read the same.
    std::vector<Candidate> neighbours_of(std::vector<Candidate>& usable) {
        std::vector<Candidate> out;
        std::ranges::sort(usable, faster);
        if (is_over() || is_bound_by_memory(usable.front().kernel)) return out;
        for (const Candidate& c : std::span(usable).first(std::min(usable.size(), 2 * width_)))
            add_new(neighbours(start_.schedules, c.actions), seen_, out);
        return out;
    }
    bool is_bound_by_memory(const Kernel& kernel) const {
        const StaticCost cost = static_cost(kernel, start_.target);
        return cost.memory >= std::max({cost.vector, cost.matrix, cost.local, cost.lines, cost.latency});
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

    Start& start_;
    size_t width_;
    Judge& judge_;
    Limits limits_;
    Clock::time_point begin_ = Clock::now();
    SearchResult result_;
    Seen seen_;
};

}  // namespace

struct BeamSearch::Made : Start {
    using Start::Start;
};

BeamSearch::BeamSearch(const Kernel& kernel, const Target& target, std::span<const std::vector<Action>> known)
    : made_(std::make_unique<Made>(kernel, target, known)) {}
BeamSearch::~BeamSearch() = default;

const Scheduled& BeamSearch::start() { return made_->starts().front(); }

std::vector<Scheduled> BeamSearch::first_round(const Limits& limits) {
    const GraphScope scope;
    const Round& round = made_->first_round(limits.round);
    return {round.tried.begin(), round.tried.end()};
}

Result<SearchResult> BeamSearch::run(int width, Judge& judge, const Limits& limits) {
    return Search(*made_, width, judge, limits).run();
}

Result<SearchResult> beam_search(const Kernel& kernel, const Target& target, int width, Judge& judge,
                                 const Limits& limits, std::span<const std::vector<Action>> known) {
    return BeamSearch(kernel, target, known).run(width, judge, limits);
}

}  // namespace strata::codegen
