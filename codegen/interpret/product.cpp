// Matrix products, by the layouts of matrix_shapes.def.
#include "strata/codegen/interpret/product_p.h"

#include <algorithm>

#include "strata/codegen/target/matrix_layouts.h"

namespace strata::codegen {

std::optional<InterpretedProduct> product_of(UOp wmma, int wave_size) {
    for (const MatrixShape& shape : matrix_shapes()) {
        if (shape.mnemonic != wmma.as<MatrixArg>().name || shape.by_warpgroups) continue;
        if (auto made = InterpretedProduct::of(shape, wmma, wave_size)) return made;  // families share names
    }
    return {};
}

std::optional<InterpretedProduct> InterpretedProduct::of(const MatrixShape& shape, UOp wmma, int wave_size) {
    const MatrixLayouts layouts = matrix_layouts(shape);
    InterpretedProduct made;
    made.m_ = static_cast<size_t>(shape.m), made.n_ = static_cast<size_t>(shape.n);
    made.k_ = static_cast<size_t>(shape.k);
    made.operand_ = shape.operand, made.sum_ = shape.accumulator;
    made.clamps_ = wmma.as<MatrixArg>().clamp;
    const layout::Layout* const layouts_of[] = {&layouts.a, &layouts.b, &layouts.c};
    for (size_t i = 0; i < 3; ++i) {
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

void InterpretedProduct::run(const Source& source, const Result& result) const {
    std::vector<ConstArg> matrices[3] = {std::vector<ConstArg>(m_ * k_), std::vector<ConstArg>(n_ * k_),
                                         std::vector<ConstArg>(m_ * n_)};
    for (int i = 0; i < 3; ++i)
        for (size_t lane = 0; lane < operands_[i].at.size(); ++lane) {
            const std::span<const ConstArg> held = source(i, lane);
            for (size_t e = 0; e < operands_[i].elements; ++e) matrices[i][operands_[i].at[lane][e]] = held[e];
        }
    std::vector<ConstArg>& sums = matrices[2];
    for (size_t n = 0; n < n_; ++n)
        for (size_t m = 0; m < m_; ++m) {
            ConstArg& sum = sums[m + m_ * n];
            for (size_t k = 0; k < k_; ++k) {
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
