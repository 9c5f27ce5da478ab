// Recursive quicksort of a private array: calls with a stack of their own for every work-item.
#include "program.h"

__device__ NOINLINE void quick_sort(int* data, int low, int high) {
    if (low >= high) return;
    int pivot = data[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (data[i] < pivot) ++i;
        while (data[j] > pivot) --j;
        if (i <= j) {
            int t = data[i];
            data[i++] = data[j];
            data[j--] = t;
        }
    }
    quick_sort(data, low, j);
    quick_sort(data, i, high);
}

__global__ void sort_each(int* data) {
    int own[20];
    int* row = data + (blockIdx.x * blockDim.x + threadIdx.x) * 20;
    for (int i = 0; i < 20; ++i) own[i] = row[i];
    quick_sort(own, 0, 19);
    for (int i = 0; i < 20; ++i) row[i] = own[i];
}

#if HOST
void program(Run& run) {
    auto data = run.buffer(random<int>(100 * 20));
    LAUNCH(sort_each, 2, 50, data);
    auto sorted = data.values();
    for (size_t row = 0; row < sorted.size(); row += 20)
        run.expect(std::is_sorted(&sorted[row], &sorted[row] + 20), "a row is sorted");
}
#endif
