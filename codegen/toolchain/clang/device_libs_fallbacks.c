// Functions that the headers of later ROCm call and older device libraries lack. They are linked after the libraries: the
// definitions of a library that has them win.

unsigned long __ockl_steadyctr_u64(void) { return __builtin_readsteadycounter(); }

// Conversions rounded down, up and to zero: the nearest value, or its neighbour where that is on the wrong side.
#define NEIGHBOUR(T, BITS)                                             \
    static inline T below_##T(T x) {                                   \
        const BITS sign = (BITS)((BITS)1 << (8 * sizeof(BITS) - 1));   \
        BITS b;                                                        \
        __builtin_memcpy(&b, &x, sizeof b);                            \
        b = (BITS)(b << 1) == 0 ? sign | 1 : b & sign ? b + 1 : b - 1; \
        __builtin_memcpy(&x, &b, sizeof b);                            \
        return x;                                                      \
    }
NEIGHBOUR(_Float16, unsigned short)
NEIGHBOUR(float, unsigned)
NEIGHBOUR(double, unsigned long)

// The sign of r - x, where r is x rounded: WIDE holds both exactly. A 64-bit integer has no such type; the limit of its own,
// which only rounding up reaches, does not convert back.
#define BY_WIDER(x, WIDE, LIMIT) ((WIDE)r > (WIDE)x) - ((WIDE)r < (WIDE)x)
#define BY_INTEGER(x, INTEGER, LIMIT) r >= LIMIT ? 1 : ((INTEGER)r > x) - ((INTEGER)r < x)

#define CONVERSION(NAME, T, FROM, BY, WIDE, LIMIT)                            \
    static inline int side_##NAME(T r, FROM x) { return BY(x, WIDE, LIMIT); } \
    T __ocml_cvtrtn_##NAME(FROM x) {                                          \
        const T r = (T)x;                                                     \
        return side_##NAME(r, x) > 0 ? below_##T(r) : r;                      \
    }                                                                         \
    T __ocml_cvtrtp_##NAME(FROM x) {                                          \
        const T r = (T)x;                                                     \
        return side_##NAME(r, x) < 0 ? -below_##T(-r) : r;                    \
    }                                                                         \
    T __ocml_cvtrtz_##NAME(FROM x) { return x < 0 ? __ocml_cvtrtp_##NAME(x) : __ocml_cvtrtn_##NAME(x); }

CONVERSION(f16_f32, _Float16, float, BY_WIDER, float, 0)
CONVERSION(f32_f64, float, double, BY_WIDER, double, 0)
CONVERSION(f32_s32, float, int, BY_WIDER, double, 0)
CONVERSION(f32_u32, float, unsigned, BY_WIDER, double, 0)
CONVERSION(f32_s64, float, long, BY_INTEGER, long, 0x1p63f)
CONVERSION(f32_u64, float, unsigned long, BY_INTEGER, unsigned long, 0x1p64f)
CONVERSION(f64_s64, double, long, BY_INTEGER, long, 0x1p63)
CONVERSION(f64_u64, double, unsigned long, BY_INTEGER, unsigned long, 0x1p64)
