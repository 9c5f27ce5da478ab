#include "strata/codegen/optimize/beam.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/variations_p.h"

namespace strata::codegen {
namespace {

constexpr double kWorthIt = 0.99;  // a round must gain 1 %, else the search ends
constexpr int kMaxRounds = 12;
constexpr size_t kKeptRejections = 16;

struct Candidate : Scheduled {
    double ms = 0;
};

class Search {
  public:
    Search(const Target& target, int width, Judge& judge)
        : target_(target), width_(static_cast<size_t>(std::max(width, 1))), judge_(judge) {}

    Result<SearchResult> run(const Kernel& kernel) {
        Scheduled start = heuristic(kernel, target_);
        std::vector<Candidate> beam = timed({Candidate{{kernel, {}}}, Candidate{start}});
        if (beam.empty())
            return make_error(ErrorKind::Device, "no schedule of kernel {} runs: {}", kernel.name,
                              result_.rejections.empty() ? "nothing was tried" : result_.rejections[0]);
        result_.start_ms = beam.front().ms;
        for (const Candidate& c : beam)
            if (c.actions == start.actions) result_.start_ms = c.ms;
        std::vector<Candidate> usable = beam;
        for (int round = 0; round < kMaxRounds; ++round) {
            const double best = beam.front().ms;
            std::vector<Candidate> next = timed(successors(kernel, beam));
            if (next.empty() || next.front().ms > best * kWorthIt) break;
            usable.insert(usable.end(), next.begin(), next.end());
            next.resize(std::min(next.size(), width_));
            beam = std::move(next);
        }
        std::ranges::sort(usable, faster);
        return won(kernel, usable);
    }

  private:
    static bool faster(const Candidate& a, const Candidate& b) {
        return a.ms != b.ms ? a.ms < b.ms : to_string(a.actions) < to_string(b.actions);
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
    std::vector<Candidate> successors(const Kernel& kernel, const std::vector<Candidate>& beam) {
        std::vector<Candidate> out;
        for (const Candidate& c : beam) {
            if (!c.actions.empty() && c.actions.back().kind == ActionKind::stage)
                for (Scheduled& other : variations(kernel, c.actions, target_))
                    if (seen_.insert(other.kernel.sink).second) out.push_back(Candidate{std::move(other)});
            for (size_t row = 0; row < action_rows().size(); ++row) {
                ActionKind kind = static_cast<ActionKind>(row);
                int axes = static_cast<int>(axes_of(c.kernel, kind).size());
                for (int axis = 0; axis < axes; ++axis)
                    for (int64_t amount : action_rows()[row].amounts) {
                        Action action{kind, axis, amount};
                        Result<Kernel> next = apply(c.kernel, action, target_);
                        if (!next || !seen_.insert(next->sink).second) continue;
                        std::vector<Action> actions = c.actions;
                        actions.push_back(action);
                        out.push_back(Candidate{{*std::move(next), std::move(actions)}});
                    }
            }
        }
        return out;
    }

    /// The usable ones, fastest first.
    std::vector<Candidate> timed(std::vector<Candidate> candidates) {
        std::vector<Scheduled> schedules(candidates.begin(), candidates.end());
        for (const Scheduled& s : schedules) seen_.insert(s.kernel.sink);
        std::vector<Trial> trials = judge_.judge(schedules);
        std::vector<Candidate> usable;
        for (size_t i = 0; i < candidates.size(); ++i) {
            result_.tried++;
            if (trials[i].ms) {
                candidates[i].ms = *trials[i].ms;
                usable.push_back(std::move(candidates[i]));
                continue;
            }
            reject(candidates[i], trials[i].why);
        }
        std::ranges::sort(usable, faster);
        return usable;
    }

    const Target& target_;
    size_t width_;
    Judge& judge_;
    SearchResult result_;
    std::unordered_set<UOp, UOpHash> seen_;
};

}  // namespace

Result<SearchResult> beam_search(const Kernel& kernel, const Target& target, int width, Judge& judge) {
    return Search(target, width, judge).run(kernel);
}

}  // namespace strata::codegen
