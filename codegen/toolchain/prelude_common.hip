// Sections after those of prelude.hip and of prelude_nvidia.hip, whose words they use: STRATA_FN, half, bfloat16, the
// integers of stdint.h.
//@ strata_to_odd round_to_odd
// A double rounded to odd, so that rounding it again to fewer bits is rounding once.
STRATA_FN float strata_to_odd(double value) {
    float near = (float)value;
    uint32_t bits = __builtin_bit_cast(uint32_t, near);
    if ((double)near == value || value != value || bits & 1) return near;
    double size = __builtin_fabs(value), rounded = __builtin_fabs((double)near);
    return __builtin_bit_cast(float, bits + (rounded > size ? -1 : 1));
}
//@ round_to_odd
// A number of more bits than a float, rounded to odd.
STRATA_FN float round_to_odd(double x) { return strata_to_odd(x); }
STRATA_FN float round_to_odd(uint64_t x) {
    if (x < 1u << 24) return (float)x;
    int shift = 40 - __builtin_clzl(x);
    uint64_t kept = x >> shift | ((x & ((1ul << shift) - 1)) != 0);
    return (float)kept * __builtin_bit_cast(float, (uint32_t)(127 + shift) << 23);
}
STRATA_FN float round_to_odd(int64_t x) { return x < 0 ? -round_to_odd(0 - (uint64_t)x) : round_to_odd((uint64_t)x); }
STRATA_FN float round_to_odd(int32_t x) { return round_to_odd((int64_t)x); }
STRATA_FN float round_to_odd(uint32_t x) { return round_to_odd((uint64_t)x); }
//@ to_bfloat16
// As a cast does; for values made from integers, whose direct conversion clang 19 cannot select.
STRATA_FN bfloat16 to_bfloat16(float x) {
    uint32_t bits = __builtin_bit_cast(uint32_t, x);
    bits = x != x ? 0x7fc00000 : bits + 0x7fff + (bits >> 16 & 1);
    return __builtin_bit_cast(bfloat16, (uint16_t)(bits >> 16));
}
//@ saturate
// A float truncated to an integer, the nearest that exists; NaN gives 0.
template <class T, class F> STRATA_FN T saturate(F x) {
    constexpr bool is_signed = (T)-1 < 0;
    constexpr int bits = sizeof(T) * 8 - is_signed;
    constexpr T highest = (T)(~0ul >> (64 - bits)), lowest = is_signed ? (T)(-highest - 1) : (T)0;
    constexpr double limit = 2.0 * (1ul << (bits - 1));
    return x != x ? (T)0 : x >= (F)limit ? highest : x <= (is_signed ? (F)-limit : (F)0) ? lowest : (T)x;
}
template <class T> STRATA_FN T saturate(half x) { return saturate<T, float>(x); }
//@ max min
template <class T> STRATA_FN T max(T x, T y) { return x < y ? y : x; }
template <class T> STRATA_FN T min(T x, T y) { return y < x ? y : x; }
//@ max_number
STRATA_FN float max_number(float x, float y) { return fmax(x, y); }
//@ mulhi
STRATA_FN uint32_t mulhi(uint32_t x, uint32_t y) { return (uint32_t)((uint64_t)x * y >> 32); }
STRATA_FN int32_t mulhi(int32_t x, int32_t y) { return (int32_t)((int64_t)x * y >> 32); }
//@ leading
STRATA_FN int32_t leading(uint32_t x) { return x ? __builtin_clz(x) : -1; }
//@ strata_popcount strata_leading_zeros strata_trailing_zeros strata_reverse_bits
template <class T> STRATA_FN uint64_t strata_bits(T x) { return (uint64_t)x & ~0ul >> (64 - 8 * sizeof(T)); }
//@ strata_popcount
template <class T> STRATA_FN T strata_popcount(T x) {
    return (T)(sizeof(T) == 8 ? __builtin_popcountl(strata_bits(x)) : __builtin_popcount((uint32_t)strata_bits(x)));
}
//@ strata_leading_zeros
template <class T> STRATA_FN T strata_leading_zeros(T x) {
    if (x == 0) return (T)(8 * sizeof(T));
    const uint64_t bits = strata_bits(x);
    return (T)(sizeof(T) == 8 ? __builtin_clzl(bits) : __builtin_clz((uint32_t)bits) - (32 - 8 * (int)sizeof(T)));
}
//@ strata_trailing_zeros
template <class T> STRATA_FN T strata_trailing_zeros(T x) {
    if (x == 0) return (T)(8 * sizeof(T));
    const uint64_t bits = strata_bits(x);
    return (T)(sizeof(T) == 8 ? 63 - __builtin_clzl(bits & -bits) : 31 - __builtin_clz((uint32_t)bits & -(uint32_t)bits));
}
//@ strata_reverse_bits
template <class T> STRATA_FN T strata_reverse_bits(T x) {
    uint64_t bits = strata_bits(x);
    bits = (bits & 0x5555555555555555) << 1 | (bits >> 1 & 0x5555555555555555);
    bits = (bits & 0x3333333333333333) << 2 | (bits >> 2 & 0x3333333333333333);
    bits = (bits & 0x0f0f0f0f0f0f0f0f) << 4 | (bits >> 4 & 0x0f0f0f0f0f0f0f0f);
    bits = (bits & 0x00ff00ff00ff00ff) << 8 | (bits >> 8 & 0x00ff00ff00ff00ff);
    bits = (bits & 0x0000ffff0000ffff) << 16 | (bits >> 16 & 0x0000ffff0000ffff);
    return (T)((bits << 32 | bits >> 32) >> (64 - 8 * sizeof(T)));
}
//@ integer_pow
// Wraps; a negative exponent gives the real power truncated.
template <class T> STRATA_FN T integer_pow(T base, T exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == (T)-1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t result = 1, square = (uint64_t)base;
    for (uint64_t e = (uint64_t)exponent; e; e >>= 1, square *= square)
        if (e & 1) result *= square;
    return (T)result;
}
//@ fp8_e4m3 fp8_e5m2 fp8_e4m3fnuz fp8_e5m2fnuz
// 8-bit floats. Rounding is to nearest even, without saturation: out of range gives infinity in e5m2 and NaN in the
// others. OCP e4m3: bias 7, no infinity, NaN 0x7f/0xff. OCP e5m2: bias 15, as IEEE. FNUZ: bias 8 and 16, the only NaN
// is 0x80, no infinity, no negative zero.
template <int M, int Bias, bool Fnuz> STRATA_FN uint8_t strata_to_fp8(float value) {
    constexpr bool ieee = M == 2 && !Fnuz;
    constexpr uint32_t overflow = Fnuz ? 0x80 : ieee ? 0x7c : 0x7f, largest = ieee ? 0x7b : Fnuz ? 0x7f : 0x7e;
    uint32_t bits = __builtin_bit_cast(uint32_t, value), sign = bits >> 24 & 0x80, abs = bits & 0x7fffffff;
    if (abs > 0x7f800000) return Fnuz ? 0x80 : (uint8_t)(sign | (ieee ? 0x7e : 0x7f));
    uint32_t code;
    if (abs >= (uint32_t)(128 - Bias) << 23)  // normal: move the bias, round away the low 23 - M bits
        code = (abs - ((uint32_t)(127 - Bias) << 23) + ((1u << (22 - M)) - 1) + (abs >> (23 - M) & 1)) >> (23 - M);
    else  // subnormal: adding 2^k puts the last kept bit at the end of the sum's mantissa, rounded by the addition
        code = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, abs) +
                                                __builtin_bit_cast(float, (uint32_t)(151 - Bias - M) << 23)) & 0xff;
    if (code > largest) code = overflow;
    if (Fnuz) return code == 0 || code == 0x80 ? (uint8_t)code : (uint8_t)(sign | code);
    return (uint8_t)(sign | code);
}
template <int M, int Bias, bool Fnuz> STRATA_FN float strata_from_fp8(uint8_t code) {
    constexpr bool ieee = M == 2 && !Fnuz;
    uint32_t sign = (uint32_t)(code & 0x80) << 24, abs = code & 0x7f;
    // The code as a float's top mantissa bits, its exponent then moved by an exact multiplication.
    float value = __builtin_bit_cast(float, abs << (23 - M)) * __builtin_bit_cast(float, (uint32_t)(254 - Bias) << 23);
    uint32_t bits = __builtin_bit_cast(uint32_t, value);
    if (Fnuz ? code == 0x80 : ieee ? abs > 0x7c : abs == 0x7f) bits = 0x7fc00000;
    if (ieee && abs == 0x7c) bits = 0x7f800000;
    return __builtin_bit_cast(float, Fnuz && code == 0x80 ? bits : bits | sign);
}
#define STRATA_FP8(name, M, Bias, Fnuz)                                                     \
    struct name {                                                                           \
        uint8_t bits;                                                                       \
        name() = default;                                                                   \
        __device__ __forceinline__ explicit name(float x) : bits(strata_to_fp8<M, Bias, Fnuz>(x)) {} \
        template <class T> __device__ __forceinline__ explicit name(T x) : name((float)x) {} \
        __device__ __forceinline__ explicit name(double x) : name(strata_to_odd(x)) {}      \
        __device__ __forceinline__ operator float() const { return strata_from_fp8<M, Bias, Fnuz>(bits); } \
    };
//@ fp8_e4m3
STRATA_FP8(fp8_e4m3, 3, 7, false)
//@ fp8_e5m2
STRATA_FP8(fp8_e5m2, 2, 15, false)
//@ fp8_e4m3fnuz
STRATA_FP8(fp8_e4m3fnuz, 3, 8, true)
//@ fp8_e5m2fnuz
STRATA_FP8(fp8_e5m2fnuz, 2, 16, true)
