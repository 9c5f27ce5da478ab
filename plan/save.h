#pragma once
#include <string>

#include "strata/plan/plan.h"

namespace strata::plan {

/// Writes an artifact of a plan that select() made, which load() and strata.Artifact.load read. Throws UNSUPPORTED for
/// one that launches nothing, or has strides that artifacts do not have, and ARTIFACT where the file cannot be written.
void save(const Plan& plan, const std::string& path);

}  // namespace strata::plan
