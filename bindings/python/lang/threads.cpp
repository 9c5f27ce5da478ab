// Operations across the threads of a kernel: atomics, fences, values and votes of other lanes.
#include "strata/codegen/tile/threads.h"

#include "kernels/uop_p.h"
#include "lang/lang_p.h"
#include "strata/codegen/tile/arithmetic.h"
#include "strata/codegen/tile/functions.h"
#include "strata/runtime/artifact.h"

namespace strata::python {
namespace {

using lang::Trace;

MemoryScope to_scope(const std::string& name) { return lookup<MemoryScope>(scope_names(), "scope", name); }

const lang::View& element_of(py::handle place, const std::string& operation) {
    if (!py::isinstance<Place>(place))
        user_error(ErrorKind::Usage, "[atomic_{}] takes a place in memory, v.at(c), not {}", operation, shown(place));
    return place.cast<const Place&>().element;
}

As<"Value"> atomic(py::handle at, const std::string& operation, As<"Value | Scalar"> value,
                   As<"Value | Scalar | None"> expected, const std::string& scope) {
    GraphScope keeps;
    const lang::View& place = element_of(at, operation);
    const std::string what = "atomic_" + operation;
    const AtomicArg arg{lookup<AtomicOp>(atomic_names(), "atomic operation", operation), to_scope(scope)};
    const UOp given = to_value(value, place.dtype(), what.c_str());
    const UOp wanted = expected.is_none() ? UOp() : to_value(expected, place.dtype(), what.c_str());
    return from_value(lang::atomic(place, arg, given, wanted));
}

As<"tuple[Value, Value]"> atomic_add_pair(py::handle at, As<"Value | Scalar"> first, As<"Value | Scalar"> second,
                                          const std::string& scope) {
    GraphScope keeps;
    const lang::View& place = element_of(at, "add_pair");
    const auto [a, b] = lang::atomic_add_pair(place, to_scope(scope), to_value(first, place.dtype(), "atomic_add_pair"),
                                              to_value(second, place.dtype(), "atomic_add_pair"));
    return py::object(py::make_tuple(from_value(a), from_value(b)));
}

void bind_order(py::module_& m) {
    m.def("atomic", &atomic, py::arg("place"), py::arg("operation"), py::arg("value"), py::arg("expected"),
          py::arg("scope"));
    m.def("atomic_add_pair", &atomic_add_pair, py::arg("place"), py::arg("first"), py::arg("second"), py::arg("scope"));
    m.def("fence", [](const std::string& scope) {
        GraphScope keeps;
        Trace::current("lang.fence").fence(to_scope(scope));
    });
    m.def("wave_barrier", [] {
        GraphScope keeps;
        Trace::current("lang.wave_barrier").wave_barrier();
    });
    m.def("trap", [] {
        GraphScope keeps;
        Trace::current("lang.trap").trap();
    });
}

void bind_lanes_of_values(py::module_& m) {
    m.def(
        "shuffle_xor", [](const LangValue& value, int mask) -> As<"Value"> {
            GraphScope keeps;
            return from_value(uop::shuffle_xor(lang::machine_value(value.get()), mask));
        });
    m.def(
        "shuffle", [](const LangValue& value, As<"Value | int"> lane) -> As<"Value"> {
            GraphScope keeps;
            const UOp number = cast(to_offset(lane, "shuffle"), dtypes::int32);
            return from_value(uop::shuffle(lang::machine_value(value.get()), number));
        });
    m.def(
        "ballot", [](As<"Value | Scalar"> condition, const std::string& arch) -> As<"Value"> {
            GraphScope keeps;
            const bool is_wide = runtime::target_named(arch).wave_size == 64;
            const UOp asked = to_condition(condition, "ballot");
            return from_value(Trace::current("lang.ballot").ballot(asked, is_wide ? dtypes::uint64 : dtypes::uint32));
        });
    m.def(
        "logical_not", [](As<"Value | Scalar"> condition) -> As<"Value"> {
            GraphScope keeps;
            return from_value(alu(Op::logical_not, {to_condition(condition, "not")}));
        });
}

/// Functions that are an op of integers.
void bind_bits(py::module_& m) {
    struct Row {
        const char *name, *meaning;
        Op op;
    };
    for (const Row& row :
         {Row{"popcount", "How many bits of an integer are set.", Op::popcount},
          {"clz", "Zeros above the highest bit that is set; of 0 the type's width.", Op::leading_zeros},
          {"ctz", "Zeros below the lowest bit that is set; of 0 the type's width.", Op::trailing_zeros},
          {"reverse_bits", "The lowest bit becomes the highest.", Op::reverse_bits}})
        m.def(
            row.name,
            [row](As<"Value | Scalar"> x) -> As<"Value"> {
                GraphScope keeps;
                const UOp value = lang::machine_value(to_value(x, row.name));
                if (!value.dtype().is_integer())
                    user_error(ErrorKind::DType, "[{}] takes integers, not {}: x.bitcast('uint32') has a float's bits",
                               row.name, value.dtype().name());
                return from_value(alu(row.op, {value}));
            },
            py::arg("x"), py::pos_only(), row.meaning);
}

void bind_reals(py::module_& m) {
    struct Row {
        const char *name, *meaning;
        UOp (*of)(UOp);
    };
    for (const Row& row : {Row{"cbrt", "Cube root, of negative numbers too.", &lang::cbrt},
                           {"erfc", "1 - erf(x), without loss where erf(x) is near 1.", &lang::erfc}})
        m.def(
            row.name,
            [row](As<"Value | Scalar"> x) -> As<"Value"> {
                GraphScope keeps;
                return from_value(row.of(lang::machine_value(to_value(x, row.name))));
            },
            py::arg("x"), py::pos_only(), row.meaning);
}

}  // namespace

void bind_lang_threads(py::module_& m) {
    bind_order(m);
    bind_lanes_of_values(m);
    bind_bits(m);
    bind_reals(m);
}

}  // namespace strata::python
