#pragma once
#include "convert_p.h"
#include "strata/codegen/tile/view.h"
#include "strata/core/layout/algebra.h"
#include "strata/core/layout/composed.h"
#include "strata/core/layout/layout_error.h"

// strata.layout: nested Python tuples are IntTuples; their leaves are integers, UOps, values of kernels, Basis elements
// and None. Functions take views of kernels where they take layouts, and give views.

namespace strata::python {

namespace lo = strata::layout;

using TupleLike = As<"IntTuple">;
using TileLike = As<"TileLike">;
using LayoutLike = As<"Layout | ComposedLayout | View">;
using AnyLike = As<"AnyLayout">;
using TreeLike = As<"Layout | ComposedLayout | View | IntTuple">;
using Tree = As<"Any">;
using TupleIndex = As<"Any">;  ///< an integer, UOp, Basis or nested tuple

/// An element of the basis of coordinates in Python.
struct Basis {
    lo::IntTuple element;
};

lo::IntTuple to_int_tuple(py::handle value);
py::object from_int_tuple(const lo::IntTuple& t);
lo::Int to_int(py::handle value);
py::object from_int(const lo::Int& value);
lo::Path to_path(py::handle modes);  ///< an integer or a tuple of them
py::tuple from_path(const lo::Path& path);
lo::Tile to_tile(py::handle value);
py::object from_tile(const lo::Tile& tile);
lo::AnyLayout to_any(py::handle value);
py::object from_any(lo::AnyLayout value);
int to_small(py::handle value, const char* what);

const lo::Layout* as_layout(py::handle value);  ///< null for anything else
const lo::ComposedLayout* as_composed(py::handle value);
const lang::View* as_view(py::handle value);
inline bool has_layout(py::handle value) { return as_layout(value) || as_composed(value) || as_view(value); }
const lo::Layout& to_layout(py::handle value);  ///< of a view its own; LayoutError names what it is instead

/// f of a layout. For a composed one it is f of the layout at its end, with the stages as they are. For a view it is f
/// of its layout, as a view.
template <class F>
py::object of_layout(py::handle value, F f) {
    if (const lang::View* view = as_view(value))
        return py::cast(view->with_base([&](const lo::Layout& L) { return lo::Layout(f(L)); }));
    if (const lo::ComposedLayout* composed = as_composed(value))
        return py::cast(composed->with_base(f(composed->base())));
    return py::cast(lo::Layout(f(to_layout(value))));
}
/// The same of a tuple too.
template <class F>
py::object of_tree(py::handle value, F f) {
    if (has_layout(value)) return of_layout(value, f);
    return from_int_tuple(f(to_int_tuple(value)));
}

/// A submodule whose functions name themselves in a LayoutError about what they were given.
class LayoutFunctions {
  public:
    explicit LayoutFunctions(py::module_& m) : module_(m) {}
    template <class F, class... Extra>
    void def(const char* name, F function, const Extra&... extra) {
        bind(name, +function, extra...);
    }

  private:
    template <class R, class... Arguments, class... Extra>
    void bind(const char* name, R (*function)(Arguments...), const Extra&... extra) {
        module_.def(
            name,
            [name, function](Arguments... arguments) -> R {
                try {
                    return function(std::forward<Arguments>(arguments)...);
                } catch (const lo::LayoutError& error) {
                    if (!error.operation().empty()) throw;
                    throw error.within(name, "", {});
                }
            },
            extra...);
    }
    py::module_& module_;
};

lo::IntTuple shape_of(py::handle value);  ///< of a layout; a tuple itself

/// f of a layout as (layout, offset). A composed one keeps the offset, since its stages are applied to the sum; of a
/// view the part of it.
template <class F>
py::object part(py::handle value, F f) {
    if (const lang::View* view = as_view(value)) return py::cast(view->part(f));
    const lo::ComposedLayout* composed = as_composed(value);
    if (!composed) {
        const lo::Part out = f(to_layout(value));
        return py::make_tuple(out.layout, from_int_tuple(out.offset));
    }
    const lo::Part out = f(composed->base());
    std::vector<lo::ComposedLayout::Stage> stages(composed->stages().begin(), composed->stages().end());
    stages.back().offset = lo::coordinate_sum(stages.back().offset, out.offset);
    return py::make_tuple(lo::ComposedLayout(std::move(stages), out.layout), 0);
}

std::string repr(const lo::Layout& L);
std::string repr(const lo::AnyLayout& L);
std::string repr(const lo::IntTuple& t);

void bind_layout(py::module_& m);
void bind_layout_types(py::module_& m);
void bind_layout_tuples(LayoutFunctions& m);
void bind_layout_modes(LayoutFunctions& m);
void bind_layout_algebra(LayoutFunctions& m);
void bind_layout_banks(LayoutFunctions& m);

}  // namespace strata::python
