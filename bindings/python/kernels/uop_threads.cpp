// Operations of single threads and across threads: loops that they leave, atomics, values of other lanes.
#include <array>

#include "uop_p.h"

namespace strata::python {
namespace {

void bind_flow(UOpModule& u) {
    u.def(
        "break_if",
        [](As<"UOp | bool"> condition, const Handle& range) {
            UOp loop = range.get();
            if (!loop.is(Op::range))
                user_error(ErrorKind::Usage, "break_if leaves the loop of a uop.range(...), got {}", to_string(loop));
            const Axis axis = range_arg(loop).axis;
            if (axis != Axis::loop && axis != Axis::reduce)
                user_error(ErrorKind::Usage, "break_if leaves a serial loop, and {} is '{}': use the axis 'loop'",
                           to_string(loop), axis_names()[static_cast<size_t>(axis)]);
            return Handle(uop::break_if(as_condition(condition), loop));
        },
        py::arg("condition"), py::arg("range"),
        "The effect that a thread leaves the loop of that range where the condition holds, each thread by itself. The "
        "loop goes\non until no thread is left in it. What comes later in the step says so, buffer.after(break_if); "
        "threads that left do\nnothing of it: they load and store nothing, in registers neither. A while is a range of "
        "2**31 - 1 steps, an if a range\nof 1, a count that differs between threads break_if(i >= n, i). The range is "
        "that of the innermost loop around.");
}

/// Effects, and values that are read by then.
std::vector<UOp> earlier(const py::args& given) {
    std::vector<UOp> out = nodes(given);
    for (UOp& u : out) u = uop::effect_below(u);
    return out;
}

DType type_of_ballot(DType type) {
    if (type != dtypes::uint32 && type != dtypes::uint64)
        user_error(ErrorKind::DType, "ballot gives uint32, of waves of 32 lanes, or uint64, not {}", type.name());
    return type;
}

constexpr const char* kAtomic =
    "What the place held before an atomic operation, whatever other threads do there.\n\noperation: 'add', 'max', "
    "'min', 'and', 'or', 'xor', 'exchange', 'compare_exchange', 'inc' or 'dec'. 'compare_exchange'\nwrites value where "
    "the place holds expected, bit for bit. 'inc' gives old + 1, or 0 from value on; 'dec' old - 1, or\nvalue from 0 "
    "or above value; both without sign. scope: who sees it, 'workgroup', 'device' or 'system'. Of 32 and 64\nbits, in "
    "global and local memory. It is an effect too, for after, end, group, barrier and sink, and nothing is "
    "done\nunless one of them has it. Equal nodes are one: number tells apart what is to happen twice. Where the "
    "place's\npredicate is false nothing is said of the value.";

Handle atomic(const Handle& h, const std::string& operation, Value value, MaybeValue expected, const std::string& scope,
              int number) {
    UOp at = place(h, "atomic");
    const AtomicArg what{lookup<AtomicOp>(atomic_names(), "atomic operation", operation),
                         lookup<MemoryScope>(scope_names(), "scope", scope), number};
    const bool compares = what.operation == AtomicOp::compare_exchange;
    if (compares == expected.is_none())
        user_error(ErrorKind::Usage, "atomic '{}' {}", operation,
                   compares ? "needs what the place is expected to hold: expected=" : "has no expected value");
    const DType type = at.dtype();
    const bool of_bits = operation == "and" || operation == "or" || operation == "xor";
    if (of_bits && !type.is_integer())
        user_error(ErrorKind::DType, "atomic '{}' is of integers, and the place holds {}", operation, type.name());
    if ((operation == "inc" || operation == "dec") && !type.is_unsigned())
        user_error(ErrorKind::DType, "atomic '{}' counts in uint32 or uint64, and the place holds {}", operation,
                   type.name());
    return Handle(uop::atomic(at, what, written(at, value), compares ? written(at, expected) : UOp()));
}

constexpr const char* kAtomicAddPair =
    "The old values of two neighbours, this place and the next one, before each was added to. Of float16 and bfloat16, "
    "at\nan even offset, where the chip has it. Either value is the effect of both additions, as atomic()'s is.";

As<"tuple[UOp, UOp]"> atomic_add_pair(const Handle& h, Value first, Value second, const std::string& scope,
                                      int number) {
    UOp at = place(h, "atomic_add_pair");
    if (!at.dtype().is_float() || at.dtype().bits() != 16)
        user_error(ErrorKind::DType, "atomic_add_pair is of float16 and bfloat16, and the place holds {}: use atomic",
                   at.dtype().name());
    const AtomicArg what{AtomicOp::add, lookup<MemoryScope>(scope_names(), "scope", scope), number};
    const UOp found = uop::atomic(at, what, uop::vec(std::array{written(at, first), written(at, second)}));
    return py::object(py::make_tuple(Handle(uop::lane(found, 0)), Handle(uop::lane(found, 1))));
}

Handle shuffle(const Handle& value, As<"UOp | int"> lane) {
    UOp number = operand(lane, dtypes::int32);
    if (!number.dtype().is_integer())
        user_error(ErrorKind::DType, "the number of a lane is an integer, not {}: cast it first",
                   number.dtype().name());
    return Handle(uop::shuffle(with_value(value.get()), number));
}

constexpr const char* kShuffle =
    "The value in the lane of that number, modulo the wave's size; the number may differ between lanes. All lanes of "
    "the "
    "wave\ntake part.";

void bind_atomics(UOpClass& c, UOpModule& u) {
    c.def("atomic", &atomic, py::arg("operation"), py::arg("value"), py::arg("expected") = py::none(),
          py::arg("scope") = "device", py::arg("number") = 0, kAtomic);
    c.def("atomic_add_pair", &atomic_add_pair, py::arg("first"), py::arg("second"), py::arg("scope") = "device",
          py::arg("number") = 0, kAtomicAddPair);
    OwnSignature own;
    u.def(
        "fence",
        [](const py::args& given, const std::string& scope) {
            return Handle(uop::fence(lookup<MemoryScope>(scope_names(), "scope", scope), earlier(given)));
        },
        py::arg("scope") = "device",
        "fence(*earlier: UOp, scope: str = 'device') -> UOp\n\nThe effect that orders memory: others see these effects "
        "before they see later ones, and later loads see the effects\nthat others had before. scope: 'workgroup', "
        "'device' or 'system'.");
}

void bind_lanes(UOpClass& c, UOpModule& u) {
    c.def("shuffle", &shuffle, py::arg("lane"), kShuffle);
    u.def("shuffle", &shuffle, py::arg("value"), py::arg("lane"), kShuffle);
    u.def(
        "ballot",
        [](As<"UOp | bool"> condition, DType dtype) {
            return Handle(uop::ballot(as_condition(condition), type_of_ballot(dtype)));
        },
        py::arg("condition"), py::arg("dtype") = "uint64",
        "A bit for each lane of the wave, set where the condition holds; not of lanes that left the loop around. "
        "uint32 "
        "fits waves of 32.");
    u.def(
        "trap", [](As<"UOp | bool"> condition) { return Handle(uop::trap(as_condition(condition))); },
        py::arg("condition"), "The effect that a thread for which the condition holds ends the kernel with a fault.");
    OwnSignature own;
    u.def(
        "wave_barrier", [](const py::args& given) { return Handle(uop::wave_barrier(earlier(given))); },
        "wave_barrier(*earlier: UOp) -> UOp\n\nAll lanes of the wave have finished these effects, and read these "
        "values.");
}

}  // namespace

void bind_threads(UOpClass& c, UOpModule& u) {
    bind_flow(u);
    bind_atomics(c, u);
    bind_lanes(c, u);
}

}  // namespace strata::python
