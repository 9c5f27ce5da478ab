#include "strata/codegen/tile/trace.h"

#include <gtest/gtest.h>

#include "../linear/interpreter.h"
#include "../target/gfx1100.h"
#include "strata/core/uop/kernel.h"

namespace strata::lang {
namespace {

using codegen::Memory;
using codegen::Scalars;

Scalars integers(std::initializer_list<int64_t> values) {
    Scalars out;
    for (int64_t v : values) out.push_back({v, 0});
    return out;
}

Scalars zeros(size_t n) { return Scalars(n); }

std::vector<int64_t> values_of(const Scalars& memory) {
    std::vector<int64_t> out;
    for (const ConstArg& value : memory) out.push_back(value.i);
    return out;
}

UOp thread(int64_t size) { return make(Op::special, dtypes::index, {}, SpecialArg{true, 0, size}); }
UOp at(int64_t i) { return index_const(i); }
UOp number(int64_t i) { return constant_int(dtypes::int32, i); }

/// The memory after a kernel that `body` traces, by the interpreter of linear programs.
template <class Body>
Memory after(Memory memory, int64_t threads, Body body) {
    GraphScope scope;
    Trace trace(threads > 1 ? std::vector{thread(threads)} : std::vector<UOp>());
    body(trace);
    const UOp sink = trace.finish("kernel");
    auto program = codegen::linearize({sink, "kernel"}, codegen::gfx1100);
    EXPECT_TRUE(program) << program.error().message << "\n" << tree(sink);
    EXPECT_EQ(program->block[0], static_cast<uint32_t>(threads));
    if (program) codegen::Interpreter(*program, memory).run();
    return memory;
}

UOp buffer(int slot, int64_t size) { return uop::buffer(slot, dtypes::int32, size); }

TEST(Trace, KeepsTheOrderOfAccessesThatMeet) {
    const Memory memory = after({{0, integers({1, 2})}, {1, zeros(2)}}, 1, [](Trace& t) {
        const UOp a = buffer(0, 2), out = buffer(1, 2);
        const UOp first = t.load(a, at(0));
        t.store(a, at(0), number(7));
        t.store(out, at(0), first);
        t.store(out, at(1), t.load(a, at(0)));
        t.store(a, at(0), number(8));
    });
    EXPECT_EQ(values_of(memory.at(0)), (std::vector<int64_t>{8, 2}));
    EXPECT_EQ(values_of(memory.at(1)), (std::vector<int64_t>{1, 7}));
}

TEST(Trace, SwapsTwoCellsInEachStepOfALoop) {
    const Memory memory = after({{0, zeros(2)}}, 1, [](Trace& t) {
        const UOp a = t.registers(1, dtypes::int32), b = t.registers(1, dtypes::int32), out = buffer(0, 2);
        t.store(a, at(0), number(3));
        t.store(b, at(0), number(5));
        t.begin_loop(3);
        const UOp x = t.load(a, at(0)), y = t.load(b, at(0));
        t.store(a, at(0), y);
        t.store(b, at(0), x);
        t.end_loop();
        t.store(out, at(0), t.load(a, at(0)));
        t.store(out, at(1), t.load(b, at(0)));
    });
    EXPECT_EQ(values_of(memory.at(0)), (std::vector<int64_t>{5, 3}));
}

TEST(Trace, AddsUpInACellOverNestedLoops) {
    const Memory memory = after({{0, integers({1, 2, 3, 4, 5, 6})}, {1, zeros(1)}}, 1, [](Trace& t) {
        const UOp sum = t.registers(1, dtypes::int32), in = buffer(0, 6);
        t.store(sum, at(0), number(100));
        const UOp i = t.begin_loop(2), j = t.begin_loop(3);
        t.store(sum, at(0), t.load(sum, at(0)) + t.load(in, i * 3 + j));
        t.end_loop();
        t.store(sum, at(0), t.load(sum, at(0)) * 2);
        t.end_loop();
        t.store(buffer(1, 1), at(0), t.load(sum, at(0)));
    });
    EXPECT_EQ(values_of(memory.at(1)), (std::vector<int64_t>{((100 + 6) * 2 + 15) * 2}));
}

TEST(Trace, TakesOneOfTwoBranchesInEachThread) {
    const Memory memory = after({{0, zeros(4)}, {1, integers({10, 20})}}, 4, [](Trace& t) {
        const UOp i = thread(4), out = buffer(0, 4), in = buffer(1, 2);
        t.begin_if(i < 2);
        t.store(out, i, t.load(in, i));  // beyond two elements there is no memory
        t.begin_else();
        t.begin_if(i < 3);
        t.store(out, i, number(-1));
        t.end_if();
        t.end_if();
    });
    EXPECT_EQ(values_of(memory.at(0)), (std::vector<int64_t>{10, 20, -1, 0}));
}

TEST(Trace, KeepsACellWhereABranchIsNotTaken) {
    const Memory memory = after({{0, zeros(3)}}, 3, [](Trace& t) {
        const UOp i = thread(3), cell = t.registers(1, dtypes::int32);
        t.store(cell, at(0), number(1));
        t.begin_if(i < 1);
        t.store(cell, at(0), number(2));
        t.end_if();
        t.store(buffer(0, 3), i, t.load(cell, at(0)));
    });
    EXPECT_EQ(values_of(memory.at(0)), (std::vector<int64_t>{2, 1, 1}));
}

TEST(Trace, PutsABarrierBetweenThreadsThatExchange) {
    const Memory memory = after({{0, zeros(8)}}, 8, [](Trace& t) {
        const UOp i = thread(8), shared = t.shared(8, dtypes::int32), value = cast(i, dtypes::int32);
        t.begin_loop(3);
        t.store(shared, i, value + number(1));
        t.barrier();
        const UOp other = t.load(shared, index_const(7) - i);
        t.barrier();
        t.store(shared, i, other);
        t.barrier();
        t.end_loop();
        t.store(buffer(0, 8), i, t.load(shared, i));
    });
    EXPECT_EQ(values_of(memory.at(0)), (std::vector<int64_t>{8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(Trace, LoopsAsOftenAsItsStepsSay) {
    const Memory memory = after({{0, integers({3})}, {1, zeros(1)}}, 1, [](Trace& t) {
        const UOp sum = t.registers(1, dtypes::int32);
        t.store(sum, at(0), number(0));
        t.begin_loop(100, cast(t.load(buffer(0, 1), at(0)), dtypes::index));
        t.store(sum, at(0), t.load(sum, at(0)) + number(5));
        t.end_loop();
        t.store(buffer(1, 1), at(0), t.load(sum, at(0)));
    });
    EXPECT_EQ(values_of(memory.at(1)), (std::vector<int64_t>{15}));
}

TEST(Trace, IsUndoneToAMark) {
    const Memory memory = after({{0, zeros(2)}}, 1, [](Trace& t) {
        const UOp out = buffer(0, 2);
        t.store(out, at(0), number(1));
        const Trace::State before = t.mark();
        t.begin_loop(4);
        t.store(out, at(0), number(9));
        t.undo_to(before);
        t.store(out, at(1), number(2));
    });
    EXPECT_EQ(values_of(memory.at(0)), (std::vector<int64_t>{1, 2}));
}

TEST(Trace, CountsTheThreadsOfABlockThatUsesNoIndex) {
    const Memory memory = after({{0, zeros(1)}}, 64, [](Trace& t) { t.store(buffer(0, 1), at(0), number(4)); });
    EXPECT_EQ(values_of(memory.at(0)), (std::vector<int64_t>{4}));
}

TEST(Trace, TellsWhatIsTheSameInABlock) {
    GraphScope scope;
    Trace t;
    const UOp block = make(Op::special, dtypes::index, {}, SpecialArg{false, 0, 9});
    EXPECT_TRUE(t.is_uniform(block * 3 + cast(uop::variable(0, dtypes::int32), dtypes::index)));
    EXPECT_FALSE(t.is_uniform(block + thread(8)));
    EXPECT_FALSE(t.is_uniform(t.load(buffer(0, 4), at(0))));
}

TEST(Trace, RefusesABarrierInABranchAndKernelsThatStoreNothing) {
    GraphScope scope;
    Trace t;
    t.begin_if(thread(8) < 4);
    EXPECT_THROW(t.barrier(), Exception);
    t.end_if();
    EXPECT_THROW(t.finish("kernel"), Exception);
}

}  // namespace
}  // namespace strata::lang
