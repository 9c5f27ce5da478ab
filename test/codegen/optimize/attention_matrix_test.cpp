#include <array>
#include <cmath>
#include <limits>

#include "../target/gfx1100.h"
#include "in_blocks.h"
#include "strata/codegen/optimize/action.h"
#include "strata/codegen/target/warpgroup_products.h"

// Attention by matrix instructions of NVIDIA's, as the PTX ISA says what they do (codegen/linear/interpreter.h).
namespace strata::codegen {
namespace {

using namespace test;

const Target hopper = target_of(Chip::parse("sm_90").value());

UOp products(UOp a, UOp b) {
    const int64_t n = a.shape()[0], m = b.shape()[0], d = a.shape()[1];
    const UOp left = expand(reshape(a, {n, 1, d}), {n, m, d}), right = expand(reshape(b, {1, m, d}), {n, m, d});
    return reshape(sum(cast(left, dtypes::float32) * cast(right, dtypes::float32), {2}), {n, m});
}

/// Keys that a row sees: all; those up to it; the last of these; those from it on; some around it; some far from it.
enum class Mask : uint8_t { none, causal, window, after, around, far };

constexpr std::array kMasks{Mask::none, Mask::causal, Mask::window, Mask::after, Mask::around, Mask::far};

UOp left_out(Mask mask, UOp row, UOp key) {
    const auto outside = [&](int64_t before, int64_t after) {
        return alu(Op::bit_or, {key + before < row, row + after < key});
    };
    switch (mask) {
        case Mask::none: return {};
        case Mask::causal: return row < key;
        case Mask::window: return outside(40, 0);
        case Mask::after: return key < row;
        case Mask::around: return outside(7, 60);
        case Mask::far: return outside(-100, 140);
    }
    return {};
}

UOp attention(int64_t rows, int64_t keys, int64_t columns, DType type, Mask mask, double factor = 0.125) {
    const UOp q = filled({rows, columns}, type), k = filled({keys, columns}, type, 2),
              v = filled({keys, columns}, type, 3);
    UOp scores = products(q, k) * number(factor);
    const UOp key = expand(reshape(iota(keys), {1, keys}), {rows, keys}),
              row = expand(reshape(iota(rows), {rows, 1}), {rows, keys});
    const UOp never = number(-std::numeric_limits<double>::infinity());
    if (const UOp none = left_out(mask, row, key)) scores = alu(Op::where, {none, never, scores});
    const UOp weights = alu(Op::exp, {scores - expand(reduce(scores, Op::max, {1}), scores.shape())});
    const UOp sums = products(weights, permute(v, {1, 0}));
    return cast(sums / expand(sum(weights, {1}), sums.shape()), type);
}

Filled started(UOp body) {
    Filled f = built(body);
    f.kernel = start_schedule(f.kernel);
    return f;
}

/// Weights are rounded to the operands' type, and the results are.
void expect_near(const Filled& f, const Kernel& kernel, const Target& target, UOp body) {
    const Array got = in_blocks(kernel, f.slots, target), wanted = evaluate(body, contents());
    const double unit = body.dtype() == dtypes::bfloat16 ? 0x1p-8 : 0x1p-11;
    double largest = 0;
    for (double x : wanted.f) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < wanted.numel(); ++i)
        if (std::isnan(wanted.f[i]))  // of no keys
            ASSERT_TRUE(std::isnan(got.f[i])) << i;
        else
            ASSERT_NEAR(got.f[i], wanted.f[i], 4 * unit * largest) << i;
}

size_t count(const LinearProgram& program, Op op) {
    return static_cast<size_t>(std::ranges::count(program.ops, op, &UOp::op));
}

TEST(AttentionByMatrices, KeepsTheValuesOfAttention) {
    struct {
        int64_t rows, keys, columns;
    } const shapes[] = {{16, 16, 16},  {32, 64, 32},   {128, 256, 64}, {64, 64, 128},
                        {64, 256, 64}, {192, 128, 64}, {33, 50, 48},   {50, 70, 64}};
    for (auto [rows, keys, columns] : shapes)
        for (DType type : {dtypes::bfloat16, dtypes::float16})
            for (Mask mask : kMasks) {
                if (mask > Mask::causal && (type == dtypes::float16 || keys < 128)) continue;
                SCOPED_TRACE(fmt::format("{} {} {} {} mask {}", rows, keys, columns, type.name(), int(mask)));
                GraphScope scope;
                const UOp body = attention(rows, keys, columns, type, mask);
                const Filled f = started(body);
                const Scheduled scheduled = heuristic(f.kernel, hopper);
                ASSERT_EQ(to_string(scheduled.actions), "matrix(0, 0)");
                EXPECT_GT(count(linearize(scheduled.kernel, hopper).value(), Op::wmma), 1u);
                expect_near(f, scheduled.kernel, hopper, body);
            }
}

UOp log_of_totals(UOp attention) {
    UOp top, total;
    for (UOp u : toposort(attention)) {
        if (u.is(Op::reduce) && u.as<ReduceArg>().op == Op::max) top = u;
        if (u.is(Op::reduce) && u.src(0).is(Op::exp)) total = u;
    }
    return alu(Op::log, {total}) + top;
}

TEST(AttentionByMatrices, StoresTheLogarithmsOfItsTotalsBesideItsResults) {
    struct {
        int64_t rows, keys, columns;
    } const shapes[] = {{128, 256, 64}, {128, 128, 128}, {33, 50, 48}};
    for (auto [rows, keys, columns] : shapes)
        for (Mask mask : {Mask::none, Mask::causal}) {
            SCOPED_TRACE(fmt::format("{} {} {} mask {}", rows, keys, columns, int(mask)));
            GraphScope scope;
            const UOp body = attention(rows, keys, columns, dtypes::bfloat16, mask), log = log_of_totals(body);
            const UOp to = make(Op::buffer, body.dtype(), {}, BufferArg{2'000'000, body.numel(), 0}),
                      logs = make(Op::buffer, log.dtype(), {}, BufferArg{2'000'001, log.numel(), 0});
            const BoundKernel bound =
                build_kernel({.output = to, .body = body, .beside = {{.output = logs, .body = log}}});
            Filled f{start_schedule(bound.kernel), {Array(body.dtype(), {body.numel()}), Array(log.dtype(), {rows})}};
            for (size_t i = 2; i < bound.buffers.size(); ++i)
                f.slots.push_back(contents().at(bound.buffers[i].as<BufferArg>().id));
            const Scheduled scheduled = heuristic(f.kernel, hopper);
            ASSERT_TRUE(to_string(scheduled.actions).starts_with("matrix(0")) << to_string(scheduled.actions);
            expect_near(f, scheduled.kernel, hopper, body);
            const Array got = run_in_blocks(scheduled.kernel, f.slots, hopper, 1).out,
                        wanted = evaluate(log, contents());
            for (size_t i = 0; i < wanted.numel(); ++i) ASSERT_NEAR(got.f[i], wanted.f[i], 1e-4) << i;
        }
}

/// The products of a schedule, and whether lanes hold A of them.
std::vector<std::pair<std::string, bool>> products_of(const Kernel& kernel, const Target& target = hopper) {
    std::vector<std::pair<std::string, bool>> found;
    const LinearProgram program = linearize(kernel, target).value();
    for (UOp u : program.ops)
        if (const auto product = warpgroup_product(u)) found.emplace_back(u.as<MatrixArg>().name, product->holds_a());
    return found;
}

/// A sum of such products' exponentials, less terms of rows or keys alone, times other products or not, and of values.
/// The logarithm of totals where there are none.
UOp chain(int64_t rows, int64_t keys, int64_t depth, int64_t columns, DType type, bool by_keys, bool times_other) {
    const auto along = [&](UOp x) {
        return expand(reshape(x, by_keys ? std::vector<int64_t>{1, keys} : std::vector<int64_t>{rows, 1}),
                      {rows, keys});
    };
    const int64_t size = by_keys ? keys : rows;
    const UOp scores = products(filled({rows, depth}, type), filled({keys, depth}, type, 2)) * number(0x1p-10);
    UOp weights = alu(Op::exp, {scores - along(filled({size}, dtypes::float32, 5))});
    if (times_other) {
        const UOp other = products(filled({rows, columns}, type, 4), filled({keys, columns}, type, 6));
        weights = weights * (other - along(filled({size}, dtypes::float32, 7)));
    }
    return products(cast(weights, type), permute(filled({keys, columns}, type, 3), {1, 0}));
}

TEST(AttentionByMatrices, KeepsTheValuesOfChainsOfProducts) {
    struct {
        int64_t rows, keys, depth, columns;
        bool by_groups;
    } const shapes[] = {{128, 128, 64, 64, true}, {50, 70, 64, 64, true}, {33, 50, 48, 32, false}};
    for (auto [rows, keys, depth, columns, by_groups] : shapes)
        for (bool by_keys : {false, true})
            for (bool times_other : {false, true}) {
                SCOPED_TRACE(fmt::format("{} {} {} {} {} {}", rows, keys, depth, columns, by_keys, times_other));
                GraphScope scope;
                const UOp body = chain(rows, keys, depth, columns, dtypes::bfloat16, by_keys, times_other);
                const Filled f = started(body);
                const Scheduled scheduled = heuristic(f.kernel, hopper);
                ASSERT_EQ(to_string(scheduled.actions), "matrix(0, 0)");
                EXPECT_EQ(products_of(scheduled.kernel).empty(), !by_groups);
                expect_near(f, scheduled.kernel, hopper, body);
            }
}

TEST(AttentionByMatrices, MultipliesExponentsRatherThanScoresByAPositiveNumber) {
    GraphScope scope;
    const auto products = [](double factor) {
        const UOp body = attention(32, 64, 32, dtypes::bfloat16, Mask::causal, factor);
        const Filled f = started(body);
        const Kernel kernel = heuristic(f.kernel, hopper).kernel;
        expect_near(f, kernel, hopper, body);
        const LinearProgram program = linearize(kernel, hopper).value();
        return std::ranges::count_if(program.ops, [](UOp u) { return u.is(Op::mul) && u.dtype() == dtypes::float32; });
    };
    EXPECT_LT(products(0.125), products(-0.125)) << "one less of each score that a lane has";
}

TEST(AttentionByMatrices, GroupsOfWavesHoldTheWeightsThatTheyMultiplyByValues) {
    GraphScope scope;
    const Filled wide = started(attention(128, 256, 128, dtypes::bfloat16, Mask::causal)),
                 narrow = started(attention(128, 384, 64, dtypes::bfloat16, Mask::none)),
                 few_keys = started(attention(128, 64, 64, dtypes::float16, Mask::causal)),
                 few_rows = started(attention(32, 128, 64, dtypes::bfloat16, Mask::none));
    using Products = std::vector<std::pair<std::string, bool>>;
    EXPECT_EQ(products_of(heuristic(wide.kernel, hopper).kernel),
              (Products{{"wgmma_f32_16x64x16_bf16<8, 1, 64, 1, 64>", false},
                        {"wgmma_f32_16x64x16_bf16<8, 1, 64, 1, 64>", false},
                        {"wgmma_f32_16x128x16_bf16<4, 1, 0, 0, 64>", true},
                        {"wgmma_f32_16x128x16_bf16<4, 1, 0, 0, 64>", true}}))
        << "of the first tile; in the loop; of the last one";
    EXPECT_EQ(products_of(heuristic(narrow.kernel, hopper).kernel),
              (Products{{"wgmma_f32_16x64x16_bf16<4, 1, 64, 1, 64>", false},
                        {"wgmma_f32_16x64x16_bf16<4, 1, 64, 1, 64>", false},
                        {"wgmma_f32_16x64x16_bf16<4, 1, 0, 0, 64>", true},
                        {"wgmma_f32_16x64x16_bf16<4, 1, 0, 0, 64>", true}}));
    EXPECT_EQ(products_of(heuristic(few_keys.kernel, hopper).kernel),
              (Products{{"wgmma_f32_16x64x16_f16<4, 1, 64, 1, 64>", false},
                        {"wgmma_f32_16x64x16_f16<4, 1, 0, 0, 64>", true}}));
    EXPECT_EQ(products_of(heuristic(few_rows.kernel, hopper).kernel), Products{});
    const Target ampere = target_of(Chip::parse("sm_80").value());
    EXPECT_EQ(products_of(heuristic(wide.kernel, ampere).kernel, ampere), Products{});
}

TEST(AttentionByMatrices, GroupsOfWavesMaskTheTileOnTheDiagonalAlone) {
    GraphScope scope;
    const Filled f = started(attention(256, 256, 64, dtypes::bfloat16, Mask::causal));
    const LinearProgram program = linearize(heuristic(f.kernel, hopper).kernel, hopper).value();
    const auto masks = [](auto first, auto last) {
        return std::count_if(first, last, [](UOp u) { return u.is(Op::cmplt) && u.src(0).dtype().is_integer(); });
    };
    const auto loop = std::ranges::find(program.ops, Op::range, &UOp::op),
               end = std::ranges::find(program.ops, Op::end, &UOp::op);
    EXPECT_EQ(std::ranges::count(program.ops, Op::range, &UOp::op), 1);
    EXPECT_GT(masks(program.ops.begin(), loop), 0);
    EXPECT_EQ(masks(loop, end), 0);
}

TEST(AttentionByMatrices, LeavesOutTilesThatAMaskTakesOut) {
    GraphScope scope;
    for (int64_t rows : {128, 192}) {  // by groups of waves, by waves
        const auto steps = [&](Mask mask) {
            const Filled f = started(attention(rows, 256, rows == 128 ? 64 : 16, dtypes::bfloat16, mask));
            return run_in_blocks(heuristic(f.kernel, hopper).kernel, f.slots, hopper).steps;
        };
        const int64_t none = steps(Mask::none), causal = steps(Mask::causal), window = steps(Mask::window);
        EXPECT_LT(causal, none);
        EXPECT_LT(steps(Mask::after), none);
        EXPECT_LT(window, none);
        EXPECT_LE(window, causal);
        EXPECT_GE(steps(Mask::around), window);
        EXPECT_LT(steps(Mask::around), none);
        EXPECT_LT(steps(Mask::far), none);
    }
}

TEST(AttentionByMatrices, LeavesWhatDoesNotFitToThreads) {
    GraphScope scope;
    const auto actions = [](const Filled& f, const Target& target) {
        return to_string(heuristic(f.kernel, target).actions);
    };
    const Filled wide = started(attention(64, 64, 32, dtypes::float32, Mask::none)),
                 odd = started(attention(64, 60, 20, dtypes::bfloat16, Mask::none)),
                 fits = started(attention(64, 64, 32, dtypes::bfloat16, Mask::none));
    for (const Filled* f : {&wide, &odd}) EXPECT_EQ(actions(*f, hopper).find("matrix"), std::string::npos);
    EXPECT_EQ(actions(wide, gfx1100).find("matrix"), std::string::npos);
    EXPECT_EQ(actions(fits, gfx1100).find("matrix"), 0u);
}

}  // namespace
}  // namespace strata::codegen
