#include "strata/asm/emu/check/places.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "strata/asm/emu/memory/ops.h"
#include "strata/asm/emu/program/handlers.h"

namespace strata::emu {
namespace {

using Survey = void (*)(const uint32_t* row, uint64_t exec, uint32_t offset, Places& found);

template <int Lanes>
[[gnu::always_inline]] inline void survey(const uint32_t* row, uint64_t exec, uint32_t offset, Places& found) {
    const int start = std::countr_zero(exec);
    const uint32_t first = row[start] + offset, step = static_cast<uint32_t>(found.bytes);
    int32_t lowest = static_cast<int32_t>(first), highest = lowest;
    uint32_t differ = 0, apart = 0, low_bits = 0;
    for (int half = 0; half < Lanes; half += 32) {
        const auto active = static_cast<uint32_t>(exec >> half);
        const uint32_t second = first + static_cast<uint32_t>(half - start) * step;
        for (int i = 0; i < 32; ++i) {
            const uint32_t mask = 0u - (active >> i & 1);
            const uint32_t at = ((row[half + i] + offset) & mask) | (first & ~mask);
            found.firsts[half + i] = static_cast<int32_t>(at);
            lowest = std::min(lowest, static_cast<int32_t>(at));
            highest = std::max(highest, static_cast<int32_t>(at));
            differ |= at ^ first;
            apart |= (at ^ (second + static_cast<uint32_t>(i) * step)) & mask;
            low_bits |= at;
        }
    }
    found.lowest = lowest, found.highest = highest;
    found.differ = differ, found.apart = apart, found.low_bits = low_bits;
}

template <int Lanes>
void survey_anywhere(const uint32_t* row, uint64_t exec, uint32_t offset, Places& found) {
    survey<Lanes>(row, exec, offset, found);
}
#if defined(__x86_64__)
template <int Lanes>
[[gnu::target("arch=x86-64-v3")]] void survey_v3(const uint32_t* row, uint64_t exec, uint32_t offset, Places& found) {
    survey<Lanes>(row, exec, offset, found);
}
template <int Lanes>
[[gnu::target("arch=x86-64-v4")]] void survey_v4(const uint32_t* row, uint64_t exec, uint32_t offset, Places& found) {
    survey<Lanes>(row, exec, offset, found);
}
#endif

/// As wide as the handlers are.
template <int Lanes>
Survey pick() {
#if defined(__x86_64__)
    if (std::string_view(handlers().name) == "avx512") return survey_v4<Lanes>;
    if (std::string_view(handlers().name) == "avx2") return survey_v3<Lanes>;
#endif
    return survey_anywhere<Lanes>;
}

}  // namespace

Places::Places(Wave& wave, const Op& op) : bytes(op.memory().bytes) {
    static const Survey of_32 = pick<32>(), of_64 = pick<64>();
    const uint64_t exec = wave.exec();
    if (!exec) return;
    count = wave.lanes;
    const uint64_t solid = exec >> std::countr_zero(exec);
    is_solid = (solid & (solid + 1)) == 0;
    (count == 32 ? of_32 : of_64)(row_at(&wave, op.memory().address), exec, op.memory().offset, *this);
    if (count == 32 && differ && firsts[0] == firsts[16] && std::equal(firsts, firsts + 16, firsts + 16))
        count = 16;  // rows of a tile
}

bool Places::are_scattered() const {
    int scattered = 0;
    for (int i = 1; i < count; ++i)
        scattered += static_cast<uint32_t>(firsts[i] - firsts[i - 1]) > static_cast<uint32_t>(bytes);
    return 2 * scattered > count;
}

}  // namespace strata::emu
