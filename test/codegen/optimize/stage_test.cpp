#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "../target/gfx1100.h"
#include "in_blocks.h"
#include "strata/codegen/linear/scalar_threads.h"
#include "strata/codegen/optimize/action.h"

// Operands that come by way of local memory: the same results, by fewer loads.
namespace strata::codegen {
namespace {

using namespace test;
using enum ActionKind;

Filled started(UOp body) {
    Filled f = built(body);
    f.kernel = start_schedule(f.kernel);
    return f;
}

UOp matmul(UOp a, UOp b) {
    const int64_t m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
    const UOp rows = expand(reshape(a, {m, 1, k}), {m, n, k}),
              columns = expand(reshape(permute(b, {1, 0}), {1, n, k}), {m, n, k});
    return reshape(sum(rows * columns, {2}), {m, n});
}

const Target turing = target_of(Chip::parse("sm_75").value()), hopper = target_of(Chip::parse("sm_90").value());

/// Read when it is stored, a step before into registers, and a step before by copies that go on meanwhile.
void expect_same(UOp body, const std::vector<Action>& actions) {
    Filled f = started(body);
    for (const Target& target : {gfx1100, turing, hopper}) {
        Result<Kernel> staged = apply_all(f.kernel, actions, target);
        ASSERT_TRUE(staged) << to_string(actions) << ": " << staged.error().message;
        ASSERT_EQ(staged->sink, apply_all(f.kernel, actions, target)->sink);
        EXPECT_EQ(difference(in_blocks(*staged, f.slots, target), evaluate(body, contents())), "")
            << target.arch.name() << " " << to_string(actions);
    }
}

TEST(Stage, IsReadAStepBeforeWhereTheTargetCan) {
    GraphScope scope;
    Filled f = started(matmul(permute(filled({64, 64}), {1, 0}), filled({64, 64}, dtypes::float32, 2)));
    const auto program = [&](const Target& target) {
        const auto tile = parse_actions("upcast(1, 4) local(1, 8) upcast(0, 4) local(0, 8) stage(0, 16)").value();
        return linearize(apply_all(f.kernel, tile, target).value(), target).value();
    };
    const auto barriers = [](const LinearProgram& p) { return std::ranges::count(p.ops, Op::barrier, &UOp::op); };
    const LinearProgram same = program(gfx1100), registers = program(turing), copies = program(hopper);
    EXPECT_EQ(barriers(same), 2);
    EXPECT_EQ(barriers(registers), 2);
    EXPECT_EQ(registers.lds, same.lds);
    EXPECT_FALSE(registers.copies_ahead);
    EXPECT_EQ(barriers(copies), 1) << "nobody reads what the next step's copies overwrite";
    EXPECT_EQ(copies.lds, 4 * same.lds) << "of four steps in turns";
    EXPECT_TRUE(copies.copies_ahead);
}

TEST(Stage, MatricesAreReadAStepBeforeWhereSumsHaveRegistersOfTheirOwn) {
    GraphScope scope;
    const auto factor = [](uint64_t seed) { return cast(filled({64, 64}, dtypes::float16, seed), dtypes::float32); };
    Filled f = started(matmul(factor(1), factor(2)));
    const auto held = [&](isa::Arch arch) {
        const Target target = target_of(arch);
        const auto actions = parse_actions("matrix(0, 0) local(1, 2) local(0, 2) stage(0, 1)").value();
        const LinearProgram p = linearize(apply_all(f.kernel, actions, target).value(), target).value();
        return std::ranges::any_of(p.ops, [](UOp u) {
            return u.is(Op::load) && memory_of(u).as<ParamArg>().space == Space::reg &&
                   u.dtype().element() == dtypes::float16;
        });
    };
    EXPECT_TRUE(held(isa::Arch::gfx942));
    EXPECT_TRUE(held(isa::Arch::gfx90a));
    EXPECT_FALSE(held(isa::Arch::gfx1100));
}

TEST(Stage, BothOperandsOfMatricesComeByLocalMemoryWhereMasksEndThem) {
    GraphScope scope;
    Filled f = started(matmul(filled({61, 59}), filled({59, 57}, dtypes::float32, 2)));
    const Target cdna = target_of(isa::Arch::gfx942);
    for (const char* instruction : {"matrix(0, 0) ", "matrix(0, 1) "}) {
        const auto actions =
            parse_actions(
                fmt::format("pad(0, 64) pad(1, 64) pad(2, 64) {}local(1, 2) local(0, 2) stage(0, 4)", instruction))
                .value();
        const Kernel staged = apply_all(f.kernel, actions, cdna).value();
        const auto tiles = std::ranges::count_if(
            toposort(staged.sink), [](UOp u) { return u.is(Op::param) && u.as<ParamArg>().space == Space::local; });
        EXPECT_EQ(tiles, 2) << instruction;
        EXPECT_TRUE(linearize(staged, cdna)) << instruction;
    }
}

TEST(StageAhead, KeepsTheValuesOfProductsWithOneBarrierAStep) {
    GraphScope scope;
    const UOp body = matmul(filled({8, 16}), filled({16, 8}, dtypes::float32, 2));
    Filled f = started(body);
    for (const char* tile :
         {"local(1, 4) local(0, 2) ", "upcast(1, 2) local(1, 2) upcast(1, 2) upcast(0, 2) local(0, 4) unroll(0, 2) ",
          "upcast(1, 2) local(1, 4) upcast(0, 4) local(0, 2) unroll(0, 2) group(0, 2) "})
        for (const char* steps : {"(0, 2)", "(0, 1)"})
            for (const Target& target : {gfx1100, turing, hopper}) {
                const auto program = [&](std::string_view kind) {
                    const auto actions = parse_actions(fmt::format("{}{}{}", tile, kind, steps)).value();
                    const Kernel k = apply_all(f.kernel, actions, target).value();
                    EXPECT_EQ(difference(in_blocks(k, f.slots, target), evaluate(body, contents())), "")
                        << target.arch.name() << " " << to_string(actions);
                    return linearize(k, target).value();
                };
                const auto barriers = [](const LinearProgram& p) {
                    return std::ranges::count(p.ops, Op::barrier, &UOp::op);
                };
                const LinearProgram here = program("stage"), ahead = program("double_buffer");
                if (here.copies_ahead) continue;  // with fewer barriers and more local memory as it is
                EXPECT_EQ(barriers(ahead), barriers(here) - 1) << target.arch.name() << " " << tile;
                EXPECT_GT(ahead.lds, here.lds) << tile;
            }
}

TEST(StageCopied, CopiesGoOnByThemselvesWhereThreadsWouldPutThingsTogether) {
    GraphScope scope;
    const UOp body = matmul(filled({32, 64}), filled({64, 32}, dtypes::float32, 2));
    Filled f = started(body);
    for (const char* tile : {"upcast(1, 4) local(1, 8) upcast(0, 4) local(0, 8) ",
                             "upcast(1, 4) local(1, 4) upcast(1, 2) upcast(0, 4) local(0, 8) unroll(0, 2) "}) {
        const auto program = [&](std::string_view kind) {
            const auto actions = parse_actions(fmt::format("{}{}(0, 8)", tile, kind)).value();
            const Kernel k = apply_all(f.kernel, actions, hopper).value();
            EXPECT_EQ(difference(in_blocks(k, f.slots, hopper), evaluate(body, contents())), "") << to_string(actions);
            return linearize(k, hopper).value();
        };
        EXPECT_FALSE(program("stage").copies_ahead);
        EXPECT_TRUE(program("async_copy").copies_ahead);
    }
    const auto error = [](DType type, const Target& target) {
        Filled g = started(matmul(filled({32, 64}, type), filled({64, 32}, type, 2)));
        return apply_all(g.kernel, parse_actions("local(1, 4) local(0, 4) async_copy(0, 8)").value(), target)
            .error()
            .message;
    };
    EXPECT_NE(error(dtypes::float32, gfx1100).find("do not go on by themselves"), std::string::npos);
    EXPECT_NE(error(dtypes::float32, turing).find("do not go on by themselves"), std::string::npos);
    EXPECT_NE(error(dtypes::float16, hopper).find("4 bytes at least"), std::string::npos);
}

TEST(StageAhead, ReadsTheNextTileBeforeItComputesWithThisOne) {
    GraphScope scope;
    Filled f = started(matmul(filled({8, 16}), filled({16, 8}, dtypes::float32, 2)));
    const auto actions = parse_actions("local(1, 4) local(0, 2) double_buffer(0, 4)").value();
    for (const Target& target : {gfx1100, turing, hopper}) {
        const LinearProgram p = linearize(apply_all(f.kernel, actions, target).value(), target).value();
        EXPECT_FALSE(p.copies_ahead) << "registers hold what comes";
        const auto loads_from = [&](Space space) {
            return
                [space](UOp u) { return u.is(Op::load) && skip_after(u.src(0).src(0)).as<ParamArg>().space == space; };
        };
        const auto loop = std::ranges::find(p.ops, Op::range, &UOp::op),
                   barrier = std::find_if(loop, p.ops.end(), [](UOp u) { return u.is(Op::barrier); }),
                   fetched = std::find_if(loop, p.ops.end(), loads_from(Space::global)),
                   used = std::find_if(loop, p.ops.end(), loads_from(Space::local));
        ASSERT_NE(used, p.ops.end());
        EXPECT_LT(barrier, fetched) << "what is stored came a step before";
        EXPECT_LT(fetched, used);
    }
}

TEST(StageAhead, IsRefusedWhereItDoesNotFit) {
    GraphScope scope;
    Filled f = started(matmul(cast(filled({64, 64}, dtypes::bfloat16), dtypes::float32),
                              cast(filled({64, 64}, dtypes::bfloat16, 2), dtypes::float32)));
    const auto by_matrices = parse_actions("matrix(0, 0) local(1, 2) local(0, 2) double_buffer(0, 2)").value();
    EXPECT_NE(apply_all(f.kernel, by_matrices, hopper).error().message.find("in any case"), std::string::npos);
    // Sums of sums: the loop of an odd number of tiles starts again in each step of the other one.
    const UOp a = filled({2, 8, 12}), b = filled({2, 12, 8}, dtypes::float32, 2);
    const UOp rows = expand(reshape(permute(a, {1, 0, 2}), {8, 1, 2, 12}), {8, 8, 2, 12}),
              columns = expand(reshape(permute(b, {2, 0, 1}), {1, 8, 2, 12}), {8, 8, 2, 12});
    Filled twice = started(reshape(sum(rows * columns, {2, 3}), {8, 8}));
    const Result<Kernel> odd =
        apply_all(twice.kernel, parse_actions("local(1, 4) local(0, 2) double_buffer(1, 4)").value(), gfx1100);
    ASSERT_FALSE(odd);
    EXPECT_NE(odd.error().message.find("even number"), std::string::npos) << odd.error().message;
    const UOp body = reshape(sum(rows * columns, {2, 3}), {8, 8});
    const Kernel even =
        apply_all(twice.kernel, parse_actions("local(1, 4) local(0, 2) double_buffer(1, 2)").value(), gfx1100).value();
    EXPECT_EQ(difference(in_blocks(even, twice.slots, gfx1100), evaluate(body, contents())), "");
}

TEST(Stage, KeepsTheValuesOfProducts) {
    GraphScope scope;
    for (const char* tile :
         {"local(1, 4) local(0, 2) stage(0, 4)", "upcast(1, 2) local(1, 4) local(0, 4) stage(0, 2)",
          "upcast(1, 2) local(1, 2) upcast(1, 2) upcast(0, 2) local(0, 4) unroll(0, 2) stage(0, 2)",
          "upcast(1, 4) upcast(0, 4) local(1, 2) local(0, 2) unroll(0, 4) stage(0, 2)",
          "upcast(1, 2) local(1, 4) upcast(0, 4) local(0, 2) unroll(0, 2) group(0, 2) stage(0, 2)",
          "upcast(1, 2) local(1, 2) upcast(1, 2) upcast(0, 2) local(0, 2) upcast(0, 2) group(0, 4) stage(0, 2)",
          "upcast(1, 2) local(1, 4) upcast(0, 4) local(0, 2) unroll(0, 2) group(0, 2) stage(0, 2)",
          "local(0, 4) stage(0, 8)", "upcast(0, 2) local(1, 8) unroll(0, 2) stage(0, 1)"})
        expect_same(matmul(filled({8, 16}), filled({16, 8}, dtypes::float32, 2)), parse_actions(tile).value());
}

TEST(Stage, TakesOperandsThatAreMovedAndWhatIsDoneWithThem) {
    GraphScope scope;
    const std::vector<Action> tile =
        parse_actions("upcast(1, 2) local(1, 4) local(0, 4) unroll(0, 2) stage(0, 4)").value();
    const UOp a = filled({8, 16}), b = filled({16, 8}, dtypes::float32, 2);
    expect_same(matmul(permute(filled({16, 8}), {1, 0}), b), tile);
    expect_same(matmul(a * number(2), b + number(1)) + filled({8, 8}, dtypes::float32, 3), tile);
    expect_same(matmul(a, permute(a, {1, 0})), tile);
}

TEST(Stage, ReadsMemoryLessOften) {
    GraphScope scope;
    Filled f = started(matmul(filled({32, 32}), filled({32, 32}, dtypes::float32, 2)));
    const auto loads = [&](std::string_view actions) {
        const Kernel k = apply_all(f.kernel, parse_actions(actions).value(), gfx1100).value();
        const LinearProgram program = linearize(k, gfx1100).value();
        int64_t elements = 0;
        for (UOp u : program.ops)
            if (u.is(Op::load) && skip_after(u.src(0).src(0)).as<ParamArg>().space == Space::global)
                elements += u.dtype().lanes;
        return elements;
    };
    EXPECT_EQ(loads("local(1, 8) local(0, 8) unroll(0, 8)"), 16) << "of four steps each, by every thread";
    EXPECT_EQ(loads("local(1, 8) local(0, 8) unroll(0, 2) stage(0, 4)"), 2) << "of eight steps: one of each side";
}

/// Elements of each access to memory of that space.
template <Op op>
std::vector<int> widths(const LinearProgram& program, Space space) {
    std::vector<int> found;
    for (UOp u : program.ops) {
        if (!u.is(op) || skip_after(u.src(0).src(0)).as<ParamArg>().space != space) continue;
        found.push_back((op == Op::store ? u.src(1) : u).dtype().lanes);
    }
    return found;
}

TEST(Stage, ReadsADwordOfMemoryForEachRunThatItWrites) {
    GraphScope scope;
    Filled f = started(matmul(filled({64, 64}), filled({64, 64}, dtypes::float32, 2)));
    const std::vector<Action> actions =
        parse_actions("upcast(1, 4) local(1, 16) upcast(0, 4) local(0, 8) upcast(0, 2) stage(0, 16)").value();
    const LinearProgram program = linearize(apply_all(f.kernel, actions, gfx1100).value(), gfx1100).value();
    const std::vector<int> fetched = widths<Op::load>(program, Space::global),
                           stored = widths<Op::store>(program, Space::local);
    EXPECT_EQ(std::ranges::count(fetched, 1), 8) << "of rows, whose elements go to places that are apart";
    EXPECT_EQ(std::ranges::count(fetched, 4), 2) << "of columns, as they are in memory";
    EXPECT_EQ(std::ranges::count(stored, 4), 4) << "both go in four elements at once";
}

TEST(Stage, LeavesWhatTheLanesOfAWaveShareToScalarRegisters) {
    GraphScope scope;
    const UOp product = matmul(filled({64, 16}), filled({16, 8}, dtypes::float32, 2));
    const auto actions =
        parse_actions("upcast(1, 4) local(1, 2) upcast(0, 2) lane(0, 32) unroll(0, 2) stage(0, 2)").value();
    expect_same(product, actions);
    const auto operands = [&](const Target& target) {
        const Kernel k = apply_all(started(product).kernel, actions, target).value();
        return std::ranges::count_if(toposort(k.sink),
                                     [](UOp u) { return u.is(Op::param) && u.as<ParamArg>().space == Space::local; });
    };
    EXPECT_EQ(operands(gfx1100), 1) << "rows; columns are one address for all lanes";
    EXPECT_EQ(operands(target_of(*Chip::parse("sm_90"))), 2) << "no scalar registers that loads fill";
    const Kernel k = apply_all(started(product).kernel, actions, gfx1100).value();
    EXPECT_EQ(scalar_threads(linearize(k, gfx1100).value(), gfx1100), (std::array<bool, 3>{false, true, false}));
    const Kernel all =
        apply_all(started(product).kernel, parse_actions("local(1, 8) local(0, 32)").value(), gfx1100).value();
    EXPECT_EQ(scalar_threads(linearize(all, gfx1100).value(), gfx1100), (std::array<bool, 3>{}))
        << "lanes read different elements";
}

TEST(Stage, WavesThatShareAReductionMeetInRoundsThatUseTheSameMemory) {
    GraphScope scope;
    const UOp product = matmul(filled({128, 16}), filled({16, 8}, dtypes::float32, 2));
    const auto actions = [](int columns) {
        return parse_actions(fmt::format("upcast(1, {}) local(1, 2) upcast(0, 4) lane(0, 32) group(0, 8)", columns))
            .value();
    };
    const auto lds = [&](int columns) {
        return linearize(apply_all(started(product).kernel, actions(columns), gfx1100).value(), gfx1100)->lds;
    };
    EXPECT_EQ(lds(4), lds(2)) << "twice as many sums";
    EXPECT_LE(lds(4), 8192u);
    expect_same(product, actions(4));
}

TEST(Stage, IsTheLastActionAndSaysWhatItCannotTile) {
    GraphScope scope;
    Filled f = started(matmul(filled({8, 16}), filled({16, 8}, dtypes::float32, 2)));
    const auto error = [&](std::string_view actions) {
        Result<Kernel> got = apply_all(f.kernel, parse_actions(actions).value(), gfx1100);
        return got ? std::string("none") : got.error().message;
    };
    EXPECT_NE(error("stage(0, 4)").find("no operand is read by several threads"), std::string::npos);
    EXPECT_NE(error("local(0, 4) stage(0, 3)").find("cannot make tiles of 3 of a range of 16"), std::string::npos);
    EXPECT_NE(error("local(0, 4) stage(0, 16)").find("cannot make tiles"), std::string::npos);
    EXPECT_NE(error("local(0, 2) stage(0, 8)").find("none"), std::string::npos);
    EXPECT_NE(error("local(0, 4) stage(0, 4) unroll(0, 2)").find("the kernel has 0 such ranges"), std::string::npos);
}

}  // namespace
}  // namespace strata::codegen
