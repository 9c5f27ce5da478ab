#pragma once
#include <fmt/ranges.h>

#include <algorithm>

#include "convert_p.h"
#include "strata/core/uop/kernel.h"

// How nodes are made from what Python gives: types, ranges and roles are checked here, before a graph has them.

namespace strata::python {

/// A node in Python: rooted, since Python may keep it for any time.
struct Handle {
    Root root;
    explicit Handle(UOp u) : root(u) {}
    UOp get() const { return root.get(); }
};

using Value = As<"UOp | Scalar">;
using MaybeValue = As<"UOp | Scalar | None">;
using Offset = As<"UOp | int">;
using Predicate = As<"UOp | None">;

/// A class or module whose functions make nodes: what they make is used before a Handle roots it.
template <class Binding>
struct Building : Binding {
    using Binding::Binding;
    Building(Binding binding) : Binding(std::move(binding)) {}
    template <class Function, class... Extra>
    void def(const char* name, Function&& function, const Extra&... extra) {
        Binding::def(name, std::forward<Function>(function), py::call_guard<GraphScope>(), extra...);
    }
};
using UOpClass = Building<py::class_<Handle>>;
using UOpModule = Building<py::module_>;

/// The member of an enum whose names are the rows of a table.
template <class E>
E lookup(std::span<const std::string_view> names, std::string_view what, const std::string& name) {
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        user_error(ErrorKind::Usage, "unknown {} '{}'; known: {}", what, name, fmt::join(names, ", "));
    return static_cast<E>(found - names.begin());
}

void bind_text(UOpClass& c, UOpModule& u);     ///< graphs as JSON and as text
void bind_threads(UOpClass& c, UOpModule& u);  ///< what threads do by themselves, or with each other

void bind_interpret(UOpModule& u);  ///< strata interp

/// Graphs of tensors whose buffers are stand-ins, as values of JSON, and back. Unsupported error for users' kernels.
py::dict tensors_to_dict(std::span<const UOp> roots);
std::vector<UOp> tensors_of_dict(const py::dict& whole);

/// A node that has a value: not a place in memory that somebody forgot to load, nor an effect.
UOp with_value(UOp u);
/// A node, or a Python number as a constant of the type it meets, which must have it.
UOp operand(py::handle value, DType type);
UOp place(const Handle& h, const char* what);  ///< the node of an indexed buffer
UOp effect(UOp u);                             ///< the node, which must be an effect, or what an atomic found
UOp as_condition(py::handle value);            ///< a bool
UOp written(UOp place, py::handle value);      ///< what is written to a place: a value of its type
std::vector<UOp> nodes(const py::args& args);
std::vector<UOp> effects_of(const char* what, const py::args& args);
std::vector<UOp> ranges_of(const char* what, const py::args& args);

/// The op, where its row has these types.
UOp checked(Op op, std::initializer_list<UOp> sources);
Handle binary(Op op, py::handle a, py::handle b);
Handle less_or_equal(py::handle a, py::handle b);
Handle where(const Handle& condition, Value x, Value y);
Handle index_into(UOp pointer, py::handle offset, py::handle predicate);
Handle load(const Handle& h, MaybeValue alternative);
Handle store(const Handle& h, Value value);
Handle effect_of(Op op, std::vector<UOp> sources, Arg arg = {});

}  // namespace strata::python
