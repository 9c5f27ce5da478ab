#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/core/support/result.h"

namespace strata::codegen {

/// A row of options.def: what stands after the spelling.
struct OptionRow {
    enum class Takes { nothing, on_off, joined, value, path, llvm };
    std::string_view spelling;
    Takes takes;
};
std::span<const OptionRow> option_rows();
std::span<const std::string_view> llvm_options();  ///< names after -mllvm

/// Which of a user's compiler options have rows in options.def. Others could run code or touch files and are refused.
/// With the setting unsafe_options they are passed on, and nothing of the result is kept, as its cache key would be
/// incomplete.
bool are_listed(const std::vector<std::string>& options);

/// Error (Usage): the first option that is not passed on (options.def).
Result<void> check_options(const std::vector<std::string>& options);
/// True if one of them makes clang read files of the user.
bool may_read_files(const std::vector<std::string>& options);

}  // namespace strata::codegen
