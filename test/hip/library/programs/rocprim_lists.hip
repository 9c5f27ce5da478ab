// rocPRIM's operations on lists: merges, searches, selections, runs of equal keys, segments and histograms, against the
// standard library's.
#include "rocprim_checks.h"

namespace {

struct Even {
    __host__ __device__ bool operator()(int value) const { return value % 2 == 0; }
};

void merges(size_t n) {
    std::vector<int> values = mixed(n), more = mixed(n / 2), both(n + n / 2);
    for (int& value : more) value ^= 0x155;
    {
        const Memory<int> in(values), out(n);
        with_storage([&](void* p, size_t& bytes) { return rocprim::merge_sort(p, bytes, in.at, out.at, n, rocprim::less<int>()); });
        std::sort(values.begin(), values.end());
        EXPECT(out.read(n) == values);
    }
    std::sort(more.begin(), more.end());
    const Memory<int> one(values), other(more), out(both.size());
    const auto merged = [&](void* p, size_t& bytes) { return rocprim::merge(p, bytes, one.at, other.at, out.at, n, n / 2, rocprim::less<int>()); };
    with_storage(merged, 1024);  // rocPRIM 5.3 writes where a workgroup of 128 begins, however few of them it asked memory for
    std::merge(values.begin(), values.end(), more.begin(), more.end(), both.begin());
    EXPECT(out.read(both.size()) == both);
    std::vector<int> places(n / 2);
    with_storage([&](void* p, size_t& bytes) { return rocprim::lower_bound(p, bytes, one.at, other.at, out.at, n, n / 2, rocprim::less<int>()); });
    for (size_t i = 0; i < n / 2; ++i) places[i] = std::lower_bound(values.begin(), values.end(), more[i]) - values.begin();
    EXPECT(out.read(n / 2) == places);
}

void selections(size_t n) {
    std::vector<int> values = mixed(n), kept, rest;
    for (int& value : values) value = value % 7 + (value & 64);
    const Memory<int> in(values), out(n), count(1);
    for (const int value : values) (Even()(value) ? kept : rest).push_back(value);
    with_storage([&](void* p, size_t& bytes) { return rocprim::select(p, bytes, in.at, out.at, count.at, n, Even()); });
    EXPECT(count.read(1)[0] == static_cast<int>(kept.size()) && out.read(kept.size()) == kept);
    with_storage([&](void* p, size_t& bytes) { return rocprim::partition(p, bytes, in.at, out.at, count.at, n, Even()); });
    std::reverse(rest.begin(), rest.end());  // as rocPRIM's documentation has it
    rest.insert(rest.begin(), kept.begin(), kept.end());
    EXPECT(count.read(1)[0] == static_cast<int>(kept.size()) && out.read(n) == rest);
    with_storage([&](void* p, size_t& bytes) { return rocprim::unique(p, bytes, in.at, out.at, count.at, n, rocprim::equal_to<int>()); });
    std::vector<int> different = values;
    different.erase(std::unique(different.begin(), different.end()), different.end());
    EXPECT(count.read(1)[0] == static_cast<int>(different.size()) && out.read(different.size()) == different);
    OK(rocprim::transform(in.at, out.at, n, Even()));
    std::transform(values.begin(), values.end(), values.begin(), Even());
    EXPECT(out.read(n) == values);
}

void runs(size_t n) {
    std::vector<int> keys = mixed(n), values = numbers(n), first, sums, lengths, scanned(n);
    std::sort(keys.begin(), keys.end(), [](int a, int b) { return a % 50 < b % 50; });
    for (int& key : keys) key %= 50;
    for (size_t i = 0; i < n; ++i) {
        const bool start = i == 0 || keys[i] != keys[i - 1];
        if (start) first.push_back(keys[i]), sums.push_back(0), lengths.push_back(0);
        sums.back() += values[i], ++lengths.back();
        scanned[i] = sums.back();
    }
    const Memory<int> in(keys), add(values), unique(n), out(n), count(1);
    with_storage([&](void* p, size_t& bytes) { return rocprim::reduce_by_key(p, bytes, in.at, add.at, n, unique.at, out.at, count.at); });
    const int found = count.read(1)[0];
    EXPECT(found == static_cast<int>(first.size()) && unique.read(found) == first && out.read(found) == sums);
    with_storage([&](void* p, size_t& bytes) { return rocprim::run_length_encode(p, bytes, in.at, n, unique.at, out.at, count.at); });
    EXPECT(count.read(1)[0] == found && unique.read(found) == first && out.read(found) == lengths);
    with_storage([&](void* p, size_t& bytes) { return rocprim::inclusive_scan_by_key(p, bytes, in.at, add.at, out.at, n); });
    EXPECT(out.read(n) == scanned);
}

void segments(size_t n) {
    const std::vector<int> values = mixed(n), starts{0, 1, 40, 40, int(n / 2), int(n)};
    const int many = starts.size() - 1;
    std::vector<int> sums, sorted = values;
    for (int i = 0; i < many; ++i) {
        sums.push_back(std::accumulate(values.begin() + starts[i], values.begin() + starts[i + 1], 0u));
        std::sort(sorted.begin() + starts[i], sorted.begin() + starts[i + 1]);
    }
    const Memory<int> in(values), bounds(starts), out(n);
    with_storage([&](void* p, size_t& bytes) { return rocprim::segmented_reduce(p, bytes, in.at, out.at, many, bounds.at, bounds.at + 1, rocprim::plus<int>(), 0); });
    EXPECT(out.read(many) == sums);
    with_storage([&](void* p, size_t& bytes) { return rocprim::segmented_radix_sort_keys(p, bytes, in.at, out.at, n, many, bounds.at, bounds.at + 1); });
    EXPECT(out.read(n) == sorted);
}

void histograms(size_t n) {
    std::vector<int> values = mixed(n), counts(32);
    for (int& value : values) ++counts[(value = (value & 1023)) / 32];
    const Memory<int> in(values), out(32);
    with_storage([&](void* p, size_t& bytes) { return rocprim::histogram_even(p, bytes, in.at, n, out.at, 33, 0, 1024); });
    EXPECT(out.read(32) == counts);
    with_storage([&](void* p, size_t& bytes) { return rocprim::adjacent_difference(p, bytes, in.at, out.at, 32); });
    std::vector<int> differences(32);
    std::adjacent_difference(values.begin(), values.begin() + 32, differences.begin());
    EXPECT(out.read(32) == differences);
}

}  // namespace

int main() {
    merges(6000);
    selections(10000);
    runs(10000);
    segments(9000);
    histograms(20000);
    return tell();
}
