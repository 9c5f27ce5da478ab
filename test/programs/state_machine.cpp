// A table-driven automaton that reads numbers in text: each work-item runs it from every state, then maps compose.
#include "program.h"

__constant__ uint8_t next_state[4][4] = {{1, 2, 0, 3}, {1, 0, 3, 2}, {2, 2, 1, 0}, {3, 1, 2, 3}};

__global__ void state_machine(const uint8_t* text, uint8_t* states) {
    __shared__ uint8_t maps[2][128][4];
    unsigned id = threadIdx.x, from = 0;
    for (unsigned s = 0; s < 4; ++s) {
        uint8_t state = (uint8_t)s;
        for (unsigned k = 0; k < 6; ++k) state = next_state[state][text[id * 6 + k] & 3];
        maps[0][id][s] = state;
    }
    for (unsigned step = 1; step < 128; step *= 2, from ^= 1) {
        __syncthreads();
        for (unsigned s = 0; s < 4; ++s)
            maps[from ^ 1][id][s] = id >= step ? maps[from][id][maps[from][id - step][s]] : maps[from][id][s];
    }
    states[id] = maps[from][id][0];
}

#if HOST
void program(Run& run) {
    auto input = random<uint8_t>(768);
    auto text = run.buffer(input), states = run.zeros<uint8_t>(128);
    LAUNCH(state_machine, 1, 128, text, states);
    int state = 0;
    for (uint8_t c : input) state = next_state[state][c & 3];
    run.expect(states.values()[127] == state, "the composed maps end where the automaton does");
}
#endif
