#include "strata/asm/emu/launch/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace strata::emu {
namespace {

std::vector<uint64_t> divisors_of(uint64_t n) {
    std::vector<uint64_t> all;
    for (uint64_t d = 1; d * d <= n; ++d) {
        if (n % d) continue;
        all.push_back(n / d);
        if (d > 1 && d * d < n) all.push_back(d);
    }
    return all;
}

/// How uneven `count` multiples of `step` are modulo d. It is how far their first two moments, as shares of d, are from
/// those of all numbers below d.
double unevenness(uint64_t step, uint64_t count, uint64_t d) {
    const auto size = static_cast<double>(d), all = static_cast<double>(count);
    double first = 0, second = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const auto at = static_cast<unsigned __int128>(i) * step % d;
        const double share = static_cast<double>(static_cast<uint64_t>(at)) / size;
        first += share / all, second += share * share / all;
    }
    return std::abs(first - (size - 1) / (2 * size)) +
           std::abs(second - (size - 1) * (2 * size - 1) / (6 * size * size));
}

/// The most even of some steps around the golden section of n that have no divisor in common with it.
uint64_t step_of(uint64_t n, uint64_t count) {
    constexpr int kTried = 64;
    constexpr double kGolden = 0.6180339887498949;
    const std::vector<uint64_t> divisors = divisors_of(n);
    uint64_t best = 1, step = std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(n) * kGolden));
    double least = std::numeric_limits<double>::infinity();
    for (int tried = 0; tried < kTried && least > 0; ++tried, ++step) {
        while (std::gcd(step, n) != 1) ++step;
        double worst = 0;
        for (const uint64_t d : divisors) worst = std::max(worst, unevenness(step, count, d));
        if (worst < least) best = step, least = worst;
    }
    return best;
}

}  // namespace

std::vector<uint64_t> representatives(uint64_t groups, bool sparse) {
    std::vector<uint64_t> numbers = {0, sparse ? 0u : 1u, groups / 2, groups - 1};
    std::erase_if(numbers, [&](uint64_t number) { return number >= groups; });
    std::ranges::sort(numbers);
    numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
    return numbers;
}

std::vector<uint64_t> spread_over(uint64_t groups, uint64_t count) {
    count = std::min(count, groups);
    const uint64_t step = count == groups ? 1 : step_of(groups, count);
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < count; ++i)
        numbers.push_back(static_cast<uint64_t>(static_cast<unsigned __int128>(i) * step % groups));
    std::ranges::sort(numbers);
    return numbers;
}

}  // namespace strata::emu
