// Running sums and products in blocks: inside a block of k elements each result reduces a masked copy of the block, the
// totals of the blocks are scanned in turn. Work n * k, memory n * (1 + 1/k + ...), no n x n anything.
#include "strata/ops/build_p.h"

namespace strata {

using namespace ops;

namespace {

constexpr int64_t kBlock = 32;

/// Scans the last axis of x.
Tensor scan_last(const Tensor& x, Op o, int empty) {
    int64_t n = x.size(-1);
    if (n <= 1) return x;
    int64_t k = std::min(n, kBlock), blocks = plus("scan", n, k - 1) / k;
    Shape shape = x.shape();
    std::vector<std::pair<int64_t, int64_t>> room(shape.size(), {0, 0});
    room.back().second = blocks * k - n;
    Shape rows(shape.begin(), shape.end() - 1);
    rows.insert(rows.end(), {blocks, 1, k});
    Shape square = rows;
    square[square.size() - 2] = k;
    int axis = static_cast<int>(square.size()) - 1;
    Tensor inside = le(iota_along(square, axis), iota_along(square, axis - 1));
    Tensor spread = x.pad(room).reshape(rows).expand(square);
    Tensor local = reduce(where(inside, spread, empty), o, {axis});
    rows.pop_back();
    rows.back() = k;  // (..., blocks, k)
    local = local.reshape(rows);
    if (blocks > 1) {
        std::vector<std::pair<int64_t, int64_t>> last;
        for (int64_t d : rows) last.emplace_back(0, d);
        last.back() = {k - 1, k};
        Shape flat(rows.begin(), rows.end() - 1);
        Tensor totals = scan_last(local.shrink(last).reshape(flat), o, empty);
        // Exclusive: block b continues from the total of the blocks before it.
        room.back() = {1, 0};
        last.pop_back();
        last.back() = {0, blocks};
        Tensor before = totals.pad(room, empty).shrink(last).unsqueeze(-1);
        local = o == Op::add ? add(local, before) : mul(local, before);
    }
    shape.back() = blocks * k;
    std::vector<std::pair<int64_t, int64_t>> cut;
    for (int64_t d : shape) cut.emplace_back(0, d);
    cut.back().second = n;
    return local.reshape(shape).shrink(cut);
}

Tensor scanned(std::string_view name, const Tensor& x, Op o, OptionalAxis axis, OptionalDType dtype, int empty) {
    if (!axis && x.ndim() != 1)
        user_error(ErrorKind::Usage, "[{}] shape {} has {} axes: name the one to run along", name, to_string(x.shape()),
                   x.ndim());
    int at = axis_of(name, axis.value_or(0), x.ndim());
    DType type = dtype.value_or(x.dtype().is_float()      ? x.dtype()
                                : x.dtype().is_unsigned() ? dtypes::uint64
                                                          : dtypes::int64);
    Tensor wide = widened(x.cast(type), false);
    if (x.numel() == 0) return wide.cast(type);
    return scan_last(wide.movedim(at, -1), o, empty).movedim(-1, at).cast(type);
}

}  // namespace

Tensor Tensor::cumsum(OptionalAxis axis, OptionalDType dtype) const {
    return scanned("cumsum", *this, Op::add, axis, dtype, 0);
}

Tensor Tensor::cumprod(OptionalAxis axis, OptionalDType dtype) const {
    return scanned("cumprod", *this, Op::mul, axis, dtype, 1);
}

}  // namespace strata
