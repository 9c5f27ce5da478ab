#include "strata/codegen/linear/linear.h"

#include <gtest/gtest.h>

#include <chrono>

#include "../target/gfx1100.h"
#include "interpreter.h"
#include "kernels.h"
#include "random_kernel.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

Scalars numbers(DType type, size_t count, int seed) {
    Scalars out;
    for (size_t i = 0; i < count; ++i) {
        int64_t v = static_cast<int64_t>((i * 2654435761u + static_cast<size_t>(seed) * 40503u) >> 7) % 9 - 4;
        out.push_back(type.is_float() ? ConstArg{0, static_cast<double>(v)} : ConstArg{v, 0});
    }
    return out;
}

/// Small whole numbers for every param.
Memory memory_for(const Kernel& kernel) {
    Memory memory;
    for (UOp u : toposort(kernel.sink))
        if (u.is(Op::param) && u.as<ParamArg>().space == Space::global)
            memory[u.as<ParamArg>().slot] =
                numbers(u.dtype(), static_cast<size_t>(u.as<ParamArg>().size), u.as<ParamArg>().slot);
    return memory;
}

std::string listing(const LinearProgram& program) {
    std::string text;
    for (UOp u : program.ops) text += to_string(u) + "\n";
    return text;
}

/// The lowered program against the graph it came from.
void expect_same(const Kernel& kernel, const Target& target = gfx1100) {
    auto program = linearize(kernel, target);
    ASSERT_TRUE(program) << program.error().message << "\n" << tree(kernel.sink);
    Memory expected = memory_for(kernel), got = expected;
    Evaluator(expected).run(kernel.sink);
    Interpreter(*program, got).run();
    for (const auto& [slot, values] : expected)
        for (size_t i = 0; i < values.size(); ++i)
            ASSERT_TRUE(values[i].i == got.at(slot)[i].i && values[i].f == got.at(slot)[i].f)
                << "param " << slot << " [" << i << "]: " << values[i].f << " expected, " << got.at(slot)[i].f
                << " got\n"
                << listing(*program) << tree(kernel.sink);
}

int count(const LinearProgram& program, Op op) {
    return static_cast<int>(std::count_if(program.ops.begin(), program.ops.end(), [&](UOp u) { return u.is(op); }));
}

TEST(Linearize, ComputesWhatRandomKernelsMean) {
    GraphScope scope;
    for (unsigned seed = 0; seed < 120; ++seed) {
        SCOPED_TRACE(seed);
        expect_same(RandomKernel(seed).make());
        if (HasFatalFailure()) return;
    }
}

TEST(Linearize, AUsersBlockSumAddsUpEveryElement) {
    GraphScope scope;
    Kernel kernel = block_sum(1);
    auto program = linearize(kernel, gfx1100);
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(program->grid[0], 1024u);
    EXPECT_EQ(program->block[0], 256u);
    EXPECT_EQ(program->lds, 1024u);
    Memory memory = memory_for(kernel);
    program->grid[0] = 3;
    Interpreter(*program, memory).run();
    for (size_t block = 0; block < 3; ++block) {
        double expected = 0;
        for (size_t i = 0; i < 256; ++i) expected += memory[1][block * 256 + i].f;
        EXPECT_EQ(memory[0][block].f, expected);
    }
}

TEST(Linearize, ReductionsOverOneRangeShareALoop) {
    GraphScope scope;
    UOp out = param(0, 8), x = param(1, 8 * 16), row = range(0, 8, Axis::loop), k = range(1, 16, Axis::reduce);
    UOp value = load(at(x, row * 16 + k));
    UOp both = reduce(Op::add, value, {k}) + reduce(Op::max, value, {k});
    Kernel kernel = codegen::kernel("two", end(store(at(out, row), both), {row}));
    expect_same(kernel);
    EXPECT_EQ(count(*linearize(kernel, gfx1100), Op::range), 2);
}

TEST(Linearize, AReductionOfAReductionOverTheSameRangeGetsALoopOfItsOwn) {
    GraphScope scope;
    UOp out = param(0, 4), x = param(1, 4 * 8), row = range(0, 4, Axis::loop), k = range(1, 8, Axis::reduce);
    UOp value = load(at(x, row * 8 + k));
    UOp centred = value - reduce(Op::max, value, {k});
    Kernel kernel = codegen::kernel("nested", end(store(at(out, row), reduce(Op::add, centred, {k})), {row}));
    expect_same(kernel);
    EXPECT_EQ(count(*linearize(kernel, gfx1100), Op::range), 3);
}

TEST(Linearize, ReductionsOverOneGroupRangeUseTheSameThreads) {
    GraphScope scope;
    UOp out = param(0, 4), x = param(1, 4 * 64), row = range(0, 4, Axis::loop), k = range(1, 4, Axis::reduce),
        g = range(2, 16, Axis::group);
    UOp value = load(at(x, row * 64 + k * 16 + g));
    UOp centred = value - reduce(Op::max, value, {k, g});
    Kernel kernel = codegen::kernel("softmax_like", end(store(at(out, row), reduce(Op::add, centred, {k, g})), {row}));
    expect_same(kernel);
    EXPECT_EQ(linearize(kernel, gfx1100)->block[0], 16u);
}

/// Rows of `beside` columns; threads along the rows sum each column, again and again where there are several rounds.
Kernel column_sums(int64_t threads, int64_t beside, int64_t rounds, bool columns_first) {
    UOp out = param(0, rounds * beside), x = param(1, rounds * threads * beside);
    UOp round = range(0, rounds, Axis::loop), b = range(1, beside, Axis::local), k = range(2, threads, Axis::group);
    UOp place = columns_first ? k * beside + b : b * threads + k;
    UOp value = load(at(x, round * (threads * beside) + place));
    return kernel("columns", end(store(at(out, round * beside + b), reduce(Op::add, value, {k})), {round, b}));
}

TEST(Linearize, ThreadsComeToOneResultInAnyArrangement) {
    GraphScope scope;
    for (isa::Arch arch : {isa::Arch::gfx1100, isa::Arch::gfx942})
        for (int64_t threads : {2, 3, 4, 12, 32, 64, 96, 256, 1000})
            for (int64_t beside : {1, 3, 4, 32})
                for (bool columns_first : {false, true}) {
                    if (threads * beside > 1024) continue;
                    SCOPED_TRACE(fmt::format("{} threads, {} beside, {}", threads, beside, columns_first));
                    expect_same(column_sums(threads, beside, threads < 100 ? 2 : 1, columns_first), target_of(arch));
                    if (HasFatalFailure()) return;
                }
}

TEST(Linearize, ThreadsOfAWaveMeetInRegistersAndWavesAfterOneBarrier) {
    GraphScope scope;
    struct Case {
        isa::Arch arch;
        int64_t threads;
        int shuffles, barriers;
        uint32_t lds;
    };
    // Lanes of CDNA that are 16 or more apart reach each other through the ports of local memory, which then is used
    // itself.
    for (const Case& c : {Case{isa::Arch::gfx1100, 32, 5, 0, 0}, Case{isa::Arch::gfx1100, 256, 5 + 3, 1, 32},
                          Case{isa::Arch::gfx1100, 1024, 5 + 5, 1, 128}, Case{isa::Arch::gfx942, 64, 6, 0, 0},
                          Case{isa::Arch::gfx942, 256, 4 + 4, 1, 64}, Case{isa::Arch::gfx942, 1024, 4 + 4, 1, 256}}) {
        const auto program = linearize(column_sums(c.threads, 1, 1, true), target_of(c.arch));
        ASSERT_TRUE(program) << program.error().message;
        EXPECT_EQ(count(*program, Op::shuffle_xor), c.shuffles) << c.threads << listing(*program);
        EXPECT_EQ(count(*program, Op::barrier), c.barriers) << c.threads;
        EXPECT_EQ(program->lds, c.lds) << c.threads;
    }
}

TEST(Linearize, UpcastReductionsKeepTheirAccumulatorsInOneLoop) {
    GraphScope scope;
    UOp out = param(0, 64), x = param(1, 64 * 8), row = range(0, 16, Axis::global), u = range(1, 4, Axis::upcast),
        k = range(2, 8, Axis::reduce);
    Kernel kernel = codegen::kernel(
        "up", end(store(at(out, row * 4 + u), reduce(Op::add, load(at(x, k * 64 + row * 4 + u)), {k})), {row, u}));
    expect_same(kernel);
    LinearProgram program = *linearize(kernel, gfx1100);
    EXPECT_EQ(count(program, Op::range), 1);
    EXPECT_EQ(count(program, Op::param), 2 + 4);
    EXPECT_EQ(count(program, Op::vec), 1) << "the four results are stored at once";
}

TEST(Linearize, FloatsThatAThreadReadsSideBySideAreSummedSideBySide) {
    GraphScope scope;
    struct Case {
        DType type;
        bool product;
        int sums;
    };
    for (const Case& c : {Case{dtypes::float32, false, 4},
                          {dtypes::float16, false, 4},
                          {dtypes::float32, true, 1},
                          {dtypes::int32, false, 1}}) {
        UOp out = param(0, 1, c.type), x = param(1, 400, c.type), k = range(0, 100, Axis::reduce),
            u = range(1, 4, Axis::unroll);
        UOp value = load(at(x, k * 4 + u));
        Kernel kernel =
            codegen::kernel("beside", store(at(out, 0), reduce(Op::add, c.product ? value * value : value, {k, u})));
        expect_same(kernel);
        const LinearProgram program = *linearize(kernel, gfx1100);
        int64_t sums = 0;
        for (UOp op : program.ops)
            if (op.is(Op::param) && op.as<ParamArg>().space == Space::reg) sums += op.as<ParamArg>().size;
        EXPECT_EQ(sums, c.sums) << listing(program);
    }
}

TEST(Linearize, NeighbouringAccessesBecomeVectorsOnlyWhereAligned) {
    GraphScope scope;
    UOp out = param(0, 64), x = param(1, 65), g = range(0, 16, Axis::global), u = range(1, 4, Axis::upcast);
    UOp here = g * 4 + u;
    LinearProgram aligned = *linearize(kernel("a", end(store(at(out, here), load(at(x, here))), {g, u})), gfx1100);
    EXPECT_EQ(count(aligned, Op::load), 1);
    EXPECT_EQ(count(aligned, Op::store), 1);
    LinearProgram shifted = *linearize(kernel("b", end(store(at(out, here), load(at(x, here + 1))), {g, u})), gfx1100);
    EXPECT_EQ(count(shifted, Op::load), 3) << "1, 2 and 3, 4: the middle pair is aligned";
    EXPECT_EQ(count(shifted, Op::store), 1);
}

TEST(Linearize, WhatDoesNotChangeInALoopStandsBeforeIt) {
    GraphScope scope;
    UOp out = param(0, 1), x = param(1, 100), y = param(2, 1), k = range(0, 100, Axis::reduce);
    UOp scale = alu(Op::exp2, {load(at(y, 0))});
    LinearProgram program =
        *linearize(kernel("hoist", store(at(out, 0), reduce(Op::add, load(at(x, k)) * scale, {k}))), gfx1100);
    auto place = [&](Op op) {
        return std::find_if(program.ops.begin(), program.ops.end(), [&](UOp u) { return u.is(op); });
    };
    EXPECT_LT(place(Op::exp2), place(Op::range));
}

TEST(Linearize, NarrowFloatsAreSummedInFloat32) {
    GraphScope scope;
    UOp out = param(0, 1, dtypes::float16), x = param(1, 100, dtypes::float16), k = range(0, 100, Axis::reduce);
    Kernel kernel = codegen::kernel("h", store(at(out, 0), reduce(Op::add, load(at(x, k)), {k})));
    LinearProgram program = *linearize(kernel, gfx1100);
    for (UOp u : program.ops)
        if (u.is(Op::add)) {
            EXPECT_EQ(u.dtype(), dtypes::float32);
        }
}

TEST(Linearize, IndicesBeyond32BitsAreComputedIn64) {
    GraphScope scope;
    int64_t rows = 1 << 20, columns = 1 << 14;
    UOp out = param(0, rows), x = param(1, rows * columns), g = range(0, rows, Axis::global),
        k = range(1, columns, Axis::reduce);
    LinearProgram program = *linearize(
        kernel("big", end(store(at(out, g), reduce(Op::add, load(at(x, g * columns + k)), {k})), {g})), gfx1100);
    for (UOp u : program.ops) {
        if (!u.is(Op::index) || u.src(1).is_const()) continue;
        EXPECT_EQ(u.src(1).dtype(), u.src(0) == x ? dtypes::int64 : dtypes::int32);
    }
}

TEST(Linearize, GridsWithMoreThanThreeAxesOrLongOnesAreFolded) {
    GraphScope scope;
    std::vector<UOp> axes;
    UOp offset = constant_int(dtypes::index, 0);
    for (int i = 0; i < 5; ++i) {
        axes.push_back(range(i, 3, Axis::global));
        offset = offset * 3 + axes.back();
    }
    Kernel five = kernel("five", end(store(at(param(0, 243), offset), load(at(param(1, 243), offset))), axes));
    EXPECT_EQ(linearize(five, gfx1100)->grid[0], 243u);
    expect_same(five);
    UOp a = range(0, 70000, Axis::global), b = range(1, 5, Axis::global), c = range(2, 4, Axis::global);
    UOp at_long = (a * 5 + b) * 4 + c;
    auto folded = linearize(
        kernel("long", end(store(at(param(0, 1400000), at_long), load(at(param(1, 1400000), at_long))), {a, b, c})),
        gfx1100);
    EXPECT_EQ(folded->grid[0], 1400000u);
}

TEST(Linearize, LanesFollowMemory) {
    GraphScope scope;
    UOp a = range(0, 16, Axis::local), b = range(1, 8, Axis::local);  // a is next to memory, b came last
    UOp here = b * 16 + a;
    LinearProgram program =
        *linearize(kernel("t", end(store(at(param(0, 128), here), load(at(param(1, 128), here))), {a, b})), gfx1100);
    EXPECT_EQ(program.block[0], 16u);
    EXPECT_EQ(program.block[1], 8u);
}

TEST(Linearize, AnEffectRunsInEveryLoopThatIsClosedAroundIt) {
    GraphScope scope;
    UOp out = param(0, 4), a = range(0, 4, Axis::loop), b = range(1, 3, Axis::loop);
    LinearProgram program =
        *linearize(kernel("twice", end(store(at(out, a), constant(dtypes::float32, 1)), {a, b})), gfx1100);
    auto place = [&](auto matches) {
        return std::find_if(program.ops.begin(), program.ops.end(), matches) - program.ops.begin();
    };
    auto inner = place([](UOp u) { return u.is(Op::range) && u.as<RangeArg>().id == 1; });
    EXPECT_LT(inner, place([](UOp u) { return u.is(Op::store); }));
    EXPECT_LT(place([](UOp u) { return u.is(Op::store); }), place([](UOp u) { return u.is(Op::end); }));
}

TEST(Linearize, VectorsAreMadeOfAValueStepByStepAndTakenApartByNumber) {
    GraphScope scope;
    UOp out = param(0, 8), x = param(1, 32), a = range(0, 2, Axis::vector), b = range(1, 4, Axis::vector),
        i = range(2, 8, Axis::upcast);
    const UOp all = uop::contract(load(at(x, a * 16 + b)), std::array{a, b});
    EXPECT_EQ(all.dtype(), dtypes::float32.vector(8));
    Kernel kernel = codegen::kernel("vector", end(store(at(out, i), uop::element(all, i)), {i}));
    const LinearProgram program = *linearize(kernel, gfx1100);
    EXPECT_EQ(count(program, Op::load), 2) << "neighbours are loaded side by side";
    Memory memory = memory_for(kernel);
    Interpreter(program, memory).run();
    for (size_t n = 0; n < 8; ++n) EXPECT_EQ(memory[0][n].f, memory[1][n / 4 * 16 + n % 4].f);
}

TEST(Linearize, ShortLoopsThatFillMemoryStepByStepStayLoops) {
    GraphScope scope;
    UOp out = param(0, 1), x = param(1, 8), outer = range(0, 2, Axis::reduce), inner = range(1, 4, Axis::reduce),
        copied = range(2, 4, Axis::upcast);
    UOp tile = uop::placeholder(4, dtypes::float32, Space::local, 0);
    UOp filled = end(store(at(tile, copied), load(at(x, outer * 4 + copied))), {copied});
    UOp value = load(at(after(tile, {barrier(filled)}), inner));
    Kernel kernel = codegen::kernel("tiles", store(at(out, index_const(0)), reduce(Op::add, value, {outer, inner})));
    const LinearProgram program = *linearize(kernel, target_of(isa::Arch::gfx1100, Route::asm_));
    EXPECT_EQ(count(program, Op::barrier), 1);
    EXPECT_GE(count(program, Op::range), 1);
    Memory memory = memory_for(kernel);
    double sum = 0;
    for (const auto& v : memory[1]) sum += v.f;
    Interpreter(program, memory).run();
    EXPECT_EQ(memory[0][0].f, sum);
}

TEST(Linearize, IndicesAUserWritesHimselfSetTheGrid) {
    GraphScope scope;
    UOp block = make(Op::special, dtypes::index, {}, SpecialArg{false, 0, 6}),
        thread = make(Op::special, dtypes::index, {}, SpecialArg{true, 0, 32});
    UOp here = block * 32 + thread;
    auto program = linearize(kernel("own", store(at(param(0, 192), here), load(at(param(1, 192), here)))), gfx1100);
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(program->grid[0], 6u);
    EXPECT_EQ(program->block[0], 32u);
}

TEST(Linearize, ErrorsNameTheNode) {
    GraphScope scope;
    UOp out = param(0, 8), x = param(1, 8), r = range(0, 8, Axis::loop);
    auto message = [](const Kernel& k) {
        auto program = linearize(k, gfx1100);
        return program ? "it passed" : program.error().message;
    };
    EXPECT_NE(message(kernel("open", store(at(out, r), load(at(x, r))))).find("range index r0 8 loop"),
              std::string::npos);
    UOp predicated = make(Op::load, dtypes::float32, {at(x, r, r < 4)});
    EXPECT_NE(message(kernel("predicate", end(store(at(out, r), predicated), {r})))
                  .find("load float32: a predicated index needs a value"),
              std::string::npos);
    UOp many = range(1, 2048, Axis::local);
    EXPECT_NE(message(kernel("wide", end(store(at(param(0, 2048), many), load(at(param(1, 2048), many))), {many})))
                  .find("2048 threads"),
              std::string::npos);
}

TEST(Linearize, AUsersMistakeIsAUsageErrorAndOursIsInternal) {
    GraphScope scope;
    UOp out = param(0, 8), r = range(0, 8, Axis::loop), acc = param(0, 1, dtypes::float32, Space::reg);
    EXPECT_EQ(linearize(kernel("ours", store(at(out, r), load(at(param(1, 8), r)))), gfx1100).error().kind,
              ErrorKind::Internal);
    EXPECT_EQ(linearize(kernel("users", store(at(out, r), load(at(acc, 0)))), gfx1100).error().kind, ErrorKind::Usage);
}

}  // namespace
}  // namespace strata::codegen
