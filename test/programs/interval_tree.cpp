// An implicit tree of intervals in private recursion-free search: how many contain a point, and the sum of their ends.
#include "program.h"

struct Interval {
    int low, high, most;
};

__global__ void stab(const Interval* tree, int n, const int* points, int* counts, long long* sums) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), point = points[i], stack[32], depth = 0, count = 0;
    long long sum = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        int at = stack[--depth];
        if (at >= n || tree[at].most < point) continue;
        if (tree[at].low <= point) {
            if (point <= tree[at].high) {
                ++count;
                sum += tree[at].high;
            }
            stack[depth++] = 2 * at + 2;
        }
        stack[depth++] = 2 * at + 1;
    }
    counts[i] = count;
    sums[i] = sum;
}

#if HOST
void program(Run& run) {
    const int n = 127;
    std::vector<std::pair<int, int>> sorted(n);
    for (size_t i = 0; i < n; ++i) {
        int low = static_cast<int>(programs::random_bits(1, i) % 1000);
        sorted[i] = {low, low + static_cast<int>(programs::random_bits(2, i) % 200)};
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> fields(3 * n);
    size_t next = 0;
    auto fill = [&](auto& self, size_t at) -> int {
        if (at >= n) return -1;
        int most = self(self, 2 * at + 1);
        auto [low, high] = sorted[next++];
        most = std::max({most, high, self(self, 2 * at + 2)});
        fields[3 * at] = low, fields[3 * at + 1] = high, fields[3 * at + 2] = most;
        return most;
    };
    fill(fill, 0);
    auto points = random<int>(96);
    for (int& point : points) point = (point & 0x7fffffff) % 1200;
    auto tree = run.buffer(fields), where = run.buffer(points), counts = run.zeros<int>(96);
    auto sums = run.zeros<long long>(96);
    LAUNCH(stab, 3, 32, reinterpret_cast<Interval*>(static_cast<int*>(tree)), n, where, counts, sums);
}
#endif
