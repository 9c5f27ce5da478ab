// A little machine: a dense switch in a loop, the program counter different in each lane.
#include "program.h"

__global__ void interpret(const uint8_t* code, int length, int* out) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), stack[16], depth = 1, pc = i % 5, fuel = 200;
    stack[0] = i;
    while (pc < length && fuel-- > 0) {
        int top = stack[depth - 1];
        switch (code[pc++] & 15) {
            case 0: stack[depth - 1] = top + 1; break;
            case 1: stack[depth - 1] = top * 3; break;
            case 2:
                if (depth < 16) stack[depth++] = pc;
                break;
            case 3:
                if (depth > 1) --depth, stack[depth - 1] += top;
                break;
            case 4:
                if (depth > 1) --depth, stack[depth - 1] ^= top;
                break;
            case 5: stack[depth - 1] = top >> 1; break;
            case 6:
                if (top & 1) pc += 2;
                break;
            case 7:
                if ((top & 3) == 1 && pc > 8) pc -= 7;
                break;
            case 8: stack[depth - 1] = -top; break;
            case 9:
                if (depth < 16) stack[depth] = top, ++depth;
                break;
            case 10: stack[depth - 1] = top & 0xffff; break;
            case 11: stack[depth - 1] = top - i; break;
            case 12: stack[0] += top & 255; break;
            case 13: stack[depth - 1] = top == 0 ? 17 : top % 1000; break;
            case 14: continue;
            default:
                if ((top & 63) == 63) fuel = 0;
        }
    }
    int sum = fuel;
    for (int k = 0; k < depth; ++k) sum = (int)((unsigned)sum * 31u + (unsigned)stack[k]);
    out[i] = sum;
}

#if HOST
void program(Run& run) {
    auto code = run.buffer(random<uint8_t>(64));
    auto out = run.zeros<int>(128);
    LAUNCH(interpret, 2, 64, code, 64, out);
}
#endif
