#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "strata/core/support/result.h"

namespace strata {

/// A JSON value (RFC 8259). Whole numbers of 64 bits are exact. The members of an object are sorted by their names, so
/// that equal values are equal texts.
class Json {
  public:
    using Array = std::vector<Json>;
    using Object = std::map<std::string, Json, std::less<>>;

    Json() = default;
    Json(bool value) : value_(value) {}
    Json(int value) : value_(int64_t{value}) {}
    Json(int64_t value) : value_(value) {}
    Json(uint32_t value) : value_(int64_t{value}) {}
    Json(uint64_t value) : value_(value) {}
    Json(const char* value) : value_(std::string(value)) {}
    Json(std::string value) : value_(std::move(value)) {}
    Json(std::string_view value) : value_(std::string(value)) {}
    Json(Array value) : value_(std::move(value)) {}
    Json(Object value) : value_(std::move(value)) {}
    /// `items` as an array, each by `make(item)`.
    template <class Items, class Make>
    static Json list(const Items& items, Make make) {
        Array all;
        for (const auto& item : items) all.push_back(make(item));
        return all;
    }
    template <class Items>
    static Json list(const Items& items) {
        return list(items, [](const auto& item) { return Json(item); });
    }

    /// Null where the value is of another kind; a whole number is one of 64 bits, with a sign or without.
    const std::string* text() const { return std::get_if<std::string>(&value_); }
    const Array* array() const { return std::get_if<Array>(&value_); }
    const Object* object() const { return std::get_if<Object>(&value_); }
    const bool* flag() const { return std::get_if<bool>(&value_); }
    bool is_null() const { return value_.index() == 0; }
    /// True and `to`, if it is a whole number that fits.
    bool whole(uint64_t& to) const;
    bool whole(int64_t& to) const;

    /// The member of an object; null: it has none, or this is no object.
    const Json* find(std::string_view member) const;

    std::string dump() const;  ///< without blanks, in ASCII
    /// Error (Usage) with the byte where the text is no JSON. Refused are a name twice in one object, more than 64
    /// levels, and text that is no UTF-8.
    static Result<Json> parse(std::string_view text);

  private:
    friend class JsonReader;
    std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object> value_;
};

}  // namespace strata
