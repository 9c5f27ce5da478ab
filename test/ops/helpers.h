#pragma once
#include <gtest/gtest.h>

#include <string>

#include "evaluate.h"
#include "strata/ops/tensor.h"

namespace strata::test {

inline Memory& memory() {
    static Memory all;
    return all;
}

/// A tensor over a buffer that only the reference evaluator knows.
inline Tensor tensor(Array content) {
    static uint64_t next = 1u << 20;
    uint64_t id = next++;
    int64_t n = static_cast<int64_t>(content.numel());
    Shape shape = content.shape;
    DType dtype = content.dtype;
    memory()[id] = std::move(content);
    return Tensor(make(Op::buffer, dtype, {}, BufferArg{id, n, 0})).reshape(shape);
}

inline Array array(Shape shape, DType dtype, const std::vector<double>& values) {
    Array a(dtype, std::move(shape));
    for (size_t k = 0; k < a.numel(); ++k) {
        if (dtype.is_float())
            a.f[k] = round_to(dtype, values[k % values.size()]);
        else
            a.i[k] = wrap_to(dtype, static_cast<int64_t>(values[k % values.size()]));
    }
    return a;
}
inline Tensor tensor(Shape shape, DType dtype, const std::vector<double>& values) {
    return tensor(array(std::move(shape), dtype, values));
}
inline Tensor vec(const std::vector<double>& values, DType dtype = dtypes::float32) {
    return tensor({static_cast<int64_t>(values.size())}, dtype, values);
}

/// Values in [-2, 2) with a step of 1/64, or small integers of both signs: exact in every type, products too.
inline Array varied(Shape shape, DType dtype, uint32_t seed = 1) {
    Array a(dtype, std::move(shape));
    uint32_t state = seed * 2654435761u + 12345;
    for (size_t k = 0; k < a.numel(); ++k) {
        state = state * 1664525u + 1013904223u;
        int v = static_cast<int>(state >> 24) - 128;
        if (dtype.is_float())
            a.f[k] = round_to(dtype, v / 64.0);
        else
            a.i[k] = dtype.is_bool() ? v & 1 : dtype.is_unsigned() ? v & 15 : v % 11;
    }
    return a;
}

inline Array value(const Tensor& t) {
    Array a = evaluate(t.uop(), memory());
    EXPECT_EQ(a.shape, t.shape());
    EXPECT_EQ(a.dtype, t.dtype());
    return a;
}

inline std::vector<double> numbers(const Tensor& t) {
    Array a = value(t);
    std::vector<double> out;
    for (size_t k = 0; k < a.numel(); ++k) out.push_back(a.number(k));
    return out;
}

inline void expect_values(const Tensor& t, const Shape& shape, DType dtype, const std::vector<double>& wanted,
                          double relative = 0) {
    EXPECT_EQ(t.shape(), shape) << to_string(t.shape());
    EXPECT_EQ(t.dtype(), dtype) << t.dtype().name();
    std::vector<double> got = numbers(t);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t k = 0; k < got.size(); ++k) {
        if (std::isnan(wanted[k])) {
            EXPECT_TRUE(std::isnan(got[k])) << "element " << k << ": " << got[k];
        } else if (got[k] != wanted[k]) {
            EXPECT_LE(std::fabs(got[k] - wanted[k]), relative * std::max(1.0, std::fabs(wanted[k])))
                << "element " << k << ": " << got[k] << " for " << wanted[k];
        }
    }
}

template <class F>
void expect_error(ErrorKind kind, const std::string& part, F f) {
    try {
        f();
        ADD_FAILURE() << "no error; expected: " << part;
    } catch (const Exception& e) {
        EXPECT_EQ(e.kind(), kind) << e.what();
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
}

}  // namespace strata::test
