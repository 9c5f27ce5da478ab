// A transpose through a padded tile, of 32-bit words and of bytes, with partial tiles at the edges.
#include "program.h"

template <class T>
__device__ void transpose_tile(const T* in, T* out, int rows, int columns, T (&tile)[16][17]) {
    int x = (int)(blockIdx.x * 16 + threadIdx.x), y = (int)(blockIdx.y * 16 + threadIdx.y);
    if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    __syncthreads();
    x = (int)(blockIdx.y * 16 + threadIdx.x);
    y = (int)(blockIdx.x * 16 + threadIdx.y);
    if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void transpose_words(const uint32_t* in, uint32_t* out, int rows, int columns) {
    __shared__ uint32_t tile[16][17];
    transpose_tile(in, out, rows, columns, tile);
}

__global__ void transpose_bytes(const uint8_t* in, uint8_t* out, int rows, int columns) {
    __shared__ uint8_t tile[16][17];
    transpose_tile(in, out, rows, columns, tile);
}

#if HOST
void program(Run& run) {
    auto words = run.buffer(random<uint32_t>(50 * 35)), turned = run.zeros<uint32_t>(50 * 35);
    auto bytes = run.buffer(random<uint8_t>(50 * 35)), turned_bytes = run.zeros<uint8_t>(50 * 35);
    LAUNCH(transpose_words, dim3(3, 4), dim3(16, 16), words, turned, 50, 35);
    LAUNCH(transpose_bytes, dim3(3, 4), dim3(16, 16), bytes, turned_bytes, 50, 35);
    run.expect(turned.values()[7 * 50 + 9] == words.values()[9 * 35 + 7], "rows became columns");
}
#endif
