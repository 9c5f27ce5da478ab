// Sections after those of prelude.hip, whose words they use: what threads do by themselves and with each other.
//@ strata_workgroup strata_device strata_system
constexpr int strata_workgroup = __HIP_MEMORY_SCOPE_WORKGROUP, strata_device = __HIP_MEMORY_SCOPE_AGENT,
              strata_system = __HIP_MEMORY_SCOPE_SYSTEM;
template <int bytes> struct strata_word_of { using type = uint32_t; };
template <> struct strata_word_of<8> { using type = uint64_t; };
//@ strata_atomic_add strata_atomic_max strata_atomic_min strata_atomic_and strata_atomic_or strata_atomic_xor
#define STRATA_FETCH(name) \
    template <int scope, class T> STRATA_FN T strata_atomic_##name(T* p, T v) { \
        return __hip_atomic_fetch_##name(p, v, __ATOMIC_RELAXED, scope); \
    }
STRATA_FETCH(add) STRATA_FETCH(max) STRATA_FETCH(min) STRATA_FETCH(and) STRATA_FETCH(or) STRATA_FETCH(xor)
//@ strata_atomic_add & half2 bfloat162
// Two halves, each rounded once: float32 holds their sums.
template <int scope, class T> STRATA_FN T strata_add_pair(T* p, T v) {
    uint32_t seen = __hip_atomic_load((uint32_t*)p, __ATOMIC_RELAXED, scope);
    for (;;) {
        T sum = __builtin_bit_cast(T, seen);
        sum.x += (float)v.x, sum.y += (float)v.y;
        if (__hip_atomic_compare_exchange_strong((uint32_t*)p, &seen, __builtin_bit_cast(uint32_t, sum), __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope))
            return __builtin_bit_cast(T, seen);
    }
}
//@ strata_atomic_add & half2
template <int scope> STRATA_FN half2 strata_atomic_add(half2* p, half2 v) { return strata_add_pair<scope>(p, v); }
//@ strata_atomic_add & bfloat162
template <int scope> STRATA_FN bfloat162 strata_atomic_add(bfloat162* p, bfloat162 v) { return strata_add_pair<scope>(p, v); }
//@ strata_atomic_exchange
template <int scope, class T> STRATA_FN T strata_atomic_exchange(T* p, T v) {
    return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, scope);
}
//@ strata_atomic_compare_exchange
template <int scope, class T> STRATA_FN T strata_atomic_compare_exchange(T* p, T v, T expected) {
    using word = typename strata_word_of<sizeof(T)>::type;
    word old = __builtin_bit_cast(word, expected);
    __hip_atomic_compare_exchange_strong((word*)p, &old, __builtin_bit_cast(word, v), __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope);
    return __builtin_bit_cast(T, old);
}
//@ strata_atomic_inc strata_atomic_dec
#define STRATA_COUNT(name, scope_name) \
    (sizeof(T) == 8 ? (T)__builtin_amdgcn_atomic_##name##64((uint64_t*)p, v, __ATOMIC_RELAXED, scope_name) \
                    : (T)__builtin_amdgcn_atomic_##name##32((uint32_t*)p, (uint32_t)v, __ATOMIC_RELAXED, scope_name))
#define STRATA_COUNTS(name) \
    template <int scope, class T> STRATA_FN T strata_atomic_##name(T* p, T v) { \
        return scope == strata_workgroup ? STRATA_COUNT(name, "workgroup") \
               : scope == strata_device  ? STRATA_COUNT(name, "agent") \
                                         : STRATA_COUNT(name, ""); \
    }
STRATA_COUNTS(inc) STRATA_COUNTS(dec)
//@ strata_fence
template <int scope> STRATA_FN void strata_fence() {
    if (scope == strata_workgroup) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    if (scope == strata_device) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    if (scope == strata_system) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}
//@ strata_wave_barrier
STRATA_FN void strata_wave_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
}
//@ strata_ballot
STRATA_FN uint64_t strata_ballot(bool p) {
#if __AMDGCN_WAVEFRONT_SIZE__ == 64
    return __builtin_amdgcn_ballot_w64(p);
#else
    return __builtin_amdgcn_ballot_w32(p);
#endif
}
//@ strata_shuffle
// The value of the lane of that number, modulo the wave's size; narrow values as a word.
template <class T> STRATA_FN T strata_shuffle(T value, int lane) {
    lane &= __builtin_amdgcn_wavefrontsize() - 1;
    if constexpr (sizeof(T) == 1) return __builtin_bit_cast(T, (uint8_t)strata_from_lane((int)__builtin_bit_cast(uint8_t, value), lane));
    else if constexpr (sizeof(T) == 2) return __builtin_bit_cast(T, (uint16_t)strata_from_lane((int)__builtin_bit_cast(uint16_t, value), lane));
    else return strata_from_lane(value, lane);
}
//@ strata_copy_async strata_copies_done
// From global to local memory without registers, by all lanes of a wave: a lane's 4 bytes go to M0 + 4 * lane.
template <int bytes> STRATA_FN void strata_copy_async(void* to, const void* from) {
    static_assert(bytes == 4, "a lane copies 4 bytes");
    const unsigned lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    const unsigned first = __builtin_amdgcn_readfirstlane((unsigned)(size_t)(__attribute__((address_space(3))) void*)to - 4 * lane);
#ifdef __gfx90a__
    asm volatile("s_mov_b32 m0, %0\n\ts_nop 0\n\tglobal_load_dword %1, off lds" ::"s"(first), "v"(from) : "m0", "memory");
#else
    asm volatile("s_mov_b32 m0, %0\n\ts_nop 0\n\tglobal_load_lds_dword %1, off" ::"s"(first), "v"(from) : "m0", "memory");
#endif
}
// Waits until no more of the wave's last copies than these are under way.
template <int copies> STRATA_FN void strata_copies_done() {
    asm volatile("s_waitcnt vmcnt(%0)" ::"n"(copies < 62 ? copies : 62) : "memory");
}
//@ strata_load_streaming strata_store_streaming strata_load_global strata_store_global strata_load_uncached strata_store_uncached
// Accesses by cache policies. Those of a scope are relaxed atomics of at most 8 bytes.
template <int bytes> struct strata_bits;
template <> struct strata_bits<1> { typedef unsigned char type __attribute__((may_alias)); };
template <> struct strata_bits<2> { typedef unsigned short type __attribute__((may_alias)); };
template <> struct strata_bits<4> { typedef unsigned type __attribute__((may_alias)); };
template <> struct strata_bits<8> { typedef unsigned long type __attribute__((may_alias)); };
template <> struct strata_bits<16> { typedef unsigned type __attribute__((ext_vector_type(4), may_alias)); };
template <class T> using strata_bits_of = typename strata_bits<sizeof(T)>::type;
struct strata_two_words { unsigned long first, second; };
template <int scope, class T> STRATA_FN T strata_load_of_scope(const T* from) {
    if constexpr (sizeof(T) == 16) {
        auto* words = (strata_bits<8>::type*)from;
        const strata_two_words both{__hip_atomic_load(words, __ATOMIC_RELAXED, scope), __hip_atomic_load(words + 1, __ATOMIC_RELAXED, scope)};
        return __builtin_bit_cast(T, both);
    } else {
        return __builtin_bit_cast(T, __hip_atomic_load((strata_bits_of<T>*)from, __ATOMIC_RELAXED, scope));
    }
}
template <int scope, class T> STRATA_FN void strata_store_of_scope(T* to, T value) {
    if constexpr (sizeof(T) == 16) {
        const auto both = __builtin_bit_cast(strata_two_words, value);
        auto* words = (strata_bits<8>::type*)to;
        __hip_atomic_store(words, both.first, __ATOMIC_RELAXED, scope);
        __hip_atomic_store(words + 1, both.second, __ATOMIC_RELAXED, scope);
    } else {
        __hip_atomic_store((strata_bits_of<T>*)to, __builtin_bit_cast(strata_bits_of<T>, value), __ATOMIC_RELAXED, scope);
    }
}
template <class T> STRATA_FN T strata_load_streaming(const T* from) { return __builtin_bit_cast(T, __builtin_nontemporal_load((const strata_bits_of<T>*)from)); }
template <class T> STRATA_FN void strata_store_streaming(T* to, T value) { __builtin_nontemporal_store(__builtin_bit_cast(strata_bits_of<T>, value), (strata_bits_of<T>*)to); }
template <class T> STRATA_FN T strata_load_global(const T* from) { return strata_load_of_scope<__HIP_MEMORY_SCOPE_AGENT>(from); }
template <class T> STRATA_FN void strata_store_global(T* to, T value) { strata_store_of_scope<__HIP_MEMORY_SCOPE_AGENT>(to, value); }
template <class T> STRATA_FN T strata_load_uncached(const T* from) { return strata_load_of_scope<__HIP_MEMORY_SCOPE_SYSTEM>(from); }
template <class T> STRATA_FN void strata_store_uncached(T* to, T value) { strata_store_of_scope<__HIP_MEMORY_SCOPE_SYSTEM>(to, value); }
