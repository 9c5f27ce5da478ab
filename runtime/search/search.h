#pragma once
#include "strata/codegen/optimize/action.h"
#include "strata/codegen/schedule/schedule.h"
#include "strata/runtime/search/tuning_record.h"

namespace strata::runtime {

/// The kernel with a schedule: unsearched, or from the search when settings().beam is not 0. `slots` are
/// the arguments of a launch, whose memory the search may read; the output is not touched. An interruption of the
/// search is thrown once the best until then is kept on disk. `is_tuned`: a search that ended early goes on.
codegen::Scheduled choose_schedule(Device& device, const codegen::Kernel& kernel, std::span<const uint64_t> slots,
                                   bool is_tuned = false);

/// The fusion of settings().fusion.
codegen::Fusion usual_fusion();

/// The schedule of kernels that are not searched, as settings().schedule says. Of random ones the first that compiles.
codegen::Scheduled unsearched(const codegen::Kernel& kernel, const codegen::Target& target);

/// The schedule that needs no search now: of a record that is known, where settings().beam is not 0, or else
/// unsearched.
codegen::Scheduled known_schedule(const Device& device, const codegen::Kernel& kernel);

/// Candidates of a round that a search with a beam of that width compiles, the cheapest by their static_cost.
int compiled_in_a_round(int width);

}  // namespace strata::runtime
