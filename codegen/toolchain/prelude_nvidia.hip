// Names that HIP source may use on NVIDIA's chips beyond NVRTC's own: sections as those of prelude.hip, whose words
// these are too.
//@
#pragma nv_diag_suppress 177  // functions of the prelude that a source does not call
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long uint64_t;
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
#define STRATA_FN static __device__ __forceinline__
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_nanf(text) __int_as_float(0x7fc00000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000)
#define __builtin_nan(text) __longlong_as_double(0x7ff8000000000000)
#define __builtin_fabs(x) fabs(x)
#define __builtin_clz(x) __clz(x)
#define __builtin_clzl(x) __clzll(x)
#define __builtin_popcount(x) __popc(x)
#define __builtin_popcountl(x) __popcll(x)
//@ half half2 half4 half8 half16
// Arithmetic in float32, rounded: of +, -, *, / that is the same as rounding once.
struct half {
    uint16_t bits;
    half() = default;
    __device__ __forceinline__ explicit half(float x) {
#if __CUDA_ARCH__ >= 800
        uint32_t pair;  // two at once are converted at four times the rate of one
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
        bits = (uint16_t)pair;
#else
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#endif
    }
    __device__ __forceinline__ explicit half(double x) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x)); }
    template <class T> __device__ __forceinline__ explicit half(T x) : half((double)x) {}
    template <class T> __device__ __forceinline__ half& operator=(T x) { return *this = half(x); }
    __device__ __forceinline__ operator float() const {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
    }
};
//@ bfloat16 bfloat162 bfloat164 bfloat168 bfloat1616
struct bfloat16 {
    uint16_t bits;
    bfloat16() = default;
    __device__ __forceinline__ explicit bfloat16(float x) {
#if __CUDA_ARCH__ >= 800
        uint32_t pair;  // two at once are converted at four times the rate of one
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
        bits = (uint16_t)pair;
#else
        const uint32_t word = __float_as_uint(x);
        bits = (uint16_t)((x != x ? 0x7fc00000 : word + 0x7fff + (word >> 16 & 1)) >> 16);
#endif
    }
    template <class T> __device__ __forceinline__ explicit bfloat16(T x) : bfloat16((float)x) {}
    __device__ __forceinline__ operator float() const { return __uint_as_float((uint32_t)bits << 16); }
};
//@ half half2 half4 half8 half16 bfloat16 bfloat162 bfloat164 bfloat168 bfloat1616
#define STRATA_NARROW_SIGN(T, sign)                                                         \
    STRATA_FN T operator sign(T x, T y) { return T((float)x sign(float) y); }               \
    STRATA_FN T& operator sign##=(T& x, T y) { return x = T((float)x sign(float) y); }
#define STRATA_NARROW_FUNCTION(T, name) STRATA_FN T name(T x) { return T(name((float)x)); }
#define STRATA_NARROW_FUNCTION2(T, name) STRATA_FN T name(T x, T y) { return T(name((float)x, (float)y)); }
#define STRATA_NARROW(T)                                                                                                   \
    STRATA_NARROW_SIGN(T, +) STRATA_NARROW_SIGN(T, -) STRATA_NARROW_SIGN(T, *) STRATA_NARROW_SIGN(T, /)                    \
    STRATA_FN T operator-(T x) { return __builtin_bit_cast(T, (uint16_t)(x.bits ^ 0x8000)); }                              \
    STRATA_FN T fabs(T x) { return __builtin_bit_cast(T, (uint16_t)(x.bits & 0x7fff)); }                                   \
    STRATA_FN T fma(T x, T y, T z) { return T(fma((double)(float)x, (double)(float)y, (double)(float)z)); }                \
    STRATA_NARROW_FUNCTION(T, floor) STRATA_NARROW_FUNCTION(T, ceil) STRATA_NARROW_FUNCTION(T, trunc)                      \
    STRATA_NARROW_FUNCTION(T, rint) STRATA_NARROW_FUNCTION(T, sqrt) STRATA_NARROW_FUNCTION(T, rsqrt)                       \
    STRATA_NARROW_FUNCTION(T, exp) STRATA_NARROW_FUNCTION(T, exp2) STRATA_NARROW_FUNCTION(T, log)                          \
    STRATA_NARROW_FUNCTION(T, log2)                                                                                        \
    STRATA_NARROW_FUNCTION2(T, fmax) STRATA_NARROW_FUNCTION2(T, fmin)
//@ half half2 half4 half8 half16
STRATA_NARROW(half)
//@ bfloat16 bfloat162 bfloat164 bfloat168 bfloat1616
STRATA_NARROW(bfloat16)
//@ _Float16
#define _Float16 half
//@ logistic
// The logistic function of 1 to 2, within an ulp: without the branch of a division of any values.
STRATA_FN float logistic(float x) {
    float power = expf(-fabsf(x)), r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(power + 1));
    return x < 0 ? power * r : r;
}
STRATA_FN double logistic(double x) {
    double power = exp(-fabs(x)), r = 1 / (power + 1);
    return x < 0 ? power * r : r;
}
//@ ncdf
STRATA_FN float ncdf(float x) { return normcdff(x); }
STRATA_FN double ncdf(double x) { return normcdf(x); }
//@ expm1 & half half2 half4 half8 half16
STRATA_NARROW_FUNCTION(half, expm1)
//@ log1p & half half2 half4 half8 half16
STRATA_NARROW_FUNCTION(half, log1p)
//@ logistic & half half2 half4 half8 half16
STRATA_NARROW_FUNCTION(half, logistic)
//@ ncdf & half half2 half4 half8 half16
STRATA_NARROW_FUNCTION(half, ncdf)
//@ STRATA_MATH1
// Functions of CUDA's math library for half too; prelude.cpp adds a section for each that ops.def names.
#define STRATA_MATH1(name) STRATA_FN half name(half x) { return half(name((float)x)); }
//@ STRATA_MATH2
#define STRATA_MATH2(name) STRATA_FN half name(half x, half y) { return half(name((float)x, (float)y)); }
//@ half2 half4 bfloat162 bfloat164
#define STRATA_NARROW_VECTORS(T)                     \
    struct alignas(4) T##2 { T x, y; };              \
    struct alignas(8) T##4 { T x, y, z, w; };
//@ half2 half4
STRATA_NARROW_VECTORS(half)
#define make_half2(...) (half2{__VA_ARGS__})
#define make_half4(...) (half4{__VA_ARGS__})
//@ bfloat162 bfloat164
STRATA_NARROW_VECTORS(bfloat16)
#define make_bfloat162(...) (bfloat162{__VA_ARGS__})
#define make_bfloat164(...) (bfloat164{__VA_ARGS__})
//@ strata_vector char8 char16 uchar8 uchar16 short8 short16 ushort8 ushort16 int8 int16 uint8 uint16 long8 long16 ulong8 ulong16 half8 half16 bfloat168 bfloat1616 float8 float16 double8 double16
// Vectors that CUDA has none of.
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) strata_vector {
    T lanes[N];
    __device__ __forceinline__ T& operator[](int i) { return lanes[i]; }
    __device__ __forceinline__ const T& operator[](int i) const { return lanes[i]; }
};
#define STRATA_VECTORS(T, name)              \
    typedef strata_vector<T, 8> name##8;     \
    typedef strata_vector<T, 16> name##16;
//@ char8 char16
STRATA_VECTORS(signed char, char)
#define make_char8(...) (char8{__VA_ARGS__})
#define make_char16(...) (char16{__VA_ARGS__})
//@ uchar8 uchar16
STRATA_VECTORS(uchar, uchar)
#define make_uchar8(...) (uchar8{__VA_ARGS__})
#define make_uchar16(...) (uchar16{__VA_ARGS__})
//@ short8 short16
STRATA_VECTORS(short, short)
#define make_short8(...) (short8{__VA_ARGS__})
#define make_short16(...) (short16{__VA_ARGS__})
//@ ushort8 ushort16
STRATA_VECTORS(ushort, ushort)
#define make_ushort8(...) (ushort8{__VA_ARGS__})
#define make_ushort16(...) (ushort16{__VA_ARGS__})
//@ int8 int16
STRATA_VECTORS(int, int)
#define make_int8(...) (int8{__VA_ARGS__})
#define make_int16(...) (int16{__VA_ARGS__})
//@ uint8 uint16
STRATA_VECTORS(uint, uint)
#define make_uint8(...) (uint8{__VA_ARGS__})
#define make_uint16(...) (uint16{__VA_ARGS__})
//@ long8 long16
STRATA_VECTORS(long, long)
#define make_long8(...) (long8{__VA_ARGS__})
#define make_long16(...) (long16{__VA_ARGS__})
//@ ulong8 ulong16
STRATA_VECTORS(ulong, ulong)
#define make_ulong8(...) (ulong8{__VA_ARGS__})
#define make_ulong16(...) (ulong16{__VA_ARGS__})
//@ half8 half16
STRATA_VECTORS(half, half)
#define make_half8(...) (half8{__VA_ARGS__})
#define make_half16(...) (half16{__VA_ARGS__})
//@ bfloat168 bfloat1616
STRATA_VECTORS(bfloat16, bfloat16)
#define make_bfloat168(...) (bfloat168{__VA_ARGS__})
#define make_bfloat1616(...) (bfloat1616{__VA_ARGS__})
//@ float8 float16
STRATA_VECTORS(float, float)
#define make_float8(...) (float8{__VA_ARGS__})
#define make_float16(...) (float16{__VA_ARGS__})
//@ double8 double16
STRATA_VECTORS(double, double)
#define make_double8(...) (double8{__VA_ARGS__})
#define make_double16(...) (double16{__VA_ARGS__})
//@ any_bits
template <class T> STRATA_FN T any_bits(T x) { return x; }
//@ strata_from_lane strata_shuffle lane_xor __shfl __shfl_xor __shfl_up __shfl_down
#define STRATA_ALL_LANES 0xffffffffu
template <int bytes> struct strata_words { int w[(bytes + 3) / 4]; };
template <class T, class Move> STRATA_FN T strata_moved(T value, Move move) {
    strata_words<sizeof(T)> words{};
    memcpy(&words, &value, sizeof(T));
    for (int& w : words.w) w = move(w);
    memcpy(&value, &words, sizeof(T));
    return value;
}
//@ lane_xor
template <int mask, class T> STRATA_FN T lane_xor(T value) {
    return strata_moved(value, [](int w) { return __shfl_xor_sync(STRATA_ALL_LANES, w, mask); });
}
//@ __shfl __shfl_xor __shfl_up __shfl_down
// HIP's, which name no lanes: those that are there.
template <class T> STRATA_FN T __shfl(T value, int source, int width = 32) {
    return strata_moved(value, [=](int w) { return __shfl_sync(__activemask(), w, source, width); });
}
template <class T> STRATA_FN T __shfl_xor(T value, int mask, int width = 32) {
    return strata_moved(value, [=](int w) { return __shfl_xor_sync(__activemask(), w, mask, width); });
}
template <class T> STRATA_FN T __shfl_up(T value, unsigned delta, int width = 32) {
    return strata_moved(value, [=](int w) { return __shfl_up_sync(__activemask(), w, delta, width); });
}
template <class T> STRATA_FN T __shfl_down(T value, unsigned delta, int width = 32) {
    return strata_moved(value, [=](int w) { return __shfl_down_sync(__activemask(), w, delta, width); });
}
//@ strata_shuffle
template <class T> STRATA_FN T strata_shuffle(T value, int lane) {
    return strata_moved(value, [=](int w) { return __shfl_sync(__activemask(), w, lane & 31); });
}
//@ __ballot __any __all strata_ballot
// NVRTC has these words too, some with a result of 32 bits.
STRATA_FN unsigned long long strata_ballot(int predicate) { return __ballot_sync(__activemask(), predicate); }
STRATA_FN int strata_any(int predicate) { return __any_sync(__activemask(), predicate); }
STRATA_FN int strata_all(int predicate) { return __all_sync(__activemask(), predicate); }
#define __ballot strata_ballot
#define __any strata_any
#define __all strata_all
//@ atomicAdd
STRATA_FN long atomicAdd(long* p, long v) { return (long)atomicAdd((unsigned long long*)p, (unsigned long long)v); }
STRATA_FN unsigned long atomicAdd(unsigned long* p, unsigned long v) {
    return (unsigned long)atomicAdd((unsigned long long*)p, (unsigned long long)v);
}
//@ strata_exchange atomicAdd & half bfloat16
template <class T> STRATA_FN T strata_add_narrow(T* p, T v) {
    unsigned short* const at = (unsigned short*)p;
    unsigned short seen = *at;
    for (;;) {
        const T sum = __builtin_bit_cast(T, seen) + v;
        const unsigned short before = atomicCAS(at, seen, sum.bits);
        if (before == seen) return __builtin_bit_cast(T, before);
        seen = before;
    }
}
//@ atomicAdd & half
STRATA_FN half atomicAdd(half* p, half v) { return strata_add_narrow(p, v); }
//@ atomicAdd & bfloat16
STRATA_FN bfloat16 atomicAdd(bfloat16* p, bfloat16 v) { return strata_add_narrow(p, v); }
//@ strata_workgroup strata_device strata_system
constexpr int strata_workgroup = 0, strata_device = 1, strata_system = 2;
#define __builtin_trap() __trap()
//@ strata_atomic_add strata_atomic_max strata_atomic_min strata_atomic_and strata_atomic_or strata_atomic_xor strata_atomic_exchange strata_atomic_compare_exchange strata_atomic_inc strata_atomic_dec
// All by compare-and-swap of words, but for what CUDA has for the type.
template <int scope> STRATA_FN uint32_t strata_swap(uint32_t* p, uint32_t expected, uint32_t v) {
    return scope == strata_system ? atomicCAS_system(p, expected, v) : scope == strata_device ? atomicCAS(p, expected, v) : atomicCAS_block(p, expected, v);
}
template <int scope> STRATA_FN unsigned long long strata_swap(unsigned long long* p, unsigned long long expected, unsigned long long v) {
    return scope == strata_system ? atomicCAS_system(p, expected, v) : scope == strata_device ? atomicCAS(p, expected, v) : atomicCAS_block(p, expected, v);
}
template <int bytes> struct strata_word_of { using type = uint32_t; };
template <> struct strata_word_of<8> { using type = unsigned long long; };
template <int scope, class T> STRATA_FN T strata_atomic_compare_exchange(T* p, T v, T expected) {
    using word = typename strata_word_of<sizeof(T)>::type;
    return __builtin_bit_cast(T, strata_swap<scope>((word*)p, __builtin_bit_cast(word, expected), __builtin_bit_cast(word, v)));
}
template <int scope, class T, class Next> STRATA_FN T strata_atomic_loop(T* p, Next next) {
    using word = typename strata_word_of<sizeof(T)>::type;
    word seen = *(volatile word*)p;
    for (;;) {
        const word before = strata_swap<scope>((word*)p, seen, __builtin_bit_cast(word, next(__builtin_bit_cast(T, seen))));
        if (before == seen) return __builtin_bit_cast(T, before);
        seen = before;
    }
}
#define STRATA_LOOP(name, value) \
    template <int scope, class T> STRATA_FN T strata_atomic_##name(T* p, T v) { \
        return strata_atomic_loop<scope>(p, [=](T old) -> T { return value; }); \
    }
template <class T> STRATA_FN T strata_larger(T a, T b) { return b > a || a != a ? b : a; }
template <class T> STRATA_FN T strata_smaller(T a, T b) { return b < a || a != a ? b : a; }
STRATA_LOOP(max, strata_larger(old, v)) STRATA_LOOP(min, strata_smaller(old, v)) STRATA_LOOP(and, old & v)
STRATA_LOOP(or, old | v) STRATA_LOOP(xor, old ^ v) STRATA_LOOP(exchange, v)
STRATA_LOOP(inc, old >= v ? 0 : old + 1) STRATA_LOOP(dec, old == 0 || old > v ? v : old - 1)
STRATA_LOOP(add, old + v)
#define STRATA_NATIVE(name, function, T) \
    template <int scope> STRATA_FN T strata_atomic_##name(T* p, T v) { \
        return scope == strata_system ? function##_system(p, v) : scope == strata_device ? function(p, v) : function##_block(p, v); \
    }
STRATA_NATIVE(add, atomicAdd, int) STRATA_NATIVE(add, atomicAdd, unsigned) STRATA_NATIVE(add, atomicAdd, float)
STRATA_NATIVE(add, atomicAdd, double) STRATA_NATIVE(max, atomicMax, int) STRATA_NATIVE(max, atomicMax, unsigned)
STRATA_NATIVE(min, atomicMin, int) STRATA_NATIVE(min, atomicMin, unsigned) STRATA_NATIVE(and, atomicAnd, unsigned)
STRATA_NATIVE(or, atomicOr, unsigned) STRATA_NATIVE(xor, atomicXor, unsigned) STRATA_NATIVE(inc, atomicInc, unsigned)
STRATA_NATIVE(dec, atomicDec, unsigned) STRATA_NATIVE(exchange, atomicExch, unsigned)
//@ strata_atomic_add & half2 bfloat162
template <int scope, class T> STRATA_FN T strata_add_pair(T* p, T v) {
    return strata_atomic_loop<scope>(p, [=](T old) -> T {
        old.x += v.x, old.y += v.y;
        return old;
    });
}
//@ strata_atomic_add & half2
template <int scope> STRATA_FN half2 strata_atomic_add(half2* p, half2 v) { return strata_add_pair<scope>(p, v); }
//@ strata_atomic_add & bfloat162
template <int scope> STRATA_FN bfloat162 strata_atomic_add(bfloat162* p, bfloat162 v) { return strata_add_pair<scope>(p, v); }
//@ strata_fence
template <int scope> STRATA_FN void strata_fence() {
    if (scope == strata_workgroup) __threadfence_block();
    if (scope == strata_device) __threadfence();
    if (scope == strata_system) __threadfence_system();
}
//@ strata_wave_barrier
STRATA_FN void strata_wave_barrier() { __syncwarp(); }
//@ strata_comes_last
// True in the last of `blocks` blocks to ask, which then finds what the threads of the others stored before they asked.
STRATA_FN bool strata_comes_last(int* counter, int* number, bool counts, int blocks) {
    __threadfence();
    __syncthreads();
    if (counts) *number = atomicAdd(counter, 1);
    __syncthreads();
    if (*number != blocks - 1) return false;
    __threadfence();
    return true;
}
// In a block of which one wave is left, its first lane counts.
STRATA_FN bool strata_comes_last(int* counter, bool counts, int blocks) {
    __threadfence();
    int number = 0;
    if (counts) number = atomicAdd(counter, 1);
    if (__shfl_sync(~0u, number, 0) != blocks - 1) return false;
    __threadfence();
    return true;
}
//@ nan_max nan_min
// NaN where either is NaN, unlike fmax and fmin.
template <class T> STRATA_FN T nan_max(T x, T y) { return x != x ? x : y != y ? y : fmax(x, y); }
template <class T> STRATA_FN T nan_min(T x, T y) { return x != x ? x : y != y ? y : fmin(x, y); }
#if __CUDA_ARCH__ >= 800
STRATA_FN float nan_max(float x, float y) { float z; asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y)); return z; }
STRATA_FN float nan_min(float x, float y) { float z; asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y)); return z; }
#endif
//@ bounded
// An index of an axis, counted from its end below 0. Any other index is left in a variable that the launch reads, as
// core/support/wrong_index.h says, and ends the thread. A bad address would end the context.
extern "C" __device__ unsigned long long __strata_wrong_index;
__device__ unsigned long long __strata_wrong_index = 0;
template <class T> STRATA_FN T bounded(T i, T size, T axis) {
    T at = i < 0 ? (T)(i + size) : i;
    if (at < 0 || at >= size) {
        constexpr int64_t most = (1l << 41) - 1;
        int64_t which = (int64_t)i > most ? most : (int64_t)i < -most ? -most : (int64_t)i;
        __strata_wrong_index = 0xb1d0ull << 48 | (unsigned long long)axis << 42 | ((unsigned long long)which & ((1ull << 42) - 1));
        asm volatile("exit;" ::: "memory");
        at = 0;  // the compiler takes the thread to go on, and may read what is at the index before it ends
    }
    return at;
}
//@ strata_copy_async strata_copies_of_step_end strata_copies_done
// From global to shared memory, as PTX's cp.async: what stands after it goes on at once.
template <int bytes> STRATA_FN void strata_copy_async(void* to, const void* from) {
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    if constexpr (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(bytes) : "memory");
}
// Copies started since the last one are waited for together.
STRATA_FN void strata_copies_of_step_end() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until the copies of all but the last `under_way` steps are there.
template <int under_way> STRATA_FN void strata_copies_done() {
    asm volatile("cp.async.wait_group %0;" ::"n"(under_way) : "memory");
}
//@ __builtin_amdgcn_rcpf
STRATA_FN float __builtin_amdgcn_rcpf(float x) { float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
//@ __builtin_amdgcn_rsqf
STRATA_FN float __builtin_amdgcn_rsqf(float x) { float y; asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
//@ __builtin_amdgcn_sqrtf
STRATA_FN float __builtin_amdgcn_sqrtf(float x) { float y; asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
//@ __builtin_amdgcn_logf
STRATA_FN float __builtin_amdgcn_logf(float x) { float y; asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
//@ __builtin_amdgcn_sinf __builtin_amdgcn_cosf
// Of turns; the instructions take radians, best from -pi to pi.
STRATA_FN float strata_radians(float turns) { return (turns - rintf(turns)) * 6.2831853f; }
STRATA_FN float __builtin_amdgcn_sinf(float x) { float y; asm("sin.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(strata_radians(x))); return y; }
STRATA_FN float __builtin_amdgcn_cosf(float x) { float y; asm("cos.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(strata_radians(x))); return y; }
//@ __builtin_amdgcn_exp2f
STRATA_FN float __builtin_amdgcn_exp2f(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
//@ strata_read_matrices
// Four matrices of 8 rows of 16 bytes, of which each lane says where one is, less some bytes
// (codegen/target/ldmatrix.h).
template <bool columns, int bytes, class T> STRATA_FN T strata_read_matrices(const T* row) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(row);
    uint4 held;
    if constexpr (columns)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4 + %5];"
                     : "=r"(held.x), "=r"(held.y), "=r"(held.z), "=r"(held.w) : "r"(at), "n"(bytes));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4 + %5];"
                     : "=r"(held.x), "=r"(held.y), "=r"(held.z), "=r"(held.w) : "r"(at), "n"(bytes));
    return __builtin_bit_cast(T, held);
}
//@ strata_fence_of_products
// After a barrier, warpgroup products see what ordinary stores and cp.async put into shared
// memory.
STRATA_FN void strata_fence_of_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
//@ strata_tile_of_products strata_step_of_products strata_held strata_hold strata_products_begin strata_products_end strata_products_of_steps_before_end strata_stay_in_registers
// A descriptor of PTX's (codegen/target/warpgroup_products.h), in units of 16 bytes. It has where
// the tile starts, and how far blocks of 128 bytes along memory and eight rows are apart; swizzled by 128 bytes.
template <bool along_k, int rows> STRATA_FN uint64_t strata_tile_of_products(const void* at) {
    const uint64_t place = (unsigned)__cvta_generic_to_shared(at) >> 4 & 0x3fff;
    return place | (uint64_t)(along_k ? 1 : rows * 8) << 16 | 64ull << 32 | 1ull << 62;
}
// The same a step further: 32 bytes along memory of each row, as often as they go into 128, or 16 rows.
template <bool along_k, int rows> STRATA_FN uint64_t strata_step_of_products(uint64_t tile, int step) {
    return tile + (along_k ? step % 4 * 2 + step / 4 * (rows * 8) : step * 128);
}
// A lane's part of A: words, which stay together from step to step.
template <class T, int count> struct strata_held { unsigned words[count / 2]; };
template <class T, int count, class... Elements> STRATA_FN strata_held<T, count> strata_hold(Elements... elements) {
    const T all[] = {elements...};
    strata_held<T, count> held;
#pragma unroll
    for (int i = 0; i < count / 2; ++i)
        asm("mov.b32 %0, {%1, %2};" : "=r"(held.words[i]) : "h"(all[2 * i].bits), "h"(all[2 * i + 1].bits));
    return held;
}
// Sums stay in their registers while they are added to: from the beginning on up to the end nothing else may use them.
// No loop goes over them, as an array that a compiler still has one over when it looks for registers goes to memory.
template <int at, int n> STRATA_FN void strata_stay_in_registers(float (&sums)[n]) {
    if constexpr (at < n) {
        asm volatile("" : "+f"(sums[at]), "+f"(sums[at + 1]), "+f"(sums[at + 2]), "+f"(sums[at + 3])::"memory");
        strata_stay_in_registers<at + 4>(sums);
    }
}
template <class T> STRATA_FN void strata_products_begin(T& c) {
    strata_stay_in_registers<0>(c.lanes);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
STRATA_FN void strata_products_of_steps_before_end() { asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory"); }
// Waits for all but the last `under_way`.
template <int under_way, int n> STRATA_FN void strata_products_end(float (&sums)[n]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(under_way) : "memory");
    strata_stay_in_registers<0>(sums);
}
//@ hipThreadIdx_x hipThreadIdx_y hipThreadIdx_z hipBlockIdx_x hipBlockIdx_y hipBlockIdx_z hipBlockDim_x hipBlockDim_y hipBlockDim_z hipGridDim_x hipGridDim_y hipGridDim_z
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
//@ HIP_DYNAMIC_SHARED
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
