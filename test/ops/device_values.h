#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "helpers.h"

namespace strata::test {

template <class T>
constexpr DType type_of() {
    if constexpr (std::is_same_v<T, float>) return dtypes::float32;
    if constexpr (std::is_same_v<T, int32_t>) return dtypes::int32;
    return dtypes::int64;
}

/// In memory of the emulated device.
template <class T>
Tensor on_device(const std::vector<T>& values, Shape shape = {}) {
    if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
    return Tensor::from_host(values.data(), shape, type_of<T>(), "emu:gfx1100");
}

template <class T>
std::vector<T> computed(Tensor t) {
    EXPECT_EQ(t.dtype(), type_of<T>()) << t.dtype().name();
    std::vector<T> out(static_cast<size_t>(t.numel()));
    t.to_host(out.data());
    return out;
}

/// Whole numbers from 0 to most, of which many are equal.
template <class T>
std::vector<T> drawn(size_t count, int most, uint32_t seed = 1) {
    std::mt19937 random(seed);
    std::vector<T> out(count);
    for (T& value : out) value = static_cast<T>(random() % static_cast<uint32_t>(most + 1));
    return out;
}

}  // namespace strata::test
