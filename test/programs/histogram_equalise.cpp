// Histogram equalisation of an image: global atomics, a scan by one work-item, a table look-up.
#include "program.h"

__global__ void count_levels(const uint8_t* image, unsigned n, uint32_t* counts) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[image[i]], 1u);
}

__global__ void make_table(const uint32_t* counts, unsigned n, uint8_t* table) {
    uint32_t below = 0, first = 0;
    for (unsigned level = 0; level < 256; ++level) {
        if (below == 0) first = counts[level];
        below += counts[level];
        table[level] = below == 0 ? 0 : (uint8_t)((uint64_t)(below - first) * 255 / (n - first));
    }
}

__global__ void equalise(uint8_t* image, unsigned n, const uint8_t* table) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) image[i] = table[image[i]];
}

#if HOST
void program(Run& run) {
    auto pixels = random<uint8_t>(50 * 41);
    for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(60 + pixel % 50);
    const unsigned n = 50 * 41;
    auto image = run.buffer(pixels), table = run.zeros<uint8_t>(256);
    auto counts = run.zeros<uint32_t>(256);
    LAUNCH(count_levels, 9, 256, image, n, counts);
    LAUNCH(make_table, 1, 1, counts, n, table);
    LAUNCH(equalise, 9, 256, image, n, table);
    auto out = image.values();
    run.expect(*std::max_element(out.begin(), out.end()) == 255, "the brightest pixel is white");
}
#endif
