// Names that freestanding HIP source may use without hip_runtime.h. A line "//@ words" starts a section. The compiler
// gets it only where the source, or a later section in use, has one of the words. "&" joins conditions that must all
// hold; ": ocml" marks a section that calls the device math library. A section comes before those that need it. The
// word make_T counts as T too.
//@
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long uint64_t;
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t; typedef _Float16 half; typedef __bf16 bfloat16;
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __launch_bounds__(block, ...) __attribute__((amdgpu_flat_work_group_size(1, block)))
#define STRATA_FN static __device__ __forceinline__
//@ __syncthreads
STRATA_FN void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
//@ strata_fetch_here
// Loads stay before it: clang would join them with the next step's first use, where they are waited for. Nothing
// passes: where some may, LLVM 19 takes what orders others by way of it for undone, and reads local memory before it is
// filled.
STRATA_FN void strata_fetch_here() { __builtin_amdgcn_sched_barrier(0); }
//@ threadIdx blockIdx blockDim gridDim
#define STRATA_DIM(name, call)                                                                                        \
    static __device__ __forceinline__ unsigned get_##name() { return call; }                                          \
    __declspec(property(get = get_##name)) unsigned name;
//@ threadIdx
struct strata_thread_idx { STRATA_DIM(x, __builtin_amdgcn_workitem_id_x()) STRATA_DIM(y, __builtin_amdgcn_workitem_id_y()) STRATA_DIM(z, __builtin_amdgcn_workitem_id_z()) };
static const __device__ strata_thread_idx threadIdx = {};
//@ blockIdx
struct strata_block_idx { STRATA_DIM(x, __builtin_amdgcn_workgroup_id_x()) STRATA_DIM(y, __builtin_amdgcn_workgroup_id_y()) STRATA_DIM(z, __builtin_amdgcn_workgroup_id_z()) };
static const __device__ strata_block_idx blockIdx = {};
//@ blockDim
struct strata_block_dim { STRATA_DIM(x, __builtin_amdgcn_workgroup_size_x()) STRATA_DIM(y, __builtin_amdgcn_workgroup_size_y()) STRATA_DIM(z, __builtin_amdgcn_workgroup_size_z()) };
static const __device__ strata_block_dim blockDim = {};
//@ gridDim
// hidden_block_count_x/y/z: the first words of the implicit arguments (LLVM AMDGPUUsage, code object v5 metadata).
#define STRATA_BLOCK_COUNT(i) ((const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr())[i]
struct strata_grid_dim { STRATA_DIM(x, STRATA_BLOCK_COUNT(0)) STRATA_DIM(y, STRATA_BLOCK_COUNT(1)) STRATA_DIM(z, STRATA_BLOCK_COUNT(2)) };
static const __device__ strata_grid_dim gridDim = {};
//@ virtual
extern "C" __device__ __attribute__((weak, noreturn)) void __cxa_pure_virtual() { __builtin_trap(); }
//@ char2 char4 char8 char16
typedef signed char char2 __attribute__((ext_vector_type(2)));
typedef signed char char4 __attribute__((ext_vector_type(4)));
typedef signed char char8 __attribute__((ext_vector_type(8)));
typedef signed char char16 __attribute__((ext_vector_type(16)));
#define make_char2(...) (char2{__VA_ARGS__})
#define make_char4(...) (char4{__VA_ARGS__})
#define make_char8(...) (char8{__VA_ARGS__})
#define make_char16(...) (char16{__VA_ARGS__})
//@ uchar2 uchar4 uchar8 uchar16
typedef uchar uchar2 __attribute__((ext_vector_type(2)));
typedef uchar uchar4 __attribute__((ext_vector_type(4)));
typedef uchar uchar8 __attribute__((ext_vector_type(8)));
typedef uchar uchar16 __attribute__((ext_vector_type(16)));
#define make_uchar2(...) (uchar2{__VA_ARGS__})
#define make_uchar4(...) (uchar4{__VA_ARGS__})
#define make_uchar8(...) (uchar8{__VA_ARGS__})
#define make_uchar16(...) (uchar16{__VA_ARGS__})
//@ short2 short4 short8 short16
typedef short short2 __attribute__((ext_vector_type(2)));
typedef short short4 __attribute__((ext_vector_type(4)));
typedef short short8 __attribute__((ext_vector_type(8)));
typedef short short16 __attribute__((ext_vector_type(16)));
#define make_short2(...) (short2{__VA_ARGS__})
#define make_short4(...) (short4{__VA_ARGS__})
#define make_short8(...) (short8{__VA_ARGS__})
#define make_short16(...) (short16{__VA_ARGS__})
//@ ushort2 ushort4 ushort8 ushort16
typedef ushort ushort2 __attribute__((ext_vector_type(2)));
typedef ushort ushort4 __attribute__((ext_vector_type(4)));
typedef ushort ushort8 __attribute__((ext_vector_type(8)));
typedef ushort ushort16 __attribute__((ext_vector_type(16)));
#define make_ushort2(...) (ushort2{__VA_ARGS__})
#define make_ushort4(...) (ushort4{__VA_ARGS__})
#define make_ushort8(...) (ushort8{__VA_ARGS__})
#define make_ushort16(...) (ushort16{__VA_ARGS__})
//@ int2 int4 int8 int16
typedef int int2 __attribute__((ext_vector_type(2)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef int int8 __attribute__((ext_vector_type(8)));
typedef int int16 __attribute__((ext_vector_type(16)));
#define make_int2(...) (int2{__VA_ARGS__})
#define make_int4(...) (int4{__VA_ARGS__})
#define make_int8(...) (int8{__VA_ARGS__})
#define make_int16(...) (int16{__VA_ARGS__})
//@ uint2 uint4 uint8 uint16
typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint4 __attribute__((ext_vector_type(4)));
typedef uint uint8 __attribute__((ext_vector_type(8)));
typedef uint uint16 __attribute__((ext_vector_type(16)));
#define make_uint2(...) (uint2{__VA_ARGS__})
#define make_uint4(...) (uint4{__VA_ARGS__})
#define make_uint8(...) (uint8{__VA_ARGS__})
#define make_uint16(...) (uint16{__VA_ARGS__})
//@ long2 long4 long8 long16
typedef long long2 __attribute__((ext_vector_type(2)));
typedef long long4 __attribute__((ext_vector_type(4)));
typedef long long8 __attribute__((ext_vector_type(8)));
typedef long long16 __attribute__((ext_vector_type(16)));
#define make_long2(...) (long2{__VA_ARGS__})
#define make_long4(...) (long4{__VA_ARGS__})
#define make_long8(...) (long8{__VA_ARGS__})
#define make_long16(...) (long16{__VA_ARGS__})
//@ ulong2 ulong4 ulong8 ulong16
typedef ulong ulong2 __attribute__((ext_vector_type(2)));
typedef ulong ulong4 __attribute__((ext_vector_type(4)));
typedef ulong ulong8 __attribute__((ext_vector_type(8)));
typedef ulong ulong16 __attribute__((ext_vector_type(16)));
#define make_ulong2(...) (ulong2{__VA_ARGS__})
#define make_ulong4(...) (ulong4{__VA_ARGS__})
#define make_ulong8(...) (ulong8{__VA_ARGS__})
#define make_ulong16(...) (ulong16{__VA_ARGS__})
//@ half2 half4 half8 half16
typedef half half2 __attribute__((ext_vector_type(2)));
typedef half half4 __attribute__((ext_vector_type(4)));
typedef half half8 __attribute__((ext_vector_type(8)));
typedef half half16 __attribute__((ext_vector_type(16)));
#define make_half2(...) (half2{__VA_ARGS__})
#define make_half4(...) (half4{__VA_ARGS__})
#define make_half8(...) (half8{__VA_ARGS__})
#define make_half16(...) (half16{__VA_ARGS__})
//@ bfloat162 bfloat164 bfloat168 bfloat1616
typedef bfloat16 bfloat162 __attribute__((ext_vector_type(2)));
typedef bfloat16 bfloat164 __attribute__((ext_vector_type(4)));
typedef bfloat16 bfloat168 __attribute__((ext_vector_type(8)));
typedef bfloat16 bfloat1616 __attribute__((ext_vector_type(16)));
#define make_bfloat162(...) (bfloat162{__VA_ARGS__})
#define make_bfloat164(...) (bfloat164{__VA_ARGS__})
#define make_bfloat168(...) (bfloat168{__VA_ARGS__})
#define make_bfloat1616(...) (bfloat1616{__VA_ARGS__})
//@ float2 float4 float8 float16
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));
#define make_float2(...) (float2{__VA_ARGS__})
#define make_float4(...) (float4{__VA_ARGS__})
#define make_float8(...) (float8{__VA_ARGS__})
#define make_float16(...) (float16{__VA_ARGS__})
//@ double2 double4 double8 double16
typedef double double2 __attribute__((ext_vector_type(2)));
typedef double double4 __attribute__((ext_vector_type(4)));
typedef double double8 __attribute__((ext_vector_type(8)));
typedef double double16 __attribute__((ext_vector_type(16)));
#define make_double2(...) (double2{__VA_ARGS__})
#define make_double4(...) (double4{__VA_ARGS__})
#define make_double8(...) (double8{__VA_ARGS__})
#define make_double16(...) (double16{__VA_ARGS__})
//@ floor floorf
#define floor(x) __builtin_elementwise_floor(x)
#define floorf(x) __builtin_elementwise_floor(x)
//@ ceil ceilf
#define ceil(x) __builtin_elementwise_ceil(x)
#define ceilf(x) __builtin_elementwise_ceil(x)
//@ trunc truncf
#define trunc(x) __builtin_elementwise_trunc(x)
#define truncf(x) __builtin_elementwise_trunc(x)
//@ rint rintf
#define rint(x) __builtin_elementwise_rint(x)
#define rintf(x) __builtin_elementwise_rint(x)
//@ sqrt sqrtf
#define sqrt(x) __builtin_elementwise_sqrt(x)
#define sqrtf(x) __builtin_elementwise_sqrt(x)
//@ fabs fabsf
#define fabs(x) __builtin_elementwise_abs(x)
#define fabsf(x) __builtin_elementwise_abs(x)
//@ fma fmaf
#define fma(x, y, z) __builtin_elementwise_fma(x, y, z)
#define fmaf(x, y, z) __builtin_elementwise_fma(x, y, z)
//@ fmin fminf
#define fmin(x, y) __builtin_elementwise_min(x, y)
#define fminf(x, y) __builtin_elementwise_min(x, y)
//@ fmax fmaxf
#define fmax(x, y) __builtin_elementwise_max(x, y)
#define fmaxf(x, y) __builtin_elementwise_max(x, y)
//@ rsqrt rsqrtf
// v_rsq_f32 takes subnormals as zero on some parts: scale them by 2^24, the result by 2^12.
STRATA_FN float rsqrt(float x) {
    bool tiny = x < 0x1p-126f;
    float y = __builtin_amdgcn_rsqf(tiny ? x * 0x1p+24f : x);
    return tiny ? y * 0x1p+12f : y;
}
STRATA_FN half rsqrt(half x) { return (half)rsqrt((float)x); }
STRATA_FN float rsqrtf(float x) { return rsqrt(x); }
//@ rsqrt & double : ocml
extern "C" __device__ __attribute__((const)) double __ocml_rsqrt_f64(double);
STRATA_FN double rsqrt(double x) { return __ocml_rsqrt_f64(x); }
//@ exp expf
STRATA_FN float exp(float x) { return __builtin_expf(x); }
STRATA_FN half exp(half x) { return (half)__builtin_expf((float)x); }
STRATA_FN float expf(float x) { return __builtin_expf(x); }
//@ exp & double : ocml
extern "C" __device__ __attribute__((const)) double __ocml_exp_f64(double);
STRATA_FN double exp(double x) { return __ocml_exp_f64(x); }
//@ exp2 exp2f
STRATA_FN float exp2(float x) { return __builtin_exp2f(x); }
STRATA_FN half exp2(half x) { return (half)__builtin_exp2f((float)x); }
STRATA_FN float exp2f(float x) { return __builtin_exp2f(x); }
//@ exp2 & double : ocml
extern "C" __device__ __attribute__((const)) double __ocml_exp2_f64(double);
STRATA_FN double exp2(double x) { return __ocml_exp2_f64(x); }
//@ log logf
STRATA_FN float log(float x) { return __builtin_logf(x); }
STRATA_FN half log(half x) { return (half)__builtin_logf((float)x); }
STRATA_FN float logf(float x) { return __builtin_logf(x); }
//@ log & double : ocml
extern "C" __device__ __attribute__((const)) double __ocml_log_f64(double);
STRATA_FN double log(double x) { return __ocml_log_f64(x); }
//@ log2 log2f
STRATA_FN float log2(float x) { return __builtin_log2f(x); }
STRATA_FN half log2(half x) { return (half)__builtin_log2f((float)x); }
STRATA_FN float log2f(float x) { return __builtin_log2f(x); }
//@ log2 & double : ocml
extern "C" __device__ __attribute__((const)) double __ocml_log2_f64(double);
STRATA_FN double log2(double x) { return __ocml_log2_f64(x); }
//@ expm1 expm1f : ocml
// The library's value of -0 is 0.
extern "C" __device__ __attribute__((const)) float __ocml_expm1_f32(float);
extern "C" __device__ __attribute__((const)) double __ocml_expm1_f64(double);
STRATA_FN float expm1(float x) { return __builtin_copysignf(__ocml_expm1_f32(x), x); }
STRATA_FN double expm1(double x) { return __builtin_copysign(__ocml_expm1_f64(x), x); }
STRATA_FN half expm1(half x) { return (half)expm1((float)x); }
STRATA_FN float expm1f(float x) { return expm1(x); }
//@ log1p log1pf
// As codegen/decompose has them, these three: in half of the library's instructions.
STRATA_FN float log1p(float x) {
    float v = x + 1, lost = x - (v - 1);
    return v == 1 ? x : __builtin_logf(v) + (__builtin_fabsf(x) < 1 ? lost : 0);
}
STRATA_FN half log1p(half x) { return (half)log1p((float)x); }
STRATA_FN float log1pf(float x) { return log1p(x); }
//@ log1p & double : ocml
STRATA_FN double log1p(double x) {
    double v = x + 1, lost = x - (v - 1);
    return v == 1 ? x : log(v) + (__builtin_fabs(x) < 1 ? lost : 0);
}
//@ logistic
STRATA_FN float logistic(float x) {
    float power = __builtin_expf(-__builtin_fabsf(x)), r = __builtin_amdgcn_rcpf(power + 1);
    return x < 0 ? power * r : r;
}
STRATA_FN half logistic(half x) { return (half)logistic((float)x); }
//@ logistic & double : ocml
STRATA_FN double logistic(double x) {
    double power = exp(-__builtin_fabs(x)), r = 1 / (power + 1);
    return x < 0 ? power * r : r;
}
//@ ncdf
STRATA_FN float ncdf(float x) {
#pragma clang fp contract(off)
    const float rate = -0x1.715476p-1f, rate_low = -0x1.4ae0bep-27f;
    float size = __builtin_fabsf(x), y = 15 < size ? 15 : size, square = y * y, lost = __builtin_fmaf(y, y, -square);
    float high = square * rate, whole = __builtin_rintf(high);
    float low = __builtin_fmaf(lost, rate, __builtin_fmaf(square, rate_low, __builtin_fmaf(square, rate, -high)));
    float d = __builtin_fmaf(y, 0.5f, 1), ratio = __builtin_amdgcn_rcpf(d), v = ratio - 0.25f;
    low = __builtin_fmaf(__builtin_fmaf(-ratio, __builtin_fmaf(y, 0.5f, 1 - d), __builtin_fmaf(-d, ratio, 1)), 1.9476f, low);
    float factor = ratio * STRATA_NCDF_F32(v);
    float below = __builtin_ldexpf(__builtin_amdgcn_exp2f(high - whole + low) * factor, (int)(whole < 0 ? whole : 0));
    return x < 0 ? below : 1 - below;
}
STRATA_FN half ncdf(half x) { return (half)ncdf((float)x); }
//@ ncdf & double : ocml
STRATA_FN double ncdf(double x) {
    double size = __builtin_fabs(x), y = 39 < size ? 39 : size, square = y * y, lost = __builtin_fma(y, y, -square);
    double power = exp(square * -0.5), d = __builtin_fma(y, 0.25, 1), ratio = 1 / d, v = ratio - 0.5;
    double off = __builtin_fma(-ratio, __builtin_fma(y, 0.25, 1 - d), __builtin_fma(-d, ratio, 1));
    double below = __builtin_fma(power, __builtin_fma(lost, -0.5, 2 * off), power) * (ratio * STRATA_NCDF_F64(v));
    return x < 0 ? below : 1 - below;
}
//@ STRATA_MATH1
// A function of the device math library by its name in C; prelude.cpp adds a section for each that ops.def names.
#define STRATA_MATH1(name)                                                             \
    extern "C" __device__ __attribute__((const)) float __ocml_##name##_f32(float);     \
    extern "C" __device__ __attribute__((const)) double __ocml_##name##_f64(double);   \
    STRATA_FN float name(float x) { return __ocml_##name##_f32(x); }                   \
    STRATA_FN double name(double x) { return __ocml_##name##_f64(x); }                 \
    STRATA_FN half name(half x) { return (half)__ocml_##name##_f32((float)x); }        \
    STRATA_FN float name##f(float x) { return __ocml_##name##_f32(x); }
//@ STRATA_MATH2
#define STRATA_MATH2(name)                                                                             \
    extern "C" __device__ __attribute__((const)) float __ocml_##name##_f32(float, float);              \
    extern "C" __device__ __attribute__((const)) double __ocml_##name##_f64(double, double);           \
    STRATA_FN float name(float x, float y) { return __ocml_##name##_f32(x, y); }                       \
    STRATA_FN double name(double x, double y) { return __ocml_##name##_f64(x, y); }                    \
    STRATA_FN half name(half x, half y) { return (half)__ocml_##name##_f32((float)x, (float)y); }      \
    STRATA_FN float name##f(float x, float y) { return __ocml_##name##_f32(x, y); }
//@ strata_lane strata_words
STRATA_FN int strata_lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
template <class T> struct strata_words { int w[sizeof(T) / 4]; };
//@ __shfl __shfl_xor __shfl_up __shfl_down strata_shuffle
template <class T> STRATA_FN T strata_from_lane(T value, int lane) {
    static_assert(sizeof(T) % 4 == 0, "shuffles move whole 32-bit words");
    auto words = __builtin_bit_cast(strata_words<T>, value);
#if __GFX11__ && __AMDGCN_WAVEFRONT_SIZE__ == 64  // ds_bpermute stays within each half of the wave
    const bool other = (lane ^ strata_lane()) & 32;
    for (int& w : words.w) {
        const int near = __builtin_amdgcn_ds_bpermute(lane << 2, w);
        const int far = __builtin_amdgcn_ds_bpermute(lane << 2, __builtin_amdgcn_permlane64(w));
        w = other ? far : near;
    }
#else
    for (int& w : words.w) w = __builtin_amdgcn_ds_bpermute(lane << 2, w);
#endif
    return __builtin_bit_cast(T, words);
}
#define STRATA_WAVE (int)__builtin_amdgcn_wavefrontsize()
template <class T> STRATA_FN T __shfl(T value, int source, int width = STRATA_WAVE) {
    int self = strata_lane();
    return strata_from_lane(value, (self & ~(width - 1)) + (source & (width - 1)));
}
template <class T> STRATA_FN T __shfl_xor(T value, int mask, int width = STRATA_WAVE) {
    int self = strata_lane(), lane = self ^ mask;
    return strata_from_lane(value, lane >= ((self + width) & ~(width - 1)) ? self : lane);
}
template <class T> STRATA_FN T __shfl_up(T value, unsigned delta, int width = STRATA_WAVE) {
    int self = strata_lane(), lane = self - (int)delta;
    return strata_from_lane(value, lane < (self & ~(width - 1)) ? self : lane);
}
template <class T> STRATA_FN T __shfl_down(T value, unsigned delta, int width = STRATA_WAVE) {
    int self = strata_lane(), lane = self + (int)delta;
    return strata_from_lane(value, (self & (width - 1)) + (int)delta >= width ? self : lane);
}
//@ any_bits
// A number of which the optimiser knows nothing.
template <class T> STRATA_FN T any_bits(T x) { asm("" : "+v"(x)); return x; }
//@ atomicAdd atomicMax atomicMin
#define STRATA_ATOMIC(name, op) \
    template <class T> STRATA_FN T name(T* p, T v) { return op(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
STRATA_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
STRATA_ATOMIC(atomicMax, __hip_atomic_fetch_max)
STRATA_ATOMIC(atomicMin, __hip_atomic_fetch_min)
//@ strata_comes_last
// True in the last of `blocks` blocks to ask, which then sees the stores of the others before they asked. Each thread
// releases its stores, one counts.
STRATA_FN bool strata_comes_last(int* counter, int* number, bool counts, int blocks) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __syncthreads();
    if (counts) *number = __hip_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __syncthreads();
    if (__builtin_amdgcn_readfirstlane(*number) != blocks - 1) return false;
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    return true;
}
// In a block of which one wave is left, its first lane counts.
STRATA_FN bool strata_comes_last(int* counter, bool counts, int blocks) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    int number = 0;
    if (counts) number = __hip_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if (__builtin_amdgcn_readfirstlane(number) != blocks - 1) return false;
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    return true;
}
//@ strata_buffer_load strata_buffer_store
// Accesses through a descriptor of the memory's size: loads beyond it give 0, stores there do nothing. ROCm before LLVM
// 19 has no such builtins.
#if __has_builtin(__builtin_amdgcn_raw_buffer_load_b128) && __has_builtin(__builtin_amdgcn_make_buffer_rsrc)
#ifdef __GFX9__
#define STRATA_BUFFER(memory, bytes) __builtin_amdgcn_make_buffer_rsrc((void*)(memory), 0, (int)(bytes), 0x00027000)
#else
#define STRATA_BUFFER(memory, bytes) __builtin_amdgcn_make_buffer_rsrc((void*)(memory), 0, (int)(bytes), 0x31016000)
#endif
template <class T, int cache = 0> STRATA_FN T strata_buffer_load(const void* memory, unsigned bytes, unsigned offset) {
    const auto buffer = STRATA_BUFFER(memory, bytes);
    if constexpr (sizeof(T) == 1) return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b8(buffer, (int)offset, 0, cache));
    if constexpr (sizeof(T) == 2) return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b16(buffer, (int)offset, 0, cache));
    if constexpr (sizeof(T) == 4) return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b32(buffer, (int)offset, 0, cache));
    if constexpr (sizeof(T) == 8) return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b64(buffer, (int)offset, 0, cache));
    if constexpr (sizeof(T) == 16) return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b128(buffer, (int)offset, 0, cache));
}
template <class T, int cache = 0> STRATA_FN void strata_buffer_store(void* memory, unsigned bytes, unsigned offset, T value) {
    typedef unsigned two __attribute__((ext_vector_type(2)));
    typedef unsigned four __attribute__((ext_vector_type(4)));
    const auto buffer = STRATA_BUFFER(memory, bytes);
    if constexpr (sizeof(T) == 1) __builtin_amdgcn_raw_buffer_store_b8(__builtin_bit_cast(unsigned char, value), buffer, (int)offset, 0, cache);
    if constexpr (sizeof(T) == 2) __builtin_amdgcn_raw_buffer_store_b16(__builtin_bit_cast(unsigned short, value), buffer, (int)offset, 0, cache);
    if constexpr (sizeof(T) == 4) __builtin_amdgcn_raw_buffer_store_b32(__builtin_bit_cast(unsigned, value), buffer, (int)offset, 0, cache);
    if constexpr (sizeof(T) == 8) __builtin_amdgcn_raw_buffer_store_b64(__builtin_bit_cast(two, value), buffer, (int)offset, 0, cache);
    if constexpr (sizeof(T) == 16) __builtin_amdgcn_raw_buffer_store_b128(__builtin_bit_cast(four, value), buffer, (int)offset, 0, cache);
}
#else
template <class T, int cache = 0> STRATA_FN T strata_buffer_load(const void* memory, unsigned bytes, unsigned offset) {
    return offset < bytes ? *(const T*)((const char*)memory + offset) : T{};
}
template <class T, int cache = 0> STRATA_FN void strata_buffer_store(void* memory, unsigned bytes, unsigned offset, T value) {
    if (offset < bytes) *(T*)((char*)memory + offset) = value;
}
#endif
//@ nan_max nan_min
// NaN where either is NaN, unlike fmax and fmin.
template <class T> STRATA_FN T nan_max(T x, T y) { return __builtin_isunordered(x, y) ? (T)__builtin_nanf("") : fmax(x, y); }
template <class T> STRATA_FN T nan_min(T x, T y) { return __builtin_isunordered(x, y) ? (T)__builtin_nanf("") : fmin(x, y); }
//@ abs
template <class T> STRATA_FN T abs(T x) { return __builtin_elementwise_abs(x); }
//@ bounded
// An index of an axis, counted from its end below 0. Any other ends the kernel: core/support/wrong_index.h.
template <class T> STRATA_FN T bounded(T i, T size, T axis) {
    T at = i < 0 ? (T)(i + size) : i;
    if (at < 0 || at >= size) {
        constexpr int64_t most = (1l << 41) - 1;
        int64_t which = (int64_t)i > most ? most : (int64_t)i < -most ? -most : (int64_t)i;
        uint64_t address = 0xb1d0ul << 48 | (uint64_t)axis << 42 | ((uint64_t)which & ((1ul << 42) - 1));
        *(volatile __attribute__((address_space(1))) char*)address = 0;
    }
    return at;
}
//@ div_scale_n div_scale_d div_scales
#define STRATA_DIVISION(T, suffix)                                                                                        \
    STRATA_FN T div_scale_n(T n, T d) { bool mask; return __builtin_amdgcn_div_scale##suffix(n, d, true, &mask); }        \
    STRATA_FN T div_scale_d(T n, T d) { bool mask; return __builtin_amdgcn_div_scale##suffix(n, d, false, &mask); }       \
    STRATA_FN bool div_scales(T n, T d) { bool mask; __builtin_amdgcn_div_scale##suffix(n, d, true, &mask); return mask; }
STRATA_DIVISION(float, f)
STRATA_DIVISION(double, )
