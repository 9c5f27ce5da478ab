#include "strata/codegen/tile/view.h"

#include <gtest/gtest.h>

#include <random>

#include "strata/codegen/tile/trace.h"
#include "strata/core/layout/layout_error.h"

namespace strata::lang {
namespace {

View tensor(const char* layout, DType type = dtypes::float32, int64_t size = 0) {
    const lo::Layout L = lo::layout_of(layout);
    return {uop::buffer(0, type, size ? size : lo::cosize(L).value()), L};
}

int64_t index_of(const View& view, const lo::IntTuple& c) { return view.index(c).known(); }

size_t count(UOp sink, Op op) {
    size_t n = 0;
    for (UOp u : toposort(sink)) n += u.is(op);
    return n;
}

TEST(View, SlicesAndTilesNameTheElementsOfTheWhole) {
    const GraphScope scope;
    const View whole = tensor("(24,40):(40,1)");
    for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 5; ++j) {
            const View tile = whole.part(
                [&](const lo::Layout& L) { return lo::local_tile(L, lo::Tile(lo::IntTuple{8, 8}), {i, j}); });
            for (int64_t r = 0; r < 8; ++r)
                for (int64_t c = 0; c < 8; ++c) {
                    EXPECT_EQ(index_of(tile, {r, c}), (8 * i + r) * 40 + 8 * j + c);
                    EXPECT_EQ(index_of(tile.slice({lo::IntTuple::none(), c}), r), (8 * i + r) * 40 + 8 * j + c);
                }
        }
}

TEST(View, PartsOfSwizzledMemoryAreItsElements) {
    const GraphScope scope;
    const lo::ComposedLayout layout = lo::make_composed_layout(lo::Swizzle(2, 1, 2), 0, lo::layout_of("(8,8):(8,1)"));
    const View whole(uop::placeholder(64, dtypes::float32, Space::local), layout);
    const View row = whole.slice({3, lo::IntTuple::none()});
    for (int64_t c = 0; c < 8; ++c) EXPECT_EQ(index_of(row, c), layout({3, c}).known());
}

/// The widest power of two for which every aligned group of first coordinates are neighbours, aligned.
int widest_by_looking(const View& view, int bits) {
    int widest = 1;
    for (int lanes = 2; lanes <= kWidestAccess / bits; lanes *= 2) {
        const int64_t size = view.size().value();
        bool fits = size % lanes == 0;
        for (int64_t c = 0; c < size && fits; ++c)
            fits = index_of(view, c) == index_of(view, c / lanes * lanes) + c % lanes &&
                   index_of(view, c / lanes * lanes) % lanes == 0;
        if (fits) widest = lanes;
    }
    return widest;
}

TEST(View, AccessesAreNeverWiderThanTheElementsAllow) {
    const GraphScope scope;
    std::mt19937 random(1);
    const auto pick = [&](std::initializer_list<int64_t> from) {
        return from.begin()[std::uniform_int_distribution<size_t>(0, from.size() - 1)(random)];
    };
    int wide = 0;
    for (int round = 0; round < 400; ++round) {
        const lo::Layout layout({pick({1, 2, 4, 6, 8}), pick({1, 2, 3, 8})},
                                {pick({1, 1, 2, 16}), pick({0, 1, 4, 8, 12, 16})});
        const View view = View(uop::buffer(0, dtypes::float16, 512), layout).part([&](const lo::Layout& L) {
            return lo::Part{L, pick({0, 0, 2, 4, 8, 3})};
        });
        const View registers(uop::placeholder(layout.size().value(), dtypes::float16, Space::reg),
                             lo::Layout(layout.size().value()));
        const int lanes = common_lanes(registers, view), allowed = widest_by_looking(view, 16);
        EXPECT_LE(lanes, allowed) << to_string(view);
        wide += lanes > 1;
    }
    EXPECT_GT(wide, 40);
}

TEST(View, RecastsToTheSameBits) {
    const GraphScope scope;
    const View words = tensor("(4,8):(8,1)");
    const View halves = words.recast(dtypes::float16);
    EXPECT_EQ(lo::to_string(halves.shape()), "(4,16)");
    for (int64_t r = 0; r < 4; ++r)
        for (int64_t c = 0; c < 16; ++c) EXPECT_EQ(index_of(halves, {r, c}), 2 * index_of(words, {r, c / 2}) + c % 2);
    EXPECT_EQ(lo::to_string(words.vectors(4).shape()), "(4,2)");
    EXPECT_THROW(words.slice({lo::IntTuple::none(), 1}).vectors(2), lo::LayoutError) << "no neighbours";
    EXPECT_THROW(tensor("8:1").part([](const lo::Layout&) { return lo::Part{lo::Layout(4), 1}; }).vectors(2),
                 lo::LayoutError)
        << "not aligned";
}

TEST(View, RefusesWhatIsOutside) {
    const GraphScope scope;
    EXPECT_THROW(tensor("(8,8):(8,1)", dtypes::float32, 63), lo::LayoutError);
    EXPECT_THROW(tensor("8:-1", dtypes::float32, 8), lo::LayoutError);
    EXPECT_THROW(tensor("(8,8):(8,1)").index({8, 0}), Exception);
    EXPECT_THROW(tensor("(8,8):(8,1)").index(-1), Exception);
}

TEST(View, BroadcastsModesOfSizeOne) {
    EXPECT_EQ(lo::to_string(broadcast({4, {2, 3}, 1}, {1, 6, 5})), "(4,(2,3),5)");
    EXPECT_THROW(broadcast({4, 2}, {4, 3}), Exception);
    EXPECT_THROW(broadcast({4, 2}, 8), Exception);
}

TEST(View, AWideAccessIsOneLoadAndOneStore) {
    Trace trace;
    const View from = tensor("(4,8):(8,1)", dtypes::float16);
    const View to(uop::buffer(1, dtypes::float16, 32), lo::layout_of("(4,8):(8,1)"));
    const lo::IntTuple row{2, lo::IntTuple::none()};
    store(to.slice(row), loaded(from.slice(row)));
    const UOp sink = trace.finish("wide");
    EXPECT_EQ(count(sink, Op::load), 1U) << tree(sink);
    EXPECT_EQ(count(sink, Op::store), 1U) << tree(sink);
}

TEST(Registers, AreForwardedWhereOneStoreGivesThem) {
    Trace trace;
    const View x = tensor("8:1"), y(uop::buffer(1, dtypes::float32, 8), lo::Layout(8));
    const View held = loaded(x);
    const View twice = map(std::array{held, held}, [](std::span<const UOp> v) { return v[0] + v[1]; });
    store(y, twice);
    const UOp sink = trace.finish("forwarded");
    for (UOp u : toposort(sink))
        if (u.is(Op::param)) EXPECT_EQ(u.as<ParamArg>().space, Space::global) << tree(sink);
}

TEST(Registers, OfABranchKeepNothingForThreadsOutsideOfIt) {
    Trace trace;
    const View x = tensor("8:1"), y(uop::buffer(1, dtypes::float32, 8), lo::Layout(8));
    const UOp step = trace.begin_loop(8);
    trace.begin_if(step < 4);
    const View held = View::registers_of(1, dtypes::float32);
    held.store(0, x.load(lo::IntTuple(step)));
    y.store(lo::IntTuple(step), held.load(0));
    trace.end_if();
    trace.end_loop();
    const UOp sink = trace.finish("branch");
    EXPECT_EQ(count(sink, Op::where), 0U) << tree(sink);
    for (UOp u : toposort(sink))
        if (u.is(Op::param)) EXPECT_EQ(u.as<ParamArg>().space, Space::global) << tree(sink);
}

TEST(Registers, StayWhereALoopCarriesThem) {
    Trace trace;
    const View x = tensor("8:1"), y(uop::buffer(1, dtypes::float32, 1), lo::Layout(1));
    const View sum = View::registers_of(1, dtypes::float32);
    fill(sum, constant(dtypes::float32, 0));
    const UOp step = trace.begin_loop(8);
    sum.store(0, sum.load(0) + x.load(lo::IntTuple(step)));
    trace.end_loop();
    store(y, sum);
    const UOp sink = trace.finish("carried");
    EXPECT_EQ(count(sink, Op::end), 1U);
    EXPECT_EQ(count(sink, Op::store), 3U) << tree(sink);
}

TEST(Registers, AKernelOfRegistersAloneWritesNothing) {
    Trace trace;
    fill(View::registers_of(4, dtypes::float32), constant(dtypes::float32, 1));
    EXPECT_THROW(trace.finish("nothing"), Exception);
}

}  // namespace
}  // namespace strata::lang
