// reductions: sums, products and extremes over axes, and up to each element of one.
#include "strata/codegen/interpret/reductions_p.h"

#include <algorithm>
#include <array>

namespace strata::codegen {

Reduction::Reduction(UOp u)
    : op_(u.as<ReduceArg>().op),
      type_(u.dtype()),
      wide_(type_.is_float() ? dtypes::float64 : type_),
      sums_(type_, u.shape()) {
    const ConstArg start = identity(op_, wide_).as<ConstArg>();
    std::ranges::fill(sums_.f, start.f);
    std::ranges::fill(sums_.i, start.i);
    const std::vector<int>& axes = u.as<ReduceArg>().axes;
    const Shape from = u.src(0).shape();
    std::vector<int64_t> steps(from.size());
    int64_t step = 1;
    const auto is_reduced = [&](size_t d) { return std::ranges::find(axes, static_cast<int>(d)) != axes.end(); };
    for (size_t d = from.size(); d-- > 0;) {
        steps[d] = is_reduced(d) ? 0 : step;
        if (!is_reduced(d)) step *= from[d];
    }
    for (size_t d = 0; d < from.size(); ++d) {
        if (from[d] == 1) continue;
        const bool joins = !shape_.empty() && (steps_.back() == 0) == (steps[d] == 0);
        if (joins)
            shape_.back() *= from[d], steps_.back() = steps[d];
        else
            shape_.push_back(from[d]), steps_.push_back(steps[d]);
    }
    folds_rows_ = !steps_.empty() && steps_.back() == 0;
}

void Reduction::add(size_t first, size_t n, const double* f, const int64_t* i) {
    each_row(shape_, steps_, first, n, [&](const RowPart& row) {
        const auto to = static_cast<size_t>(row.from);
        (this->*(folds_rows_ ? &Reduction::fold_row : &Reduction::add_row))(to, row.count, further(f, row.to),
                                                                            further(i, row.to));
    });
}

/// One element each.
void Reduction::add_row(size_t to, size_t n, const double* f, const int64_t* i) {
    double* const sums_f = further(sums_.f.data(), to);
    int64_t* const sums_i = further(sums_.i.data(), to);
    const std::array both{ReferenceArray{sums_f, sums_i}, ReferenceArray{f, i}};
    reference(op_, wide_, wide_, both, n, sums_f, sums_i);
}

/// All to one: the first half with the second, until one is left.
void Reduction::fold_row(size_t to, size_t n, const double* f, const int64_t* i) {
    if (n == 1) return add_row(to, 1, f, i);
    const bool is_float = wide_.is_float();
    if (is_float)
        pairs_f_.assign(f, f + n);
    else
        pairs_i_.assign(i, i + n);
    for (size_t left = n; left > 1; left = (left + 1) / 2) {
        const size_t half = left / 2, from = left - half;
        const std::array both{ReferenceArray{pairs_f_.data(), pairs_i_.data()},
                              ReferenceArray{further(pairs_f_.data(), from), further(pairs_i_.data(), from)}};
        reference(op_, wide_, wide_, both, half, pairs_f_.data(), pairs_i_.data());
    }
    add_row(to, 1, pairs_f_.data(), pairs_i_.data());
}

TensorValue Reduction::result() {
    for (double& sum : sums_.f) sum = round_to(type_, sum);
    return std::move(sums_);
}

TensorValue scanned(UOp u, const TensorView& from) {
    const auto axis = static_cast<size_t>(u.as<ReduceArg>().axes.at(0));
    const Op op = u.as<ReduceArg>().op;
    const DType type = u.dtype(), wide = type.is_float() ? dtypes::float64 : type;
    TensorValue out(type, u.shape());
    if (!out.elements()) return out;
    from.read(0, out.elements(), out.f.data(), out.i.data());
    const auto length = static_cast<size_t>(out.shape[axis]);
    size_t inner = 1;
    for (size_t d = axis + 1; d < out.shape.size(); ++d) inner *= static_cast<size_t>(out.shape[d]);
    for (size_t line = 0; line < out.elements(); line += length * inner)
        for (size_t k = 1; k < length; ++k) {
            const size_t now = line + k * inner, before = now - inner;
            double* const f = further(out.f.data(), now);
            int64_t* const i = further(out.i.data(), now);
            const std::array both{ReferenceArray{further(out.f.data(), before), further(out.i.data(), before)},
                                  ReferenceArray{f, i}};
            reference(op, wide, wide, both, inner, f, i);
        }
    for (double& sum : out.f) sum = round_to(type, sum);
    return out;
}

}  // namespace strata::codegen
