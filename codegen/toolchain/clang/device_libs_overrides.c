// Functions that device libraries from before ROCm 5.7 lack. They are linked before the libraries: these definitions win.
typedef unsigned long ulong;

// Where -mprintf-kind=buffered puts a message; 0: there is no room (asm/emu/services/printf_buffer.h).
__attribute__((address_space(1))) char* __printf_alloc(unsigned bytes) {
    typedef __attribute__((address_space(1))) unsigned Word;
    Word* const buffer =
        ((Word* __attribute__((address_space(4)))*)__builtin_amdgcn_implicitarg_ptr())[9];  // hidden_printf_buffer
    if (!buffer) return 0;
    const unsigned size = buffer[1];
    unsigned at = __scoped_atomic_load_n(buffer, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    do {
        if (8ul + at + bytes > size) return 0;
    } while (!__scoped_atomic_compare_exchange_n(buffer, &at, at + bytes, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                 __MEMORY_SCOPE_DEVICE));
    return (__attribute__((address_space(1))) char*)(buffer + 2) + at;
}

// Theirs are compiled for instructions that gfx11 and later lack (s_memrealtime, dot products of signed numbers), and
// LLVM leaves such functions out of a kernel.
#if defined(__GFX11__) || defined(__GFX12__)
typedef unsigned short ushort2 __attribute__((ext_vector_type(2)));
typedef short short2 __attribute__((ext_vector_type(2)));
typedef signed char char4 __attribute__((ext_vector_type(4)));

ulong __ockl_memtime_u64(void) { return __builtin_readcyclecounter(); }
ulong __ockl_memrealtime_u64(void) { return __builtin_readsteadycounter(); }

void __ockl_rtcwait_u32(unsigned ticks) {
    const ulong end = __builtin_readsteadycounter() + (unsigned)__builtin_amdgcn_readfirstlane((int)ticks);
    while (__builtin_readsteadycounter() < end) __builtin_amdgcn_s_sleep(1);
}

// Every block comes from the host: the library's own slabs wait for its clock.
ulong __ockl_devmem_request(ulong address, ulong bytes);
ulong __ockl_dm_alloc(ulong bytes) { return bytes ? __ockl_devmem_request(0, bytes) : 0; }
void __ockl_dm_dealloc(ulong address) {
    if (address) __ockl_devmem_request(address, 0);
}

static int add_signed(long a, int b, _Bool saturate) {
    const long sum = a + b;
    if (!saturate) return (int)sum;
    return sum < -2147483647 - 1 ? -2147483647 - 1 : sum > 2147483647 ? 2147483647 : (int)sum;
}
int __ockl_sdot2(short2 a, short2 b, int c, _Bool saturate) {
    return add_signed((long)a.x * b.x + (long)a.y * b.y, c, saturate);
}
unsigned __ockl_udot2(ushort2 a, ushort2 b, unsigned c, _Bool saturate) {
    const ulong sum = (ulong)a.x * b.x + (ulong)a.y * b.y + c;
    return saturate && sum >> 32 ? ~0u : (unsigned)sum;
}
int __ockl_sdot4(char4 a, char4 b, int c, _Bool saturate) {
    const union {
        char4 vector;
        int word;
    } x = {a}, y = {b};
    return saturate ? __builtin_amdgcn_sudot4(1, x.word, 1, y.word, c, 1)
                    : __builtin_amdgcn_sudot4(1, x.word, 1, y.word, c, 0);
}
int __ockl_sdot8(int a, int b, int c, _Bool saturate) {
    int sum = 0;
    for (int shift = 0; shift < 32; shift += 4)
        sum += ((int)((unsigned)a << (28 - shift)) >> 28) * ((int)((unsigned)b << (28 - shift)) >> 28);
    return add_signed(sum, c, saturate);
}
#endif
