// mma_warpgroups: products of four waves, whose operands lie in local memory as the instruction reads them.
#include <algorithm>

#include "strata/codegen/target/warpgroup_products.h"
#include "strata/codegen/tile/mma.h"
#include "strata/codegen/tile/mma_p.h"
#include "strata/codegen/tile/trace.h"
#include "strata/core/layout/layout_error.h"

namespace strata::lang {
namespace {

constexpr int64_t kBytes = 2;  // of an element: all rows have 16 bits
constexpr int64_t kLine = codegen::kSwizzledRow / kBytes, kChunk = codegen::kSwizzledChunk / kBytes;

lo::Layout plain_layout(int64_t rows, int64_t k) {
    return lo::Layout({rows, {kLine, k / kLine}}, {kLine, {1, rows * kLine}});
}

/// True if two layouts have the same index for each row of the first column, and for each column of the first row. The
/// others are sums of those.
bool are_equal(const lo::Layout& a, const lo::Layout& b, int64_t rows, int64_t k) {
    const auto same = [&](const lo::IntTuple& at) { return a(at) == b(at); };
    for (int64_t row = 0; row < rows; ++row)
        if (!same({row, 0})) return false;
    for (int64_t x = 0; x < k; ++x)
        if (!same({0, x})) return false;
    return true;
}

/// Refuses a tile that does not lie in local memory as warpgroups read it; its rows and steps of k.
std::pair<int64_t, int64_t> check_tile(const View& tile, int64_t step, const char* whose) {
    if (!tile.is_in(Space::local))
        lo::refuse("a warpgroup reads {} in local memory, and this is {}: copy it to lang.shared", whose,
                   to_string(tile));
    if (tile.shape().rank() != 2) lo::refuse("{} has the modes {} and k", whose, *whose == 'A' ? "m" : "n");
    const int64_t rows = lo::product(tile.shape().mode(0)).value(), k = lo::product(tile.shape().mode(1)).value();
    if (rows % codegen::kSwizzledRows || k % kLine || k % step)
        lo::refuse("{} has {} rows of {} elements: warpgroups take multiples of {} and {}", whose, rows, k,
                   codegen::kSwizzledRows, kLine);
    const auto* layout = std::get_if<lo::ComposedLayout>(&tile.layout());
    const lo::ComposedLayout wanted = warpgroup_layout(rows, k);
    const bool fits = layout && std::ranges::equal(layout->stages(), wanted.stages()) && tile.offset().is(0) &&
                      are_equal(layout->base(), wanted.base(), rows, k);
    if (!fits)
        lo::refuse("a warpgroup reads {} by the layout {}, which lang.warpgroup_layout(({}, {})) is", whose,
                   lo::to_string(wanted), rows, k);
    return {rows, k};
}

}  // namespace

lo::ComposedLayout warpgroup_layout(int64_t rows, int64_t k) {
    return lo::operation("warpgroup_layout", [&] {
        if (rows < 1 || k < 1 || rows % codegen::kSwizzledRows || k % kLine)
            lo::refuse("a tile of {} rows of {} elements: warpgroups take multiples of {} and {}", rows, k,
                       codegen::kSwizzledRows, kLine);
        return lo::make_composed_layout(lo::Swizzle(3, 3, 3), 0, plain_layout(rows, k));
    });
}

View TiledMma::of_local(const View& tile, Operand which, const lo::Int& thread) const {
    const char* const whose = which == Operand::a ? "A" : "B";
    const Sides sides = sides_of(which);
    const auto [rows, k] = lo::operation(
        which == Operand::a ? "load_A" : "load_B",
        [&] {
            const auto found = check_tile(tile, sides.atom[1], whose);
            if (found.first % (sides.atom[0] * sides.waves[0]))
                lo::refuse("{} has {} rows, no multiple of the {} of {} groups of waves", whose, found.first,
                           sides.atom[0] * sides.waves[0], sides.waves[0]);
            return found;
        },
        tile.base());
    const lo::IntTuple group = lo::flat_coord(lo::floor_div(thread, atom_.lanes), waves_);
    // Starts of rows alone: what comes after them is the instruction's to find.
    const int64_t between = sides.atom[0] * sides.waves[0];
    const lo::Layout all({sides.atom[0], sides.waves[0], rows / between, k},
                         {kLine, sides.atom[0] * kLine, between * kLine, 1});
    return tile.with_layout(all).slice({lo::IntTuple::none(), group.mode(static_cast<size_t>(sides.first)),
                                        lo::IntTuple::none(), lo::IntTuple::none()});
}

void gemm_by_warpgroups(const TiledMma& mma, const View& d, const View& a, const View& b, const View& c) {
    Trace& trace = Trace::current("lang.gemm");
    const codegen::MatrixShape& shape = mma.atom().shape;
    const auto size = [](const View& view, size_t mode) { return lo::product(view.shape().mode(mode)).value(); };
    for (const View* view : {&a, &b})
        if (!view->is_in(Space::local) || !view->shape().is_tuple() || view->shape().rank() != 3 ||
            size(*view, 0) != (view == &a ? mma.atom().m : shape.n) || view->dtype() != shape.operand)
            user_error(ErrorKind::Shape, "gemm of {} takes tiles of local memory, and this is {}: load_A and load_B",
                       shape.mnemonic, to_string(*view));
    for (const View* view : {&c, &d})
        if (!view->is_in(Space::reg) || !view->shape().is_tuple() || view->shape().rank() != 3 ||
            size(*view, 0) != shape.accumulator_elements() || view->dtype() != shape.accumulator)
            user_error(ErrorKind::Shape, "gemm of {} takes a fragment of {} elements of {}, and this is {}",
                       shape.mnemonic, shape.accumulator_elements(), shape.accumulator.name(), to_string(*view));
    const int64_t m = size(c, 1), n = size(c, 2), k = size(a, 2);
    if (size(a, 1) != m || size(b, 1) != n || size(b, 2) != k || size(d, 1) != m || size(d, 2) != n)
        user_error(ErrorKind::Shape, "gemm of a {}, b {}, c {}, d {}: a has m and k, b n and k, c and d m and n",
                   lo::to_string(a.shape()), lo::to_string(b.shape()), lo::to_string(c.shape()),
                   lo::to_string(d.shape()));
    if (trace.predicate())
        user_error(ErrorKind::Usage,
                   "gemm of {} in a branch: four waves multiply together, so write it before or after", shape.mnemonic);
    const auto rows = [&](const View& view) { return view.memory().as<ParamArg>().size / k; };
    const std::string name = codegen::name_of(shape.mnemonic, {k / shape.k, {true, rows(a)}, {true, rows(b)}});
    const auto start = [&](const View& view, int64_t atom) {
        return trace.start_of_tile(view.memory(), view.index({0, atom, 0}).integer().uop(), static_cast<int>(kChunk));
    };
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i) {
            std::vector<UOp> sums;
            for (int e = 0; e < shape.accumulator_elements(); ++e) sums.push_back(c.load({e, i, j}));
            const UOp product = uop::wmma(name, start(a, i), start(b, j), uop::vec(sums));
            for (const View* view : {&a, &b}) trace.note_reader(view->memory(), product);
            for (int e = 0; e < shape.accumulator_elements(); ++e) d.store({e, i, j}, uop::lane(product, e));
        }
}

}  // namespace strata::lang
