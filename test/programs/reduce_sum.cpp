// A sum over many workgroups: each keeps a partial sum in local memory, one atomic addition each at the end.
#include "program.h"

__global__ void reduce_sum(const int* in, int n, unsigned long long* total, int* largest) {
    __shared__ long long part[256];
    long long sum = 0;
    int most = -2147483647 - 1;
    for (int i = (int)(blockIdx.x * 256 + threadIdx.x); i < n; i += (int)gridDim.x * 256) {
        sum += in[i];
        most = max(most, in[i]);
    }
    part[threadIdx.x] = sum;
    for (unsigned half_size = 128; half_size > 0; half_size /= 2) {
        __syncthreads();
        if (threadIdx.x < half_size) part[threadIdx.x] += part[threadIdx.x + half_size];
    }
    atomicMax(largest, most);
    if (threadIdx.x == 0) atomicAdd(total, (unsigned long long)part[0]);
}

#if HOST
void program(Run& run) {
    auto values = random<int>(5003);
    auto in = run.buffer(values);
    auto total = run.zeros<unsigned long long>(1);
    auto largest = run.buffer(std::vector<int>{-2147483647});
    LAUNCH(reduce_sum, 7, 256, in, 5003, total, largest);
    run.expect(largest.values()[0] == *std::max_element(values.begin(), values.end()), "the largest is found");
}
#endif
