#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/core/support/result.h"

namespace strata::isa::msgpack {

/// One MessagePack value: the subset that AMDGPU metadata uses (no floats as such, no extension types).
class Value {
  public:
    enum class Kind : uint8_t { nil, boolean, integer, string, array, map };

    Value() = default;
    Value(bool flag) : kind_(Kind::boolean), number_(flag) {}
    Value(int number) : Value(static_cast<uint64_t>(static_cast<int64_t>(number))) {}
    Value(uint32_t number) : Value(static_cast<uint64_t>(number)) {}
    Value(uint64_t number) : kind_(Kind::integer), number_(number) {}
    Value(const char* text) : kind_(Kind::string), text_(text) {}
    Value(std::string_view text) : kind_(Kind::string), text_(text) {}
    Value(std::string text) : kind_(Kind::string), text_(std::move(text)) {}
    static Value array() { return Value(Kind::array); }
    static Value map() { return Value(Kind::map); }

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }
    uint64_t number() const { return number_; }  ///< integers (two's complement) and booleans
    const std::string& text() const { return text_; }
    const std::vector<Value>& items() const { return items_; }                            ///< of an array
    const std::vector<std::pair<std::string, Value>>& fields() const { return fields_; }  ///< of a map, in file order

    void append(Value item) { items_.push_back(std::move(item)); }
    void set(std::string_view key, Value value) { fields_.emplace_back(std::string(key), std::move(value)); }
    const Value* find(std::string_view key) const;  ///< a map's value, nullptr when absent or no map

  private:
    explicit Value(Kind kind) : kind_(kind) {}

    Kind kind_ = Kind::nil;
    uint64_t number_ = 0;
    std::string text_;
    std::vector<Value> items_;
    std::vector<std::pair<std::string, Value>> fields_;
};

/// Reads one value that fills `bytes`. Nesting is limited, so hostile input cannot exhaust the stack.
Result<Value> read(std::span<const uint8_t> bytes);

std::vector<uint8_t> write(const Value& value);

}  // namespace strata::isa::msgpack
