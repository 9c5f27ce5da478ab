// Matrix products, by the layouts of matrix_shapes.def.
#include "strata/codegen/interpret/product_p.h"

#include <algorithm>

#include "strata/codegen/target/matrix_layouts.h"
#include "strata/codegen/target/warpgroup_products.h"

namespace strata::codegen {

std::optional<InterpretedProduct> product_of(UOp wmma, int wave_size) {
    for (const MatrixShape& shape : matrix_shapes()) {
        const std::string_view name = wmma.as<MatrixArg>().name;
        if (shape.mnemonic != (shape.by_warpgroups ? name.substr(0, name.find('<')) : name)) continue;
        if (auto made = InterpretedProduct::of(shape, wmma, wave_size)) return made;  // families share names
    }
    return {};
}

std::vector<int64_t> places_of_tile(UOp wmma, size_t operand, size_t wave) {
    const MatrixShape& shape = *find_shape(matrix_shapes(), wmma.as<MatrixArg>().name);
    const WarpgroupProduct product = *warpgroup_product(wmma);
    const SwizzledTile& tile = operand == 0 ? product.a : product.b;
    const auto rows = static_cast<int64_t>(operand == 0 ? shape.m : shape.n);
    const int64_t first = operand == 0 ? static_cast<int64_t>(wave % kWavesOfWarpgroup) * rows : 0;
    std::vector<int64_t> out;
    for (int64_t k = 0; k < product.steps * shape.k; ++k)
        for (int64_t row = first; row < first + rows; ++row)
            out.push_back(tile.along_k ? place_in(tile, shape.operand, row, k) : place_in(tile, shape.operand, k, row));
    return out;
}

std::optional<InterpretedProduct> InterpretedProduct::of(const MatrixShape& shape, UOp wmma, int wave_size) {
    const MatrixLayouts layouts = matrix_layouts(shape);
    InterpretedProduct made;
    made.m_ = static_cast<size_t>(shape.m), made.n_ = static_cast<size_t>(shape.n);
    made.k_ = static_cast<size_t>(shape.k);
    made.operand_ = shape.operand, made.sum_ = shape.accumulator;
    made.clamps_ = wmma.as<MatrixArg>().clamp;
    const layout::Layout* const layouts_of[] = {&layouts.a, &layouts.b, &layouts.c};
    for (size_t i = shape.by_warpgroups ? 2 : 0; i < 3; ++i) {
        InterpretedProduct::Operand& operand = made.operands_[i];
        if (layouts_of[i]->mode(0).size().value() != wave_size) return {};
        operand.elements = static_cast<size_t>(layouts_of[i]->mode(1).size().value());
        if (operand.elements != wmma.src(i).dtype().lanes) return {};
        for (int64_t lane = 0; lane < wave_size; ++lane) {
            std::vector<size_t>& places = operand.at.emplace_back();
            for (int64_t e = 0; e < static_cast<int64_t>(operand.elements); ++e)
                places.push_back(static_cast<size_t>((*layouts_of[i])({lane, e}).integer().value()));
        }
    }
    return made;
}

void InterpretedProduct::gather(int i, std::vector<ConstArg>& matrix, const Source& source) const {
    for (size_t lane = 0; lane < operands_[i].at.size(); ++lane) {
        const std::span<const ConstArg> held = source(i, lane);
        for (size_t e = 0; e < operands_[i].elements; ++e) matrix[operands_[i].at[lane][e]] = held[e];
    }
}

void InterpretedProduct::run(const Source& source, const Result& result) const {
    std::vector<ConstArg> matrices[3] = {std::vector<ConstArg>(m_ * k_), std::vector<ConstArg>(n_ * k_), {}};
    for (const int i : {0, 1}) gather(i, matrices[i], source);
    multiply(matrices, source, result);
}

void InterpretedProduct::run(std::vector<ConstArg> a, std::vector<ConstArg> b, const Source& source,
                             const Result& result) const {
    std::vector<ConstArg> matrices[3] = {std::move(a), std::move(b), {}};
    multiply(matrices, source, result);
}

void InterpretedProduct::multiply(std::vector<ConstArg> (&matrices)[3], const Source& source,
                                  const Result& result) const {
    std::vector<ConstArg>& sums = matrices[2];
    sums.resize(m_ * n_);
    gather(2, sums, source);
    const size_t steps = matrices[0].size() / m_;
    for (size_t n = 0; n < n_; ++n)
        for (size_t m = 0; m < m_; ++m) {
            ConstArg& sum = sums[m + m_ * n];
            for (size_t k = 0; k < steps; ++k) {
                const ConstArg &a = matrices[0][m + m_ * k], &b = matrices[1][n + n_ * k];
                sum.f += a.f * b.f, sum.i += a.i * b.i;
            }
            if (clamps_) sum.i = std::clamp(sum.i, int_min(sum_), int_max(sum_));
            sum = sum_.is_float() ? ConstArg{0, round_to(sum_, sum.f)} : ConstArg{wrap_to(sum_, sum.i), 0};
        }
    for (size_t lane = 0; lane < operands_[2].at.size(); ++lane)
        for (size_t e = 0; e < operands_[2].elements; ++e) result(lane)[e] = sums[operands_[2].at[lane][e]];
}

}  // namespace strata::codegen
