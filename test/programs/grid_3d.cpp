// Every index of a 3-D grid of 3-D blocks, sizes that are odd in each dimension.
#include "program.h"

__global__ void grid_3d(uint32_t* out, uint32_t nx, uint32_t ny, uint32_t nz) {
    uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
             z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    uint32_t groups = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    uint32_t item = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[(z * ny + y) * nx + x] = groups << 16 | item << 4 | (gridDim.z & 15);
}

#if HOST
void program(Run& run) {
    auto line = run.zeros<uint32_t>(1000), plane = run.zeros<uint32_t>(33 * 21),
         box = run.zeros<uint32_t>(11 * 13 * 10);
    LAUNCH(grid_3d, 16, 63, line, 1000, 1, 1);
    LAUNCH(grid_3d, dim3(5, 4), dim3(7, 6), plane, 33, 21, 1);
    LAUNCH(grid_3d, dim3(3, 5, 4), dim3(5, 3, 3), box, 11, 13, 10);
}
#endif
