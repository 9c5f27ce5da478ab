#pragma once
// Short builders of tensor-level graphs, and buffers with content for the reference evaluator.
#include "../../ops/evaluate.h"

namespace strata::test {

inline Memory& contents() {
    static Memory all;
    return all;
}

/// A buffer of small whole numbers of both signs: sums and products of a few are exact in every type.
inline UOp filled(Shape shape, DType type = dtypes::float32, uint32_t seed = 1) {
    static uint64_t next = 1;
    uint64_t id = next++;
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    Array a(type, {n});
    uint32_t state = seed * 2654435761u + static_cast<uint32_t>(id);
    for (size_t k = 0; k < a.numel(); ++k) {
        state = state * 1664525u + 1013904223u;
        int v = static_cast<int>(state >> 28) - 7;
        if (type.is_float())
            a.f[k] = v;
        else
            a.i[k] = type.is_bool() ? v & 1 : type.is_unsigned() ? v & 7 : v;
    }
    contents()[id] = std::move(a);
    UOp buffer = make(Op::buffer, type, {}, BufferArg{id, n, 0});
    return shape.size() == 1 ? buffer : make(Op::reshape, type, {buffer}, ShapeArg{shape});
}

/// A buffer with these integers.
inline UOp integers(const std::vector<int64_t>& values, DType type = dtypes::int32) {
    UOp b = filled({static_cast<int64_t>(values.size())}, type);
    contents().at(b.as<BufferArg>().id).i = values;
    return b;
}

inline UOp reshape(UOp x, Shape to) { return make(Op::reshape, x.dtype(), {x}, ShapeArg{std::move(to)}); }
inline UOp permute(UOp x, std::vector<int> axes) { return make(Op::permute, x.dtype(), {x}, AxesArg{std::move(axes)}); }
inline UOp expand(UOp x, Shape to) { return make(Op::expand, x.dtype(), {x}, ShapeArg{std::move(to)}); }
inline UOp flip(UOp x, std::vector<int> axes) { return make(Op::flip, x.dtype(), {x}, AxesArg{std::move(axes)}); }
inline UOp pad(UOp x, std::vector<std::pair<int64_t, int64_t>> b) {
    return make(Op::pad, x.dtype(), {x}, BoundsArg{std::move(b)});
}
inline UOp shrink(UOp x, std::vector<std::pair<int64_t, int64_t>> b) {
    return make(Op::shrink, x.dtype(), {x}, BoundsArg{std::move(b)});
}
inline UOp reduce(UOp x, Op op, std::vector<int> axes) {
    return make(Op::reduce, x.dtype(), {x}, ReduceArg{op, std::move(axes)});
}
inline UOp sum(UOp x, std::vector<int> axes) { return reduce(x, Op::add, std::move(axes)); }
inline UOp scan(UOp x, Op op, int axis) { return make(Op::scan, x.dtype(), {x}, ReduceArg{op, {axis}}); }
inline UOp take(UOp x, UOp indices, int axis) { return make(Op::take, x.dtype(), {x, indices}, TakeArg{axis}); }
inline UOp contiguous(UOp x) { return make(Op::contiguous, x.dtype(), {x}); }
inline UOp iota(int64_t n, DType type = dtypes::int32) { return make(Op::iota, type, {}, ShapeArg{{n}}); }
inline UOp number(double v, DType type = dtypes::float32) { return constant(type, v); }

/// x (n, k) times y (k, m) as a broadcast product and a sum.
inline UOp matmul(UOp x, UOp y) {
    int64_t n = x.shape()[0], k = x.shape()[1], m = y.shape()[1];
    UOp a = expand(reshape(x, {n, 1, k}), {n, m, k});
    UOp b = expand(reshape(permute(y, {1, 0}), {1, m, k}), {n, m, k});
    return reshape(sum(a * b, {2}), {n, m});
}

/// Elements that differ, as text; "" when the arrays are the same (NaN equals NaN).
inline std::string difference(const Array& got, const Array& wanted) {
    if (got.numel() != wanted.numel())
        return std::to_string(got.numel()) + " elements for " + std::to_string(wanted.numel());
    for (size_t k = 0; k < got.numel(); ++k) {
        double g = got.number(k), w = wanted.number(k);
        if (g != w && !(g != g && w != w))
            return "element " + std::to_string(k) + ": " + std::to_string(g) + " for " + std::to_string(w);
    }
    return "";
}

/// A random tensor graph over movement, elementwise, reductions and, when asked for, scans; values stay small whole
/// numbers.
class RandomGraph {
  public:
    explicit RandomGraph(unsigned seed, bool scans = false) : state_(seed * 2654435761u + 77), scans_(scans) {}

    UOp make_graph(int steps) {
        std::vector<UOp> made{filled(shape(), dtypes::float32, next())};
        for (int i = 0; i < steps; ++i) made.push_back(step(made[below(static_cast<unsigned>(made.size()))], made));
        return made.back();
    }

  private:
    unsigned next() { return state_ = state_ * 1664525u + 1013904223u; }
    unsigned below(unsigned n) { return (next() >> 12) % n; }
    Shape shape() {
        Shape s;
        for (unsigned d = 0, n = below(3) + 1; d < n; ++d) s.push_back(static_cast<int64_t>(below(5)) + 1);
        return s;
    }
    static Shape factored(int64_t n) {
        for (int64_t d : {4, 3, 2})
            if (n % d == 0) return {d, n / d};
        return {n};
    }

    UOp step(UOp x, const std::vector<UOp>& made) {
        int axes = static_cast<int>(x.shape().size()), axis = static_cast<int>(below(static_cast<unsigned>(axes)));
        size_t at = static_cast<size_t>(axis);
        std::vector<std::pair<int64_t, int64_t>> bounds;
        for (int64_t n : x.shape()) bounds.push_back({0, n});
        if (scans_ && below(4) == 0) return scan(x, below(2) ? Op::add : Op::max, axis);
        switch (below(10)) {
            case 0: return reshape(x, factored(x.numel()));
            case 1: {
                std::vector<int> order;
                for (int i = 0; i < axes; ++i) order.push_back((i + 1) % axes);
                return permute(x, order);
            }
            case 2: return flip(x, {axis});
            case 3: {
                for (auto& [a, b] : bounds) a = b = below(2);
                return x.numel() < 300 ? pad(x, bounds) : x;
            }
            case 4: {
                if (x.shape()[at] < 2) return x + number(1);
                bounds[at].first = 1;
                return shrink(x, bounds);
            }
            case 5:
            case 6: {
                UOp s = reduce(x, below(2) ? Op::add : Op::max, {axis});
                Shape wide = s.shape();
                wide[at] = static_cast<int64_t>(below(3)) + 1;
                return expand(s, wide);
            }
            case 7: return alu(Op::max, {x, number(static_cast<double>(below(5)) - 2)});
            case 8: {
                for (UOp y : made)
                    if (y != x && y.shape() == x.shape()) return x - y;
                return x * number(-1);
            }
            default: return alu(Op::min, {alu(Op::abs, {x}), number(100)});
        }
    }
    unsigned state_;
    bool scans_;
};

}  // namespace strata::test
