// matrix_layouts: the columns of matrix_shapes.def that say which elements lanes have.
#include "strata/codegen/target/matrix_layouts.h"

#include <algorithm>

#include "strata/core/layout/composed.h"
#include "strata/core/support/error.h"

namespace strata::codegen {
namespace {

struct Row {
    std::optional<isa::Family> family;
    std::string_view mnemonic, a, b, c;
};
constexpr Row kRows[] = {
#define MATRIX(family, mnemonic, m, n, k, operand, accumulator, builtin, ...) \
    {isa::Family::family, #mnemonic, __VA_ARGS__},
#define MMA(chip, name, m, n, k, operand, accumulator, ptx, ...) {std::nullopt, #name, __VA_ARGS__},
#define WGMMA(chip, name, m, n, k, operand, accumulator, ptx, ...) {std::nullopt, #name, __VA_ARGS__},
#include "strata/codegen/target/matrix_shapes.def"
#undef WGMMA
#undef MMA
#undef MATRIX
};

}  // namespace

MatrixLayouts matrix_layouts(const MatrixShape& shape) {
    const auto row = std::ranges::find_if(
        kRows, [&](const Row& r) { return r.family == shape.family && r.mnemonic == shape.mnemonic; });
    STRATA_CHECK(row != std::end(kRows), "no row of matrix_shapes.def is {}", shape.mnemonic);
    return {layout::layout_of(row->a), layout::layout_of(row->b), layout::layout_of(row->c)};
}

bool takes_signs(const MatrixShape& shape) {
    if (shape.operand != dtypes::int8 || shape.by_warpgroups) return false;
    return !shape.family || !isa::is_cdna(*shape.family);
}

bool takes_operand(const MatrixShape& shape, DType element) {
    return element == shape.operand || (takes_signs(shape) && element == dtypes::uint8);
}

}  // namespace strata::codegen
