#pragma once
#include <string_view>
#include <vector>

#include "strata/executable/artifact_files.h"
#include "strata/executable/sequence.h"

namespace strata::executable {

/// The bytes of each constant of the manifest, row by row, within the artifact's files. Errors (Usage) name the file.
Result<std::vector<std::string_view>> constants_of(const ArtifactFiles& artifact,
                                                   const std::vector<ConstantOperand>& constants);

/// "F32" of float32: how a safetensors file names a type.
std::string_view safetensors_name(DType type);

}  // namespace strata::executable
