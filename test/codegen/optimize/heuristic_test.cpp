#include <functional>

#include "../target/gfx1100.h"
#include "in_blocks.h"
#include "strata/codegen/optimize/action.h"

namespace strata::codegen {
namespace {

using namespace test;

/// A kernel before and after the hand-written schedule.
struct Planned {
    Filled before;
    std::vector<Action> actions;
    Kernel after;
    int64_t total(Axis axis) const {
        int64_t n = 1;
        for (UOp r : ranges(after.sink))
            if (r.as<RangeArg>().axis == axis) n *= r.as<RangeArg>().size;
        return n;
    }
};

Planned planned(UOp body) {
    Planned p{built(body), {}, {}};
    p.before.kernel = start_schedule(p.before.kernel);
    Scheduled found = heuristic(p.before.kernel, gfx1100);
    p.actions = found.actions;
    p.after = found.kernel;
    Result<Kernel> again = apply_all(p.before.kernel, p.actions, gfx1100);
    EXPECT_TRUE(again) << to_string(p.actions) << ": " << again.error().message;
    if (again) {
        EXPECT_EQ(again->sink, p.after.sink) << to_string(p.actions);
    }
    EXPECT_LE(block_size(p.after), 1024);
    return p;
}

Planned expect_same(UOp body) {
    Planned p = planned(body);
    EXPECT_EQ(difference(result(p.after, p.before.slots), result(p.before.kernel, p.before.slots)), "")
        << to_string(p.actions) << "\n"
        << tree(p.after.sink);
    return p;
}

/// Distance in elements between neighbouring threads (or unrolled parts) in every access that moves with them.
bool is_unit_stride(const Kernel& k, Axis axis) {
    for (UOp r : ranges(k.sink)) {
        if (r.as<RangeArg>().axis != axis) continue;
        for (UOp s : nodes(k, Op::store)) {
            UOp at = s.src(0).src(1);
            UOp zero = substitute(at, {{r, index_const(0)}}), one = substitute(at, {{r, index_const(1)}});
            std::function<int64_t(UOp)> value = [&](UOp u) -> int64_t {
                if (u.is_const()) return const_int(u);
                if (u.is(Op::range)) return 0;
                std::vector<ConstArg> sources;
                for (UOp x : u.src()) sources.push_back({value(x), 0});
                return reference(u.op(), u.dtype(), u.src().back().dtype(), sources)->i;
            };
            if (value(one) - value(zero) == 1) return true;
        }
    }
    return false;
}

TEST(Heuristic, ElementwiseWorkGetsWideAccessesAndBlocks) {
    GraphScope scope;
    Planned p = expect_same(filled({1 << 14}) * filled({1 << 14}) + number(1));
    EXPECT_EQ(p.total(Axis::upcast), 4);
    EXPECT_EQ(block_size(p.after), 256);
    EXPECT_TRUE(is_unit_stride(p.after, Axis::upcast));
    EXPECT_FALSE(is_unit_stride(p.after, Axis::local)) << "threads are four elements apart";
}

TEST(Heuristic, BlocksFollowTheOutputsMemory) {
    GraphScope scope;
    Planned p = expect_same(filled({64, 64}) + expand(filled({1, 64}), {64, 64}));
    EXPECT_GE(block_size(p.after), 16);
    EXPECT_TRUE(is_unit_stride(p.after, Axis::upcast));
}

TEST(Heuristic, FewResultsShareALongReductionOverThreads) {
    GraphScope scope;
    Planned p = expect_same(sum(filled({8, 2048}), {1}));
    EXPECT_GE(p.total(Axis::group), 64);
    EXPECT_EQ(block_size(p.after), p.total(Axis::group));
    EXPECT_EQ(p.total(Axis::unroll), 4);
    p = expect_same(sum(filled({4096}), {0}));
    EXPECT_GE(p.total(Axis::group), 64);
}

TEST(Heuristic, WavesOfAmdHaveRunsOfALongReduction) {
    GraphScope scope;
    const auto actions = [](int64_t n, Chip chip) {
        const Filled f = built(sum(filled({n}), {0}));
        return to_string(heuristic(start_schedule(f.kernel), target_of(chip)).actions);
    };
    EXPECT_EQ(actions(1 << 15, *Chip::parse("gfx1100")), "unroll(0, 4) group_runs(0, 8) group(0, 32)");
    EXPECT_EQ(actions(1 << 15, *Chip::parse("gfx942")), "unroll(0, 4) group_runs(0, 4) group(0, 64)");
    EXPECT_EQ(actions(1 << 15, *Chip::parse("sm_90")), "unroll(0, 4) group(0, 256)");
    EXPECT_EQ(actions(1 << 12, *Chip::parse("gfx1100")), "unroll(0, 4) group(0, 256)") << "few steps";
    expect_same(sum(filled({1 << 13}), {0}));
}

TEST(Heuristic, BlocksOfNvidiaTakeSeveralShortRows) {
    GraphScope scope;
    const auto actions = [](int64_t rows, int64_t size, std::string_view chip) {
        const Filled f = built(sum(filled({rows, size}), {1}));
        return to_string(heuristic(start_schedule(f.kernel), target_of(*Chip::parse(chip))).actions);
    };
    EXPECT_EQ(actions(1 << 13, 128, "sm_90"), "unroll(0, 4) group(0, 32) local(0, 8)");
    EXPECT_EQ(actions(1 << 13, 64, "sm_90"), "unroll(0, 4) group(0, 16) local(0, 16)");
    EXPECT_EQ(actions(1 << 13, 128, "gfx942"), "group(0, 128)");
    EXPECT_EQ(actions(64, 128, "sm_90"), "group(0, 128)") << "a block each, for all units";
    const UOp body = sum(filled({4224, 32}), {1});
    const Target hopper = target_of(*Chip::parse("sm_90"));
    const Filled f = built(body);
    const Scheduled made = heuristic(start_schedule(f.kernel), hopper);
    EXPECT_EQ(to_string(made.actions), "unroll(0, 4) group(0, 8) local(0, 32)");
    EXPECT_EQ(difference(in_blocks(made.kernel, f.slots, hopper), evaluate(body, contents())), "");
}

TEST(Heuristic, BlocksOfNvidiaAreFewAndWideWhereResultsAreMany) {
    GraphScope scope;
    const auto actions = [](int64_t rows, DType type, std::string_view chip) {
        const UOp row = expand(reshape(filled({768}, type, 2), {1, 768}), {rows, 768});
        const Filled f = built(filled({rows, 768}, type) + row);
        return to_string(heuristic(start_schedule(f.kernel), target_of(*Chip::parse(chip))).actions);
    };
    EXPECT_EQ(actions(2048, dtypes::bfloat16, "sm_90"), "upcast(1, 8) local(1, 32) local(0, 8)") << "16 bytes a load";
    EXPECT_EQ(actions(2048, dtypes::float32, "sm_90"), "upcast(1, 4) local(1, 64) local(0, 4)");
    EXPECT_EQ(actions(1400, dtypes::bfloat16, "sm_90"), "upcast(1, 4) local(1, 64)") << "enough blocks for all units";
    EXPECT_EQ(actions(2048, dtypes::bfloat16, "gfx942"), "upcast(1, 4) local(1, 64)");
}

TEST(Heuristic, ReductionsDownColumnsKeepNeighboursTogether) {
    GraphScope scope;
    Planned p = expect_same(sum(filled({16, 4096}), {0}));
    EXPECT_EQ(p.total(Axis::group), 1);
    EXPECT_GE(p.total(Axis::local), 64);
}

TEST(Heuristic, NarrowColumnsAreReadALineAtATime) {
    GraphScope scope;
    for (const int64_t width : {2, 4, 8, 16, 20}) {
        Planned p = expect_same(sum(filled({128, 64, width}), {0}));
        EXPECT_GE(p.total(Axis::local), 32) << width;
        EXPECT_EQ(p.total(Axis::group), 16) << width;
    }
}

TEST(Heuristic, LongBodiesAreUnrolledLessOrNotAtAll) {
    GraphScope scope;
    for (auto [products, unrolled] : {std::pair(3, 4), {150, 2}, {300, 1}}) {
        UOp x = filled({16, 131072});
        for (int i = 0; i < products; ++i) x = x * x;
        const Planned p = planned(sum(x, {0}));
        EXPECT_EQ(p.total(Axis::upcast), 4) << products;
        EXPECT_EQ(p.total(Axis::unroll), unrolled) << products << ": " << to_string(p.actions);
    }
}

TEST(Heuristic, ProductsOfFewRowsReadTheMatrixOnce) {
    GraphScope scope;
    EXPECT_EQ(to_string(planned(matmul(filled({16, 256}), filled({256, 4096}))).actions),
              "upcast(0, 16) upcast(0, 4) local(0, 32) group(0, 32) unroll(0, 2)");
    EXPECT_EQ(to_string(planned(matmul(filled({8, 256}), permute(filled({1024, 256}), {1, 0}))).actions),
              "upcast(0, 4) local(0, 2) unroll(0, 4) upcast(0, 8) local(0, 4) group(0, 32)");
    for (int64_t rows : {5, 17}) {
        const UOp product = matmul(filled({rows, 256}), filled({256, 256}));
        const Planned p = planned(product);
        EXPECT_EQ(difference(in_blocks(p.after, p.before.slots), evaluate(product, contents())), "") << rows;
    }
}

TEST(Heuristic, WithoutScalarLoadsFewRowsComeByWayOfLocalMemory) {
    GraphScope scope;
    const Target hopper = target_of(Chip::parse("sm_90").value());
    for (const auto& [rows, actions] :
         {std::pair(8, "upcast(0, 8) upcast(0, 2) local(0, 16) group(0, 64) unroll(0, 4) stage(0, 2)"),
          std::pair(16, "upcast(0, 16) upcast(0, 2) local(0, 16) group(0, 64) unroll(0, 2) stage(0, 2)"),
          std::pair(24, "upcast(0, 12) local(0, 2) upcast(0, 4) local(0, 8) group(0, 32) unroll(0, 2) stage(0, 4)")}) {
        const UOp product = matmul(filled({rows, 1024}), filled({1024, 256}));
        const Filled before = built(product);
        const Scheduled made = heuristic(start_schedule(before.kernel), hopper);
        EXPECT_EQ(to_string(made.actions), actions);
        if (rows == 8)
            EXPECT_EQ(difference(in_blocks(made.kernel, before.slots, hopper), evaluate(product, contents())), "");
    }
}

TEST(Heuristic, StepsOfProductsAreCopiedAheadWhereCopiesGoOnByThemselves) {
    GraphScope scope;
    const Target hopper = target_of(Chip::parse("sm_90").value());
    const auto copied = [&](UOp a, UOp b) {
        return to_string(heuristic(start_schedule(built(matmul(a, b)).kernel), hopper).actions);
    };
    const auto of = [](int64_t rows, int64_t columns) { return filled({rows, columns}); };
    const auto turned = [](UOp x) { return permute(x, {1, 0}); };
    EXPECT_EQ(copied(of(4096, 64), of(64, 4096)),
              "upcast(1, 4) local(1, 16) upcast(1, 4) upcast(0, 4) local(0, 16) upcast(0, 2) async_copy(0, 16)");
    const std::string small =
        "upcast(1, 4) local(1, 8) upcast(1, 4) upcast(0, 4) local(0, 8) upcast(0, 2) async_copy(0, 16)";
    EXPECT_EQ(copied(of(2048, 64), of(64, 2048)), small);
    EXPECT_EQ(copied(turned(of(64, 2048)), of(64, 2048)), small);
    EXPECT_EQ(copied(of(2048, 64), turned(of(2048, 64))).find("async_copy"), std::string::npos) << "by elements";
    EXPECT_EQ(copied(of(2000, 64), of(64, 2048)).find("async_copy"), std::string::npos) << "masks";
}

TEST(Heuristic, TilesOfProductsLeaveTheCardEnoughBlocks) {
    GraphScope scope;
    const auto tiled = [](int64_t m, int64_t n, int64_t k) {
        return to_string(planned(matmul(filled({m, k}), filled({k, n}))).actions);
    };
    EXPECT_EQ(tiled(256, 256, 256),
              "upcast(1, 2) local(1, 16) upcast(0, 4) local(0, 4) unroll(0, 4) double_buffer(0, 8)");
    EXPECT_EQ(tiled(384, 384, 384),
              "upcast(1, 4) local(1, 8) upcast(0, 4) local(0, 8) unroll(0, 4) double_buffer(0, 8)");
    EXPECT_EQ(tiled(512, 512, 512),
              "upcast(1, 4) local(1, 16) upcast(0, 4) local(0, 8) upcast(0, 2) unroll(0, 4) double_buffer(0, 8)");
    EXPECT_EQ(tiled(640, 640, 640),
              "upcast(1, 8) local(1, 8) upcast(0, 4) local(0, 8) upcast(0, 2) unroll(0, 2) double_buffer(0, 8)");
}

TEST(Heuristic, MatrixProductsGetTiles) {
    GraphScope scope;
    const UOp small = matmul(filled({64, 32}), filled({32, 64}));
    Planned p = planned(small);
    EXPECT_EQ(difference(in_blocks(p.after, p.before.slots), evaluate(small, contents())), "");
    EXPECT_EQ(to_string(p.actions),
              "upcast(1, 2) local(1, 16) upcast(0, 4) local(0, 4) unroll(0, 4) double_buffer(0, 4)")
        << "many small blocks";
    EXPECT_EQ(to_string(planned(matmul(filled({1024, 64}), filled({64, 1024}))).actions),
              "upcast(1, 8) local(1, 16) upcast(0, 4) local(0, 8) upcast(0, 2) unroll(0, 2) stage(0, 16)");
    EXPECT_EQ(to_string(planned(matmul(filled({1024, 1024}), filled({1024, 1024}))).actions),
              "upcast(1, 32) local(1, 2) upcast(0, 4) lane(0, 32) unroll(0, 2) group(0, 4) stage(0, 8)")
        << "rows are lanes, columns are in scalar registers";
    EXPECT_EQ(to_string(planned(matmul(filled({40, 24}), filled({24, 36}))).actions),
              "pad(0, 16) pad(1, 16) pad(2, 16) upcast(1, 2) local(1, 8) upcast(0, 4) local(0, 4) unroll(0, 4) "
              "double_buffer(0, 4)");
    const auto half = [](Shape shape) { return cast(filled(std::move(shape), dtypes::float16), dtypes::float32); };
    const auto halves = [&](int64_t m, int64_t k, int64_t n) {
        return to_string(planned(matmul(half({m, k}), half({k, n}))).actions);
    };
    EXPECT_EQ(halves(1024, 64, 1024), "matrix(0, 0) upcast(1, 4) upcast(0, 2) local(1, 2) local(0, 2) stage(0, 2)");
    EXPECT_EQ(halves(64, 64, 64), "matrix(0, 0) local(1, 2) local(0, 2) double_buffer(0, 2)")
        << "few waves have small tiles";
    EXPECT_TRUE(halves(1000, 64, 8).starts_with("pad(0, 64) pad(1, 16) matrix(0, 0) "))
        << "a short side is rounded up to the instruction's";
    EXPECT_EQ(halves(1000, 64, 7).find("matrix"), std::string::npos) << "a side is too short for matrices";
}

TEST(Heuristic, OddSizesArePaddedWhereThatGivesWholeBlocks) {
    GraphScope scope;
    for (int64_t n : {67, 997, 4099, 8191}) {
        Planned p = expect_same(filled({n}) + number(1));
        EXPECT_GE(block_size(p.after), 32) << n << ": " << to_string(p.actions);
    }
    Planned p = expect_same(reduce(filled({3, 4099}), Op::max, {1}));
    EXPECT_GE(p.total(Axis::group), 32) << to_string(p.actions);
}

TEST(Heuristic, TinyKernelsStayValid) {
    GraphScope scope;
    for (int64_t n : {1, 2, 3, 5, 7})
        for (int64_t m : {1, 2, 3, 8}) {
            expect_same(filled({n, m}) + permute(filled({m, n}), {1, 0}));
            expect_same(sum(filled({n, m}), {0}));
            expect_same(sum(filled({n, m}), {1}));
            expect_same(matmul(filled({n, m}), filled({m, n})));
        }
    EXPECT_TRUE(planned(number(1)).actions.empty());
}

TEST(Heuristic, RandomKernelsStayWhatTheyAre) {
    GraphScope scope;
    for (unsigned seed = 0; seed < 300; ++seed) {
        expect_same(RandomGraph(seed + 9000).make_graph(7));
        if (HasFailure()) FAIL() << "seed " << seed;
    }
}

TEST(Heuristic, ARowIsInTheRegistersOfItsThreads) {
    for (int64_t n : {7, 33, 64, 100, 256, 1000, 4096}) {
        GraphScope scope;
        UOp x = filled({12, n}), centred = x - expand(sum(x, {1}), {12, n});
        Planned p = planned(centred / expand(sum(centred * centred, {1}), {12, n}));
        EXPECT_EQ(p.total(Axis::reduce), 1) << n << ": " << to_string(p.actions);
        EXPECT_LE(p.total(Axis::unroll), 16) << n << ": " << to_string(p.actions);
        EXPECT_EQ(nodes(p.after, Op::load).size(), 1u) << "each element is read once";
    }
}

TEST(Heuristic, ALongRowHasAllThreadsAndWideAccessesWhateverItsLength) {
    for (int64_t n : {16'384, 16'416, 20'000, 40'009}) {
        GraphScope scope;
        UOp x = filled({2, n});
        Planned p = planned(x - expand(sum(x, {1}), {2, n}));
        EXPECT_EQ(p.total(Axis::group), 256) << n << ": " << to_string(p.actions);
        EXPECT_EQ(p.total(Axis::unroll) % 4, 0) << n << ": " << to_string(p.actions);
    }
}

TEST(Heuristic, AScanIsOfRegistersAlongMemoryAndOfThreadsBesideEachOtherDownColumns) {
    for (int64_t n : {7, 33, 100, 1000, 4096}) {
        GraphScope scope;
        Planned row = planned(scan(filled({12, n}), Op::add, 1));
        EXPECT_EQ(row.total(Axis::reduce), 1) << n << ": " << to_string(row.actions);
        EXPECT_LE(row.total(Axis::unroll), 16) << n << ": " << to_string(row.actions);
        Planned column = planned(scan(filled({n, 64}), Op::add, 0));
        EXPECT_EQ(column.total(Axis::local), 8) << n << ": " << to_string(column.actions);
        EXPECT_LE(column.total(Axis::unroll), 8) << n << ": " << to_string(column.actions);
        EXPECT_EQ(column.total(Axis::group) > 1, n > 128) << n << ": " << to_string(column.actions);
    }
    GraphScope scope;
    expect_same(scan(filled({5, 40}), Op::add, 1) * number(2));
    expect_same(scan(filled({40, 20}), Op::max, 0));
}

/// Values in another order of memory.
UOp turned(UOp x) { return permute(x, {1, 0}); }

TEST(Heuristic, ATransposeGoesAlongMemoryOnBothSides) {
    for (Shape shape : {Shape{128, 64}, Shape{100, 70}}) {
        GraphScope scope;
        const Planned p = expect_same(turned(filled(shape)) * number(2));
        EXPECT_EQ(p.total(Axis::local), 256) << to_string(p.actions);
    }
    GraphScope scope;
    const UOp large = filled({1024, 512}), other = filled({512, 1024});
    for (UOp body : {turned(large) * number(2), turned(large) + other, turned(large + turned(other)) * other}) {
        const Planned p = planned(body);
        EXPECT_EQ(p.total(Axis::upcast), 16) << to_string(p.actions);
        EXPECT_EQ(p.total(Axis::local), 256) << to_string(p.actions);
    }
}

TEST(Heuristic, SumsOfTwoOrdersOfMemoryHaveThreadsAlongBoth) {
    GraphScope scope;
    const UOp by_column = permute(filled({28, 96, 40}), {1, 2, 0}), by_row = permute(filled({28, 40, 96}), {2, 1, 0});
    const Planned p = expect_same(sum(by_column * by_row, {2}));
    EXPECT_GE(p.total(Axis::local), 128) << to_string(p.actions);
}

}  // namespace
}  // namespace strata::codegen
