#include "strata/codegen/tile/threads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "strata/codegen/tile/trace.h"
#include "strata/core/uop/kernel.h"

namespace strata::lang {
namespace {

UOp lanes_of(int64_t size) { return make(Op::special, dtypes::index, {}, SpecialArg{true, 0, size}); }
UOp word(int64_t i) { return constant_int(dtypes::int32, i); }
UOp words(int slot, int64_t size) { return uop::buffer(slot, dtypes::int32, size); }
constexpr AtomicArg kAdd{AtomicOp::add, MemoryScope::device};

size_t nodes_of(UOp sink, Op op) {
    return static_cast<size_t>(std::ranges::count_if(toposort(sink), [&](UOp u) { return u.is(op); }));
}

bool comes_after(UOp u, UOp earlier) {
    return std::ranges::any_of(toposort(u), [&](UOp v) { return v == earlier; });
}

TEST(Threads, AtomicsOfOnePlaceAreAsManyAsTheProgramHas) {
    GraphScope scope;
    Trace trace({lanes_of(4)});
    const UOp memory = words(0, 1);
    UOp last;
    for (int i = 0; i < 3; ++i) last = trace.atomic(memory, index_const(0), kAdd, word(1));
    trace.store(words(1, 4), lanes_of(4), last);
    EXPECT_EQ(nodes_of(trace.finish("kernel"), Op::atomic), 3u);
}

TEST(Threads, AnAtomicWhosePlaceIsSimplifiedIsOneStill) {
    GraphScope scope;
    Trace trace({lanes_of(4)});
    const UOp memory = words(0, 8);
    trace.begin_if(alu(Op::logical_not, {alu(Op::cmpne, {lanes_of(4), index_const(3)})}));
    const UOp found = trace.atomic(memory, index_const(0), kAdd, word(1));
    trace.store(memory, cast(found, dtypes::index) + index_const(1), word(1));
    trace.end_if();
    EXPECT_EQ(nodes_of(trace.finish("kernel"), Op::atomic), 1u);
}

TEST(Threads, ABranchIsThePredicateOfItsAtomicsAndVotes) {
    GraphScope scope;
    Trace trace({lanes_of(4)});
    const UOp condition = lanes_of(4) < index_const(2);
    trace.begin_if(condition);
    const UOp found = uop::effect_below(trace.atomic(words(0, 1), index_const(0), kAdd, word(1)));
    EXPECT_EQ(found.src(0).src(2), condition);
    EXPECT_EQ(trace.ballot(constant(dtypes::boolean, 1), dtypes::uint32).src(0),
              uop::both(condition, constant(dtypes::boolean, 1)));
    trace.end_if();
    EXPECT_EQ(trace.finish("kernel").src().size(), 1u);
}

TEST(Threads, AFenceComesBeforeMemoryThatNothingTouchedBefore) {
    GraphScope scope;
    Trace trace({lanes_of(4)});
    const UOp flag = words(0, 1), data = words(1, 4), out = words(2, 4);
    trace.atomic(flag, index_const(0), kAdd, word(1));
    trace.fence(MemoryScope::device);
    trace.store(data, lanes_of(4), word(1));
    trace.store(out, lanes_of(4), trace.load(data, lanes_of(4)));
    const UOp sink = trace.finish("kernel");
    UOp fence;
    for (UOp u : toposort(sink))
        if (u.is(Op::fence)) fence = u;
    ASSERT_TRUE(fence);
    for (UOp u : toposort(sink))
        if (u.is(Op::store) && memory_of(u) == data) EXPECT_TRUE(comes_after(u, fence));
}

TEST(Threads, APriorityStaysBetweenAccessesAndIsOfAllThreads) {
    GraphScope scope;
    Trace trace({lanes_of(4)});
    const UOp first = words(0, 4), second = words(1, 4);
    trace.store(first, lanes_of(4), word(1));
    trace.priority(3);
    trace.store(second, lanes_of(4), word(2));
    EXPECT_THROW(trace.priority(4), Exception);
    trace.begin_if(lanes_of(4) < index_const(2));
    EXPECT_THROW(trace.priority(1), Exception);
    trace.end_if();
    const UOp sink = trace.finish("kernel");
    ASSERT_EQ(nodes_of(sink, Op::priority), 1u);
    for (UOp u : toposort(sink)) {
        if (!u.is(Op::priority)) continue;
        EXPECT_EQ(u.as<IndexArg>().index, 3);
        for (UOp v : toposort(sink)) {
            if (!v.is(Op::store)) continue;
            EXPECT_EQ(comes_after(v, u), memory_of(v) == second);
            EXPECT_EQ(comes_after(u, v), memory_of(v) == first);
        }
    }
}

TEST(Threads, PlacesThatAtomicsCannotTakeAreErrors) {
    GraphScope scope;
    Trace trace;
    const View view(words(0, 4), lo::Layout(4)), registers = View::registers(lo::Layout(2), dtypes::int32);
    EXPECT_THROW(atomic(registers.at(0), kAdd, word(1)), Exception);
    EXPECT_THROW(atomic(view.recast(dtypes::float32).at(0), kAdd, constant(dtypes::float32, 1)), Exception);
    EXPECT_THROW(atomic(view.at(0), {AtomicOp::inc, MemoryScope::device}, word(1)), Exception);
    const View halves(uop::buffer(1, dtypes::float16, 4), lo::Layout(4));
    const UOp one = constant(dtypes::float16, 1);
    EXPECT_THROW(atomic(halves.at(0), kAdd, one), Exception);
    EXPECT_THROW(atomic_add_pair(halves.at(1), MemoryScope::device, one, one), Exception);
    EXPECT_NO_THROW(atomic_add_pair(halves.at(2), MemoryScope::device, one, one));
}

}  // namespace
}  // namespace strata::lang
