// Nested loops and conditions that differ by lane, with break, continue, early return and a flag from the inside.
#include "program.h"

__global__ void divergence(const uint32_t* in, uint32_t* out) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i], sum = 0;
    if (i % 17 == 3) {
        out[i] = 0xdead;
        return;
    }
    for (uint32_t a = 0; a < (x & 15); ++a) {
        if (a % 3 == (i & 1)) continue;
        for (uint32_t b = a;; b += 2) {
            sum += a * b + 1;
            if (sum % 13 == 0) break;
            if (b > 20) {
                sum ^= x;
                if (sum & 1) goto next;
                break;
            }
            uint32_t c = b;
            do {
                if (c & 4) {
                    if (c % 5 == 0) break;
                    sum += c;
                } else if (i & 2) {
                    sum = sum << 1 | sum >> 31;
                }
                c += 1 + (x >> 30);
            } while (c < b + (i & 7));
        }
        sum += 1000;
    next:
        if (sum > 0xf0000000u) return;
    }
    out[i] = sum;
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<uint32_t>(500)), out = run.zeros<uint32_t>(500);
    LAUNCH(divergence, 5, 100, in, out);
}
#endif
