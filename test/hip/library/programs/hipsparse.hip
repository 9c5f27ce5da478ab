// hipSPARSE over Debian's rocSPARSE, whose kernels are AMD's build: a sparse matrix times a vector, of small whole numbers, so that
// the host's sums are the same in any order.
#include <hipsparse/hipsparse.h>

#include "checks.h"

template <class T>
static T* filled(const std::vector<T>& values) {
    T* memory;
    OK(hipMalloc(&memory, values.size() * sizeof(T)));
    OK(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
    return memory;
}

int main() {
    constexpr int rows = 500, columns = 300;
    std::vector<int> starts{0}, places;
    std::vector<float> values, x(columns), before(rows), expected(rows);
    for (int j = 0; j < columns; ++j) x[j] = static_cast<float>(j % 7 - 3);
    for (int i = 0; i < rows; ++i) {
        before[i] = static_cast<float>(i % 5);
        expected[i] = 3 * before[i];
        for (int j = i % 11; j < columns; j += 5 + i % 13) {
            places.push_back(j);
            values.push_back(static_cast<float>((i + j) % 9 - 4));
            expected[i] += 2 * values.back() * x[j];
        }
        starts.push_back(static_cast<int>(places.size()));
    }
    int *of_rows = filled(starts), *of_columns = filled(places);
    float *a = filled(values), *b = filled(x), *y = filled(before);
    const float alpha = 2, beta = 3;
    hipsparseHandle_t handle;
    hipsparseMatDescr_t matrix;
    EXPECT(hipsparseCreate(&handle) == HIPSPARSE_STATUS_SUCCESS);
    EXPECT(hipsparseCreateMatDescr(&matrix) == HIPSPARSE_STATUS_SUCCESS);
    EXPECT(hipsparseScsrmv(handle, HIPSPARSE_OPERATION_NON_TRANSPOSE, rows, columns, starts.back(), &alpha, matrix, a, of_rows,
                           of_columns, b, &beta, y) == HIPSPARSE_STATUS_SUCCESS);
    std::vector<float> got(rows);
    OK(hipMemcpy(got.data(), y, rows * sizeof(float), hipMemcpyDeviceToHost));
    EXPECT(got == expected);
    EXPECT(hipsparseDestroyMatDescr(matrix) == HIPSPARSE_STATUS_SUCCESS);
    EXPECT(hipsparseDestroy(handle) == HIPSPARSE_STATUS_SUCCESS);
    for (void* memory : {static_cast<void*>(of_rows), static_cast<void*>(of_columns), static_cast<void*>(a), static_cast<void*>(b), static_cast<void*>(y)})
        OK(hipFree(memory));
    return tell();
}
