// rocPRIM's reductions, scans and radix sorts of a whole device, against the standard library's.
#include "rocprim_checks.h"

namespace {

void reductions(size_t n) {
    const std::vector<int> values = mixed(n);
    const Memory<int> in(values), out(n);
    with_storage([&](void* p, size_t& bytes) { return rocprim::reduce(p, bytes, in.at, out.at, 3, n, rocprim::plus<int>()); });
    EXPECT(out.read(1)[0] == static_cast<int>(std::accumulate(values.begin(), values.end(), 3u)));
    with_storage([&](void* p, size_t& bytes) { return rocprim::reduce(p, bytes, in.at, out.at, values[0], n, rocprim::maximum<int>()); });
    EXPECT(out.read(1)[0] == *std::max_element(values.begin(), values.end()));
}

void scans(size_t n) {
    std::vector<int> values = mixed(n), sums(n);
    for (int& value : values) value %= 1000;
    const Memory<int> in(values), out(n);
    with_storage([&](void* p, size_t& bytes) { return rocprim::inclusive_scan(p, bytes, in.at, out.at, n, rocprim::plus<int>()); });
    std::partial_sum(values.begin(), values.end(), sums.begin());
    EXPECT(out.read(n) == sums);
    with_storage([&](void* p, size_t& bytes) { return rocprim::exclusive_scan(p, bytes, in.at, out.at, 7, n, rocprim::plus<int>()); });
    std::exclusive_scan(values.begin(), values.end(), sums.begin(), 7);
    EXPECT(out.read(n) == sums);
}

template <class Config>
void radix_sorts(size_t n) {
    std::vector<int> values = mixed(n), order = numbers(n);
    const Memory<int> in(values), out(n), places(order), sorted_places(n);
    with_storage([&](void* p, size_t& bytes) { return rocprim::radix_sort_keys<Config>(p, bytes, in.at, out.at, n); });
    std::vector<int> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    EXPECT(out.read(n) == sorted);
    with_storage([&](void* p, size_t& bytes) { return rocprim::radix_sort_pairs_desc<Config>(p, bytes, in.at, out.at, places.at, sorted_places.at, n); });
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return values[a] > values[b]; });
    EXPECT(sorted_places.read(n) == order);
    std::reverse(sorted.begin(), sorted.end());
    EXPECT(out.read(n) == sorted);
}

}  // namespace

int main() {
    for (const size_t n : {1, 5000, 100000}) reductions(n);
    for (const size_t n : {1, 5000, 30000}) scans(n);
    for (const size_t n : {700, 5000, 20000}) radix_sorts<rocprim::default_config>(n);
    // Digit by digit, as rocPRIM sorts from a million numbers on, here from 256; in whole blocks of 2048, since it counts what
    // it has not loaded of a last one that is not whole.
    using Blocks = rocprim::kernel_config<256, 8>;
    using Small = rocprim::kernel_config<64, 1>;
    radix_sorts<rocprim::radix_sort_config<8, 7, rocprim::kernel_config<256, 2>, Blocks, Small, Small, 4>>(20480);
    return tell();
}
