// The table of longest common subsequences along its anti-diagonals, with the edit distance beside it.
#include "program.h"

__global__ void align(const uint8_t* a, const uint8_t* b, int n, uint16_t* common, uint16_t* edits) {
    int i = (int)threadIdx.x;
    for (int diagonal = 0; diagonal < 2 * n - 1; ++diagonal) {
        int j = diagonal - i, at = (i + 1) * (n + 1) + j + 1;
        if (i < n && j >= 0 && j < n) {
            bool same = a[i] == b[j];
            common[at] = same ? (uint16_t)(common[at - n - 2] + 1) : max(common[at - 1], common[at - n - 1]);
            uint16_t least = min(min(edits[at - 1], edits[at - n - 1]), (uint16_t)(edits[at - n - 2] - same));
            edits[at] = (uint16_t)(least + 1);
        }
        __syncthreads();
    }
}

#if HOST
void program(Run& run) {
    const int n = 50;
    auto a = random<uint8_t>(n), b = random<uint8_t>(n, 2);
    for (size_t i = 0; i < n; ++i) a[i] &= 3, b[i] &= 3;
    std::vector<uint16_t> border((n + 1) * (n + 1));
    for (size_t i = 0; i <= n; ++i) border[i] = border[i * (n + 1)] = static_cast<uint16_t>(i);
    auto x = run.buffer(a), y = run.buffer(b);
    auto common = run.zeros<uint16_t>((n + 1) * (n + 1)), edits = run.buffer(border);
    LAUNCH(align, 1, 64, x, y, n, common, edits);
}
#endif
