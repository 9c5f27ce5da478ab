#pragma once
#include <thread>
#include <vector>

#include "strata/codegen/optimize/action.h"
#include "strata/codegen/schedule/schedule.h"
#include "strata/runtime/winner.h"

namespace strata::runtime {

/// The kernel with a schedule: unsearched, or from the search when settings().beam is not 0. `slots` are
/// the arguments of a launch, whose memory the search may read; the output is not touched. An interruption of the search
/// is thrown once the best until then is kept on disk.
codegen::Scheduled choose_schedule(Device& device, const codegen::Kernel& kernel, std::span<const uint64_t> slots);

/// What settings().fusion says.
codegen::Fusion usual_fusion();

/// The schedule of kernels that are not searched, as settings().schedule says. Of random ones the first that compiles.
codegen::Scheduled unsearched(const codegen::Kernel& kernel, const codegen::Target& target);

/// The schedule that needs no search now: of a winner that is known, where settings().beam is not 0, or else unsearched.
codegen::Scheduled known_schedule(const Device& device, const codegen::Kernel& kernel);

/// Candidates of a round that a search with a beam of that width compiles, the cheapest by their static_cost.
int compiled_in_a_round(int width);

/// A kernel whose schedule was searched.
struct Searched {
    SearchKey key;
    Winner winner;
    bool known = false;  ///< from an earlier search
};

/// Notes which kernels are searched while it lives, those of known winners too: graphs are computed as if no launch plan of
/// before were known, and what an earlier search left is searched to its end.
class Recording {
  public:
    enum class Of : uint8_t { this_thread, all_threads };
    explicit Recording(Of of);
    ~Recording();
    Recording(const Recording&) = delete;

    std::vector<Searched> searches() const;  ///< each kernel once
    /// The number of the one that notes what this thread searches, other than those of all others; 0: none does.
    static uint64_t number();

  private:
    friend void note(const Searched& searched);
    bool covers_this_thread() const;

    const std::thread::id thread_;  ///< none: all
    const uint64_t number_;
    std::vector<Searched> searches_;
};

}  // namespace strata::runtime
