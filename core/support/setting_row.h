#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace strata::setting {

/// A word that a setting may be; one that is known but not there yet is an error of its own.
struct Choice {
    std::string_view word = {};
    bool available = true;
    constexpr Choice() = default;
    constexpr Choice(const char* text, bool there = true) : word(text), available(there) {}
};
constexpr Choice not_yet(const char* word) { return {word, false}; }

/// The column `accepts` of settings.def.
struct Accepts {
    uint64_t low = 0, high = ~uint64_t{0};  ///< of numbers
    std::array<Choice, 6> choices = {};     ///< of words; none = any
    bool is_switch = false;                 ///< a bool is one of the first two words
};
inline constexpr Accepts anything{};
constexpr Accepts range(uint64_t low, uint64_t high) { return {low, high}; }
constexpr Accepts one_of(auto... words) { return {.choices = {Choice(words)...}}; }
/// Words of which the first is what false and 0 mean, the second what true and 1 mean.
constexpr Accepts switch_of(auto... words) { return {.choices = {Choice(words)...}, .is_switch = true}; }

/// A row of settings.def.
struct Row {
    std::string_view name;
    Accepts accepts;
    std::string_view meaning;
    std::string variable() const;  ///< "STRATA_BEAM"
};

}  // namespace strata::setting
