// Matrix products: atoms, waves that repeat them, and what a thread has of each operand.
#include "lang/tile_p.h"
#include "strata/codegen/tile/trace.h"

namespace strata::python {
namespace {

using namespace py::literals;
using lang::MmaAtom;
using lang::TiledMma;
using lang::View;
using MmaOperand = TiledMma::Operand;

thread_local std::string traced_arch;

std::optional<std::array<int, 3>> to_mnk(py::handle shape) {
    if (shape.is_none()) return {};
    const lo::IntTuple t = to_int_tuple(shape);
    if (!t.is_tuple() || t.rank() != 3) user_error(ErrorKind::Usage, "a shape is (m, n, k), not {}", shown(shape));
    return std::array{static_cast<int>(t.mode(0).known()), static_cast<int>(t.mode(1).known()),
                      static_cast<int>(t.mode(2).known())};
}

void bind_atom(py::module_& m) {
    py::class_<MmaAtom> c(m, "MmaAtom", "A matrix instruction of one wave: D = A * B + C with A m x k and B k x n.");
    c.def(py::init([](DType type, As<"DTypeLike | None"> acc, As<"tuple[int, int, int] | None"> shape,
                      As<"str | None"> arch, bool sign_a, bool sign_b, bool clamp) {
              std::optional<DType> sum;
              if (!acc.is_none()) sum = to_dtype(acc);
              return lang::mma_atom(target_named(arch, "MmaAtom"), type, sum, to_mnk(shape), {sign_a, sign_b, clamp});
          }),
          "dtype"_a, "acc"_a = py::none(), "shape"_a = py::none(), "arch"_a = py::none(), "sign_a"_a = true,
          "sign_b"_a = true, "clamp"_a = false,
          "For operands of a type and sums of acc (float32, float64 or int32 by default), of the kernel's arch: the "
          "first that "
          "it has. sign_a, sign_b: False for integers without sign, uint8, on that side; clamp: integer sums "
          "saturate.\nUnsupported names those that there are.");
    c.def_property_readonly("name", [](const MmaAtom& a) { return std::string(a.shape.mnemonic); }, "Its mnemonic.");
    c.def_property_readonly("dtype", [](const MmaAtom& a) { return a.shape.operand; }, "Of A and B.");
    c.def_readonly("dtype_A", &MmaAtom::a, "Of A: uint8 where sign_a is False.");
    c.def_readonly("dtype_B", &MmaAtom::b, "Of B: uint8 where sign_b is False.");
    c.def_readonly("clamp", &MmaAtom::clamp, "Integer sums saturate.");
    c.def_property_readonly("acc", [](const MmaAtom& a) { return a.shape.accumulator; }, "Of C and D.");
    c.def_property_readonly("shape_mnk", [](const MmaAtom& a) { return std::tuple(a.m, a.shape.n, a.shape.k); });
    c.def_property_readonly(
        "threads", [](const MmaAtom& a) { return a.lanes; }, "Lanes of a wave, or of the four waves of a warpgroup.");
    c.def_readonly("layout_A_tv", &MmaAtom::layout_A_tv, "(lane, element) -> m + M * k");
    c.def_readonly("layout_B_tv", &MmaAtom::layout_B_tv, "(lane, element) -> n + N * k");
    c.def_readonly("layout_C_tv", &MmaAtom::layout_C_tv, "(lane, element) -> m + M * n, of C and D");
    c.def("__repr__", [](const MmaAtom& a) { return fmt::format("<MmaAtom {}>", a.shape.mnemonic); });
}

void bind_tiled(py::module_& m) {
    py::class_<TiledMma> c(m, "TiledMma", "A matrix instruction repeated by the waves of a block.");
    c.def_property_readonly("atom", &TiledMma::atom);
    c.def_property_readonly(
        "tile_mnk", [](const TiledMma& t) { return std::tuple(t.tile_mnk()[0], t.tile_mnk()[1], t.tile_mnk()[2]); },
        "Elements along m, n and k that all waves have together.");
    c.def_property_readonly("threads", &TiledMma::threads);
    c.def_property_readonly(
        "layout_A_tv", [](const TiledMma& t) { return t.layout_tv(MmaOperand::a); },
        "(thread, value) -> place in the tile of m and k");
    c.def_property_readonly(
        "layout_B_tv", [](const TiledMma& t) { return t.layout_tv(MmaOperand::b); },
        "(thread, value) -> place in the tile of n and k");
    c.def_property_readonly(
        "layout_C_tv", [](const TiledMma& t) { return t.layout_tv(MmaOperand::c); },
        "(thread, value) -> place in the tile of m and n");
    c.def(
        "get_slice", [](const TiledMma& t, As<"Value | int"> thread) { return ThreadMma{t, to_int(thread)}; },
        "thread"_a, "What a thread of the block has.");
    m.def(
        "make_tiled_mma",
        [](const MmaAtom& atom, As<"Layout | IntTuple"> waves, As<"TileLike"> permutation) {
            std::vector<lo::Tile> tiles;
            if (!permutation.is_none())
                for (const py::handle mode : permutation) tiles.push_back(to_tile(mode));
            return TiledMma(atom, has_layout(waves) ? to_layout(waves) : lo::Layout(to_int_tuple(waves)), tiles);
        },
        "atom"_a, "atom_layout"_a, "permutation"_a = py::none(),
        "An atom by each of (m, n, k) waves. permutation: a tile of m, n, k, as sizes or layouts, whose places the "
        "atoms take "
        "in order.\nLayoutError where the tile is no multiple of what the waves have.");
}

template <MmaOperand which>
View partition(const ThreadMma& t, const View& view) {
    return t.mma.partition(view, which, t.thread);
}
template <MmaOperand which>
View fragment(const ThreadMma& t, As<"View | IntTuple"> like, int64_t stages) {
    if (stages < 1) user_error(ErrorKind::Usage, "a fragment of {} stages: from 1 on", stages);
    return t.mma.fragment_like(shape_of(like), which, stages);
}
template <MmaOperand which>
View loaded(const ThreadMma& t, const View& view) {
    GraphScope scope;
    const MmaAtom& atom = t.mma.atom();
    const DType wanted = which == MmaOperand::a ? atom.a : atom.b;
    if (view.dtype() != wanted)
        user_error(ErrorKind::DType, "{} of {} is {}, and the view is {}: cast it, or choose another atom",
                   which == MmaOperand::a ? "A" : "B", atom.shape.mnemonic, wanted.name(), view.dtype().name());
    if (atom.shape.by_warpgroups) return t.mma.of_local(view, which, t.thread);
    const View out = t.mma.fragment(view, which);
    lang::store(out, t.mma.partition(view, which, t.thread));
    return out;
}

void bind_thread(py::module_& m) {
    py::class_<ThreadMma> c(m, "ThreadMma", "What a thread has of a tiled product, made by TiledMma.get_slice.");
    constexpr const char* kPartition = "The thread's part of a view: (elements of an atom, rest of each mode ...).";
    c.def("partition_A", &partition<MmaOperand::a>, "view"_a, kPartition);
    c.def("partition_B", &partition<MmaOperand::b>, "view"_a, kPartition);
    c.def("partition_C", &partition<MmaOperand::c>, "view"_a, kPartition);
    constexpr const char* kFragment =
        "Registers for the thread's part of a view or of a shape, in the atom's type; with stages a mode more.";
    c.def("make_fragment_A", &fragment<MmaOperand::a>, "view"_a, "stages"_a = 1, kFragment);
    c.def("make_fragment_B", &fragment<MmaOperand::b>, "view"_a, "stages"_a = 1, kFragment);
    c.def("make_fragment_C", &fragment<MmaOperand::c>, "view"_a, "stages"_a = 1, kFragment);
    constexpr const char* kLoad =
        "New registers with the thread's part of a view, by accesses as wide as it proves. Of an atom of warpgroups "
        "the "
        "view itself, local memory that lies as warpgroup_layout says.";
    c.def("load_A", &loaded<MmaOperand::a>, "view"_a, kLoad);
    c.def("load_B", &loaded<MmaOperand::b>, "view"_a, kLoad);
    c.def(
        "store_C",
        [](const ThreadMma& t, const View& fragment, const View& to) {
            GraphScope scope;
            const View mine = t.mma.partition(to, MmaOperand::c, t.thread);
            lang::store(mine, fragment.dtype() == to.dtype() ? fragment : lang::cast(fragment, to.dtype()));
        },
        "fragment"_a, "view"_a, "Stores the thread's part of C, converted to the view's type.");
    c.def(
        "reduce",
        [](const ThreadMma& t, const View& fragment, const std::string& op, int axis) {
            GraphScope scope;
            return t.mma.reduce(fragment, parse_reduction(op), axis);
        },
        "fragment"_a, "op"_a, "axis"_a,
        "A fragment of C reduced by 'add', 'mul', 'max' or 'min'. Axis 1 is its columns, to (V, M, 1); axis 0 its "
        "rows, to (V, 1, N).");
}

}  // namespace

codegen::Target target_named(py::handle arch, const char* what) {
    if (arch.is_none() && traced_arch.empty())
        user_error(ErrorKind::Usage, "[{}] outside of a kernel it takes an arch, e.g. arch='gfx1100'", what);
    return codegen::target_of(codegen::Chip::parse(arch.is_none() ? traced_arch : arch.cast<std::string>()).value());
}

void bind_lang_products(py::module_& m) {
    m.def(
        "set_arch", [](const std::string& arch) { traced_arch = arch; }, "arch"_a,
        "The architecture that this thread's kernels are traced for; '' for none.");
    bind_atom(m);
    bind_thread(m);
    bind_tiled(m);
    m.def(
        "warpgroup_layout", [](std::array<int64_t, 2> shape) { return lang::warpgroup_layout(shape[0], shape[1]); },
        "shape"_a, "The layout of (rows, k) elements of 16 bits in local memory that an atom of warpgroups reads.");
    m.def(
        "gemm",
        [](const TiledMma& mma, const View& d, const View& a, const View& b, const View& c) {
            GraphScope scope;
            lang::gemm(mma, d, a, b, c);
        },
        "mma"_a, "d"_a, "a"_a, "b"_a, "c"_a,
        "d = a * b + c of a thread's fragments (V, M, K), (V, N, K) and (V, M, N). ShapeError where they do not fit.");
}

}  // namespace strata::python
