#pragma once
#include <cstdint>
#include <optional>

namespace strata {

/// An index that a kernel found outside of its axis. The kernel stores to an address that encodes it (`bounded` of
/// codegen/toolchain/prelude.hip): 16 bits of mark, 6 of axis, 42 of index. An index beyond these is given as the
/// largest. The bits of an index without a sign are read with one: a negative number that was cast is itself.
struct WrongIndex {
    static constexpr uint64_t kMark = 0xb1d0;
    static constexpr int64_t kMost = (int64_t{1} << 41) - 1;
    int64_t index;
    int axis;
};

inline std::optional<WrongIndex> wrong_index(uint64_t address) {
    if (address >> 48 != WrongIndex::kMark) return {};
    return WrongIndex{static_cast<int64_t>(address << 22) >> 22, static_cast<int>(address >> 42 & 63)};
}

}  // namespace strata
