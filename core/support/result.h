#pragma once
#include <utility>
#include <variant>

#include "strata/core/support/error.h"

namespace strata {

/// A value or the Error that prevented it; the member names of C++23's std::expected.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const { return state_.index() == 0; }
    explicit operator bool() const { return has_value(); }
    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T&& operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }
    Error& error() { return std::get<1>(state_); }
    const Error& error() const { return std::get<1>(state_); }

    /// The value, or the error thrown as an Exception: the step from the inside to the public surface.
    T& value() & {
        if (!has_value()) throw Exception(error());
        return **this;
    }
    T&& value() && {
        if (!has_value()) throw Exception(error());
        return std::get<0>(std::move(state_));
    }

  private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)), ok_(false) {}

    bool has_value() const { return ok_; }
    explicit operator bool() const { return ok_; }
    Error& error() { return error_; }
    const Error& error() const { return error_; }
    void value() const {
        if (!ok_) throw Exception(error_);
    }

  private:
    Error error_;
    bool ok_ = true;
};

}  // namespace strata

#define STRATA_CONCAT_(a, b) a##b
#define STRATA_CONCAT(a, b) STRATA_CONCAT_(a, b)
/// `STRATA_TRY(auto x, f())`: x is f()'s value, or its error is returned from the enclosing function.
#define STRATA_TRY(target, ...)                                         \
    auto STRATA_CONCAT(strata_try_, __LINE__) = (__VA_ARGS__);          \
    if (!STRATA_CONCAT(strata_try_, __LINE__)) [[unlikely]]             \
        return std::move(STRATA_CONCAT(strata_try_, __LINE__).error()); \
    target = *std::move(STRATA_CONCAT(strata_try_, __LINE__))
/// The same for Result<void>.
#define STRATA_TRY_VOID(...)                                                                       \
    do {                                                                                           \
        if (auto strata_try_ = (__VA_ARGS__); !strata_try_) return std::move(strata_try_.error()); \
    } while (0)
