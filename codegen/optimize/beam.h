#pragma once
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/optimize/action.h"

namespace strata::codegen {

/// The result of one candidate.
struct Trial {
    std::optional<double> ms;  ///< measured on a GPU, modelled on the emulator; empty when it was not usable
    std::string why = {};      ///< faulted, wrong result, does not compile, ...
    bool slower = false;       ///< it was stopped, as it cannot be the fastest: no mistake
};

/// Compiles, checks and times candidates: the search knows nothing of devices.
class Judge {
  public:
    virtual ~Judge() = default;
    /// One trial a candidate, in order. A result that differs from the unoptimised kernel's has no time. May throw
    /// Interrupted.
    virtual std::vector<Trial> judge(std::span<const Scheduled> candidates) = 0;
    /// Checks the best candidate's result in full, where judging looked at a part of it: empty, or why it is not
    /// taken.
    virtual std::string objection(const Scheduled& /*best*/) { return {}; }
};

/// When a search ends that could go on.
struct Limits {
    std::chrono::duration<double> time{0};  ///< 0: none
    int candidates = 0;                     ///< 0: none
    int round = 0;  ///< candidates of a round that are tried: those of the least static_cost; 0: all
};

enum class Stopped : uint8_t { no, time, candidates, interrupted };

struct SearchResult {
    Scheduled best;
    double ms = 0;        ///< of `best`
    double start_ms = 0;  ///< of the heuristic schedule
    int tried = 0, rejected = 0, slower = 0;
    int left_out = 0;                     ///< untried, by their static_cost
    std::vector<std::string> rejections;  ///< "upcast(0, 4): wrong result", the first few
    Stopped stopped = Stopped::no;
    std::exception_ptr interruption = {};  ///< what interrupted the judge; `best` is of the time until then
};

/// Beam search. From the heuristic's schedule, the unoptimised kernel and schedules known to be good, it keeps the
/// `width` fastest of all one-action successors. It ends when none is faster by 1 %, nor any that changes one action of
/// the fastest so far. `kernel` has its output ranges on the grid (start_schedule). The schedules that it starts from
/// are tried whatever the limits are.
class BeamSearch {
  public:
    BeamSearch(const Kernel& kernel, const Target& target, std::span<const std::vector<Action>> known = {});
    ~BeamSearch();
    /// The heuristic's schedule.
    const Scheduled& start();
    /// The candidates of the first round if all starting schedules are usable, on which no judge decides. Another
    /// thread compiles them while the judge is made. The limits are those of run().
    std::vector<Scheduled> first_round(const Limits& limits = {});
    Result<SearchResult> run(int width, Judge& judge, const Limits& limits = {});

  private:
    struct Made;
    std::unique_ptr<Made> made_;
};

/// All of it on this thread.
Result<SearchResult> beam_search(const Kernel& kernel, const Target& target, int width, Judge& judge,
                                 const Limits& limits = {}, std::span<const std::vector<Action>> known = {});

}  // namespace strata::codegen
