// mma: which elements of a tile the threads of a block have for a matrix instruction, and the products of those.
#include "strata/codegen/tile/mma.h"

#include "strata/codegen/target/matrix_layouts.h"
#include "strata/codegen/target/warpgroup_products.h"
#include "strata/codegen/tile/mma_p.h"
#include "strata/codegen/tile/trace.h"
#include "strata/core/layout/layout_error.h"

namespace strata::lang {
namespace {

using codegen::MatrixShape;

/// The layouts of four waves, whose rows are below each other.
MmaAtom of_warpgroup(const MatrixShape& shape, int lanes, const codegen::MatrixLayouts& layouts) {
    const int64_t rows = rows_of(shape);
    const auto of_group = [&](const lo::Layout& tv, int64_t columns, int64_t of_wave) {
        const lo::Layout wide = of_wave ? lo::composition(lo::Layout({shape.m, columns}, {1, rows}), tv) : tv;
        const lo::Layout waves(codegen::kWavesOfWarpgroup, of_wave);
        return lo::make_layout({lo::make_layout({wide.mode(0), waves}), wide.mode(1)});
    };
    return {shape,
            lanes * codegen::kWavesOfWarpgroup,
            static_cast<int>(rows),
            shape.operand,
            shape.operand,
            false,
            of_group(layouts.a, shape.k, shape.m),
            of_group(layouts.b, 1, 0),
            of_group(layouts.c, shape.n, shape.m)};
}

MmaAtom with_layouts(const MatrixShape& shape, int lanes, Signs signs) {
    codegen::MatrixLayouts layouts = codegen::matrix_layouts(shape);
    if (shape.by_warpgroups) return of_warpgroup(shape, lanes, layouts);
    return {shape,
            lanes,
            shape.m,
            signs.a ? shape.operand : dtypes::uint8,
            signs.b ? shape.operand : dtypes::uint8,
            signs.clamp,
            std::move(layouts.a),
            std::move(layouts.b),
            std::move(layouts.c)};
}

std::string row_text(const MatrixShape& s) {
    return fmt::format("{} {}x{}x{} to {}{}", s.operand.name(), rows_of(s), s.n, s.k, s.accumulator.name(),
                       codegen::takes_signs(s) ? " (with sign_a, sign_b, clamp)" : "");
}

DType wide_type(DType operand) {
    if (!operand.is_float()) return dtypes::int32;
    return operand == dtypes::float64 ? operand : dtypes::float32;
}

int64_t tile_size(const lo::Tile& tile) {
    if (tile.is_tuple()) lo::refuse("a permutation has a size or a layout a mode, and this is {}", lo::to_string(tile));
    return tile.layout().size().value();
}

bool is_permuted(const std::vector<lo::Tile>& permutation, int side) {
    return static_cast<size_t>(side) < permutation.size() && !permutation[static_cast<size_t>(side)].is_none();
}

}  // namespace

int rows_of(const MatrixShape& s) { return s.by_warpgroups ? s.m * codegen::kWavesOfWarpgroup : s.m; }

MmaAtom mma_atom(const codegen::Target& target, DType operand, std::optional<DType> accumulator,
                 std::optional<std::array<int, 3>> mnk, Signs signs) {
    const bool plain = signs.a && signs.b && !signs.clamp;
    const DType sum = accumulator.value_or(wide_type(operand));
    std::string known;
    for (const MatrixShape& s : target.matrix) {
        const bool fits = mnk ? *mnk == std::array{rows_of(s), s.n, s.k} : !s.by_warpgroups;
        if (s.operand == operand && s.accumulator == sum && fits && (plain || codegen::takes_signs(s)))
            return with_layouts(s, target.wave_size, signs);
        known += (known.empty() ? "" : ", ") + row_text(s);
    }
    const std::string wanted = mnk ? fmt::format(" {}x{}x{}", (*mnk)[0], (*mnk)[1], (*mnk)[2]) : "";
    std::string how;
    if (!signs.a) how += ", A without sign";
    if (!signs.b) how += ", B without sign";
    if (signs.clamp) how += ", sums that saturate";
    user_error(ErrorKind::Unsupported, "{} has no matrix instruction for {}{} to {}{}; it has {}", target.arch.name(),
               operand.name(), wanted, sum.name(), how, known.empty() ? "none" : known);
}

TiledMma::TiledMma(MmaAtom atom, const lo::Layout& waves, std::vector<lo::Tile> permutation)
    : atom_(std::move(atom)),
      waves_(lo::append(waves.shape().is_tuple() ? waves : lo::make_layout({waves}), lo::Layout(), 3)),
      permutation_(std::move(permutation)) {
    lo::operation(
        "make_tiled_mma",
        [&] {
            if (permutation_.size() > 3)
                lo::refuse("a permutation has modes for m, n and k, not {}", permutation_.size());
            if (!lo::is_injective(waves_) || !lo::cosize(waves_).is(waves_.size().value()))
                lo::refuse("the layout of waves numbers them 0 to {}, each once", waves_.size().value() - 1);
            if (!waves_.mode(2).size().is(1))
                lo::refuse("{} waves along k would each have a part of a sum: 1 is what is joined",
                           waves_.mode(2).size().value());
            const int sizes[] = {atom_.m, atom_.shape.n, atom_.shape.k};
            for (size_t i = 0; i < 3; ++i) {
                const int64_t least = sizes[i] * waves_.mode(i).size().value();
                tile_[i] = is_permuted(permutation_, static_cast<int>(i)) ? tile_size(permutation_[i]) : least;
                if (tile_[i] % least)
                    lo::at_mode(i, [&] {
                        lo::refuse("a tile of {} is no multiple of the {} that the waves' atoms have", tile_[i], least);
                    });
            }
        },
        waves_);
}

TiledMma::Sides TiledMma::sides_of(Operand which) const {
    const int first = which == Operand::b ? 1 : 0, second = which == Operand::c ? 1 : 2;
    const int64_t sizes[] = {atom_.m, atom_.shape.n, atom_.shape.k};
    const auto waves = [&](int side) { return waves_.mode(static_cast<size_t>(side)).size().value(); };
    return {first, second, {sizes[first], sizes[second]}, {waves(first), waves(second)}};
}

DType TiledMma::type_of(Operand which) const {
    return which == Operand::c ? atom_.shape.accumulator : which == Operand::a ? atom_.a : atom_.b;
}

lo::Layout TiledMma::by_threads(const lo::Layout& layout, Operand which) const {
    return lo::operation(
        "partition",
        [&] {
            const Sides sides = sides_of(which);
            if (!layout.shape().is_tuple() || layout.rank() < 2)
                lo::refuse("an operand has the modes {}", which == Operand::c   ? "m and n"
                                                          : which == Operand::a ? "m and k"
                                                                                : "n and k");
            std::vector<lo::Layout> atoms, lanes_of_waves, rests;
            for (size_t i = 0; i < 2; ++i) {
                lo::at_mode(i, [&] {
                    const int side = i == 0 ? sides.first : sides.second;
                    lo::Layout mode = layout.mode(i);
                    const int64_t tile = tile_[static_cast<size_t>(side)];
                    if (!lo::surely_divides(tile, mode.size()))
                        lo::refuse("{} elements are no multiple of the {} of a tile", lo::to_string(mode.size()), tile);
                    if (is_permuted(permutation_, side))
                        mode = lo::logical_divide(mode, permutation_[static_cast<size_t>(side)].layout());
                    const lo::Layout by_atom = lo::logical_divide(mode, lo::Layout(sides.atom[i]));
                    const lo::Layout by_wave = lo::logical_divide(by_atom.mode(1), lo::Layout(sides.waves[i]));
                    atoms.push_back(by_atom.mode(0));
                    lanes_of_waves.push_back(by_wave.mode(0));
                    rests.push_back(by_wave.mode(1));
                });
            }
            const lo::Layout& tv = which == Operand::a   ? atom_.layout_A_tv
                                   : which == Operand::b ? atom_.layout_B_tv
                                                         : atom_.layout_C_tv;
            const lo::Layout pairs = lo::composition(lo::make_layout(atoms), tv);
            std::vector<lo::Layout> values{pairs.mode(1), rests[0], rests[1]};
            for (size_t i = 2; i < layout.rank(); ++i) values.push_back(layout.mode(i));
            return lo::make_layout(
                {lo::make_layout({pairs.mode(0), lanes_of_waves[0], lanes_of_waves[1]}), lo::make_layout(values)});
        },
        layout);
}

View TiledMma::partition(const View& view, Operand which, const lo::Int& thread) const {
    const Sides sides = sides_of(which);
    const lo::IntTuple wave = lo::flat_coord(lo::floor_div(thread, atom_.lanes), waves_);
    const lo::IntTuple at{lo::floor_mod(thread, atom_.lanes), wave.mode(static_cast<size_t>(sides.first)),
                          wave.mode(static_cast<size_t>(sides.second))};
    return view.part([&](const lo::Layout& layout) {
        const lo::Layout threads = by_threads(layout, which);
        const std::vector<lo::IntTuple> all(threads.mode(1).rank(), lo::IntTuple::none());
        lo::Part part = lo::slice_and_offset(threads, {at, lo::IntTuple(all)});
        return part;
    });
}

lo::Layout TiledMma::layout_tv(Operand which) const {
    const Sides sides = sides_of(which);
    const lo::Layout tile(
        lo::IntTuple{tile_[static_cast<size_t>(sides.first)], tile_[static_cast<size_t>(sides.second)]});
    const lo::Layout threads = by_threads(tile, which);
    // Lanes, then the waves as they are numbered.
    const lo::Layout lanes = threads.mode(0);
    std::vector<lo::Layout> by_side;
    for (int side = 0; side < 3; ++side) {
        const lo::Layout& steps = side == sides.first    ? lanes.mode(1)
                                  : side == sides.second ? lanes.mode(2)
                                                         : lo::Layout();
        const lo::Int count = waves_.mode(static_cast<size_t>(side)).size();
        by_side.push_back(
            side == sides.first || side == sides.second ? steps : lo::Layout(lo::IntTuple(count), lo::IntTuple(0)));
    }
    const lo::Layout waves = lo::composition(lo::make_layout(by_side), lo::right_inverse(waves_));
    return lo::make_layout({lo::make_layout({lanes.mode(0), waves}), threads.mode(1)});
}

View TiledMma::fragment(const View& view, Operand which, int64_t stages) const {
    return fragment_like(view.shape(), which, stages);
}

View TiledMma::fragment_like(const lo::IntTuple& shape, Operand which, int64_t stages) const {
    const lo::Layout values = by_threads(lo::Layout(shape), which).mode(1);
    std::vector<lo::IntTuple> modes;
    for (size_t i = 0; i < 3; ++i) modes.push_back(values.shape().mode(i));
    if (stages > 1) modes.emplace_back(stages);
    return View::registers_of(modes, type_of(which));
}

void gemm(const TiledMma& mma, const View& d, const View& a, const View& b, const View& c) {
    if (mma.atom().shape.by_warpgroups) return gemm_by_warpgroups(mma, d, a, b, c);
    const MatrixShape& shape = mma.atom().shape;
    const auto size = [](const View& view, size_t mode) { return lo::product(view.shape().mode(mode)).value(); };
    const std::pair<const View*, int64_t> operands[] = {{&a, shape.operand_elements()},
                                                        {&b, shape.operand_elements()},
                                                        {&c, shape.accumulator_elements()},
                                                        {&d, shape.accumulator_elements()}};
    for (const auto& [view, elements] : operands) {
        const DType type = view == &a ? mma.atom().a : view == &b ? mma.atom().b : shape.accumulator;
        if (!view->is_in(Space::reg) || !view->shape().is_tuple() || view->shape().rank() != 3 ||
            size(*view, 0) != elements)
            user_error(
                ErrorKind::Shape,
                "gemm takes fragments (elements, rest, rest) with {} elements of {} in registers, and this is {}: "
                "make_fragment_A, _B, _C, load_A and load_B make them",
                elements, type.name(), to_string(*view));
        if (view->dtype() != type)
            user_error(ErrorKind::DType, "gemm of {} and {} to {}: a fragment has {}; cast it", mma.atom().a.name(),
                       mma.atom().b.name(), shape.accumulator.name(), view->dtype().name());
    }
    const int64_t m = size(c, 1), n = size(c, 2), k = size(a, 2);
    if (size(a, 1) != m || size(b, 1) != n || size(b, 2) != k || size(d, 1) != m || size(d, 2) != n)
        user_error(
            ErrorKind::Shape, "gemm of fragments a {}, b {}, c {}, d {}: a has m and k, b n and k, c and d m and n",
            lo::to_string(a.shape()), lo::to_string(b.shape()), lo::to_string(c.shape()), lo::to_string(d.shape()));
    // One vector for each of a fragment's parts, the first rest fastest.
    const auto parts = [](const View& view) {
        std::vector<UOp> out, values;
        const auto sizes = [&](size_t mode) { return lo::product(view.shape().mode(mode)).value(); };
        for (int64_t j = 0; j < sizes(2); ++j)
            for (int64_t i = 0; i < sizes(1); ++i) {
                values.clear();
                for (int64_t e = 0; e < sizes(0); ++e) values.push_back(view.load({e, i, j}));
                out.push_back(uop::vec(values));
            }
        return out;
    };
    const std::vector<UOp> of_a = parts(a), of_b = parts(b);
    std::vector<UOp> sums = parts(c);
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i) {
            UOp& sum = sums[static_cast<size_t>(i + m * j)];
            for (int64_t step = 0; step < k; ++step)
                sum = uop::wmma(std::string(shape.mnemonic), of_a[static_cast<size_t>(i + m * step)],
                                of_b[static_cast<size_t>(j + n * step)], sum, mma.atom().clamp);
        }
    size_t next = 0;
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i, ++next)
            for (int e = 0; e < shape.accumulator_elements(); ++e) d.store({e, i, j}, uop::lane(sums[next], e));
}

}  // namespace strata::lang
