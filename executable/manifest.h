#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "strata/core/support/json.h"
#include "strata/executable/sequence.h"

namespace strata::executable {

/// Members of a manifest for any arch: inputs, outputs, numbers, constants.
Json::Object interface_to_json(const Sequence& sequence);
/// Members for the arch of this sequence: kernels with resources, steps, workspace. A manifest has the kernels under
/// "targets", the others under their names, each by arch. object(i): the file of the code of kernel i.
Json::Object target_to_json(const Sequence& sequence, const std::function<std::string(size_t)>& object);

/// The bytes of a file that the manifest names; none: there is no such file.
using FileContent = std::function<std::optional<std::string_view>(std::string_view name)>;

/// The sequence of a manifest for an arch that it has. It can be run: indices are in range, and code objects have their
/// kernels. Arguments lie in the kernarg segment, the workspace and the operands. Errors (Usage) name the member that
/// is wrong.
Result<Sequence> sequence_of(const Json& manifest, std::string_view arch, const FileContent& content);

}  // namespace strata::executable
