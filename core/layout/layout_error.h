#pragma once
#include <optional>
#include <string>
#include <vector>

#include "strata/core/support/error.h"

namespace strata::layout {

/// An error of layouts: the message names the operation, the mode and the operands, and says what to do.
class LayoutError : public Exception {
  public:
    /// `reason` says what is wrong; `mode` is a path such as "0" or "1.0", "" where it is about all of them.
    LayoutError(std::string operation, std::string mode, std::vector<std::string> operands, std::string reason);

    const std::string& operation() const { return operation_; }
    const std::string& mode() const { return mode_; }
    const std::vector<std::string>& operands() const { return operands_; }
    const std::string& reason() const { return reason_; }
    /// The same mistake as one of an operation that called this one, at a mode of its own.
    LayoutError within(std::string operation, std::string mode, std::vector<std::string> operands) const;

  private:
    std::string operation_, mode_;
    std::vector<std::string> operands_;
    std::string reason_;
};

/// The mistake without operands, which `operation` adds as it passes.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
    throw LayoutError("", "", {}, fmt::format(text, std::forward<Args>(args)...));
}

/// body(); a LayoutError that leaves it names this operation and its operands.
template <class Body, class... Operands>
auto operation(const char* name, Body&& body, const Operands&... operands) {
    try {
        return body();
    } catch (const LayoutError& error) {
        throw error.within(name, "", {to_string(operands)...});
    }
}

/// body(); a LayoutError that leaves it is about this mode.
template <class Body>
auto at_mode(size_t mode, Body&& body) {
    try {
        return body();
    } catch (const LayoutError& error) {
        throw error.within("", std::to_string(mode), {});
    }
}

}  // namespace strata::layout
