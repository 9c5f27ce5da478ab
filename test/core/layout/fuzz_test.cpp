#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "strata/core/layout/algebra.h"
#include "strata/core/layout/composed.h"
#include "strata/core/layout/layout_error.h"

// Random calls with numbers of every size: each gives a value or a LayoutError. STRATA_FUZZ_SECONDS goes on for longer.

namespace strata::layout {
namespace {

class Calls {
  public:
    explicit Calls(unsigned seed) : random_(seed) {}

    void one() {
        const Layout A = layout(), B = layout();
        const Int n(number());
        switch (pick(0, 17)) {
            case 0: composition(A, B); break;
            case 1: composition(A, tile()); break;
            case 2: complement(A, n); break;
            case 3: left_inverse(A); break;
            case 4: right_inverse(A); break;
            case 5: logical_divide(A, tile()); break;
            case 6: flat_divide(A, tile()); break;
            case 7: logical_product(A, B); break;
            case 8: raked_product(A, B); break;
            case 9: recast_layout(A, 1 << pick(0, 7), static_cast<int>(pick(-1, 130))); break;
            case 10: tile_to_shape(A, B.shape(), B.stride()); break;
            case 11: make_layout_tv(A, B); break;
            case 12: local_tile(A, tile(), coordinate()); break;
            case 13: local_partition(A, B, n); break;
            case 14: idx2crd(n, A); break;
            case 15: is_injective(A); break;
            case 16: make_composed_layout(Swizzle(2, 1, 3), coordinate(), A)(n.value()); break;
            default: A(coordinate()); break;
        }
    }

  private:
    int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
    int64_t number() {
        const int64_t odd[] = {0, -1, INT64_MAX, INT64_MIN, INT64_MIN + 1, int64_t{1} << 62, int64_t{1} << 31, 1000003};
        return pick(0, 9) ? pick(-2, 24) : odd[pick(0, 7)];
    }
    IntTuple leaf(bool of_shape) {
        const int64_t value = number();
        if (of_shape) return pick(0, 19) ? IntTuple(value < 1 ? 1 + (value & 7) : value) : IntTuple(value);
        return pick(0, 14) ? IntTuple(value) : IntTuple::basis(value, {static_cast<int>(pick(0, 2))});
    }
    Layout layout(int depth = 1) {
        std::vector<Layout> modes;
        for (int64_t n = pick(1, 3); n > 0; --n)
            modes.push_back(depth && pick(0, 3) == 0 ? layout(depth - 1) : Layout(leaf(true), leaf(false)));
        return modes.size() == 1 ? modes[0] : make_layout(modes);
    }
    Tile tile() {
        std::vector<Tile> modes;
        for (int64_t n = pick(0, 3); n > 0; --n)
            modes.push_back(pick(0, 3) == 0 ? Tile(layout(0)) : Tile(pick(0, 3) ? leaf(true) : IntTuple::none()));
        return modes;
    }
    IntTuple coordinate() {
        std::vector<IntTuple> modes;
        for (int64_t n = pick(1, 3); n > 0; --n) modes.push_back(pick(0, 3) ? IntTuple(number()) : IntTuple::none());
        return pick(0, 2) ? IntTuple(modes) : modes[0];
    }
    std::mt19937 random_;
};

TEST(LayoutFuzz, AnyCallGivesAValueOrALayoutError) {
    const char* given = std::getenv("STRATA_FUZZ_SECONDS");
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(given ? std::atof(given) : 0);
    int worked = 0, calls = 0;
    for (unsigned seed = 0; calls < 20000 || std::chrono::steady_clock::now() < until; ++seed) {
        Calls random(seed);
        for (int i = 0; i < 100; ++i, ++calls) {
            try {
                random.one();
                ++worked;
            } catch (const LayoutError&) {
            }
        }
    }
    EXPECT_GT(worked, calls / 10);
    RecordProperty("calls", calls);
}

}  // namespace
}  // namespace strata::layout
