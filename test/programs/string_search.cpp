// Knuth-Morris-Pratt within windows and a naive search: positions appended through an atomic counter, sorted after.
#include "program.h"

__constant__ uint8_t pattern[] = {'a', 'b', 'a', 'a', 'b'};

__global__ void search(const uint8_t* text, int n, int* found, int* count, int* by_window) {
    constexpr int m = sizeof pattern;
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    bool here = i + m <= n;
    for (int k = 0; k < m && here; ++k) here = text[i + k] == pattern[k];
    if (here) found[atomicAdd(count, 1)] = i;

    int fail[m] = {0};
    for (int k = 1, j = 0; k < m; ++k) {
        while (j > 0 && pattern[k] != pattern[j]) j = fail[j - 1];
        if (pattern[k] == pattern[j]) ++j;
        fail[k] = j;
    }
    int matches = 0;
    for (int at = i * 8, j = 0; at < min(n, i * 8 + 64); ++at) {
        while (j > 0 && text[at] != pattern[j]) j = fail[j - 1];
        if (text[at] == pattern[j]) ++j;
        if (j == m) ++matches, j = fail[j - 1];
    }
    by_window[i] = matches;
}

#if HOST
void program(Run& run) {
    auto letters = random<uint8_t>(1000);
    for (uint8_t& letter : letters) letter = static_cast<uint8_t>('a' + (letter & 1));
    auto text = run.buffer(letters);
    std::vector<int> nothing(1024, 1 << 30);
    auto found = run.buffer(nothing), count = run.zeros<int>(1), windows = run.zeros<int>(1024);
    LAUNCH(search, 8, 128, text, 1000, found, count, windows);
    auto sorted = found.values();
    std::sort(sorted.begin(), sorted.end());
    found.set(sorted);
}
#endif
