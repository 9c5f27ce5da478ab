#pragma once
#include <memory>

#include "strata/plan/plan.h"

namespace strata::plan {

/// The plan of a descriptor on a device: found among those that were selected before, or compiled. Nothing is compiled
/// before all that can be wrong was looked at. Throws PlanError with the first of these:
///   UNSUPPORTED  an operation that is not known or not served
///   ARGUMENT     an operand or attribute that is not known, missing, or of another kind
///   UNSUPPORTED  types mixed where the operation wants one
///   INVALID      no axes where there is an axis, the axis, a negative size, the operation's rule, another output
///   UNSUPPORTED  more than 8 axes, a type that the operation does not take, outputs whose strides are not dense
///   INVALID      2^63 bytes or more
///   UNSUPPORTED  a preference that cannot be met
///   COMPILE      and what else a compiler reports
struct Selection {
    std::shared_ptr<const Plan> plan;
    uint64_t compilations = 0;  ///< kernels that were compiled for it, in no cache
};
Selection find_or_compile(runtime::Device& device, const Descriptor& descriptor, const Preference& preference = {});
inline std::shared_ptr<const Plan> select(runtime::Device& device, const Descriptor& descriptor,
                                          const Preference& preference = {}) {
    return find_or_compile(device, descriptor, preference).plan;
}

}  // namespace strata::plan
