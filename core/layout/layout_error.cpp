#include "strata/core/layout/layout_error.h"

#include <fmt/ranges.h>

namespace strata::layout {
namespace {

std::string message(const std::string& operation, const std::string& mode, const std::vector<std::string>& operands,
                    const std::string& reason) {
    std::string out = operation.empty() ? "" : "[" + operation + "] ";
    if (!operands.empty()) out += fmt::format("{}", fmt::join(operands, " and "));
    if (!mode.empty()) out += (operands.empty() ? "mode " : ", mode ") + mode;
    return out + (operands.empty() && mode.empty() ? "" : ": ") + reason;
}

}  // namespace

LayoutError::LayoutError(std::string operation, std::string mode, std::vector<std::string> operands, std::string reason)
    : Exception(Error{ErrorKind::Shape, message(operation, mode, operands, reason)}),
      operation_(std::move(operation)),
      mode_(std::move(mode)),
      operands_(std::move(operands)),
      reason_(std::move(reason)) {}

LayoutError LayoutError::within(std::string operation, std::string mode, std::vector<std::string> operands) const {
    const std::string path = mode.empty() ? mode_ : mode_.empty() ? mode : mode + "." + mode_;
    if (operation.empty()) return {operation_, path, operands_, reason_};
    return {std::move(operation), path, std::move(operands), reason_};
}

}  // namespace strata::layout
