#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "strata/core/support/error.h"

namespace strata::plan {

/// A row of status.def each; their numbers are those of the C ABI.
enum class Status : int32_t {
#define STATUS(name, ...) name,
#include "strata/plan/status.def"
#undef STATUS
};
inline constexpr int32_t kStatuses = static_cast<int32_t>(Status::internal) + 1;

std::string_view name(Status status);     ///< "INVALID"
std::string_view meaning(Status status);  ///< for people

/// Numbers that an error is about: the least that would do, and what there is.
struct Amounts {
    uint64_t needed = 0, got = 0;
};

/// An error of a plan's functions: the first that they find.
class PlanError : public Exception {
  public:
    PlanError(Status status, std::string operand, Amounts amounts, std::string message);
    /// Of what another part of Strata reports.
    explicit PlanError(const Exception& cause);

    Status status() const { return status_; }
    const std::string& operand() const { return operand_; }  ///< or attribute; "": it is about neither
    uint64_t needed() const { return amounts_.needed; }
    uint64_t got() const { return amounts_.got; }

  private:
    Status status_;
    std::string operand_;
    Amounts amounts_;
};

template <class... Args>
[[noreturn]] void plan_error(Status status, std::string operand, Amounts amounts, fmt::format_string<Args...> text,
                             Args&&... args) {
    throw PlanError(status, std::move(operand), amounts, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace strata::plan
