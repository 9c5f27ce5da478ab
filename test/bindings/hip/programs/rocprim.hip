// rocPRIM's reduction, scan and sort of 5000 numbers, against the standard library's.
#include <rocprim/rocprim.hpp>

#include <algorithm>

#include "checks.h"

/// Calls an algorithm for the bytes that it needs, then with them.
template <class Call>
static void with_storage(Call&& call) {
    void* storage = nullptr;
    size_t bytes = 0;
    OK(call(storage, bytes));
    OK(hipMalloc(&storage, bytes));
    OK(call(storage, bytes));
    OK(hipFree(storage));
}

int main() {
    constexpr int n = 5000;
    std::vector<int> values(n), sums(n);
    for (int i = 0; i < n; ++i) values[i] = i * 7919 % 10007;
    int *in, *out;
    OK(hipMalloc(&in, n * 4));
    OK(hipMalloc(&out, n * 4));
    OK(hipMemcpy(in, values.data(), n * 4, hipMemcpyHostToDevice));
    std::partial_sum(values.begin(), values.end(), sums.begin());
    with_storage([&](void* p, size_t& bytes) { return rocprim::reduce(p, bytes, in, out, 0, n, rocprim::plus<int>()); });
    EXPECT(read(out, 1)[0] == sums.back());
    with_storage([&](void* p, size_t& bytes) { return rocprim::inclusive_scan(p, bytes, in, out, n, rocprim::plus<int>()); });
    EXPECT(read(out, n) == sums);
    with_storage([&](void* p, size_t& bytes) { return rocprim::radix_sort_keys(p, bytes, in, out, n); });
    std::sort(values.begin(), values.end());
    EXPECT(read(out, n) == values);
    return tell();
}
