// Every atomic read-modify-write, 32 and 64 bits, in local and global memory, with and without its old value.
#include "program.h"

template <class T>
__device__ void use(T* cells, T value, unsigned i) {
    atomicAdd(&cells[0], value);
    atomicSub(&cells[1], value);
    atomicMax(&cells[2], value);
    atomicMin(&cells[3], value);
    atomicAnd(&cells[4], (T)(value | (T)1 << (i % 31)));
    atomicOr(&cells[5], (T)(value & (T)1 << (i % 29)));
    atomicXor(&cells[6], value);
    T old = atomicAdd(&cells[7], (T)1);
    atomicXor(&cells[8], (T)((uint64_t)old * (uint64_t)old));
    for (T seen = cells[9];;) {
        T before = atomicCAS(&cells[9], seen, (T)(seen + (value & 255)));
        if (before == seen) break;
        seen = before;
    }
}

__global__ void atomic_operations(const int* in, int* narrow, unsigned* plain, long long* wide,
                                  unsigned long long* plain_wide, unsigned* wrapping) {
    __shared__ int local[10];
    __shared__ unsigned long long local_wide[10];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 10) {
        local[threadIdx.x] = 0x1234;
        local_wide[threadIdx.x] = 0x123456789abcull;
    }
    __syncthreads();
    int x = in[i];
    use(narrow, x, i);
    use(plain, (unsigned)x, i);
    use(wide, (long long)x << 20, i);
    use(plain_wide, (unsigned long long)(unsigned)x << 25, i);
    use(local, x, i);
    use(local_wide, (unsigned long long)x * 77, i);
    atomicInc(&wrapping[0], 99u);
    atomicDec(&wrapping[1], 1000u);
    __syncthreads();
    if (threadIdx.x < 10) {
        atomicAdd(&wrapping[2 + threadIdx.x], (unsigned)local[threadIdx.x]);
        atomicAdd(&plain_wide[10 + threadIdx.x], local_wide[threadIdx.x]);
    }
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<int>(4 * 96)), narrow = run.buffer(random<int>(10, 2));
    auto plain = run.buffer(random<unsigned>(10, 3)), wrapping = run.zeros<unsigned>(12);
    auto wide = run.buffer(random<long long>(10, 4));
    auto plain_wide = run.buffer(random<unsigned long long>(20, 5));
    LAUNCH(atomic_operations, 4, 96, in, narrow, plain, wide, plain_wide, wrapping);
}
#endif
