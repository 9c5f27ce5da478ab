// Copies: atoms, threads that repeat them, and copies of a block together.
#include "lang/tile_p.h"
#include "strata/codegen/tile/trace.h"

namespace strata::python {
namespace {

using namespace py::literals;
using lang::CopyAtom;
using lang::TiledCopy;
using lang::TiledMma;
using lang::View;

std::optional<View> to_mask(py::handle predicate) {
    if (predicate.is_none()) return {};
    return *as_view(predicate);
}

void bind_atom_of_copies(py::module_& m) {
    py::class_<CopyAtom> c(m, "CopyAtom", "One access of a thread, of 8 to 128 bits.");
    c.def(py::init([](int bits, DType type, const std::string& kind, As<"str | None"> cache, As<"str | None"> arch) {
              const codegen::Target target = target_named(arch, "CopyAtom");
              return lang::copy_atom(target, bits, type, kind, to_policy(cache, target));
          }),
          "bits"_a, "dtype"_a, "kind"_a = "universal", "cache"_a = py::none(), "arch"_a = py::none(),
          "kind: 'universal', 'buffer', or 'async' to local memory. cache: how accesses of a tensor use caches, 'all', "
          "'global', 'streaming', 'uncached' or 'keep'.\nUnsupported names the kinds, widths and policies that the "
          "kernel's arch has.");
    c.def_readonly("bits", &CopyAtom::bits);
    c.def_readonly("dtype", &CopyAtom::dtype);
    c.def_readonly("kind", &CopyAtom::kind);
    c.def_property_readonly(
        "cache", [](const CopyAtom& a) -> As<"str | None"> {
            if (!a.cache) return py::object(py::none());
            return py::object(py::str(std::string(cache_names()[static_cast<size_t>(*a.cache)])));
        });
    c.def_property_readonly("elements", &CopyAtom::lanes, "That an access takes.");
    c.def("__repr__",
          [](const CopyAtom& a) { return fmt::format("<CopyAtom {} bits of {}>", a.bits, a.dtype.name()); });
}

void bind_tiled_copies(py::module_& m) {
    py::class_<ThreadCopy> thread(m, "ThreadCopy", "What a thread has of a tiled copy, made by TiledCopy.get_slice.");
    py::class_<TiledCopy> c(m, "TiledCopy", "A copy repeated by threads and values that cover a tile.");
    c.def_property_readonly("atom", &TiledCopy::atom);
    c.def_property_readonly("tiler", [](const TiledCopy& t) -> As<"Any"> { return from_tile(t.tiler()); });
    c.def_property_readonly("threads", &TiledCopy::threads);
    constexpr const char* kLayout = "(thread, value) -> place in the tile";
    c.def_property_readonly("layout_src_tv", &TiledCopy::layout_tv, kLayout);
    c.def_property_readonly("layout_dst_tv", &TiledCopy::layout_tv, kLayout);
    c.def(
        "get_slice", [](const TiledCopy& t, As<"Value | int"> thread) { return ThreadCopy{t, to_int(thread)}; },
        "thread"_a, "What a thread of the block has.");
    constexpr const char* kPartition = "The thread's part of a view: ((access, accesses), rest of each mode ...).";
    const auto partition = [](const ThreadCopy& t, const View& view) { return t.copy.partition(view, t.thread); };
    thread.def("partition_S", partition, "view"_a, kPartition);
    thread.def("partition_D", partition, "view"_a, kPartition);
    thread.def(
        "retile", [](const ThreadCopy& t, const View& fragment) { return t.copy.retile(fragment); }, "fragment"_a,
        "A fragment of the products that the copy was made for, with the modes of partition_S.");
    LayoutFunctions functions(m);
    functions.def(
        "make_tiled_copy",
        [](const CopyAtom& atom, As<"Layout"> tv, TileLike tiler) {
            return TiledCopy(atom, to_layout(tv), to_tile(tiler));
        },
        "atom"_a, "tv"_a, "tiler"_a,
        "By a layout (thread, value) -> place in a tile. LayoutError where they do not cover it, each element once.");
    functions.def(
        "make_tiled_copy_tv",
        [](const CopyAtom& atom, As<"Layout"> threads, As<"Layout"> values) {
            return TiledCopy::of_threads(atom, to_layout(threads), to_layout(values));
        },
        "atom"_a, "threads"_a, "values"_a, "By a layout of threads, and one of the values of each.");
    const auto of_operand = [&](const char* name, auto make) {
        functions.def(name, make, "atom"_a, "mma"_a, "As the threads of a tiled product have this operand.");
    };
    of_operand("make_tiled_copy_A", [](const CopyAtom& atom, const TiledMma& mma) {
        return TiledCopy::of_operand(atom, mma, TiledMma::Operand::a);
    });
    of_operand("make_tiled_copy_B", [](const CopyAtom& atom, const TiledMma& mma) {
        return TiledCopy::of_operand(atom, mma, TiledMma::Operand::b);
    });
    of_operand("make_tiled_copy_C", [](const CopyAtom& atom, const TiledMma& mma) {
        return TiledCopy::of_operand(atom, mma, TiledMma::Operand::c);
    });
}

void copy_views(const CopyAtom& atom, const View& from, const View& to, As<"View | Value | bool | None"> pred) {
    GraphScope scope;
    if (pred.is_none() || as_view(pred)) return lang::copy(atom, from, to, to_mask(pred));
    lang::copy(atom, from, to, to_condition(pred, "copy"));
}

}  // namespace

std::optional<CachePolicy> to_policy(py::handle name, const codegen::Target& target) {
    if (name.is_none()) return {};
    if (!py::isinstance<py::str>(name)) user_error(ErrorKind::Usage, "cache= is a name or None, not {}", shown(name));
    return lang::cache_policy(target, name.cast<std::string>());
}

void bind_lang_copies(py::module_& m) {
    bind_atom_of_copies(m);
    bind_tiled_copies(m);
    m.def("copy", &copy_views, "atom"_a, "src"_a, "dst"_a, "pred"_a = py::none(),
          "Elements in order of coordinates, an atom's with each access. pred: a bool, or as many in registers, of "
          "which an "
          "access's first decides;\nloads without it give 0. LayoutError where an access's elements are not provably "
          "neighbours, "
          "aligned.");
    m.def(
        "autovec_copy",
        [](const View& from, const View& to) {
            GraphScope scope;
            lang::autovec_copy(from, to);
        },
        "src"_a, "dst"_a, "By accesses as wide as both views prove.");
    m.def(
        "copy_tile",
        [](const View& from, const View& to, As<"Value | int"> thread, int64_t threads) {
            GraphScope scope;
            lang::copy_tile(from, to, to_int(thread), threads);
        },
        "src"_a, "dst"_a, "thread"_a, "threads"_a,
        "By all threads of the block together, neighbouring threads neighbours of src.");
    m.def("async_commit", [] {
        GraphScope scope;
        lang::Trace::current("lang.async_commit").async_commit();
    });
    m.def(
        "async_wait",
        [](int groups) {
            GraphScope scope;
            lang::Trace::current("lang.async_wait").async_wait(groups);
        },
        "groups"_a);
    m.def(
        "make_fragment_like",
        [](const View& view, As<"DTypeLike | None"> type) {
            return View::registers_of(view.shape(), type.is_none() ? view.dtype() : to_dtype(type));
        },
        "view"_a, "dtype"_a = py::none(), "Registers of a view's shape.");
    m.def(
        "gather",
        [](const CopyAtom& atom, const View& base, const View& offsets, const View& to, As<"View | None"> pred) {
            GraphScope scope;
            lang::gather(atom, base, offsets, to, to_mask(pred));
        },
        "atom"_a, "base"_a, "offsets"_a, "dst"_a, "pred"_a = py::none(),
        "An access at each offset, in elements of base from its first one on.");
    m.def(
        "scatter",
        [](const CopyAtom& atom, const View& from, const View& base, const View& offsets, As<"View | None"> pred) {
            GraphScope scope;
            lang::scatter(atom, from, base, offsets, to_mask(pred));
        },
        "atom"_a, "src"_a, "base"_a, "offsets"_a, "pred"_a = py::none(), "The other way round.");
}

}  // namespace strata::python
