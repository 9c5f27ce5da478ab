#pragma once
#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "kernels.h"

namespace strata::codegen {

/// A small kernel with random axes, predicates and nested reductions. Its values are small whole numbers, so that
/// results do not depend on the order of additions. Mixed ones compute with all types that have arithmetic, by
/// operations that round to one result. In a given order of additions any two ways to compile them agree to the bit.
class RandomKernel {
  public:
    enum class Types : bool { one, mixed };
    explicit RandomKernel(unsigned seed, Types types = Types::one)
        : random_(seed), mixed_(types == Types::mixed), type_(seed % 3 == 0 ? dtypes::int32 : dtypes::float32) {
        if (mixed_) type_ = any_type();
    }

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
        UOp value = expression(3, type_, coordinates, sizes);
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

    static constexpr DType kTypes[] = {dtypes::int8,    dtypes::uint8,    dtypes::int16,   dtypes::uint16,
                                       dtypes::int32,   dtypes::uint32,   dtypes::int64,   dtypes::uint64,
                                       dtypes::float16, dtypes::bfloat16, dtypes::float32, dtypes::float64};
    DType any_type() { return kTypes[below(std::size(kTypes))]; }
    int slot_of(DType type) {
        const auto at = static_cast<int>(std::ranges::find(kTypes, type) - std::begin(kTypes));
        return (mixed_ ? 2 * at : 0) + 1 + below(2);
    }
    template <class T>
    T one_of(std::initializer_list<T> choices) {
        return choices.begin()[below(static_cast<int>(choices.size()))];
    }

    UOp leaf(DType type, std::span<const UOp> coordinates, std::span<const int64_t> sizes) {
        if (below(5) == 0) return constant_int(type, type.is_unsigned() ? below(5) : below(5) - 2);
        UOp offset;
        int64_t size = 1;
        for (size_t i = 0; i < coordinates.size(); ++i) {
            if (below(4) == 0 || size * sizes[i] > 4096) continue;
            offset = offset ? offset * sizes[i] + coordinates[i] : coordinates[i];
            size *= sizes[i];
        }
        if (!offset) offset = constant_int(dtypes::index, 0);
        int64_t before = below(3) == 0 ? below(3) : 0;
        UOp memory = param(slot_of(type), 4096, type);
        if (before == 0) return load(at(memory, offset));
        UOp predicate = alu(Op::logical_not, {offset < before});
        return load(at(memory, offset - before, predicate), constant_int(type, before - 1));
    }

    UOp expression(int depth, DType type, std::vector<UOp> coordinates, std::vector<int64_t> sizes) {
        if (depth == 0) return leaf(type, coordinates, sizes);
        if (mixed_ && below(2)) return mixed(depth, type, coordinates, sizes);
        switch (below(5)) {
            case 0: return leaf(type, coordinates, sizes);
            case 1: {
                std::vector<UOp> closed;
                coordinates.push_back(axis(sizes, closed, {Axis::reduce, Axis::group, Axis::unroll}));
                Op op = std::vector<Op>{Op::add, Op::max, Op::min}[static_cast<size_t>(below(3))];
                UOp value = expression(depth - 1, type, coordinates, sizes);
                UOp result = reduce(op, value, closed);
                return below(3) == 0 ? result + reduce(Op::max, leaf(type, coordinates, sizes), closed) : result;
            }
            default: {
                Op op = std::vector<Op>{Op::add, Op::sub, Op::max, Op::min}[static_cast<size_t>(below(4))];
                return alu(op, {expression(depth - 1, type, coordinates, sizes),
                                expression(depth - 1, type, coordinates, sizes)});
            }
        }
    }

    /// Operations of mixed kernels alone. Divisors are not zero, shifts stay within the type.
    UOp mixed(int depth, DType type, const std::vector<UOp>& coordinates, const std::vector<int64_t>& sizes) {
        const auto next = [&](DType of) { return expression(depth - 1, of, coordinates, sizes); };
        const bool whole = type.is_integer();
        switch (below(5)) {
            case 0: return cast(next(any_type()), type);
            case 1: {
                const DType compared = any_type();
                const UOp a = next(compared), b = next(compared);
                const UOp holds = alu(one_of({Op::cmplt, Op::cmpeq, Op::cmpne}), {a, b});
                if (below(3) == 0) return cast(holds, type);
                const UOp yes = next(type), no = next(type);
                return alu(Op::where, {holds, yes, no});
            }
            case 2: {
                if (!whole)
                    return alu(one_of({Op::neg, Op::abs, Op::floor, Op::ceil, Op::trunc, Op::rint}), {next(type)});
                const UOp x = next(type);
                const int by = below(type.bits() - 1);
                if (below(2)) return alu(one_of({Op::shl, Op::shr}), {x, constant_int(type, by)});
                return alu(one_of({Op::idiv, Op::mod}), {x, constant_int(type, by + 1)});
            }
            case 3: {
                if (!whole) return alu(one_of({Op::neg, Op::abs}), {next(type)});
                const UOp x = next(type), divisor = next(type);
                const UOp small =
                    alu(Op::bit_or, {alu(Op::bit_and, {divisor, constant_int(type, 63)}), constant_int(type, 1)});
                return alu(one_of({Op::idiv, Op::mod}), {x, small});
            }
            default: {
                const UOp a = next(type), b = next(type);
                if (!whole) return alu(one_of({Op::add, Op::sub, Op::max, Op::min}), {a, b});
                return alu(one_of({Op::mul, Op::bit_and, Op::bit_or, Op::bit_xor}), {a, b});
            }
        }
    }

    std::mt19937 random_;
    bool mixed_;
    DType type_;
    int next_id_ = 0;
    int64_t threads_ = 1, copies_ = 1;
};

}  // namespace strata::codegen
