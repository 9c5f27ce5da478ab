// The words that random programs are made of, put before each of them for the host and for the device alike. Every one
// is defined for all values: no overflow of signed integers, no shift by too much, no conversion out of range. NaNs are
// alike.
#define NOINLINE __attribute__((noinline))
template <class T>
struct unsigned_of {
    typedef T type;
};
template <>
struct unsigned_of<int8_t> {
    typedef uint32_t type;
};
template <>
struct unsigned_of<uint8_t> {
    typedef uint32_t type;
};
template <>
struct unsigned_of<int16_t> {
    typedef uint32_t type;
};
template <>
struct unsigned_of<uint16_t> {
    typedef uint32_t type;
};
template <>
struct unsigned_of<int32_t> {
    typedef uint32_t type;
};
template <>
struct unsigned_of<int64_t> {
    typedef uint64_t type;
};
#define U typename unsigned_of<T>::type
template <class T>
FN T add(T a, T b) {
    return (T)((U)a + (U)b);
}
template <class T>
FN T subtract(T a, T b) {
    return (T)((U)a - (U)b);
}
template <class T>
FN T multiply(T a, T b) {
    return (T)((U)a * (U)b);
}
template <class T>
FN T divide(T a, T b) {
    return b == 0 ? a : (T)-1 < 0 && b == (T)-1 ? (T)(0 - (U)a) : (T)(a / b);
}
template <class T>
FN T remainder(T a, T b) {
    return b == 0 || ((T)-1 < 0 && b == (T)-1) ? (T)0 : (T)(a % b);
}
template <class T>
FN T left(T a, T b) {
    return (T)((U)a << ((U)b & (sizeof(T) * 8 - 1)));
}
template <class T>
FN T right(T a, T b) {
    return (T)(a >> ((U)b & (sizeof(T) * 8 - 1)));
}
template <class T>
FN T both(T a, T b) {
    return (T)(a & b);
}
template <class T>
FN T either(T a, T b) {
    return (T)(a | b);
}
template <class T>
FN T differing(T a, T b) {
    return (T)(a ^ b);
}
template <class T>
FN T lesser(T a, T b) {
    return a < b ? a : b;
}
template <class T>
FN T greater(T a, T b) {
    return a > b ? a : b;
}
template <class T>
FN T high_product(T a, T b) {
    return (T)(((unsigned __int128)(U)a * (U)b) >> (sizeof(T) * 8));
}
FN uint32_t ones(uint64_t a) { return (uint32_t)__builtin_popcountll(a); }
FN uint32_t leading(uint64_t a) { return a ? (uint32_t)__builtin_clzll(a) : 64; }
FN uint32_t trailing(uint32_t a) { return a ? (uint32_t)__builtin_ctz(a) : 32; }
FN uint32_t turned(uint32_t a, uint32_t by) { return a << (by & 31) | a >> (-by & 31); }
FN uint32_t swapped(uint32_t a) { return __builtin_bswap32(a); }
FN uint32_t field(uint32_t a, uint32_t at, uint32_t width) { return a >> (at & 31) & ((1u << (width & 31)) - 1); }

// Which of two zeros is the lesser is open, for comparisons that the compiler makes minima of too. A product that is
// rounded to half loses the sign of a zero on some parts (a fused addition of +0). Adding +0 first makes that the rule.
template <class T>
FN T plus(T a, T b) {
    return (T)(a + b);
}
template <class T>
FN T minus(T a, T b) {
    return (T)(a - b);
}
template <class T>
FN T times(T a, T b) {
    return (T)(a * b);
}
template <class T>
FN T smaller(T a, T b) {
    return (T)((a < b ? a : b) + (T)0);
}
template <class T>
FN T bigger(T a, T b) {
    return (T)((a > b ? a : b) + (T)0);
}
template <class T>
FN T over(T a, T b) {
    return (T)(a / b);
}
FN half plus(half a, half b) {
    half r = a + b;
    return r;
}
FN half times(half a, half b) {
    half r = a * b;
    return r;
}
FN half to_half(float a) { return (half)(a + 0.0f); }
FN float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
FN double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
FN float root(float a) { return __builtin_sqrtf(__builtin_fabsf(a)); }
FN double root(double a) { return __builtin_sqrt(__builtin_fabs(a)); }
FN float rounded(float a) { return __builtin_rintf(a); }
FN double rounded(double a) { return __builtin_rint(a); }
FN float below(float a) { return __builtin_floorf(a); }
FN double below(double a) { return __builtin_floor(a); }
FN float whole(float a) { return __builtin_truncf(a); }
FN double whole(double a) { return __builtin_trunc(a); }
template <class T>
FN T size_of(T a) {
    return a < 0 ? (T)-a : a;
}
template <class T>
FN T to_integer(double a) {
    const double limit =
        (T)-1 < 0 ? (double)(1ull << (sizeof(T) * 8 - 2)) * 2 : (double)(1ull << (sizeof(T) * 8 - 1)) * 2;
    return a < limit && a >= ((T)-1 < 0 ? -limit : 0) ? (T)a : (T)0;
}
FN uint64_t bits_of(double a) { return a != a ? 0x7ff8000000000000ull : __builtin_bit_cast(uint64_t, a); }
FN uint64_t bits_of(float a) { return a != a ? 0x7fc00000u : __builtin_bit_cast(uint32_t, a); }
FN uint64_t bits_of(half a) { return a != a ? 0x7e00u : __builtin_bit_cast(uint16_t, a); }
template <class T>
FN uint64_t bits_of(T a) {
    return (uint64_t)a;
}
FN float as_float(uint32_t a) { return __builtin_bit_cast(float, a); }
FN double as_double(uint64_t a) { return __builtin_bit_cast(double, a); }
FN half as_half(uint16_t a) { return __builtin_bit_cast(half, a); }
template <class T>
FN T load(const uint32_t* words, uint32_t at) {
    T value;
    __builtin_memcpy(&value, (const char*)words + (at % (128 - sizeof(T)) & ~(sizeof(T) - 1)), sizeof value);
    return value;
}
