#pragma once
#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace strata {

enum class ErrorKind {
#define ERROR(kind, ...) kind,
#include "strata/core/support/errors.def"
#undef ERROR
};

/// A fault as a value: travels inside Result<T> below the public surface.
struct Error {
    ErrorKind kind = ErrorKind::Internal;
    std::string message;       ///< one or more lines; says what to do where the user can do something
    std::string log = {};      ///< a compiler's whole output (Compile), else empty
    std::string source = {};   ///< the source text it is about (Compile, Assembly), else empty
    std::string file = {};     ///< where in the user's text, if known
    int line = 0, column = 0;  ///< 1-based; 0 = unknown
};

/// The one exception type of the public surface; `error().kind` tells the kinds apart.
class Exception : public std::runtime_error {
  public:
    explicit Exception(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
    const Error& error() const { return error_; }
    ErrorKind kind() const { return error_.kind; }

  private:
    Error error_;
};

template <class... Args>
Error make_error(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
    return Error{kind, fmt::format(text, std::forward<Args>(args)...)};
}

/// The caller's mistake, found at the public surface.
template <class... Args>
[[noreturn]] void user_error(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
    throw Exception(make_error(kind, text, std::forward<Args>(args)...));
}

std::string_view name(ErrorKind kind);

namespace detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);
}

}  // namespace strata

/// An invariant of ours: the message (fmt arguments) is built only on failure.
#define STRATA_CHECK(condition, ...)                                                                       \
    do {                                                                                                   \
        if (!(condition)) [[unlikely]]                                                                     \
            ::strata::detail::check_failed(#condition, __FILE__, __LINE__, ::fmt::format("" __VA_ARGS__)); \
    } while (0)
