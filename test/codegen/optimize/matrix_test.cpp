#include "../target/gfx1100.h"
#include "in_blocks.h"
#include "strata/codegen/kernel/flops.h"
#include "strata/codegen/optimize/action.h"

// Products by matrix instructions: what becomes of ranges and loads. Their values:
// test/python/tensor/test_matrix_products.py.
namespace strata::codegen {
namespace {

using namespace test;

/// A product of operands of this type, in float32 as matmul has them.
Filled product(int64_t m, int64_t k, int64_t n, DType type) {
    const UOp a = cast(filled({m, k}, type), dtypes::float32), b = cast(filled({k, n}, type, 2), dtypes::float32);
    const UOp rows = expand(reshape(a, {m, 1, k}), {m, n, k}),
              columns = expand(reshape(permute(b, {1, 0}), {1, n, k}), {m, n, k});
    Filled f = built(reshape(sum(rows * columns, {2}), {m, n}));
    f.kernel = start_schedule(f.kernel);
    return f;
}

Result<Kernel> changed(const Filled& f, std::string_view actions, const Target& target = gfx1100) {
    return apply_all(f.kernel, parse_actions(actions).value(), target);
}

size_t count(const Kernel& kernel, Op op, Space space = Space::global) {
    const LinearProgram program = linearize(kernel, gfx1100).value();
    return static_cast<size_t>(std::ranges::count_if(program.ops, [&](UOp u) {
        return u.is(op) && (!u.is(Op::load) || skip_after(u.src(0).src(0)).as<ParamArg>().space == space);
    }));
}

TEST(Matrix, MakesAnInstructionOfEachTileAndStep) {
    GraphScope scope;
    const Filled f = product(64, 64, 64, dtypes::float16);
    EXPECT_EQ(count(changed(f, "matrix(0, 0)").value(), Op::wmma), 1U) << "in a loop of four steps";
    const Kernel four = changed(f, "matrix(0, 0) upcast(1, 2) upcast(0, 2)").value();
    EXPECT_EQ(count(four, Op::wmma), 4U);
    EXPECT_EQ(count(four, Op::load), 2 * 2 + 2 * 16U) << "rows of eight halves at once, columns one by one, each once";
    EXPECT_EQ(block_size(four), 32);
}

TEST(Matrix, LeavesTheRestToOtherActions) {
    GraphScope scope;
    const Filled f = product(64, 64, 64, dtypes::float16);
    const Kernel staged = changed(f, "matrix(0, 0) local(1, 2) local(0, 2) stage(0, 2)").value();
    EXPECT_EQ(block_size(staged), 128);
    EXPECT_EQ(count(staged, Op::load, Space::local), 2 * 2U) << "of eight halves";
    EXPECT_FALSE(changed(f, "matrix(0, 0) unroll(0, 2)")) << "steps of the instruction stay whole";
    EXPECT_FALSE(changed(f, "matrix(0, 0) group(0, 2)"));
}

TEST(Matrix, OfNvidiaMultipliesAsPtxSaysWhatLanesHold) {
    const Target hopper = target_of(Chip::parse("sm_90").value());
    for (DType type : {dtypes::float16, dtypes::bfloat16, dtypes::int8})
        for (const char* actions : {"matrix(0, 0)", "matrix(0, 0) upcast(1, 2) local(0, 2)",
                                    "matrix(0, 0) upcast(1, 2) upcast(0, 2) local(1, 2) local(0, 2) stage(0, 1)",
                                    "matrix(0, 0) upcast(0, 2) local(1, 2) stage(0, 2)"})
            for (bool left_in_columns : {false, true})
                for (bool right_in_columns : {false, true}) {
                    GraphScope scope;
                    const int64_t m = 64, k = 128, n = 64;
                    UOp a = left_in_columns ? permute(filled({k, m}, type), {1, 0}) : filled({m, k}, type);
                    UOp b = right_in_columns ? filled({n, k}, type, 2) : permute(filled({k, n}, type, 2), {1, 0});
                    const DType sum_type = type.is_float() ? dtypes::float32 : dtypes::int32;
                    const UOp body = reshape(sum(expand(reshape(cast(a, sum_type), {m, 1, k}), {m, n, k}) *
                                                     expand(reshape(cast(b, sum_type), {1, n, k}), {m, n, k}),
                                                 {2}),
                                             {m, n});
                    Filled f = built(body);
                    f.kernel = start_schedule(f.kernel);
                    const Kernel tiled = changed(f, actions, hopper).value();
                    EXPECT_EQ(difference(in_blocks(tiled, f.slots, hopper), evaluate(body, contents())), "")
                        << type.name() << " " << actions << " " << left_in_columns << right_in_columns;
                }
}

/// A product of these sides, of operands that lie as they are or the other way round.
UOp product_of(DType type, int64_t m, int64_t k, int64_t n, bool left_in_columns, bool right_in_columns) {
    const UOp a = left_in_columns ? permute(filled({k, m}, type), {1, 0}) : filled({m, k}, type);
    const UOp b = right_in_columns ? filled({n, k}, type, 2) : permute(filled({k, n}, type, 2), {1, 0});
    return reshape(sum(expand(reshape(cast(a, dtypes::float32), {m, 1, k}), {m, n, k}) *
                           expand(reshape(cast(b, dtypes::float32), {1, n, k}), {m, n, k}),
                       {2}),
                   {m, n});
}

TEST(Matrix, OfGroupsOfWavesMultipliesAsPtxSaysHowTilesLie) {
    const Target hopper = target_of(Chip::parse("sm_90").value());
    struct Case {
        DType type;
        int64_t m, k, n;
        const char* actions;
    };
    for (const auto& [type, m, k, n, actions] :
         {Case{dtypes::float16, 64, 128, 64, "matrix(0, 1) local(0, 4) stage(0, 4)"},
          {dtypes::bfloat16, 128, 128, 128, "matrix(0, 1) local(0, 4) stage(0, 4)"},
          {dtypes::bfloat16, 192, 128, 96, "matrix(0, 1) local(0, 12) stage(0, 4)"},
          {dtypes::float16, 128, 128, 192, "matrix(0, 1) local(0, 8) stage(0, 4)"},
          {dtypes::float16, 128, 128, 256, "matrix(0, 1) local(0, 8) stage(0, 4)"}})
        for (bool left_in_columns : {false, true})
            for (bool right_in_columns : {false, true}) {
                if (n > 128 && left_in_columns) continue;    // the widest are the slowest to check
                if (n == 96 && !right_in_columns) continue;  // lines of 64 columns
                GraphScope scope;
                const UOp body = product_of(type, m, k, n, left_in_columns, right_in_columns);
                Filled f = built(body);
                f.kernel = start_schedule(f.kernel);
                const Result<Kernel> tiled = changed(f, actions, hopper);
                ASSERT_TRUE(tiled) << tiled.error().message;
                EXPECT_EQ(count_flops(tiled->sink), static_cast<uint64_t>(2 * m * k * n));
                EXPECT_EQ(difference(in_blocks(*tiled, f.slots, hopper), evaluate(body, contents())), "")
                    << type.name() << " " << m << " " << n << " " << left_in_columns << right_in_columns;
            }
}

TEST(Matrix, OfGroupsOfWavesMultipliesRowsWhereverMemoryHasThem) {
    // Rows are places of an image that is read without its edges, as a convolution reads it: they are not equally far
    // apart.
    const Target hopper = target_of(Chip::parse("sm_90").value());
    const int64_t k = 128, high = 16, wide = 12, line = wide + 2, places = high * wide;
    for (const bool of_left : {false, true}) {
        GraphScope scope;
        const int64_t other = of_left ? 64 : 128;
        const DType type = dtypes::bfloat16;
        const UOp image = cast(
            reshape(shrink(filled({high + 2, line, k}, type), {{1, high + 1}, {1, wide + 1}, {0, k}}), {places, k}),
            dtypes::float32);
        const UOp matrix = cast(filled({other, k}, type, 2), dtypes::float32);
        const int64_t m = of_left ? places : other, n = of_left ? other : places;
        const UOp body = reshape(sum(expand(reshape(of_left ? image : matrix, {m, 1, k}), {m, n, k}) *
                                         expand(reshape(of_left ? matrix : image, {1, n, k}), {m, n, k}),
                                     {2}),
                                 {m, n});
        Filled f = built(body);
        f.kernel = start_schedule(f.kernel);
        const Result<Kernel> tiled = changed(
            f, of_left ? "matrix(0, 1) local(0, 12) stage(0, 4)" : "matrix(0, 1) local(0, 8) stage(0, 4)", hopper);
        ASSERT_TRUE(tiled) << tiled.error().message;
        EXPECT_EQ(difference(in_blocks(*tiled, f.slots, hopper), evaluate(body, contents())), "")
            << (of_left ? "left" : "right");
    }
}

TEST(Matrix, OfGroupsOfWavesMultipliesStepsWhereverMemoryHasThem) {
    // Steps are places of an image without its edges, as for the gradient of a convolution's weights. Eight of them
    // go on in memory where they lie along it.
    const Target hopper = target_of(Chip::parse("sm_90").value());
    const int64_t high = 16, wide = 8, k = high * wide, side = 64;
    const std::pair<int64_t, int64_t> lines{1, high + 1}, places{8, 8 + wide}, all{0, side};
    GraphScope scope;
    const DType type = dtypes::bfloat16;
    const UOp first = filled({side, high + 2, 3 * wide}, type), second = filled({high + 2, 3 * wide, side}, type, 2);
    const UOp left = cast(reshape(shrink(first, {all, lines, places}), {side, k}), dtypes::float32),
              right = cast(permute(reshape(shrink(second, {lines, places, all}), {k, side}), {1, 0}), dtypes::float32);
    const UOp body = reshape(sum(expand(reshape(left, {side, 1, k}), {side, side, k}) *
                                     expand(reshape(right, {1, side, k}), {side, side, k}),
                                 {2}),
                             {side, side});
    Filled f = built(body);
    f.kernel = start_schedule(f.kernel);
    const Result<Kernel> tiled = changed(f, "matrix(0, 1) local(0, 4) stage(0, 4)", hopper);
    ASSERT_TRUE(tiled) << tiled.error().message;
    EXPECT_EQ(difference(in_blocks(*tiled, f.slots, hopper), evaluate(body, contents())), "");
}

TEST(Matrix, OfGroupsOfWavesWantsTilesOfWholeLinesInLocalMemory) {
    const Target hopper = target_of(Chip::parse("sm_90").value());
    const auto error = [&](std::string_view actions, int64_t m = 128) {
        GraphScope scope;
        Filled f = built(product_of(dtypes::float16, m, 128, 64, false, true));
        f.kernel = start_schedule(f.kernel);
        const Result<Kernel> made = changed(f, actions, hopper);
        if (!made) return made.error().message;
        const Result<LinearProgram> program = linearize(*made, hopper);
        return program ? std::string("none") : program.error().message;
    };
    EXPECT_EQ(error("matrix(0, 1) local(0, 4) stage(0, 4)"), "none");
    EXPECT_NE(error("matrix(0, 1) local(0, 4)").find("reads A and B from local memory: stage them"), std::string::npos);
    EXPECT_NE(error("matrix(0, 1) local(0, 2) stage(0, 4)").find("want as many along the rows"), std::string::npos);
    EXPECT_NE(error("matrix(0, 1) local(0, 4) stage(0, 2)").find("tiles of 128 bytes along memory"), std::string::npos);
    EXPECT_NE(error("matrix(0, 1) upcast(0, 2) local(0, 4) stage(0, 4)").find("tiles of 128 bytes"), std::string::npos);
}

TEST(Matrix, OfGroupsOfWavesIsTheHeuristicsWhereThereAreBlocksForAllUnits) {
    GraphScope scope;
    const auto schedule = [](int64_t side, std::string_view chip) {
        const Target target = target_of(Chip::parse(chip).value());
        Filled f = built(product_of(dtypes::bfloat16, side, side, side, false, false));
        return to_string(heuristic(start_schedule(f.kernel), target).actions);
    };
    EXPECT_EQ(schedule(4096, "sm_90"), "matrix(0, 1) local(0, 8) stage(0, 4)");
    EXPECT_EQ(schedule(1024, "sm_90"), "matrix(0, 2) local(0, 4) stage(0, 4)");
    EXPECT_EQ(schedule(256, "sm_90").find("matrix(0, 0)"), 0U);
    Filled f = built(product_of(dtypes::bfloat16, 3072, 4096, 768, true, false));
    EXPECT_EQ(to_string(heuristic(start_schedule(f.kernel), target_of(Chip::parse("sm_90").value())).actions),
              "matrix(0, 2) local(0, 8) stage(0, 4)")
        << "96 tiles of 128 x 192 rather than 72 of 256 columns, for 132 units";
    EXPECT_EQ(schedule(4096, "sm_80").find("matrix(0, 0)"), 0U);
}

TEST(Matrix, SaysWhatDoesNotFit) {
    GraphScope scope;
    const auto error = [](const Filled& f, std::string_view actions, const Target& target = gfx1100) {
        Result<Kernel> got = changed(f, actions, target);
        return got ? std::string("none") : got.error().message;
    };
    const std::string none = "0 matrix instructions of gfx1100 fit the products along a range of ";
    EXPECT_EQ(error(product(64, 64, 64, dtypes::float32), "matrix(0, 0)"), none + "64");
    EXPECT_EQ(error(product(64, 24, 64, dtypes::float16), "matrix(0, 0)"), none + "24");
    EXPECT_EQ(error(product(24, 64, 64, dtypes::float16), "matrix(0, 0)"), none + "64");
    EXPECT_EQ(error(product(64, 64, 64, dtypes::float16), "matrix(0, 1)"),
              "1 matrix instructions of gfx1100 fit the products along a range of 64");
    EXPECT_EQ(error(product(64, 64, 64, dtypes::float32), "matrix(0, 1)", target_of(isa::Arch::gfx942)), "none");
}

TEST(Matrix, LeavesProductsThatAreRounded) {
    GraphScope scope;
    for (DType rounded : {dtypes::float16, dtypes::bfloat16, dtypes::int8, dtypes::int16}) {
        const UOp a = filled({32, 1, 32}, rounded), b = filled({1, 32, 32}, rounded, 2);
        const UOp products = expand(a, {32, 32, 32}) * expand(b, {32, 32, 32});
        Filled f = built(sum(cast(products, rounded.is_float() ? dtypes::float32 : dtypes::int32), {2}));
        f.kernel = start_schedule(f.kernel);
        EXPECT_FALSE(changed(f, "matrix(0, 0)")) << rounded.name();
    }
}

TEST(Matrix, TakesSumsOfProductsAlone) {
    GraphScope scope;
    const UOp a = filled({32, 32}, dtypes::float16);
    for (UOp body : {reduce(a, Op::max, {1}), sum(a, {1}), sum(a * a, {1})}) {
        Filled f = built(body);
        f.kernel = start_schedule(f.kernel);
        EXPECT_FALSE(changed(f, "matrix(0, 0)"));
    }
}

}  // namespace
}  // namespace strata::codegen
