#include "compare.h"

#include <fmt/format.h>

namespace programs {
namespace {

/// Floats as integers in order of value: neighbours differ by one, both zeros are zero.
template <class Bits>
int64_t ordered(Bits bits) {
    using Signed = std::make_signed_t<Bits>;
    constexpr Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
    return bits & sign ? -static_cast<int64_t>(static_cast<Signed>(bits & static_cast<Bits>(~sign)))
                       : static_cast<int64_t>(bits);
}

template <class Bits>
bool is_nan(Bits bits) {
    constexpr int mantissa = sizeof(Bits) == 8 ? 52 : sizeof(Bits) == 4 ? 23 : 10;
    constexpr Bits magnitude = static_cast<Bits>(~Bits{0}) >> 1, infinity = magnitude >> mantissa << mantissa;
    return (bits & magnitude) > infinity;
}

template <class Bits>
std::string difference_of(const std::vector<uint8_t>& got, const std::vector<uint8_t>& wanted, bool real, double ulps) {
    size_t count = wanted.size() / sizeof(Bits), wrong = 0;
    std::string first;
    for (size_t i = 0; i < count; ++i) {
        Bits a, b;
        memcpy(&a, &got[i * sizeof a], sizeof a);
        memcpy(&b, &wanted[i * sizeof b], sizeof b);
        if (a == b || (real && is_nan(a) && is_nan(b))) continue;
        double distance = std::abs(static_cast<double>(ordered(a)) - static_cast<double>(ordered(b)));
        if (real && ulps > 0 && distance <= ulps && !is_nan(a) && !is_nan(b)) continue;
        if (wrong++ == 0) {
            first = fmt::format("[{}] is {:#x}, on the host {:#x}", i, a, b);
            if (real) first += fmt::format(", {} ulps", distance);
        }
    }
    return wrong ? fmt::format("{}; {} of {} differ", first, wrong, count) : "";
}

}  // namespace

std::string difference(const Run::Region& region, const std::vector<uint8_t>& got, const std::vector<uint8_t>& wanted) {
    if (region.float_size == 8) return difference_of<uint64_t>(got, wanted, true, region.ulps);
    if (region.float_size == 2) return difference_of<uint16_t>(got, wanted, true, region.ulps);
    if (region.float_size == 4) return difference_of<uint32_t>(got, wanted, true, region.ulps);
    if (wanted.size() % 4 == 0) return difference_of<uint32_t>(got, wanted, false, 0);
    return difference_of<uint8_t>(got, wanted, false, 0);
}

}  // namespace programs
