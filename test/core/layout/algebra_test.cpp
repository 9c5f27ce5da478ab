#include "strata/core/layout/algebra.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "strata/core/layout/composed.h"
#include "strata/core/layout/layout_error.h"

// Each function against what its comment says, coordinate by coordinate, on random layouts.

namespace strata::layout {
namespace {

int64_t at(const Layout& layout, int64_t c) { return layout(IntTuple(c)).known(); }
int64_t size(const Layout& layout) { return layout.size().value(); }

class Random {
  public:
    explicit Random(unsigned seed) : random_(seed) {}
    int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
    Layout layout(int depth = 2) {
        std::vector<Layout> modes;
        for (int64_t n = pick(1, 3); n > 0; --n)
            modes.push_back(depth > 0 && pick(0, 3) == 0 ? layout(depth - 1) : Layout(IntTuple(pick(1, 6)), stride()));
        return modes.size() == 1 ? modes[0] : make_layout(modes);
    }
    /// A layout of elements side by side in some order, so that most of the algebra has a result.
    Layout compact() {
        std::vector<IntTuple> shape, order;
        for (int64_t n = pick(1, 4); n > 0; --n) {
            shape.emplace_back(int64_t{1} << pick(0, 2));
            order.emplace_back(pick(0, 3));
        }
        return make_ordered_layout(shape, order);
    }

  private:
    IntTuple stride() {
        const int64_t all[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24};
        return all[pick(0, 9)];
    }
    std::mt19937 random_;
};

template <class Body>
void on_random_layouts(int count, Body body) {
    int done = 0;
    for (unsigned seed = 0; seed < static_cast<unsigned>(count); ++seed) {
        Random random(seed);
        const Layout A = random.pick(0, 1) ? random.layout() : random.compact();
        const Layout B = random.pick(0, 1) ? random.layout() : random.compact();
        SCOPED_TRACE(to_string(A) + " and " + to_string(B));
        try {
            body(A, B);
            ++done;
        } catch (const LayoutError& error) {
            EXPECT_FALSE(error.operation().empty());
            EXPECT_FALSE(error.operands().empty());
        }
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(done, count / 20) << "too few have a result";
}

TEST(Algebra, CoalesceKeepsEveryIndex) {
    on_random_layouts(300, [](const Layout& A, const Layout&) {
        const Layout R = coalesce(A);
        ASSERT_EQ(size(R), size(A));
        for (int64_t c = 0; c < size(A); ++c) ASSERT_EQ(at(R, c), at(A, c));
        EXPECT_LE(R.depth(), 1);
    });
    EXPECT_EQ(to_string(coalesce(layout_of("(2,(1,6)):(1,(6,2))"))), "12:1");
    EXPECT_EQ(to_string(coalesce(layout_of("(2,(1,6)):(1,(6,2))"), {1, 1})), "(2,6):(1,2)");
}

TEST(Algebra, CompositionIsOneLayoutAfterTheOther) {
    on_random_layouts(1000, [](const Layout& A, const Layout& B) {
        if (size(B) > 4096) return;
        const Layout R = composition(A, B);
        ASSERT_EQ(size(R), size(B));
        for (int64_t c = 0; c < size(B); ++c) ASSERT_EQ(at(R, c), at(A, at(B, c))) << to_string(R);
    });
    EXPECT_EQ(to_string(composition(layout_of("(6,2):(8,2)"), layout_of("(4,3):(3,1)"))), "((2,2),3):((24,2),8)");
    EXPECT_EQ(to_string(composition(layout_of("20:2"), layout_of("(5,4):(4,1)"))), "(5,4):(8,2)");
    EXPECT_EQ(to_string(composition(layout_of("(12,(4,8)):(59,(13,1))"), Tile({layout_of("3:4"), layout_of("8:2")}))),
              "(3,(2,4)):(236,(26,1))");
    EXPECT_EQ(to_string(composition(layout_of("(12,8):(59,13)"), Tile(IntTuple{IntTuple::none(), 2}))),
              "(12,2):(59,13)");
    EXPECT_THROW(composition(layout_of("(4,2):(1,10)"), layout_of("(2,2):(1,3)")), LayoutError) << "3 + 1 carries";
    EXPECT_EQ(to_string(composition(layout_of("(4,2):(1,10)"), layout_of("2:3"))), "2:3")
        << "both within the first mode";
}

TEST(Algebra, ComplementFillsWhatALayoutLeaves) {
    on_random_layouts(1000, [](const Layout& A, const Layout& B) {
        const int64_t codomain = 1 + size(B);
        const Layout R = complement(A, Int(codomain));
        std::set<int64_t> of_A, both;
        for (int64_t c = 0; c < size(A); ++c) of_A.insert(at(A, c));
        for (int64_t c = 1; c < size(R); ++c) {
            ASSERT_GT(at(R, c), at(R, c - 1));
            ASSERT_FALSE(of_A.contains(at(R, c)));
        }
        for (int64_t c = 0; c < size(R); ++c)
            for (const int64_t i : of_A) ASSERT_TRUE(both.insert(at(R, c) + i).second);
        ASSERT_GE(static_cast<int64_t>(both.size()), codomain);
    });
    EXPECT_EQ(to_string(complement(layout_of("(2,2):(1,6)"), Int(24))), "(3,2):(2,12)");
}

TEST(Algebra, InversesUndo) {
    on_random_layouts(1000, [](const Layout& A, const Layout&) {
        const Layout R = right_inverse(A);
        for (int64_t i = 0; i < size(R); ++i) ASSERT_EQ(at(A, at(R, i)), i);
    });
    on_random_layouts(1000, [](const Layout& A, const Layout&) {
        const Layout R = left_inverse(A);
        for (int64_t c = 0; c < size(A); ++c) ASSERT_EQ(at(R, at(A, c)), c);
    });
}

TEST(Algebra, LeftInversesOfUnevenStridesAreFound) {
    for (const char* text :
         {"(2,2):(1,3)", "(2,2):(2,3)", "4:2", "4:-1", "(2,3):(7,2)", "(3,2,2):(1,5,11)", "(2,2):(1,-4)"}) {
        const Layout A = layout_of(text), R = left_inverse(A);
        for (int64_t c = 0; c < size(A); ++c) EXPECT_EQ(at(R, at(A, c)), c) << text << " " << to_string(R);
    }
    EXPECT_EQ(to_string(left_inverse(layout_of("(4,8):(8,1)"))), "(8,4):(4,1)");
}

TEST(Algebra, DividesIntoTiles) {
    const Layout A = layout_of("(9,(4,8)):(59,(13,1))");
    const Tile tile({layout_of("3:3"), layout_of("(2,4):(1,8)")});
    EXPECT_EQ(to_string(logical_divide(A, tile)), "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))");
    EXPECT_EQ(to_string(zipped_divide(A, tile)), "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))");
    EXPECT_EQ(to_string(tiled_divide(A, tile)), "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))");
    EXPECT_EQ(to_string(flat_divide(A, tile)), "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))");
    EXPECT_EQ(to_string(zipped_divide(layout_of("(8,6,2):(1,8,48)"), Tile(IntTuple{4}))), "(4,(2,6,2)):(1,(4,8,48))");
    EXPECT_EQ(to_string(zipped_divide(layout_of("(8,6):(1,8)"), Tile(IntTuple{4, IntTuple::none()}))),
              "((4,6),(2,1)):((1,8),(4,0))");
}

TEST(Algebra, MultipliesBlocks) {
    EXPECT_EQ(to_string(logical_product(layout_of("(2,2):(4,1)"), layout_of("6:1"))), "((2,2),(2,3)):((4,1),(2,8))");
    EXPECT_EQ(to_string(blocked_product(layout_of("(2,5):(5,1)"), layout_of("(3,4):(1,3)"))),
              "((2,3),(5,4)):((5,10),(1,30))");
    EXPECT_EQ(to_string(raked_product(layout_of("(2,5):(5,1)"), layout_of("(3,4):(1,3)"))),
              "((3,2),(4,5)):((10,5),(30,1))");
}

TEST(Algebra, GivesThreadsTheirValues) {
    const auto [tiler, tv] = make_layout_tv(layout_of("(4,8):(8,1)"), layout_of("(2,2):(2,1)"));
    EXPECT_EQ(tiler, IntTuple({8, 16}));
    EXPECT_EQ(to_string(tv), "((8,4),(2,2)):((16,2),(8,1))");
    const Part part = local_tile(layout_of("(64,32):(32,1)"), Tile(IntTuple{16, 8}), {1, IntTuple::none()});
    EXPECT_EQ(to_string(part.layout), "(16,8,4):(32,1,8)");
    EXPECT_EQ(part.offset, IntTuple(512));
    const Part of_thread = local_partition(layout_of("(64,32):(32,1)"), layout_of("(8,4):(4,1)"), Int(5));
    EXPECT_EQ(to_string(of_thread.layout), "(8,8):(256,4)");
    EXPECT_EQ(of_thread.offset, IntTuple(33));
    EXPECT_EQ(to_string(tile_to_shape(layout_of("(8,8):(8,1)"), {16, 32})), "(16,(8,4)):(8,(1,128))");
    EXPECT_THROW(tile_to_shape(layout_of("(8,8):(8,1)"), {12, 32}), LayoutError);
}

}  // namespace
}  // namespace strata::layout
