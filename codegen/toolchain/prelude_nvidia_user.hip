// Further names of HIP's headers, for sources of users on NVIDIA's chips: sections as those of prelude.hip.
//@ __HIPCC__ __HIP_DEVICE_COMPILE__ __HIP_PLATFORM_NVIDIA__ __HIP_PLATFORM_NVCC__
#define __HIPCC__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __HIP_PLATFORM_NVIDIA__ 1
#define __HIP_PLATFORM_NVCC__ 1
//@ abort
#define abort() __trap()
//@ __lane_id
STRATA_FN unsigned __lane_id() {
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
//@ wall_clock64
STRATA_FN long long wall_clock64() {
    long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
//@ unsafeAtomicAdd safeAtomicAdd
template <class T> STRATA_FN T unsafeAtomicAdd(T* p, T v) { return atomicAdd(p, v); }
template <class T> STRATA_FN T safeAtomicAdd(T* p, T v) { return atomicAdd(p, v); }
//@ max min & std
namespace std {
template <class T> __device__ __forceinline__ constexpr const T& max(const T& x, const T& y) { return x < y ? y : x; }
template <class T> __device__ __forceinline__ constexpr const T& min(const T& x, const T& y) { return y < x ? y : x; }
}
//@ FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1p-126f
#define FLT_EPSILON 0x1p-23f
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1p-1022
#define DBL_EPSILON 0x1p-52
//@ INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
#define LONG_MAX 0x7fffffffffffffffl
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX 0xfffffffffffffffful
#define LLONG_MAX 0x7fffffffffffffffll
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 0xffffffffffffffffull
//@ INFINITY NAN M_PI M_E M_SQRT2
#ifndef INFINITY
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#endif
#ifndef M_PI
#define M_PI 0x1.921fb54442d18p1
#define M_E 0x1.5bf0a8b145769p1
#define M_SQRT2 0x1.6a09e667f3bcdp0
#endif
//@ __half __half2 __float2half __half2float __float2half_rn __ushort_as_half __half_as_ushort
typedef half __half;
STRATA_FN half __float2half(float x) { return half(x); }
STRATA_FN half __float2half_rn(float x) { return half(x); }
STRATA_FN float __half2float(half x) { return (float)x; }
STRATA_FN half __ushort_as_half(unsigned short bits) { return __builtin_bit_cast(half, bits); }
STRATA_FN unsigned short __half_as_ushort(half x) { return x.bits; }
//@ __hadd __hsub __hmul __hdiv __hfma __hneg __habs & half half2 __half __half2
STRATA_FN half __hadd(half x, half y) { return x + y; }
STRATA_FN half __hsub(half x, half y) { return x - y; }
STRATA_FN half __hmul(half x, half y) { return x * y; }
STRATA_FN half __hdiv(half x, half y) { return x / y; }
STRATA_FN half __hfma(half x, half y, half z) { return fma(x, y, z); }
STRATA_FN half __hneg(half x) { return -x; }
STRATA_FN half __habs(half x) { return fabs(x); }
//@ __heq __hne __hlt __hle __hgt __hge __hisnan
STRATA_FN bool __heq(half x, half y) { return (float)x == (float)y; }
STRATA_FN bool __hne(half x, half y) { return (float)x != (float)y && !isnan((float)x) && !isnan((float)y); }
STRATA_FN bool __hlt(half x, half y) { return (float)x < (float)y; }
STRATA_FN bool __hle(half x, half y) { return (float)x <= (float)y; }
STRATA_FN bool __hgt(half x, half y) { return (float)x > (float)y; }
STRATA_FN bool __hge(half x, half y) { return (float)x >= (float)y; }
STRATA_FN bool __hisnan(half x) { return isnan((float)x); }
//@ hsqrt hrsqrt hexp hexp2 hlog hlog2 hfloor hceil htrunc hrint hsin hcos hrcp
#define STRATA_OF_HALF(name) STRATA_FN half h##name(half x) { return half(name((float)x)); }
STRATA_OF_HALF(sqrt) STRATA_OF_HALF(rsqrt) STRATA_OF_HALF(exp) STRATA_OF_HALF(exp2) STRATA_OF_HALF(log) STRATA_OF_HALF(log2)
STRATA_OF_HALF(floor) STRATA_OF_HALF(ceil) STRATA_OF_HALF(trunc) STRATA_OF_HALF(rint) STRATA_OF_HALF(sin) STRATA_OF_HALF(cos)
STRATA_FN half hrcp(half x) { return half(1 / (float)x); }
//@ __half2
// CUDA's half2, whose members are x and y.
typedef half2 __half2;
STRATA_FN half2 __halves2half2(half x, half y) { return {x, y}; }
STRATA_FN half2 __floats2half2_rn(float x, float y) { return {half(x), half(y)}; }
STRATA_FN half2 __float2half2_rn(float x) { return {half(x), half(x)}; }
STRATA_FN half2 __float22half2_rn(float2 v) { return {half(v.x), half(v.y)}; }
STRATA_FN float2 __half22float2(half2 v) { return {(float)v.x, (float)v.y}; }
STRATA_FN half __low2half(half2 v) { return v.x; }
STRATA_FN half __high2half(half2 v) { return v.y; }
STRATA_FN float __low2float(half2 v) { return (float)v.x; }
STRATA_FN float __high2float(half2 v) { return (float)v.y; }
STRATA_FN half2 __hadd2(half2 a, half2 b) { return {a.x + b.x, a.y + b.y}; }
STRATA_FN half2 __hsub2(half2 a, half2 b) { return {a.x - b.x, a.y - b.y}; }
STRATA_FN half2 __hmul2(half2 a, half2 b) { return {a.x * b.x, a.y * b.y}; }
STRATA_FN half2 __hfma2(half2 a, half2 b, half2 c) { return {fma(a.x, b.x, c.x), fma(a.y, b.y, c.y)}; }
//@ hip_bfloat16 __hip_bfloat16 __float2bfloat16 __bfloat162float
typedef bfloat16 hip_bfloat16, __hip_bfloat16;
STRATA_FN bfloat16 __float2bfloat16(float x) { return bfloat16(x); }
STRATA_FN float __bfloat162float(bfloat16 x) { return (float)x; }
//@ hipFloatComplex hipDoubleComplex hipComplex
#define STRATA_COMPLEX(T, Complex, f)                                                                                  \
    typedef T##2 Complex;                                                                                              \
    STRATA_FN Complex make_##Complex(T x, T y) { return {x, y}; }                                                      \
    STRATA_FN T hipCreal##f(Complex z) { return z.x; }                                                                 \
    STRATA_FN T hipCimag##f(Complex z) { return z.y; }                                                                 \
    STRATA_FN Complex hipConj##f(Complex z) { return {z.x, -z.y}; }                                                    \
    STRATA_FN T hipCabs##f(Complex z) { return hypot(z.x, z.y); }                                                      \
    STRATA_FN Complex hipCadd##f(Complex p, Complex q) { return {p.x + q.x, p.y + q.y}; }                              \
    STRATA_FN Complex hipCsub##f(Complex p, Complex q) { return {p.x - q.x, p.y - q.y}; }                              \
    STRATA_FN Complex hipCmul##f(Complex p, Complex q) { return {p.x * q.x - p.y * q.y, p.y * q.x + p.x * q.y}; }      \
    STRATA_FN Complex hipCdiv##f(Complex p, Complex q) {                                                               \
        const T norm = q.x * q.x + q.y * q.y;                                                                          \
        return {(p.x * q.x + p.y * q.y) / norm, (p.y * q.x - p.x * q.y) / norm};                                       \
    }
STRATA_COMPLEX(float, hipFloatComplex, f)
STRATA_COMPLEX(double, hipDoubleComplex, )
typedef hipFloatComplex hipComplex;
STRATA_FN hipComplex make_hipComplex(float x, float y) { return {x, y}; }
//@ cooperative_groups
namespace cooperative_groups {
struct thread_block {
    __device__ void sync() const { __syncthreads(); }
    __device__ unsigned thread_rank() const { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
    __device__ unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ unsigned num_threads() const { return size(); }
    __device__ dim3 group_index() const { return blockIdx; }
    __device__ dim3 thread_index() const { return threadIdx; }
    __device__ dim3 group_dim() const { return blockDim; }
};
STRATA_FN thread_block this_thread_block() { return {}; }
// Lanes of a wave that stand together, a power of two of them.
template <unsigned n> struct thread_block_tile {
    __device__ unsigned thread_rank() const { return thread_block().thread_rank() % n; }
    __device__ unsigned size() const { return n; }
    __device__ unsigned num_threads() const { return n; }
    __device__ unsigned meta_group_rank() const { return thread_block().thread_rank() / n; }
    __device__ unsigned meta_group_size() const { return (thread_block().size() + n - 1) / n; }
    __device__ unsigned lanes() const { return (0xffffffffu >> (32 - n)) << (thread_block().thread_rank() % 32 / n * n); }
    __device__ void sync() const { __syncwarp(lanes()); }
    template <class T> __device__ T shfl(T v, int rank) const { return __shfl_sync(lanes(), v, rank, n); }
    template <class T> __device__ T shfl_up(T v, unsigned by) const { return __shfl_up_sync(lanes(), v, by, n); }
    template <class T> __device__ T shfl_down(T v, unsigned by) const { return __shfl_down_sync(lanes(), v, by, n); }
    template <class T> __device__ T shfl_xor(T v, int mask) const { return __shfl_xor_sync(lanes(), v, mask, n); }
    __device__ int any(int p) const { return __any_sync(lanes(), p); }
    __device__ int all(int p) const { return __all_sync(lanes(), p); }
    __device__ unsigned long long ballot(int p) const {
        return __ballot_sync(lanes(), p) >> (thread_block().thread_rank() % 32 / n * n) & 0xffffffffu >> (32 - n);
    }
};
template <unsigned n> STRATA_FN thread_block_tile<n> tiled_partition(const thread_block&) {
    static_assert(n <= 32 && (n & (n - 1)) == 0, "a tile has a power of two of lanes, at most a wave");
    return {};
}
// The grid of a launch that is not cooperative: grids cannot wait for themselves here.
struct grid_group {
    __device__ unsigned long long size() const { return (unsigned long long)thread_block().size() * gridDim.x * gridDim.y * gridDim.z; }
    __device__ unsigned long long thread_rank() const {
        const unsigned long long block = ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        return block * thread_block().size() + thread_block().thread_rank();
    }
    __device__ bool is_valid() const { return false; }
    template <bool is_there = false> __device__ void sync() const {
        static_assert(is_there, "a grid waits for itself in a cooperative launch, which kernels on NVIDIA's chips do not get here");
    }
};
STRATA_FN grid_group this_grid() { return {}; }
}
//@ STRATA_CACHED
// Accesses by a cache policy, with modifiers of PTX.
#define STRATA_CACHED(name, load, store) \
    template <class T> STRATA_FN T strata_load_##name(const T* from) { \
        if constexpr (sizeof(T) == 16) { \
            uint4 x; \
            asm volatile("ld.global" load ".v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(from) : "memory"); \
            return __builtin_bit_cast(T, x); \
        } else if constexpr (sizeof(T) == 8) { \
            unsigned long long x; \
            asm volatile("ld.global" load ".u64 %0, [%1];" : "=l"(x) : "l"(from) : "memory"); \
            return __builtin_bit_cast(T, x); \
        } else if constexpr (sizeof(T) == 4) { \
            unsigned x; \
            asm volatile("ld.global" load ".u32 %0, [%1];" : "=r"(x) : "l"(from) : "memory"); \
            return __builtin_bit_cast(T, x); \
        } else if constexpr (sizeof(T) == 2) { \
            unsigned short x; \
            asm volatile("ld.global" load ".u16 %0, [%1];" : "=h"(x) : "l"(from) : "memory"); \
            return __builtin_bit_cast(T, x); \
        } else { \
            unsigned x; \
            asm volatile("ld.global" load ".u8 %0, [%1];" : "=r"(x) : "l"(from) : "memory"); \
            return __builtin_bit_cast(T, (unsigned char)x); \
        } \
    } \
    template <class T> STRATA_FN void strata_store_##name(T* to, T value) { \
        if constexpr (sizeof(T) == 16) { \
            const uint4 x = __builtin_bit_cast(uint4, value); \
            asm volatile("st.global" store ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory"); \
        } else if constexpr (sizeof(T) == 8) { \
            asm volatile("st.global" store ".u64 [%0], %1;" ::"l"(to), "l"(__builtin_bit_cast(unsigned long long, value)) : "memory"); \
        } else if constexpr (sizeof(T) == 4) { \
            asm volatile("st.global" store ".u32 [%0], %1;" ::"l"(to), "r"(__builtin_bit_cast(unsigned, value)) : "memory"); \
        } else if constexpr (sizeof(T) == 2) { \
            asm volatile("st.global" store ".u16 [%0], %1;" ::"l"(to), "h"(__builtin_bit_cast(unsigned short, value)) : "memory"); \
        } else { \
            asm volatile("st.global" store ".u8 [%0], %1;" ::"l"(to), "r"((unsigned)__builtin_bit_cast(unsigned char, value)) : "memory"); \
        } \
    }
