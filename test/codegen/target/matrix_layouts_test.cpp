#include "strata/codegen/target/matrix_layouts.h"

#include <gtest/gtest.h>

// The layouts of matrix_shapes.def against the formulas of the documents that its head names.

namespace strata::codegen {
namespace {

using isa::Family;

struct Place {
    int64_t line, along;  ///< the row of A or C, or the column of B; k, or the column of C
};

bool is_rdna(const MatrixShape& s) { return s.family == Family::rdna3 || s.family == Family::rdna4; }

Place place_of_a(const MatrixShape& s, int64_t l, int64_t i) {
    const int64_t q = l / 4, p = l % 4;
    if (!s.family) {
        const int64_t e = s.m * s.k / 32;
        return {q + 8 * (4 * i / e % 2), e / 4 * (p + 4 * (2 * i / e)) + i % (e / 4)};
    }
    if (s.family == Family::rdna3) return {l % 16, i};
    if (s.family == Family::rdna4 && s.operand.bits() == 16) return {l % 16, 8 * (i / 4) + 4 * (l / 16) + i % 4};
    if (s.family == Family::rdna4) return {l % 16, 8 * (l / 16) + i};
    return {l % s.m, s.m * s.k / 64 * (l / s.m) + i};
}

Place place_of_b(const MatrixShape& s, int64_t l, int64_t i) {
    if (s.family) return place_of_a(s, l, i);  // square ones
    const int64_t q = l / 4, p = l % 4, e = s.m * s.k / 32;
    return {q + 8 * (2 * i / (s.by_warpgroups ? 8 : e)), e / 4 * (p + 4 * (4 * i / e % 2)) + i % (e / 4)};
}

Place place_of_c(const MatrixShape& s, int64_t l, int64_t i) {
    const int64_t q = l / 4, p = l % 4;
    if (s.by_warpgroups) return {q + 8 * (i / 2 % 2), 2 * p + 8 * (i / 4) + i % 2};
    if (!s.family) return {q + 8 * (i / 4), 2 * p + 8 * (i / 2 % 2) + i % 2};
    if (s.family == Family::rdna3) return {2 * i + l / 16, l % 16};
    if (s.family == Family::rdna4) return {8 * (l / 16) + i, l % 16};
    if (s.operand == dtypes::float64) return {4 * i + l / 16, l % 16};
    if (s.m == 32) return {8 * (i / 4) + 4 * (l / 32) + i % 4, l % 32};
    return {4 * (l / 16) + i, l % 16};
}

int64_t lanes_of(const MatrixShape& s) { return !s.family || is_rdna(s) ? 32 : 64; }

using Placed = Place (*)(const MatrixShape&, int64_t, int64_t);
void compare(const MatrixShape& shape, const layout::Layout& tv, Placed place, int64_t lines, int64_t elements) {
    const std::string name = fmt::format("{} {}", shape.mnemonic, to_string(tv));
    ASSERT_TRUE(tv.mode(0).size().is(lanes_of(shape))) << name;
    ASSERT_TRUE(tv.mode(1).size().is(elements)) << name;
    for (int64_t l = 0; l < lanes_of(shape); ++l)
        for (int64_t i = 0; i < elements; ++i) {
            const Place wanted = place(shape, l, i);
            EXPECT_EQ(tv({l, i}).known(), wanted.line + lines * wanted.along) << name << " lane " << l << " " << i;
        }
}

TEST(MatrixLayouts, AreWhatTheDocumentsSayOfEveryLaneAndElement) {
    for (const MatrixShape& s : matrix_shapes()) {
        const MatrixLayouts layouts = matrix_layouts(s);
        compare(s, layouts.a, place_of_a, s.m, s.operand_elements());
        compare(s, layouts.b, place_of_b, s.n, s.by_warpgroups ? s.n / 2 : s.operand_elements());
        compare(s, layouts.c, place_of_c, s.m, s.accumulator_elements());
    }
}

TEST(MatrixLayouts, CoverEachMatrixWholly) {
    for (const MatrixShape& s : matrix_shapes()) {
        const MatrixLayouts layouts = matrix_layouts(s);
        const auto covers = [&](const layout::Layout& tv, int64_t size) {
            std::vector<int> seen(static_cast<size_t>(size));
            for (int64_t i = 0; i < tv.size().value(); ++i) ++seen[static_cast<size_t>(tv(i).known())];
            for (int n : seen) EXPECT_EQ(n, tv.size().value() / size) << s.mnemonic << " " << to_string(tv);
        };
        covers(layouts.a, s.m * s.k);
        covers(layouts.b, s.n * s.k);
        covers(layouts.c, s.m * s.n);
    }
}

}  // namespace
}  // namespace strata::codegen
