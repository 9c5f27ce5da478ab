// program.h on the device: put before a program in place of its #include. The words of HIP itself come from the prelude
// of freestanding sources (codegen/toolchain/prelude.hip).
#define DYNAMIC_SHARED(T, name) extern __shared__ T name[]
#define NOINLINE __attribute__((noinline))
#define WAVE ((int)__builtin_amdgcn_wavefrontsize())
#define FN static __device__ __forceinline__

FN int lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
#if __AMDGCN_WAVEFRONT_SIZE__ == 64
FN uint64_t ballot(bool condition) { return __builtin_amdgcn_ballot_w64(condition); }
#else
FN uint64_t ballot(bool condition) { return __builtin_amdgcn_ballot_w32(condition); }
#endif
FN void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }

template <class T>
struct same {
    typedef T type;
};
#define ATOMIC(name, call)                          \
    template <class T>                              \
    FN T name(T* at, typename same<T>::type with) { \
        return call;                                \
    }
#define SCOPE __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT
ATOMIC(atomicAdd, __hip_atomic_fetch_add(at, with, SCOPE))
ATOMIC(atomicSub, __hip_atomic_fetch_sub(at, with, SCOPE))
ATOMIC(atomicMax, __hip_atomic_fetch_max(at, with, SCOPE))
ATOMIC(atomicMin, __hip_atomic_fetch_min(at, with, SCOPE))
ATOMIC(atomicAnd, __hip_atomic_fetch_and(at, with, SCOPE))
ATOMIC(atomicOr, __hip_atomic_fetch_or(at, with, SCOPE))
ATOMIC(atomicXor, __hip_atomic_fetch_xor(at, with, SCOPE))
ATOMIC(atomicExch, __hip_atomic_exchange(at, with, SCOPE))
ATOMIC(atomicInc, __builtin_amdgcn_atomic_inc32(at, with, __ATOMIC_RELAXED, "agent"))
ATOMIC(atomicDec, __builtin_amdgcn_atomic_dec32(at, with, __ATOMIC_RELAXED, "agent"))
template <class T>
FN T atomicCAS(T* at, typename same<T>::type expected, typename same<T>::type with) {
    __hip_atomic_compare_exchange_strong(at, &expected, with, __ATOMIC_RELAXED, SCOPE);
    return expected;
}
template <class T>
FN T atomic_load(T* at) {
    return __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
FN void atomic_store(T* at, typename same<T>::type value) {
    __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
template <class To, class From>
FN To bits_as(From value) {
    return __builtin_bit_cast(To, value);
}
FN void* memcpy(void* to, const void* from, size_t bytes) { return __builtin_memcpy(to, from, bytes); }
FN void* memset(void* to, int value, size_t bytes) { return __builtin_memset(to, value, bytes); }
