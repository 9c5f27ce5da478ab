#pragma once

/// Each host vector width is a namespace of the same functions. The build compiles a room's .inc files once for each,
/// with STRATA_EMU_VARIANT as its name and the width's -march flags (strata_host_variants). Everything in them has
/// internal linkage, except declarations made by this macro. No inline function built for a wider host is therefore
/// shared with the others.
#define STRATA_EMU_IN_EVERY_VARIANT(...) \
    namespace portable {                 \
    __VA_ARGS__                          \
    }                                    \
    namespace avx2 {                     \
    __VA_ARGS__                          \
    }                                    \
    namespace avx512 {                   \
    __VA_ARGS__                          \
    }
