#pragma once
// Helpers of programs of rocPRIM's algorithms.
#include <rocprim/rocprim.hpp>

#include <algorithm>

#include "checks.h"

template <class T>
struct Memory {
    T* at;
    explicit Memory(size_t n) { OK(hipMalloc(&at, n * sizeof(T))); }
    explicit Memory(const std::vector<T>& values) : Memory(values.size()) {
        OK(hipMemcpy(at, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
    }
    Memory(const Memory&) = delete;
    ~Memory() { (void)hipFree(at); }
    std::vector<T> read(size_t n) const {
        std::vector<T> out(n);
        OK(hipMemcpy(out.data(), at, n * sizeof(T), hipMemcpyDeviceToHost));
        return out;
    }
};

/// Calls an algorithm for the bytes that it needs, then with them.
template <class Call>
void with_storage(Call&& call, size_t more = 0) {
    void* storage = nullptr;
    size_t bytes = 0;
    OK(call(storage, bytes));
    OK(hipMalloc(&storage, bytes + more));
    OK(call(storage, bytes));
    OK(hipFree(storage));
}

inline std::vector<int> mixed(size_t n) {
    std::vector<int> out(n);
    unsigned state = 12345;
    for (int& value : out) value = static_cast<int>(state = state * 1664525u + 1013904223u) >> 4;
    return out;
}
