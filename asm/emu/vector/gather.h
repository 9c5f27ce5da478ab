#pragma once
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "strata/asm/emu/vector/lanes.h"

namespace strata::emu::STRATA_EMU_VARIANT {

/// The 32 dwords of `from` in the order of `at`, which stays within rows of 16 lanes.
STRATA_EMU_INLINE void gather_in_rows(const uint32_t* from, const uint32_t* at, uint32_t* to) {
#if defined(__AVX512F__)
    for (int row = 0; row < kLanes; row += 16) {
        const __m512i x = _mm512_loadu_si512(from + row);
        _mm512_storeu_si512(to + row, _mm512_permutexvar_epi32(_mm512_loadu_si512(at + row), x));
    }
#else
    for (int lane = 0; lane < kLanes; ++lane) to[lane] = from[at[lane]];
#endif
}

}  // namespace strata::emu::STRATA_EMU_VARIANT
