// Scans: what a row has come to at each of its elements, however its ranges are shared out.
#include <gtest/gtest.h>

#include <algorithm>

#include "../target/gfx1100.h"
#include "interpreter.h"
#include "kernels.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/verify.h"

namespace strata::codegen {
namespace {

using Parts = std::vector<std::pair<int64_t, Axis>>;

int64_t size_of(const Parts& parts) {
    int64_t n = 1;
    for (auto [size, axis] : parts) n *= size;
    return n;
}

/// A matrix whose rows are scanned along ranges that make up a row, the slowest first.
struct Rows {
    Parts row, rows = {{3, Axis::global}};
    DType type = dtypes::int32;
    std::vector<UOp> all, along;
    UOp at = index_const(0);

    Rows(Parts row_parts, Parts rows_parts, DType of)
        : row(std::move(row_parts)), rows(std::move(rows_parts)), type(of) {
        for (auto part : rows) add(part);
        for (auto part : row) along.push_back(add(part));
    }
    UOp x() const { return load(codegen::at(memory(1), at)); }
    Kernel storing(UOp value) const { return kernel("scan", end(store(codegen::at(memory(0), at), value), all)); }

  private:
    UOp add(std::pair<int64_t, Axis> part) {
        all.push_back(range(static_cast<int>(all.size()), part.first, part.second));
        at = at * part.first + all.back();
        return all.back();
    }
    UOp memory(int slot) const { return param(slot, size_of(row) * size_of(rows), type); }
};

Scalars elements(const Rows& rows) {
    Scalars out;
    for (int64_t i = 0; i < size_of(rows.row) * size_of(rows.rows); ++i) {
        const int64_t v = (i * 2654435761 >> 7) % 9 - 4;
        out.push_back(rows.type.is_float() ? ConstArg{0, static_cast<double>(v)} : ConstArg{v, 0});
    }
    return out;
}

ConstArg computed(Op op, DType type, ConstArg a, ConstArg b) {
    const ConstArg both[] = {a, b};
    return *reference(op, type, type, both);
}

/// One row after the other, one element after the other.
Scalars scanned(const Rows& rows, Op op, Scalars values) {
    for (size_t i = 0; i < values.size(); ++i)
        if (i % static_cast<size_t>(size_of(rows.row)) != 0)
            values[i] = computed(op, rows.type, values[i - 1], values[i]);
    return values;
}

LinearProgram expect_values(const Rows& rows, UOp value, const Scalars& wanted) {
    const Kernel kernel = rows.storing(value);
    auto program = linearize(kernel, gfx1100);
    EXPECT_TRUE(program) << program.error().message << "\n" << tree(kernel.sink);
    if (!program) return {};
    Memory memory{{0, Scalars(wanted.size())}, {1, elements(rows)}};
    Interpreter(*program, memory).run();
    for (size_t i = 0; i < wanted.size() && !testing::Test::HasFailure(); ++i) {
        EXPECT_EQ(memory[0][i].i, wanted[i].i) << i << "\n" << tree(kernel.sink);
        EXPECT_EQ(memory[0][i].f, wanted[i].f) << i << "\n" << tree(kernel.sink);
    }
    return *std::move(program);
}

/// 2 * scan(x + 1).
LinearProgram expect_scan(Parts row, Parts rows, DType type = dtypes::int32, Op op = Op::add) {
    const Rows all(std::move(row), std::move(rows), type);
    const ConstArg one{1, 1}, two{2, 2};
    Scalars wanted = elements(all);
    for (ConstArg& v : wanted) v = computed(Op::add, type, v, one);
    wanted = scanned(all, op, wanted);
    for (ConstArg& v : wanted) v = computed(Op::mul, type, v, two);
    return expect_values(all, scan(op, all.x() + constant_int(type, 1), all.along) * constant_int(type, 2), wanted);
}

size_t count(const LinearProgram& program, Op op) {
    return static_cast<size_t>(std::ranges::count_if(program.ops, [&](UOp u) { return u.is(op); }));
}

using enum Axis;
const std::vector<Parts> kRows = {
    {{12, reduce}},
    {{4, reduce}, {3, reduce}},
    {{5, unroll}},
    {{3, unroll}, {4, unroll}},
    {{8, group}},
    {{7, group}},
    {{64, group}},
    {{128, group}},
    {{17, group}},
    {{4, group}, {2, group}},
    {{64, group}, {4, unroll}},
    {{4, unroll}, {64, group}, {4, unroll}},
    {{2, unroll}, {8, group}, {3, unroll}, {2, group}, {2, unroll}},
    {{3, reduce}, {64, group}, {4, unroll}},
    {{3, reduce}, {2, unroll}, {32, group}, {4, unroll}},
    {{3, reduce}, {2, reduce}, {40, group}, {2, unroll}},
    {{3, reduce}, {2, unroll}, {4, unroll}},
};

TEST(Scan, EveryWayToShareOutARowGivesTheSameValues) {
    GraphScope scope;
    for (const auto& row : kRows)
        for (Op op : {Op::add, Op::mul, Op::max, Op::min})
            for (DType type : {dtypes::int32, dtypes::float32, dtypes::int64}) {
                if (op == Op::mul && type.is_float()) continue;  // large numbers are rounded in another order
                expect_scan(row, {{3, global}}, type, op);
                if (HasFailure()) return;
            }
}

TEST(Scan, RowsStandBesideEachOtherInEveryWay) {
    GraphScope scope;
    for (const auto& row : kRows)
        for (const Parts& rows : std::vector<Parts>{{{2, global}, {3, upcast}},
                                                    {{3, local}},
                                                    {{2, loop}, {2, upcast}, {4, local}},
                                                    {{3, loop}, {2, loop}}}) {
            expect_scan(row, rows);
            if (HasFailure()) return;
        }
}

TEST(Scan, ThreadsMeetOnceForAllElements) {
    GraphScope scope;
    const LinearProgram p = expect_scan({{4, unroll}, {256, group}, {4, unroll}}, {{1, global}}, dtypes::float32);
    EXPECT_EQ(count(p, Op::barrier), 1u);
    EXPECT_EQ(p.lds, 4u * 8 * 4);
    size_t loads = 0;
    for (UOp u : p.ops) {
        if (!u.is(Op::load) && !u.is(Op::store)) continue;
        if (below_after(u.src(0).src(0)).as<ParamArg>().space != Space::global) continue;
        EXPECT_EQ((u.is(Op::load) ? u : u.src(1)).dtype().lanes, 4);
        loads += u.is(Op::load);
    }
    EXPECT_EQ(loads, 4u);
}

TEST(Scan, LanesOfOneWaveNeedNoLocalMemory) {
    GraphScope scope;
    const LinearProgram p = expect_scan({{32, group}, {4, unroll}}, {{3, global}});
    EXPECT_EQ(count(p, Op::barrier), 0u);
    EXPECT_EQ(p.lds, 0u);
}

TEST(Scan, OfAScanAndOfARowThatIsReduced) {
    GraphScope scope;
    for (const Parts& row : kRows) {
        const Rows all(row, {{3, global}}, dtypes::int32);
        const Scalars x = elements(all), tops = scanned(all, Op::max, x);
        const size_t n = static_cast<size_t>(size_of(row));
        Scalars wanted = x;
        for (size_t i = 0; i < x.size(); ++i) wanted[i].i = x[i].i - tops[i / n * n + n - 1].i;
        wanted = scanned(all, Op::max, wanted);
        for (size_t i = 0; i < x.size(); ++i) wanted[i].i += x[i].i;
        const UOp top = codegen::reduce(Op::max, all.x(), all.along);
        expect_values(all, scan(Op::add, scan(Op::max, all.x() - top, all.along) + all.x(), all.along),
                      scanned(all, Op::add, wanted));
        if (HasFailure()) return;
    }
}

TEST(Scan, KernelsThatReduceOneAreNoKernels) {
    GraphScope scope;
    const UOp r = range(0, 4, reduce), x = load(at(param(1, 4), r));
    const UOp sum = codegen::reduce(Op::max, scan(Op::add, x, {r}), {r});
    Result<void> valid = verify_kernel(kernel("bad", store(at(param(0, 1), 0), sum)).sink);
    ASSERT_FALSE(valid);
    EXPECT_NE(valid.error().message.find("which an end has to close"), std::string::npos) << valid.error().message;
}

TEST(Scan, ALoopGoesBeforeAllOtherRanges) {
    GraphScope scope;
    for (Axis first : {group, unroll}) {
        const Rows rows({{4, first}, {3, reduce}}, {{3, global}}, dtypes::float32);
        Result<void> valid = verify_kernel(rows.storing(scan(Op::add, rows.x(), rows.along)).sink);
        ASSERT_FALSE(valid);
        EXPECT_NE(valid.error().message.find("loops before all others"), std::string::npos) << valid.error().message;
    }
}

}  // namespace
}  // namespace strata::codegen
