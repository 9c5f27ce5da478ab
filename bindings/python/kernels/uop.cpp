#include <fmt/ranges.h>

#include <algorithm>

#include "strata/codegen/target/target.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/walk.h"
#include "uop_p.h"

namespace strata::python {
namespace {

/// A loop does something with its range, or reads what it wrote: else it does the same again.
void check_uses(UOp effect, const std::vector<UOp>& ranges) {
    const std::vector<UOp> below = toposort(effect);
    if (std::ranges::any_of(below, [](UOp u) { return u.is(Op::load) || u.is(Op::atomic_add) || u.is(Op::atomic); }))
        return;
    for (UOp r : ranges) {
        const Axis axis = range_arg(r).axis;
        if (axis == Axis::global || axis == Axis::local || std::ranges::find(below, r) != below.end()) continue;
        user_error(ErrorKind::Usage, "end closes {}, which the effect before it does not use: leave it out, or use it",
                   to_string(r));
    }
}

Op parse_op(const std::string& name) {
    for (int i = 0; i < kOpCount; ++i)
        if (info(static_cast<Op>(i)).name == name) return static_cast<Op>(i);
    user_error(ErrorKind::Usage, "unknown op '{}'", name);
}

constexpr const char *kIndex =
                         "A place in a buffer; where predicate is false a load gives its alternative and a store does "
                         "nothing.",
                     *kLoad = "The value at a place; alt is given where the predicate is false, 0 by default.",
                     *kStore = "The effect of writing a value at a place.";

void bind_properties(UOpClass& c) {
    c.def_property_readonly(
        "op", [](const Handle& h) { return info(h.get().op()).name; }, "'add', 'load', ...: a row of the op table.");
    c.def_property_readonly("dtype", [](const Handle& h) { return h.get().dtype(); }, "Element type.");
    c.def_property_readonly(
        "shape", [](const Handle& h) { return h.get().shape(); }, "Shape at tensor level; () in a kernel.");
    c.def_property_readonly(
        "src", [](const Handle& h) -> As<"tuple[UOp, ...]"> {
            py::list out;
            for (UOp s : h.get().src()) out.append(Handle(s));
            return py::object(py::tuple(out));
        },
        "Sources.");
    c.def_property_readonly(
        "size",
        [](const Handle& h) -> int64_t {
            UOp u = h.get().is(Op::after) ? h.get().src(0) : h.get();
            if (const auto* p = std::get_if<ParamArg>(&u.arg())) return p->size;
            if (const auto* r = std::get_if<RangeArg>(&u.arg())) return r->size;
            return u.numel();
        },
        "Elements of a buffer, or of a range.");
    c.def("tree", [](const Handle& h) { return tree(h.get()); }, "The graph as numbered lines.");
    c.def("simplify", [](const Handle& h) { return Handle(simplify(h.get())); }, "After the algebraic rules.");
    c.def(
        "same", [](const Handle& a, const Handle& b) { return a.get() == b.get(); }, py::arg("other"), py::pos_only(),
        "Whether both are the same node (== builds a comparison).");
    c.def("__repr__", [](const Handle& h) { return "<UOp " + to_string(h.get()) + ">"; });
    c.def("__hash__", [](const Handle& h) { return static_cast<py::ssize_t>(h.get().node()->hash >> 1); });
}

void bind_memory(UOpClass& c) {
    c.def(
        "__getitem__", [](const Handle& h, Offset at) { return index_into(h.get(), at, py::none()); }, py::arg("at"),
        py::pos_only(), "buffer[i]: a place to load from or store to.");
    c.def(
        "index", [](const Handle& h, Offset at, Predicate predicate) { return index_into(h.get(), at, predicate); },
        py::arg("offset"), py::arg("predicate") = py::none(), kIndex);
    c.def("load", &load, py::arg("alt") = py::none(), kLoad);
    c.def("store", &store, py::arg("value"), kStore);
    OwnSignature own;
    c.def(
        "after",
        [](const Handle& h, const py::args& deps) {
            std::vector<UOp> earlier = nodes(deps);
            for (UOp& u : earlier) u = uop::effect_below(u);
            return Handle(uop::after(h.get(), earlier));
        },
        "after(self, *deps: UOp) -> UOp\n\nThis value or buffer, used only after the effects and inside the ranges "
        "given.");
    c.def(
        "end",
        [](const Handle& h, const py::args& ranges) {
            const std::vector<UOp> closed = ranges_of("end", ranges);
            const UOp last = effect(h.get());
            check_uses(last, closed);
            return Handle(uop::end(last, closed));
        },
        "end(self, *ranges: UOp) -> UOp\n\nCloses ranges after this effect.");
}

/// The docstring of the tensor function of the same op.
std::string meaning_of(std::string_view op) {
    struct {
        std::string_view name, meaning;
    } constexpr rows[] = {
#define UNARY(name, accepts, meaning, ...) {#name, meaning},
#define BINARY(...)
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY
    };
    std::string_view tensor = op == "recip"     ? "reciprocal"
                              : op == "rint"    ? "round"
                              : op == "bit_not" ? "bitwise_invert"
                                                : op;
    for (const auto& row : rows)
        if (row.name == tensor) return std::string(row.meaning);
    return fmt::format("The op {} of each element.", op);
}

void bind_values(UOpClass& c) {
    c.def(
        "cast", [](const Handle& h, DType type) { return Handle(cast(with_value(h.get()), type)); }, py::arg("dtype"),
        "To another type; float to integer truncates and saturates.");
    c.def(
        "bitcast",
        [](const Handle& h, DType type) {
            DType from = with_value(h.get()).dtype();
            if (from.bits() != type.bits() || from.is_bool() || type.is_bool())
                user_error(ErrorKind::DType, "bitcast of {} to {}: the types differ in width or one is bool",
                           from.name(), type.name());
            return Handle(bitcast(h.get(), type));
        },
        py::arg("dtype"), "The same bits as another type of the same width.");
    c.def("where", &where, py::arg("x"), py::arg("y"), "x where this is true, else y.");
    auto two = [&](const char* name, Op op, const char* meaning) {
        c.def(name, [op](Value a, Value b) { return binary(op, a, b); }, py::arg("other"), py::pos_only(), meaning);
    };
    two("maximum", Op::max, "The larger; NaN where either is NaN.");
    two("minimum", Op::min, "The smaller; NaN where either is NaN.");
    for (int i = 0; i < kOpCount; ++i) {
        Op op = static_cast<Op>(i);
        constexpr Op kNotOfKernels[] = {Op::cast, Op::bitcast, Op::detach, Op::recompute, Op::freeze};
        if (!info(op).is(kUnary) || std::ranges::find(kNotOfKernels, op) != std::end(kNotOfKernels)) continue;
        std::string name(info(op).name);
        c.def(
            name.c_str(), [op](const Handle& h) { return Handle(checked(op, {with_value(h.get())})); },
            meaning_of(name).c_str());
    }
}

void bind_operators(UOpClass& c) {
    struct Row {
        const char *name, *reflected;
        Op op;
    };
    for (const Row& row : {Row{"__add__", "__radd__", Op::add},
                           {"__sub__", "__rsub__", Op::sub},
                           {"__mul__", "__rmul__", Op::mul},
                           {"__truediv__", "__rtruediv__", Op::fdiv},
                           {"__floordiv__", "__rfloordiv__", Op::idiv},
                           {"__mod__", "__rmod__", Op::mod},
                           {"__and__", "__rand__", Op::bit_and},
                           {"__or__", "__ror__", Op::bit_or},
                           {"__xor__", "__rxor__", Op::bit_xor},
                           {"__lshift__", "__rlshift__", Op::shl},
                           {"__rshift__", "__rrshift__", Op::shr},
                           {"__lt__", "__gt__", Op::cmplt},
                           {"__eq__", nullptr, Op::cmpeq},
                           {"__ne__", nullptr, Op::cmpne}}) {
        Op op = row.op;
        c.def(row.name, [op](Value a, Value b) { return binary(op, a, b); }, py::arg("other"), py::pos_only());
        if (row.reflected)
            c.def(row.reflected, [op](Value a, Value b) { return binary(op, b, a); }, py::arg("other"), py::pos_only());
    }
    c.def("__le__", [](Value a, Value b) { return less_or_equal(a, b); }, py::arg("other"), py::pos_only());
    c.def("__ge__", [](Value a, Value b) { return less_or_equal(b, a); }, py::arg("other"), py::pos_only());
    c.def("__neg__", [](const Handle& h) { return Handle(checked(Op::neg, {with_value(h.get())})); });
    c.def("__abs__", [](const Handle& h) { return Handle(checked(Op::abs, {with_value(h.get())})); });
    c.def("__invert__", [](const Handle& h) {
        UOp x = with_value(h.get());
        return Handle(checked(x.dtype().is_bool() ? Op::logical_not : Op::bit_not, {x}));
    });
}

/// Refuses Python's conversions of a node to a value: it has none before the kernel runs.
void bind_refusals(UOpClass& c) {
    c.def(
        "__bool__", [](const Handle& h) -> As<"Never"> {
            throw py::type_error(
                fmt::format("{} has no value before the kernel runs: it cannot decide an if, and, or, not, min or max "
                            "in Python. Write "
                            "uop.where(condition, x, y), & and | for and and or, x.minimum(y), x.maximum(y); a.same(b) "
                            "compares nodes",
                            to_string(h.get())));
        });
    c.def(
        "__iter__", [](const Handle& h) -> As<"Never"> {
            throw py::type_error(fmt::format(
                "{} cannot be iterated: loop with i = uop.range(buffer.size, id, 'loop') and take buffer[i].load()",
                to_string(h.get())));
        });
    c.def(
        "__contains__", [](const Handle& h, As<"object">) -> As<"Never"> {
            throw py::type_error(fmt::format("what {} holds is not known before the kernel runs", to_string(h.get())));
        },
        py::arg("value"), py::pos_only());
}

void bind_leaves(UOpModule& u) {
    u.def(
        "range",
        [](int64_t size, int id, As<"AxisKind"> axis, As<"UOp | int | None"> steps) {
            if (size < 1) user_error(ErrorKind::Usage, "a range of {}: the size is at least 1", size);
            const Axis kind = lookup<Axis>(axis_names(), "axis", py::str(axis));
            if (steps.is_none()) return Handle(uop::range(size, id, kind));
            UOp count = operand(steps, dtypes::index);
            if (!count.dtype().is_integer())
                user_error(ErrorKind::DType, "steps are an integer, not {}: cast it first", count.dtype().name());
            if (kind != Axis::loop && kind != Axis::reduce)
                user_error(ErrorKind::Usage, "a range of axis '{}' has no steps: use 'loop'",
                           axis_names()[size_t(kind)]);
            return Handle(uop::range(size, id, kind, cast(count, dtypes::index)));
        },
        py::arg("size"), py::arg("id"), py::arg("axis") = "loop", py::arg("steps") = py::none(),
        "0 to size-1. axis: 'global' (grid), 'local' (threads of a block), 'loop' and 'reduce' (serial), 'upcast', "
        "'unroll',\n'group'. id: distinct within a kernel; the order of ids is the nesting order. steps: the number of "
        "steps that a serial\nloop takes, 0 to size, the same in all threads of the block. A count that differs "
        "between threads is break_if(i >= n,\ni).");
    u.def(
        "special",
        [](const std::string& name, int64_t size) {
            if (name.size() != 5 || (!name.starts_with("gidx") && !name.starts_with("lidx")) || name[4] < '0' ||
                name[4] > '2')
                user_error(ErrorKind::Usage, "special '{}': use gidx0..gidx2 (block) or lidx0..lidx2 (thread)", name);
            if (size < 1) user_error(ErrorKind::Usage, "special '{}' below {}: the size is at least 1", name, size);
            return Handle(make(Op::special, dtypes::index, {}, SpecialArg{name[0] == 'l', name[4] - '0', size}));
        },
        py::arg("name"), py::arg("size"),
        "A hardware index: 'gidx0' to 'gidx2' (block), 'lidx0' to 'lidx2' (thread); below size.");
    u.def(
        "placeholder",
        [](int64_t size, DType dtype, As<"Space"> space, int slot) {
            if (size < 1) user_error(ErrorKind::Usage, "a buffer of {} elements: the size is at least 1", size);
            return Handle(uop::placeholder(size, dtype, lookup<Space>(space_names(), "space", py::str(space)), slot));
        },
        py::arg("size"), py::arg("dtype") = "float32", py::arg("space") = "reg", py::arg("slot") = 0,
        "Memory of a kernel, in elements: 'reg' (registers), 'local' (LDS, shared by the block) or 'global' (a "
        "parameter).\nslot tells several of a space apart.");
    u.def(
        "variable", [](int slot, DType dtype) { return Handle(uop::variable(slot, dtype)); }, py::arg("slot"),
        py::arg("dtype") = "float32",
        "A number of 32 or 64 bits that each launch gives, as the kernel's parameter `slot`. A NumPy number that is "
        "given to\ncustom_kernel becomes one.");
    u.def(
        "const", [](As<"Scalar"> value, DType dtype) { return Handle(operand(value, dtype)); }, py::arg("value"),
        py::arg("dtype") = "float32", "A number of a type.");
}

constexpr const char* kMatrixProduct =
    R"(A * B + C by a matrix instruction, in each wave: D, a list of what this lane holds of it.

name: the instruction's mnemonic, for example 'v_wmma_f32_16x16x16_f16' (gfx1100), 'v_mfma_f32_16x16x16_f16' (gfx942) or
'mma_f32_16x16x16_bf16' (sm_80 on). a, b, c: what this lane holds of A (M x K), B (K x N) and C (M x N); numbers take the type that
the instruction wants. The block is made of whole waves. Which elements these are say layout_A_tv, layout_B_tv and layout_C_tv of
strata.lang.MmaAtom: (lane, element) -> m + M * k, n + N * k and m + M * n. Of gfx1100's 16 bits A and B are
((16,2),(8,2)):((1,0),(16,128)), element i of lane l at k = i of line l % 16, and C ((16,2),8):((16,1),2).)";

std::string names_of(std::span<const codegen::MatrixShape> shapes) {
    std::string names;
    for (const codegen::MatrixShape& shape : shapes)
        if (std::string name(shape.mnemonic); !shape.by_warpgroups && names.find(name) == names.npos)
            names += (names.empty() ? "" : ", ") + name;
    return names;
}

/// The elements that a lane gives, as one vector. `count`: how many some arch takes.
UOp fragment(const char* what, const std::string& name, const py::sequence& given, DType type, auto count) {
    std::vector<UOp> values;
    for (py::handle one : given) {
        values.push_back(operand(one, type));
        if (values.back().dtype() != type)
            user_error(ErrorKind::DType, "wmma: {} of {} is {}, not {}: cast it", what, name, type.name(),
                       values.back().dtype().name());
    }
    std::string counts;
    for (const codegen::MatrixShape& shape : codegen::matrix_shapes()) {
        if (shape.mnemonic != name) continue;
        if (static_cast<size_t>((shape.*count)()) == values.size()) return uop::vec(values);
        counts += fmt::format("{}{}", counts.empty() ? "" : " or ", (shape.*count)());
    }
    user_error(ErrorKind::Usage, "wmma: {} elements of {}; {} takes {} from each lane", values.size(), what, name,
               counts);
}

void bind_waves(UOpModule& u) {
    u.def(
        "shuffle_xor",
        [](const Handle& value, int mask) {
            if (mask < 1 || mask > 63)
                user_error(ErrorKind::Usage, "shuffle_xor by {}: the mask is 1 to 31, or to 63 in waves of 64", mask);
            return Handle(uop::shuffle_xor(with_value(value.get()), mask));
        },
        py::arg("value"), py::arg("mask"),
        "The value in the lane of the wave whose number is this lane's ^ mask. Lanes are numbered as threads of the "
        "block "
        "are,\nfrom lidx0 on; nothing is said of what a lane outside of the block gives.");
    u.def(
        "wmma",
        [](const std::string& name, As<"Sequence[UOp | Scalar]"> a, As<"Sequence[UOp | Scalar]"> b,
           As<"Sequence[UOp | Scalar]"> c) -> As<"list[UOp]"> {
            const std::span<const codegen::MatrixShape> shapes = codegen::matrix_shapes();
            const auto shape = std::ranges::find(shapes, name, &codegen::MatrixShape::mnemonic);
            if (shape == shapes.end() || shape->by_warpgroups)
                user_error(ErrorKind::Usage, "unknown matrix instruction '{}'; known: {}", name, names_of(shapes));
            using Shape = codegen::MatrixShape;
            const UOp sum = uop::wmma(name, fragment("A", name, a, shape->operand, &Shape::operand_elements),
                                      fragment("B", name, b, shape->operand, &Shape::operand_elements),
                                      fragment("C", name, c, shape->accumulator, &Shape::accumulator_elements));
            py::list out;
            for (int i = 0; i < sum.dtype().lanes; ++i) out.append(Handle(uop::lane(sum, i)));
            return py::object(out);
        },
        py::arg("name"), py::arg("a"), py::arg("b"), py::arg("c"), kMatrixProduct);
}

void bind_effects(UOpModule& u) {
    u.def(
        "index", [](const Handle& b, Offset at, Predicate predicate) { return index_into(b.get(), at, predicate); },
        py::arg("buffer"), py::arg("offset"), py::arg("predicate") = py::none(), kIndex);
    u.def("load", &load, py::arg("place"), py::arg("alt") = py::none(), kLoad);
    u.def("store", &store, py::arg("place"), py::arg("value"), kStore);
    u.def(
        "atomic_add",
        [](const Handle& h, Value value) {
            UOp at = place(h, "atomic_add");
            return effect_of(Op::atomic_add, {at, written(at, value)});
        },
        py::arg("place"), py::arg("value"), "The effect of adding to a place, whatever other threads add to it.");
    u.def("where", &where, py::arg("condition"), py::arg("x"), py::arg("y"), "x where the condition is true, else y.");
    OwnSignature own;
    auto effects = [&](const char* name, Op op, const char* doc) {
        u.def(name, [op, name](const py::args& given) { return effect_of(op, effects_of(name, given)); }, doc);
    };
    effects("barrier", Op::barrier,
            "barrier(*effects: UOp) -> UOp\n\nAll threads of the block have finished these effects.");
    effects("group", Op::group, "group(*effects: UOp) -> UOp\n\nSeveral effects as one.");
    u.def(
        "end",
        [](const Handle& h, const py::args& ranges) {
            const std::vector<UOp> closed = ranges_of("end", ranges);
            const UOp last = effect(h.get());
            check_uses(last, closed);
            return Handle(uop::end(last, closed));
        },
        "end(effect: UOp, /, *ranges: UOp) -> UOp\n\nCloses the ranges after the effect.");
    u.def(
        "sink",
        [](const py::args& effects, const std::string& name) {
            return effect_of(Op::sink, effects_of("sink", effects), SinkArg{name});
        },
        py::arg("name") = "",
        "sink(*effects: UOp, name: str = '') -> UOp\n\nThe whole kernel: its last effects. name: a C identifier; the "
        "function's name when empty.");
    u.def(
        "reduce",
        [](const Handle& value, const std::string& op, const py::args& ranges) {
            std::vector<UOp> sources = ranges_of("reduce", ranges);
            sources.insert(sources.begin(), with_value(value.get()));
            Op folds = parse_op(op);
            if (folds != Op::add && folds != Op::mul && folds != Op::max && folds != Op::min)
                user_error(ErrorKind::Usage, "reduce by '{}': use add, mul, max or min", op);
            checked(folds, {sources[0], sources[0]});
            return Handle(make(Op::reduce, value.get().dtype(), sources, ReduceArg{folds, {}}));
        },
        py::arg("value"), py::arg("op"),
        "reduce(value: UOp, op: str, *ranges: UOp) -> UOp\n\nFolds the value over the ranges; op: 'add', 'mul', "
        "'max', 'min', ...");
}

}  // namespace

void bind_uop(py::module_& m) {
    UOpModule u = m.def_submodule(
        "uop",
        "Kernels as UOp graphs: ranges, buffers, loads and stores.\n\nA kernel function gets one UOp a buffer and "
        "returns sink(...). Numbers take the type of the node they meet. Errors: UsageError\nand DTypeError when a "
        "node is built, UsageError when the kernel is lowered.");
    UOpClass c(u, "UOp", "A node of a graph: immutable; equal nodes are one.");
    bind_properties(c);
    bind_memory(c);
    bind_values(c);
    bind_operators(c);
    bind_refusals(c);
    bind_leaves(u);
    bind_effects(u);
    bind_waves(u);
    bind_threads(c, u);
    bind_interpret(u);
    bind_text(c, u);
}

}  // namespace strata::python
