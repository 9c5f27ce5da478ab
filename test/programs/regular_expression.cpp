// A backtracking matcher (literals, dot, star, anchors) with mutual recursion, on the words of a list.
#include "program.h"

__device__ bool match_here(const char* pattern, const char* text);
__device__ NOINLINE bool match_star(char c, const char* pattern, const char* text) {
    do {
        if (match_here(pattern, text)) return true;
    } while (*text && (*text++ == c || c == '.'));
    return false;
}
__device__ NOINLINE bool match_here(const char* pattern, const char* text) {
    if (pattern[0] == 0) return true;
    if (pattern[1] == '*') return match_star(pattern[0], pattern + 2, text);
    if (pattern[0] == '$' && pattern[1] == 0) return *text == 0;
    if (*text && (pattern[0] == '.' || pattern[0] == *text)) return match_here(pattern + 1, text + 1);
    return false;
}
__device__ bool match(const char* pattern, const char* text) {
    if (pattern[0] == '^') return match_here(pattern + 1, text);
    do {
        if (match_here(pattern, text)) return true;
    } while (*text++);
    return false;
}

__device__ const char patterns[4][8] = {"ab*c", "^a.*a$", "c.b", "^b*$"};

__global__ void find_matches(const char* words, uint8_t* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 0;
    for (unsigned k = 0; k < 4; ++k) out[i] = (uint8_t)(out[i] << 1 | match(patterns[k], words + i * 8));
}

#if HOST
void program(Run& run) {
    std::vector<char> letters(96 * 8);
    for (size_t i = 0; i < letters.size(); ++i)
        letters[i] = i % 8 == 7 || i % 8 > i / 8 % 8 ? 0 : static_cast<char>('a' + programs::random_bits(1, i) % 3);
    auto words = run.buffer(letters);
    auto out = run.zeros<uint8_t>(96);
    LAUNCH(find_matches, 2, 48, words, out);
}
#endif
