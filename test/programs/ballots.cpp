// Votes of a wave: stream compaction by ballot and population count, within whole and partial waves.
#include "program.h"

__global__ void compact(const int* in, int n, int* out, int* counts, uint64_t* votes) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), wave = i / WAVE;
    bool keep = i < n && in[i] % 3 == 0;
    uint64_t vote = ballot(keep);
    if (keep) {
        int before = __builtin_popcountll(vote & ((1ull << lane_id()) - 1));
        out[wave * WAVE + before] = in[i];
    }
    if (lane_id() == 0) {
        counts[wave] = __builtin_popcountll(vote);
        votes[wave] = vote;
    }
    if (i % 5 < 2) {
        uint64_t some = ballot(in[i] > 0);
        atomicXor(&votes[wave], some * (uint64_t)(1 + i % 64));
    }
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<int>(384));
    auto out = run.zeros<int>(384), counts = run.zeros<int>(12);
    auto votes = run.zeros<uint64_t>(12);
    LAUNCH(compact, 3, 128, in, 371, out, counts, votes);
}
#endif
