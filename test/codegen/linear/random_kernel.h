#pragma once
#include <random>
#include <vector>

#include "kernels.h"

namespace strata::codegen {

/// A small kernel with random axes, gates and nested reductions whose values are small whole numbers, so that results
/// do not depend on the order of additions.
class RandomKernel {
  public:
    explicit RandomKernel(unsigned seed) : random_(seed), type_(seed % 3 == 0 ? dtypes::int32 : dtypes::float32) {}

    Kernel make() {
        std::vector<UOp> coordinates, closed;
        std::vector<int64_t> sizes;
        int dims = below(3) + 1;
        for (int i = 0; i < dims; ++i)
            coordinates.push_back(axis(sizes, closed, {Axis::global, Axis::local, Axis::upcast, Axis::loop}));
        UOp offset = coordinates[0];
        int64_t total = sizes[0];
        for (size_t i = 1; i < sizes.size(); ++i) {
            offset = offset * sizes[i] + coordinates[i];
            total *= sizes[i];
        }
        UOp out = param(0, total, type_);
        UOp place = below(4) == 0 ? at(out, offset, offset < total - 1) : at(out, offset);
        UOp value = expression(3, coordinates, sizes);
        return kernel("random", end(store(place, value), closed));
    }

  private:
    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

    UOp new_range(int64_t size, Axis axis) {
        bool thread = axis == Axis::local || axis == Axis::group, output = axis == Axis::local || axis == Axis::upcast;
        if (thread || axis == Axis::upcast || axis == Axis::unroll) {
            int64_t& total = thread ? threads_ : copies_;
            if (total * size > 64)
                axis = output ? Axis::loop : Axis::reduce;
            else
                total *= size;
        }
        return range(next_id_++, size, axis);
    }

    /// A coordinate made of one to three ranges, the outer ones first.
    UOp axis(std::vector<int64_t>& sizes, std::vector<UOp>& closed, std::vector<Axis> kinds) {
        int parts = below(3) + 1;
        UOp at;
        int64_t size = 1;
        for (int i = 0; i < parts; ++i) {
            int64_t n = std::vector<int64_t>{1, 2, 3, 4, 5, 8}[static_cast<size_t>(below(i == 0 ? 6 : 4))];
            closed.push_back(new_range(n, kinds[static_cast<size_t>(below(static_cast<int>(kinds.size())))]));
            at = at ? at * n + closed.back() : closed.back();
            size *= n;
        }
        sizes.push_back(size);
        return at;
    }

    UOp leaf(std::span<const UOp> coordinates, std::span<const int64_t> sizes) {
        if (below(5) == 0) return constant_int(type_, below(5) - 2);
        UOp offset;
        int64_t size = 1;
        for (size_t i = 0; i < coordinates.size(); ++i) {
            if (below(4) == 0 || size * sizes[i] > 4096) continue;
            offset = offset ? offset * sizes[i] + coordinates[i] : coordinates[i];
            size *= sizes[i];
        }
        if (!offset) offset = constant_int(dtypes::index, 0);
        int64_t before = below(3) == 0 ? below(3) : 0;
        UOp memory = param(1 + below(2), 4096, type_);
        if (before == 0) return load(at(memory, offset));
        UOp gate = alu(Op::logical_not, {offset < before});
        return load(at(memory, offset - before, gate), constant_int(type_, 1));
    }

    UOp expression(int depth, std::vector<UOp> coordinates, std::vector<int64_t> sizes) {
        if (depth == 0) return leaf(coordinates, sizes);
        switch (below(5)) {
            case 0: return leaf(coordinates, sizes);
            case 1: {
                std::vector<UOp> closed;
                coordinates.push_back(axis(sizes, closed, {Axis::reduce, Axis::group, Axis::unroll}));
                Op op = std::vector<Op>{Op::add, Op::max, Op::min}[static_cast<size_t>(below(3))];
                UOp value = expression(depth - 1, coordinates, sizes);
                UOp result = reduce(op, value, closed);
                return below(3) == 0 ? result + reduce(Op::max, leaf(coordinates, sizes), closed) : result;
            }
            default: {
                Op op = std::vector<Op>{Op::add, Op::sub, Op::max, Op::min}[static_cast<size_t>(below(4))];
                return alu(op, {expression(depth - 1, coordinates, sizes), expression(depth - 1, coordinates, sizes)});
            }
        }
    }

    std::mt19937 random_;
    DType type_;
    int next_id_ = 0;
    int64_t threads_ = 1, copies_ = 1;
};

}  // namespace strata::codegen
