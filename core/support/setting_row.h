#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace strata::setting {

#ifdef NDEBUG
inline constexpr bool in_debug_builds = false;
#else
inline constexpr bool in_debug_builds = true;
#endif

/// The column `accepts` of settings.def.
struct Accepts {
    uint64_t low = 0, high = ~uint64_t{0};         ///< of numbers
    std::array<std::string_view, 6> choices = {};  ///< of words; none = any
    bool is_switch = false;                        ///< a bool is one of the first two words
};
inline constexpr Accepts anything{};
constexpr Accepts range(uint64_t low, uint64_t high) { return {low, high}; }
constexpr Accepts one_of(auto... words) { return {.choices = {std::string_view(words)...}}; }
/// Words of which the first is what false and 0 mean, the second what true and 1 mean.
constexpr Accepts switch_of(auto... words) { return {.choices = {std::string_view(words)...}, .is_switch = true}; }

/// The column `keys` of settings.def: which launch plans serve one value of the setting alone.
enum class Keys : uint8_t { none, device, route, plan, search };

/// A row of settings.def.
struct Row {
    std::string_view name;
    Accepts accepts;
    Keys keys;
    std::string_view meaning;
    std::string variable() const;  ///< "STRATA_BEAM"
};

}  // namespace strata::setting
