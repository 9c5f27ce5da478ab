#include "strata/codegen/tile/stages.h"

#include <gtest/gtest.h>

#include "../linear/interpreter.h"
#include "../target/gfx1100.h"
#include "strata/codegen/tile/trace.h"
#include "strata/core/uop/kernel.h"

namespace strata::lang {
namespace {

using codegen::Memory;
using codegen::Scalars;

constexpr int64_t kThreads = 64;

UOp me_of_64() { return make(Op::special, dtypes::index, {}, SpecialArg{true, 0, kThreads}); }
UOp place_of(int64_t i) { return index_const(i); }
UOp integers_of(int slot, int64_t size) { return uop::buffer(slot, dtypes::int32, size); }

/// Copies a row of `a` a step to memory of the block; each thread adds up what its mirrored one copied.
void add_mirrored(Trace& t, int64_t steps, int64_t stages, bool orders_end = true) {
    const UOp a = integers_of(0, steps * kThreads), out = integers_of(1, kThreads), me = me_of_64();
    const UOp row = t.shared(kThreads, dtypes::int32), sum = t.registers(1, dtypes::int32);
    t.store(sum, place_of(0), constant_int(dtypes::int32, 0));
    const UOp step = t.begin_loop(steps);
    t.store(row, me, t.load(a, step * kThreads + me));
    t.barrier();
    t.store(sum, place_of(0), t.load(sum, place_of(0)) * 3 + t.load(row, index_const(kThreads - 1) - me));
    if (orders_end) t.barrier();
    t.end_loop(stages);
    t.store(out, me, t.load(sum, place_of(0)));
}

std::vector<int64_t> sums_of(int64_t steps, int64_t stages) {
    GraphScope scope;
    Trace trace({me_of_64()});
    add_mirrored(trace, steps, stages);
    const UOp sink = trace.finish("kernel");
    auto program = codegen::linearize({sink, "kernel"}, codegen::gfx1100);
    EXPECT_TRUE(program) << program.error().message << tree(sink);
    Memory memory{{0, Scalars(static_cast<size_t>(steps * kThreads))}, {1, Scalars(kThreads)}};
    for (size_t i = 0; i < memory[0].size(); ++i) memory[0][i] = {static_cast<int64_t>(i * i % 101), 0};
    if (program) codegen::Interpreter(*program, memory).run();
    std::vector<int64_t> out;
    for (const ConstArg& value : memory[1]) out.push_back(value.i);
    return out;
}

size_t count(const std::vector<UOp>& ops, Op op) {
    return static_cast<size_t>(std::ranges::count_if(ops, [&](UOp u) { return u.is(op); }));
}

TEST(Stages, KeepTheValuesForAnyNumberOfStepsAndStages) {
    for (const int64_t steps : {1, 2, 3, 5, 8}) {
        const std::vector<int64_t> wanted = sums_of(steps, 1);
        for (const int64_t stages : {2, 3, 4, 8}) EXPECT_EQ(sums_of(steps, stages), wanted) << steps << " " << stages;
    }
}

TEST(Stages, OneBarrierAStepIsLeftAndAPartOfMemoryForEach) {
    GraphScope scope;
    Trace trace({me_of_64()});
    add_mirrored(trace, 8, 3);
    auto program = codegen::linearize({trace.finish("kernel"), "kernel"}, codegen::gfx1100).value();
    EXPECT_EQ(count(program.ops, Op::barrier), 1u);
    EXPECT_EQ(program.lds, 3 * kThreads * 4u);
    // Registers hold what the step after the next one stores.
    const auto end = std::ranges::find_if(program.ops, [](UOp u) { return u.is(Op::end); });
    const auto stored = std::ranges::find_if(program.ops, [](UOp u) { return u.is(Op::barrier); });
    EXPECT_EQ(std::count_if(stored, end,
                            [](UOp u) { return u.is(Op::load) && memory_of(u).as<ParamArg>().space == Space::global; }),
              1);
}

template <class Body>
std::string reason(Body body) {
    GraphScope scope;
    Trace trace({me_of_64()});
    try {
        body(trace);
    } catch (const Exception& e) {
        EXPECT_EQ(e.kind(), ErrorKind::Usage);
        return e.what();
    }
    return "none";
}

/// The reason of a loop with that body.
template <class Body>
std::string reason_of_loop(Body body, int64_t stages = 2) {
    return reason([&](Trace& t) {
        const UOp row = t.shared(kThreads, dtypes::int32), a = integers_of(0, 4096), out = integers_of(1, kThreads);
        const UOp step = t.begin_loop(8);
        body(t, row, a, out, step);
        t.end_loop(stages);
    });
}
void copy_row(Trace& t, UOp row, UOp a, UOp step) { t.store(row, me_of_64(), t.load(a, step * kThreads + me_of_64())); }
void read_row(Trace& t, UOp row, UOp out) { t.store(out, me_of_64(), t.load(row, place_of(63) - me_of_64())); }
void copy_and_read(Trace& t, UOp row, UOp a, UOp out, UOp step) {
    copy_row(t, row, a, step);
    t.barrier();
    read_row(t, row, out);
}
void expect_says(const std::string& text, const char* what) { EXPECT_NE(text.find(what), std::string::npos) << text; }

TEST(Stages, SayWhichBarrierIsMissing) {
    expect_says(reason_of_loop([](Trace& t, UOp row, UOp, UOp out, UOp) {
                    t.store(row, me_of_64(), constant_int(dtypes::int32, 1));
                    t.barrier();
                    read_row(t, row, out);
                }),
                "copies nothing of a tensor");
    expect_says(reason_of_loop([](Trace& t, UOp row, UOp a, UOp out, UOp step) {
                    copy_row(t, row, a, step);
                    read_row(t, row, out);
                }),
                "no lang.barrier()");
    expect_says(reason_of_loop([](Trace& t, UOp row, UOp a, UOp out, UOp step) {
                    copy_row(t, row, a, step);
                    read_row(t, row, out);
                    t.barrier();
                }),
                "read before the barrier");
}

TEST(Stages, SayWhatElseKeepsCopiesBack) {
    const UOp one = constant_int(dtypes::int32, 1);
    expect_says(reason_of_loop([&](Trace& t, UOp row, UOp a, UOp out, UOp step) {
                    copy_and_read(t, row, a, out, step);
                    t.store(a, me_of_64(), one);
                }),
                "writes the tensor that it copies from");
    expect_says(reason_of_loop([&](Trace& t, UOp row, UOp a, UOp out, UOp step) {
                    copy_and_read(t, row, a, out, step);
                    t.barrier();
                    t.store(row, me_of_64(), one);
                }),
                "written by something else");
    expect_says(reason_of_loop([](Trace& t, UOp row, UOp a, UOp out, UOp step) {
                    copy_and_read(t, row, a, out, step);
                    t.break_if(place_of(3) < step);
                }),
                "leave the loop by themselves");
    expect_says(reason_of_loop([](Trace& t, UOp row, UOp a, UOp out, UOp step) {
                    for (int64_t i = 0; i < 32; ++i)
                        t.store(row, me_of_64(), t.load(a, step * kThreads + me_of_64() + (i + 1)));
                    copy_and_read(t, row, a, out, step);
                }),
                "copies 132 bytes a step");
    expect_says(reason_of_loop([](Trace& t, UOp row, UOp a, UOp out, UOp step) {
                    const UOp next = t.registers(1, dtypes::int32), place = t.load(next, place_of(0));
                    t.store(row, me_of_64(), t.load(a, cast(place, dtypes::index) + step));
                    t.barrier();
                    read_row(t, row, out);
                    t.store(next, place_of(0), place + 1);
                }),
                "what the step before it computed");
    expect_says(reason_of_loop(copy_and_read, 9), "at most 8 stages");
    EXPECT_EQ(reason_of_loop(copy_and_read), "none");
}

TEST(Stages, MemoryOfTheLoopIsOfTheLoopAlone) {
    const UOp me = me_of_64();
    EXPECT_NE(reason([&](Trace& t) {
                  const UOp row = t.shared(kThreads, dtypes::int32);
                  t.store(row, me, constant_int(dtypes::int32, 0));
                  const UOp step = t.begin_loop(4);
                  t.store(row, me, t.load(integers_of(0, 4096), step * kThreads + me));
                  t.barrier();
                  t.store(integers_of(1, kThreads), me, t.load(row, place_of(0)));
                  t.end_loop(2);
              }).find("used before it"),
              std::string::npos);
    EXPECT_NE(reason([&](Trace& t) {
                  const UOp row = t.shared(kThreads, dtypes::int32);
                  const UOp step = t.begin_loop(4);
                  t.store(row, me, t.load(integers_of(0, 4096), step * kThreads + me));
                  t.barrier();
                  t.store(integers_of(1, kThreads), me, t.load(row, place_of(0)));
                  t.end_loop(2);
                  t.store(integers_of(1, kThreads), me, t.load(row, place_of(1)));
              }).find("holds nothing after the loop"),
              std::string::npos);
}

}  // namespace
}  // namespace strata::lang
