#pragma once

/// Each host vector width is a namespace of the same functions: the build compiles a room's .inc files once for each,
/// with STRATA_EMU_VARIANT as its name and the width's -march flags (strata_host_variants). Everything in them but what
/// is declared by this has internal linkage, so that no inline function built for a wider host is shared with the
/// others.
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
