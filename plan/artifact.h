#pragma once
#include <memory>

#include "strata/executable/artifact_files.h"
#include "strata/plan/plan.h"

namespace strata::plan {

/// The plan of an artifact for a device. Its operands are the artifact's inputs, then its outputs. Throws DEVICE where
/// there is no code for the device, ARTIFACT for contents that cannot be run, UNSUPPORTED for numbers that each call
/// gives.
std::shared_ptr<const Plan> load(runtime::Device& device, const executable::ArtifactFiles& artifact);

}  // namespace strata::plan
