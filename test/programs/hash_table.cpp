// A hash table of 64-bit slots with open addressing: insertion by compare-and-swap, then look-ups.
#include "program.h"

constexpr uint32_t slots = 1024;

__device__ uint32_t slot_of(uint32_t key) { return key * 2654435769u >> 22; }

__global__ void insert(const uint32_t* keys, int n, unsigned long long* table) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    unsigned long long entry = (unsigned long long)keys[i] << 32 | 1;
    for (uint32_t at = slot_of(keys[i]);; at = (at + 1) % slots) {
        unsigned long long old = atomicCAS(&table[at], 0ull, entry);
        if (old == 0) return;
        if (old >> 32 == keys[i]) {
            atomicAdd(&table[at], 1ull);
            return;
        }
    }
}

__global__ void look_up(const unsigned long long* table, uint32_t* counts) {
    uint32_t key = blockIdx.x * blockDim.x + threadIdx.x;
    counts[key] = 0;
    for (uint32_t at = slot_of(key); table[at]; at = (at + 1) % slots)
        if (table[at] >> 32 == key) {
            counts[key] = (uint32_t)table[at];
            break;
        }
}

#if HOST
void program(Run& run) {
    auto numbers = random<uint32_t>(900);
    for (uint32_t& number : numbers) number = number % 600 * (number >> 31);
    auto keys = run.buffer(numbers), counts = run.zeros<uint32_t>(640);
    void* memory = run.allocate(std::vector<unsigned long long>(slots).data(), slots * 8);  // its order may differ
    auto* table = static_cast<unsigned long long*>(memory);
    LAUNCH(insert, 4, 256, keys, 900, table);
    LAUNCH(look_up, 5, 128, table, counts);
    run.expect(counts.values()[0] == std::count(numbers.begin(), numbers.end(), 0u), "zeros are counted");
}
#endif
