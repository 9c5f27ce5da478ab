#pragma once
// Values of tensor graphs over buffers that tests fill, by the interpreter.
#include <cmath>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "strata/codegen/interpret/tensors.h"

namespace strata::test {

/// Elements in row-major order: `f` for floating types, `i` for the others.
struct Array {
    DType dtype;
    Shape shape;
    std::vector<double> f = {};
    std::vector<int64_t> i = {};

    Array() = default;
    Array(DType dtype, Shape shape) : Array(codegen::TensorValue(dtype, std::move(shape))) {}
    Array(codegen::TensorValue value)
        : dtype(value.type), shape(std::move(value.shape)), f(std::move(value.f)), i(std::move(value.i)) {}

    size_t numel() const { return dtype.is_float() ? f.size() : i.size(); }
    double number(size_t at) const {
        if (dtype.is_float()) return f[at];
        return dtype == dtypes::uint64 ? static_cast<double>(static_cast<uint64_t>(i[at])) : static_cast<double>(i[at]);
    }
};

namespace host {

/// Calls f(position) for every position of a shape, in row-major order.
template <class F>
void each_position(const Shape& shape, const F& f) {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    std::vector<int64_t> at(shape.size());
    for (int64_t k = 0; k < n; ++k) {
        f(std::as_const(at));
        for (size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
    }
}

inline size_t offset(const Shape& shape, const std::vector<int64_t>& at) {
    int64_t out = 0;
    for (size_t d = 0; d < shape.size(); ++d) out = out * shape[d] + at[d];
    return static_cast<size_t>(out);
}

/// Where an element of a movement op comes from; false for padding.
inline bool source_position(UOp u, const Shape& from, const std::vector<int64_t>& at, std::vector<int64_t>& source) {
    source = at;
    for (size_t d = 0; d < at.size(); ++d) {
        if (u.is(Op::permute)) source[static_cast<size_t>(u.as<AxesArg>().axes[d])] = at[d];
        if (u.is(Op::expand) && from[d] == 1) source[d] = 0;
        if (u.is(Op::shrink)) source[d] = at[d] + u.as<BoundsArg>().bounds[d].first;
        if (u.is(Op::pad)) source[d] = at[d] - u.as<BoundsArg>().bounds[d].first;
        if (u.is(Op::pad) && (source[d] < 0 || source[d] >= from[d])) return false;
    }
    if (u.is(Op::flip))
        for (int d : u.as<AxesArg>().axes)
            source[static_cast<size_t>(d)] = from[static_cast<size_t>(d)] - 1 - at[static_cast<size_t>(d)];
    return true;
}

}  // namespace host

/// The contents of buffers, by BufferArg::id.
using Memory = std::unordered_map<uint64_t, Array>;

inline Array evaluate(UOp root, const Memory& memory = {}) {
    const auto read = [&](UOp buffer) {
        const auto found = memory.find(buffer.as<BufferArg>().id);
        if (found == memory.end()) throw std::runtime_error("a buffer without content: " + to_string(buffer));
        codegen::TensorValue value(buffer.dtype(), buffer.shape());
        value.f = found->second.f, value.i = found->second.i;
        return value;
    };
    return codegen::interpret_tensors(std::span(&root, 1), {.read = read})[0];
}

}  // namespace strata::test
