#pragma once
// The independent reference: computes tensor-level UOp graphs on the host, one node at a time, in double and int64,
// rounded to each node's type. Slow and plain on purpose. For small graphs; throws std::runtime_error on what it does
// not know.
#include <dlfcn.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "strata/core/uop/uop.h"

namespace strata::test {

/// Elements in row-major order: `f` for floating types, `i` for the others.
struct Array {
    DType dtype;
    Shape shape;
    std::vector<double> f = {};
    std::vector<int64_t> i = {};

    Array() = default;
    Array(DType dtype, Shape shape) : dtype(dtype), shape(std::move(shape)) {
        if (dtype.is_float())
            f.resize(numel());
        else
            i.resize(numel());
    }
    size_t numel() const {
        size_t n = 1;
        for (int64_t d : shape) n *= static_cast<size_t>(d);
        return n;
    }
    double number(size_t at) const {
        if (dtype.is_float()) return f[at];
        return dtype == dtypes::uint64 ? static_cast<double>(static_cast<uint64_t>(i[at])) : static_cast<double>(i[at]);
    }
    void copy_element(size_t to, const Array& from, size_t at) {
        if (dtype.is_float())
            f[to] = from.f[at];
        else
            i[to] = from.i[at];
    }
};

/// The contents of buffers, by BufferArg::id.
using Memory = std::unordered_map<uint64_t, Array>;

namespace host {

inline int64_t wrapped(DType t, int64_t v) {
    if (t.is_bool()) return v != 0;
    int bits = t.scalar == Scalar::index ? 64 : t.bits();
    if (bits == 64) return v;
    uint64_t low = static_cast<uint64_t>(v) & ((uint64_t{1} << bits) - 1);
    bool negative = !t.is_unsigned() && (low >> (bits - 1) & 1);
    return static_cast<int64_t>(negative ? low | ~((uint64_t{1} << bits) - 1) : low);
}

/// The host's own function of this name, for ops that are named as in C.
inline double called(std::string_view name, double x) {
    using Function = double (*)(double);
    thread_local std::unordered_map<std::string_view, Function> found;
    const auto [at, added] = found.try_emplace(name);
    if (added) at->second = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, std::string(name).c_str()));
    const Function function = at->second;
    if (!function) throw std::runtime_error("no float value: " + std::string(name));
    return function(x);
}

inline double float_op(Op op, const double* v) {
    double a = v[0], b = v[1];
    switch (op) {
        case Op::detach:
        case Op::recompute:
        case Op::freeze: return a;
        case Op::neg: return -a;
        case Op::recip: return 1 / a;
        case Op::rsqrt: return 1 / std::sqrt(a);
        case Op::abs: return std::fabs(a);
        case Op::add: return a + b;
        case Op::sub: return a - b;
        case Op::mul: return a * b;
        case Op::fdiv: return a / b;
        case Op::fmod: return std::fmod(a, b);
        case Op::max: return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b);
        case Op::min: return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
        case Op::pow: return std::pow(a, b);
        case Op::fma: return std::fma(a, b, v[2]);
        case Op::logistic: return 1 / (1 + std::exp(-a));
        case Op::ncdf: return std::erfc(-a * std::sqrt(0.5)) / 2;
        default:
            if (!info(op).is(kUnary)) throw std::runtime_error("no float value: " + std::string(info(op).name));
            return called(info(op).name, a);
    }
}

inline int64_t int_op(Op op, DType t, const int64_t* v) {
    int64_t a = v[0], b = v[1];
    uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    bool u = t.is_unsigned();
    if ((op == Op::shl || op == Op::shr) && (y >= static_cast<uint64_t>(t.bits())))
        throw std::runtime_error("a shift by the width or more");
    switch (op) {
        case Op::detach:
        case Op::recompute:
        case Op::freeze: return a;
        case Op::neg: return static_cast<int64_t>(0 - x);
        case Op::abs: return a < 0 && !u ? static_cast<int64_t>(0 - x) : a;
        case Op::logical_not: return !a;
        case Op::bit_not: return ~a;
        case Op::add: return static_cast<int64_t>(x + y);
        case Op::sub: return static_cast<int64_t>(x - y);
        case Op::mul: return static_cast<int64_t>(x * y);
        case Op::fma: return static_cast<int64_t>(x * y + static_cast<uint64_t>(v[2]));
        case Op::idiv:
            return b == 0 ? 0 : u ? static_cast<int64_t>(x / y) : b == -1 ? static_cast<int64_t>(0 - x) : a / b;
        case Op::mod: return b == 0 ? 0 : u ? static_cast<int64_t>(x % y) : b == -1 ? 0 : a % b;
        case Op::max: return (u ? x < y : a < b) ? b : a;
        case Op::min: return (u ? y < x : b < a) ? b : a;
        case Op::bit_and: return a & b;
        case Op::bit_or: return a | b;
        case Op::bit_xor: return a ^ b;
        case Op::shl: return static_cast<int64_t>(x << y);
        case Op::shr: return u ? static_cast<int64_t>(x >> y) : a >> y;
        case Op::bounded:
            if (u ? x >= y : a < -b || a >= b) throw std::runtime_error(fmt::format("index {} of axis {}", a, v[2]));
            return !u && a < 0 ? a + b : a;
        default: throw std::runtime_error("no integer value: " + std::string(info(op).name));
    }
}

inline bool compare(Op op, const Array& a, size_t i, const Array& b, size_t j) {
    bool less, equal;
    if (a.dtype.is_float()) {
        less = a.f[i] < b.f[j];
        equal = a.f[i] == b.f[j];
    } else {
        less = a.dtype.is_unsigned() ? static_cast<uint64_t>(a.i[i]) < static_cast<uint64_t>(b.i[j]) : a.i[i] < b.i[j];
        equal = a.i[i] == b.i[j];
    }
    return op == Op::cmplt ? less : op == Op::cmpeq ? equal : !equal;
}

inline int64_t saturated(DType t, double v) {
    if (std::isnan(v)) return 0;
    if (t == dtypes::uint64)
        return v <= 0 ? 0 : v >= 18446744073709551616.0 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(v));
    int bits = t.bits();
    double low = t.is_unsigned() ? 0 : -std::ldexp(1.0, bits - 1),
           high = std::ldexp(1.0, t.is_unsigned() ? bits : bits - 1);
    v = std::trunc(v);
    if (v < low) return static_cast<int64_t>(low);
    if (v >= high) return bits == 64 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(high - 1);
    return static_cast<int64_t>(v);
}

inline void convert(Array& out, size_t at, const Array& x, size_t from) {
    if (out.dtype.is_float())
        out.f[at] = round_to(out.dtype, x.number(from));
    else if (out.dtype.is_bool())
        out.i[at] = x.number(from) != 0;
    else
        out.i[at] = x.dtype.is_float() ? saturated(out.dtype, x.f[from]) : wrapped(out.dtype, x.i[from]);
}

inline void reinterpret(Array& out, size_t at, const Array& x, size_t from) {
    uint64_t bits = x.dtype.is_float() ? encode_scalar(x.dtype, x.f[from]) : static_cast<uint64_t>(x.i[from]);
    if (out.dtype.is_float())
        out.f[at] =
            decode_scalar(out.dtype, out.dtype.bits() == 64 ? bits : bits & ((uint64_t{1} << out.dtype.bits()) - 1));
    else
        out.i[at] = wrapped(out.dtype, static_cast<int64_t>(bits));
}

inline Array elementwise(UOp u, const std::vector<const Array*>& src) {
    Array out(u.dtype(), u.shape());
    for (size_t at = 0; at < out.numel(); ++at) {
        size_t from[3];
        double f[3] = {};
        int64_t i[3] = {};
        for (size_t s = 0; s < src.size(); ++s) {
            from[s] = src[s]->shape.empty() ? 0 : at;
            if (src[s]->dtype.is_float())
                f[s] = src[s]->f[from[s]];
            else
                i[s] = src[s]->i[from[s]];
        }
        bool compares = u.is(Op::cmplt) || u.is(Op::cmpeq) || u.is(Op::cmpne);
        if (compares)
            out.i[at] = compare(u.op(), *src[0], from[0], *src[1], from[1]);
        else if (u.is(Op::cast))
            convert(out, at, *src[0], from[0]);
        else if (u.is(Op::bitcast))
            reinterpret(out, at, *src[0], from[0]);
        else if (u.is(Op::where))
            out.copy_element(at, *src[i[0] ? 1 : 2], from[i[0] ? 1 : 2]);
        else if (out.dtype.is_float())
            out.f[at] = round_to(out.dtype, float_op(u.op(), f));
        else
            out.i[at] = wrapped(out.dtype, int_op(u.op(), src[0]->dtype, i));
    }
    return out;
}

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

inline Array moved(UOp u, const Array& x) {
    Array out(u.dtype(), u.shape());
    if (u.is(Op::reshape) || u.is(Op::contiguous)) {
        out.f = x.f;
        out.i = x.i;
        return out;
    }
    std::vector<int64_t> source;
    size_t k = 0;
    each_position(out.shape, [&](const std::vector<int64_t>& at) {
        if (source_position(u, x.shape, at, source)) out.copy_element(k, x, offset(x.shape, source));
        k++;
    });
    return out;
}

inline double first_value(Op op) {
    double inf = std::numeric_limits<double>::infinity();
    return op == Op::mul ? 1 : op == Op::max ? -inf : op == Op::min ? inf : 0;
}

/// Floats are accumulated in double and rounded once: the error of a real sum is the reader's to allow for.
inline Array reduced(UOp u, const Array& x) {
    const ReduceArg& arg = u.as<ReduceArg>();
    Array out(u.dtype(), u.shape());
    std::vector<bool> seen(out.numel());
    for (double& v : out.f) v = first_value(arg.op);
    if (x.numel() == 0 && arg.op == Op::mul) std::fill(out.i.begin(), out.i.end(), 1);
    size_t k = 0;
    std::vector<int64_t> place;
    each_position(x.shape, [&](const std::vector<int64_t>& at) {
        place = at;
        for (int axis : arg.axes) place[static_cast<size_t>(axis)] = 0;
        size_t to = offset(out.shape, place);
        if (out.dtype.is_float()) {
            double v[2] = {out.f[to], x.f[k]};
            out.f[to] = float_op(arg.op, v);
        } else if (!seen[to]) {
            out.i[to] = x.i[k];
        } else {
            int64_t v[2] = {out.i[to], x.i[k]};
            out.i[to] = wrapped(out.dtype, int_op(arg.op, out.dtype, v));
        }
        seen[to] = true;
        k++;
    });
    for (double& v : out.f) v = round_to(out.dtype, v);
    return out;
}

/// The elements up to each, accumulated in double or wrapped.
inline Array scanned(UOp u, const Array& x) {
    const size_t axis = static_cast<size_t>(u.as<ReduceArg>().axes.at(0));
    const Op op = u.as<ReduceArg>().op;
    Array out(u.dtype(), u.shape());
    std::vector<double> exact = x.f;
    size_t k = 0;
    std::vector<int64_t> place;
    each_position(x.shape, [&](const std::vector<int64_t>& at) {
        out.copy_element(k, x, k);
        place = at;
        if (place[axis]-- > 0) {
            const size_t before = offset(x.shape, place);
            if (out.dtype.is_float()) {
                double v[2] = {exact[before], exact[k]};
                exact[k] = float_op(op, v);
                out.f[k] = round_to(out.dtype, exact[k]);
            } else {
                int64_t v[2] = {out.i[before], x.i[k]};
                out.i[k] = wrapped(out.dtype, int_op(op, out.dtype, v));
            }
        }
        k++;
    });
    return out;
}

inline Array taken(UOp u, const Array& x, const Array& indices) {
    Array out(u.dtype(), u.shape());
    size_t axis = static_cast<size_t>(u.as<TakeArg>().axis), count = indices.shape.size(), k = 0;
    std::vector<int64_t> inner(count), source(x.shape.size());
    each_position(out.shape, [&](const std::vector<int64_t>& at) {
        for (size_t d = 0; d < axis; ++d) source[d] = at[d];
        for (size_t d = 0; d < count; ++d) inner[d] = at[axis + d];
        for (size_t d = axis + 1; d < x.shape.size(); ++d) source[d] = at[d - 1 + count];
        source[axis] = indices.i[offset(indices.shape, inner)];
        if (source[axis] < 0 || source[axis] >= x.shape[axis]) throw std::runtime_error("take: index out of range");
        out.copy_element(k++, x, offset(x.shape, source));
    });
    return out;
}

inline Array leaf(UOp u, const Memory& memory) {
    Array out(u.dtype(), u.shape());
    if (u.is(Op::buffer)) {
        auto found = memory.find(u.as<BufferArg>().id);
        if (found == memory.end()) throw std::runtime_error("a buffer without content: " + to_string(u));
        out.f = found->second.f;
        out.i = found->second.i;
    } else if (u.is(Op::constant)) {
        if (u.dtype().is_float())
            out.f[0] = u.as<ConstArg>().f;
        else
            out.i[0] = u.as<ConstArg>().i;
    } else {
        for (size_t k = 0; k < out.numel(); ++k) out.i[k] = wrapped(u.dtype(), static_cast<int64_t>(k));
    }
    return out;
}

}  // namespace host

inline Array evaluate(UOp root, const Memory& memory = {}) {
    UOpMap<Array> values;
    for (UOp u : toposort(root)) {
        std::vector<const Array*> src;
        for (UOp s : u.src()) src.push_back(&values.at(s));
        Array& out = values[u];
        if (u.is(Op::buffer) || u.is(Op::constant) || u.is(Op::iota))
            out = host::leaf(u, memory);
        else if (info(u.op()).elementwise())
            out = host::elementwise(u, src);
        else if (info(u.op()).is(kMovement) || u.is(Op::contiguous))
            out = host::moved(u, *src[0]);
        else if (u.is(Op::reduce))
            out = host::reduced(u, *src[0]);
        else if (u.is(Op::scan))
            out = host::scanned(u, *src[0]);
        else if (u.is(Op::take))
            out = host::taken(u, *src[0], *src[1]);
        else
            throw std::runtime_error("the reference does not know " + to_string(u));
    }
    return std::move(values.at(root));
}

}  // namespace strata::test
