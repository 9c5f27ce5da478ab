#include "strata/core/uop/node_spec_p.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace strata {
namespace {

using Check = std::string (*)(UOp, Level);

bool has_place(const OpInfo& row, Level level) { return row.levels & static_cast<uint8_t>(level); }
bool is_effect(UOp u) { return u.dtype().scalar == Scalar::none; }
bool is_vector_of(DType held, DType element) {
    return held.element() == element.element() && held.lanes >= element.lanes;
}

std::string only_effects(std::span<const UOp> sources) {
    for (UOp s : sources)
        if (!is_effect(s)) return fmt::format("lists effects, not {}", to_string(s));
    return {};
}
std::string only_ranges(std::span<const UOp> sources) {
    for (UOp s : sources)
        if (!s.is(Op::range)) return fmt::format("closes ranges, not {}", to_string(s));
    return {};
}

std::string check_reduce(UOp u, Level level) {
    const ReduceArg& arg = u.as<ReduceArg>();
    if (arg.op != Op::add && arg.op != Op::mul && arg.op != Op::max && arg.op != Op::min)
        return "reduces with add, mul, max or min";
    if (u.src().empty() || u.src(0).dtype() != u.dtype()) return "its value has another type";
    if (level == Level::kernel)
        return arg.axes.empty() ? only_ranges(u.src().subspan(1)) : "has axes, which are ranges by now";
    if (u.src().size() != 1) return "reduces one tensor";
    std::set<int> seen;
    for (int axis : arg.axes)
        if (axis < 0 || axis >= static_cast<int>(u.src(0).shape().size()) || !seen.insert(axis).second)
            return fmt::format("axis {} of {}", axis, to_string(u.src(0).shape()));
    return {};
}

/// A part split off a range is its fast part, so that the steps of a loop hold whole runs of all others.
std::string check_scan(UOp u, Level level) {
    if (std::string fault = check_reduce(u, level); !fault.empty()) return fault;
    if (level == Level::tensor) return u.as<ReduceArg>().axes.size() == 1 ? "" : "runs along one axis";
    const std::span<const UOp> ranges = u.src().subspan(1);
    const auto is_serial = [](UOp r) { return r.as<RangeArg>().axis == Axis::reduce; };
    const auto parallel = [](UOp r) {
        return r.as<RangeArg>().axis == Axis::group || r.as<RangeArg>().axis == Axis::unroll;
    };
    const auto first = std::ranges::find_if_not(ranges, is_serial);
    return std::all_of(first, ranges.end(), parallel) ? "" : "runs along ranges of reductions, loops before all others";
}

std::string check_take(UOp u, Level) {
    if (u.src(0).dtype() != u.dtype()) return "its value has another type";
    return u.src(1).dtype().is_integer() ? "" : "takes at integer places";
}

std::string check_movement(UOp u, Level) { return u.src(0).dtype() == u.dtype() ? "" : "changes the type"; }

std::string check_pick(UOp u, Level) {
    if (!u.src(0).is(Op::custom)) return "picks from a custom kernel";
    return u.dtype() == u.src(0).src(static_cast<size_t>(u.as<IndexArg>().index)).dtype() ? "" : "changes the type";
}

std::string check_custom(UOp u, Level) { return u.src().empty() ? "needs the tensor that it fills" : ""; }

std::string check_param(UOp u, Level) { return u.as<ParamArg>().size < 0 ? "has a negative size" : ""; }

std::string check_variable(UOp u, Level) {
    if (u.as<VariableArg>().slot < 0) return "has a negative slot";
    const DType type = u.dtype();
    const bool number = type.lanes == 1 && (type.is_integer() || type.is_float());
    return number && type.scalar != Scalar::index && type.bits() >= 32
               ? ""
               : fmt::format("is {}; a launch gives numbers of 32 and 64 bits", type.name());
}

std::string check_range(UOp u, Level level) {
    const RangeArg& arg = u.as<RangeArg>();
    if (arg.size < 1) return "a range needs at least one step";
    if (!u.dtype().is_integer()) return "a range counts in an integer type";
    bool serial = arg.axis == Axis::loop || arg.axis == Axis::reduce;
    if (u.src().size() > 1) return "a range has its steps as its only source";
    if (!u.src().empty() && (!serial || u.src(0).dtype() != u.dtype()))
        return "only a serial loop has steps of its own, in the type in which it counts";
    return level == Level::linear && !serial ? "only serial loops are left in a list" : "";
}

std::string check_break(UOp u, Level) {
    if (u.src(0).dtype() != dtypes::boolean) return fmt::format("its condition is {}", to_string(u.src(0)));
    if (!u.src(1).is(Op::range)) return fmt::format("leaves the loop of a range, not {}", to_string(u.src(1)));
    const Axis axis = u.src(1).as<RangeArg>().axis;
    return axis == Axis::loop || axis == Axis::reduce
               ? ""
               : fmt::format("{} is no serial loop: give it the axis 'loop'", to_string(u.src(1)));
}

std::string check_special(UOp u, Level) {
    const SpecialArg& arg = u.as<SpecialArg>();
    if (arg.dim < 0 || arg.dim > 2) return fmt::format("dimension {}; there are x, y and z", arg.dim);
    return arg.size < 1 ? "has no threads" : "";
}

std::string check_index(UOp u, Level) {
    if (u.src().size() < 2 || u.src().size() > 3) return "takes a pointer, an offset and perhaps a predicate";
    UOp memory = u.src(0);
    while (memory.is(Op::after) && !memory.src().empty()) memory = memory.src(0);
    if (!memory.is(Op::param)) return fmt::format("points into {}, which is no param", to_string(memory));
    if (u.dtype() != memory.dtype()) return fmt::format("its param holds {}", memory.dtype().name());
    if (!u.src(1).dtype().is_integer() || u.src(1).dtype().lanes != 1)
        return fmt::format("the offset is {}", to_string(u.src(1)));
    if (u.src().size() == 3 && u.src(2).dtype() != dtypes::boolean)
        return fmt::format("the predicate is {}", to_string(u.src(2)));
    return {};
}

std::string check_load(UOp u, Level) {
    if (u.src().empty() || !u.src(0).is(Op::index)) return "loads from an index";
    if (!is_vector_of(u.dtype(), u.src(0).dtype())) return fmt::format("the memory holds {}", u.src(0).dtype().name());
    bool predicated = u.src(0).src().size() == 3;
    if (u.src().size() != (predicated ? 2 : 1))
        return "a predicated index needs a value for where the predicate is false, and only such an index";
    return predicated && u.src(1).dtype() != u.dtype() ? fmt::format("the other value is {}", to_string(u.src(1))) : "";
}

std::string check_store(UOp u, Level) {
    if (!u.src(0).is(Op::index)) return fmt::format("writes to an index, not to {}", to_string(u.src(0)));
    if (!is_vector_of(u.src(1).dtype(), u.src(0).dtype()))
        return fmt::format("the value is {}, the memory holds {}", to_string(u.src(1)), u.src(0).dtype().name());
    return {};
}

std::string check_atomic(UOp u, Level level) {
    if (u.src().size() < 2) return "takes a place and a value";
    if (std::string fault = check_store(u, level); !fault.empty()) return fault;
    const AtomicOp operation = u.as<AtomicArg>().operation;
    const bool compares = operation == AtomicOp::compare_exchange;
    if (u.src().size() != (compares ? 3 : 2)) return "compare_exchange, and nothing else, has an expected value";
    const DType type = u.src(0).dtype(), value = u.src(1).dtype();
    const bool is_pair = value == type.vector(2) && type.is_float() && type.bits() == 16 && operation == AtomicOp::add;
    if ((value != type && !is_pair) || (compares && u.src(2).dtype() != type))
        return fmt::format("its place holds {}, and so are its values, or two halves that it adds", type.name());
    const bool of_bits =
        operation == AtomicOp::bit_and || operation == AtomicOp::bit_or || operation == AtomicOp::bit_xor;
    if (of_bits && !type.is_integer()) return fmt::format("{} is no integer", type.name());
    const bool counts = operation == AtomicOp::inc || operation == AtomicOp::dec;
    return counts && !type.is_unsigned() ? fmt::format("counts without sign, not in {}", type.name()) : "";
}

std::string check_fetched(UOp u, Level) {
    if (!u.src(0).is(Op::atomic)) return fmt::format("is what an atomic found, not {}", to_string(u.src(0)));
    return u.dtype() == u.src(0).src(1).dtype() ? "" : "changes the type";
}

std::string check_async_copy(UOp u, Level) {
    const UOp to = u.src(0), from = u.src(1);
    if (u.as<IndexArg>().index < 1) return "copies one element at least";
    if (!to.is(Op::index) || !from.is(Op::index)) return "copies from an index to an index";
    const auto is_in = [](UOp at, Space space) {
        UOp memory = at.src(0);
        while (memory.is(Op::after)) memory = memory.src(0);
        return memory.is(Op::param) && memory.as<ParamArg>().space == space;
    };
    if (!is_in(to, Space::local) || !is_in(from, Space::global)) return "copies from global to local memory";
    if (to.dtype() != from.dtype()) return fmt::format("copies {} to {}", from.dtype().name(), to.dtype().name());
    const bool same = to.src().size() == from.src().size() && (to.src().size() < 3 || to.src(2) == from.src(2));
    return same ? "" : "has two predicates, and both are to be one";
}

std::string check_async_wait(UOp u, Level) {
    const int groups = u.as<IndexArg>().index;
    return groups < 0 ? fmt::format("waits until {} groups are under way", groups) : "";
}

std::string check_schedule(UOp u, Level) {
    const ScheduleArg& arg = u.as<ScheduleArg>();
    return arg.mask < 0 || arg.size < 0 ? fmt::format("has the mask {} and the size {}", arg.mask, arg.size) : "";
}

std::string check_trap(UOp u, Level) {
    return u.src(0).dtype() == dtypes::boolean ? "" : fmt::format("its condition is {}", to_string(u.src(0)));
}

std::string check_first_wave(UOp u, Level) {
    if (u.as<IndexArg>().index < 1) return "counts threads";
    if (u.src().size() < 2 || !u.src(0).dtype().is_integer()) return "takes the number of a thread, and effects";
    return only_effects(u.src().subspan(1));
}

std::string check_last_block(UOp u, Level) {
    if (u.as<IndexArg>().index < 1) return "counts blocks";
    const bool one_wave = u.src().size() > 1 && is_effect(u.src(1));
    if (u.src().size() < (one_wave ? 2 : 4)) return "takes a counter, a word of the block twice, and effects";
    const auto is_word = [](UOp at, Space space) {
        if (!at.is(Op::index) || at.dtype() != dtypes::int32) return false;
        UOp memory = at.src(0);
        while (memory.is(Op::after)) memory = memory.src(0);
        return memory.is(Op::param) && memory.as<ParamArg>().space == space;
    };
    if (!is_word(u.src(0), Space::global)) return "counts in an int32 of global memory";
    if (one_wave) return only_effects(u.src().subspan(1));
    if (!is_word(u.src(1), Space::local) || !is_word(u.src(2), Space::local))
        return "identifies the block by an int32 of its memory";
    if (u.src(0).src().size() != u.src(1).src().size() || u.src(2).src().size() != 2)
        return "one thread counts and writes, all read";
    return only_effects(u.src().subspan(3));
}

std::string check_after(UOp u, Level) {
    if (u.src().empty() || u.src(0).dtype() != u.dtype()) return "gives its first source";
    for (UOp s : u.src().subspan(1))
        if (s.is(Op::param) || s.is(Op::index))
            return fmt::format("comes after effects, ranges and values that are read, not {}", to_string(s));
    return {};
}

std::string check_end(UOp u, Level) {
    if (u.src().size() < 2 || !is_effect(u.src(0))) return "closes ranges around one effect";
    return only_ranges(u.src().subspan(1));
}

std::string check_effects(UOp u, Level) { return only_effects(u.src()); }

std::string check_vec(UOp u, Level) {
    if (u.src().size() != u.dtype().lanes) return fmt::format("{} lanes of {} values", u.dtype().lanes, u.src().size());
    bool fits = std::all_of(u.src().begin(), u.src().end(), [&](UOp s) { return s.dtype() == u.dtype().element(); });
    return fits ? "" : "its lanes have another type";
}

std::string check_lane(UOp u, Level) {
    int lane = u.as<IndexArg>().index;
    if (lane < 0 || lane >= u.src(0).dtype().lanes) return fmt::format("lane {} of {}", lane, to_string(u.src(0)));
    return u.dtype() == u.src(0).dtype().element() ? "" : "changes the type";
}

std::string check_contract(UOp u, Level) {
    if (std::string fault = only_ranges(u.src().subspan(1)); !fault.empty()) return fault;
    int64_t lanes = 1;
    for (UOp r : u.src().subspan(1)) {
        if (r.as<RangeArg>().axis != Axis::vector) return fmt::format("{} is no vector range", to_string(r));
        lanes *= r.as<RangeArg>().size;
    }
    if (u.dtype().element() != u.src(0).dtype()) return "changes the type";
    return lanes == u.dtype().lanes ? "" : fmt::format("{} lanes of {} values", u.dtype().lanes, lanes);
}

std::string check_element(UOp u, Level) {
    if (!u.src(1).dtype().is_integer()) return fmt::format("its number is {}", to_string(u.src(1)));
    return u.dtype() == u.src(0).dtype().element() ? "" : "changes the type";
}

std::string check_shuffle_xor(UOp u, Level) {
    if (u.src(0).dtype() != u.dtype()) return "changes the type";
    if (u.dtype().lanes != 1) return "exchanges single values";
    const int mask = u.as<IndexArg>().index;
    return mask < 1 || mask > 63 ? fmt::format("the mask {}; a wave has 64 lanes at most", mask) : "";
}

std::string check_shuffle(UOp u, Level) {
    if (u.src(0).dtype() != u.dtype()) return "changes the type";
    if (u.dtype().lanes != 1) return "exchanges single values";
    const DType lane = u.src(1).dtype();
    return lane.is_integer() && lane.lanes == 1 ? "" : fmt::format("the number of a lane is {}", to_string(u.src(1)));
}

std::string check_ballot(UOp u, Level) {
    if (u.src(0).dtype() != dtypes::boolean) return fmt::format("asks for a bool, not {}", to_string(u.src(0)));
    return u.dtype() == dtypes::uint32 || u.dtype() == dtypes::uint64
               ? ""
               : fmt::format("gives uint32 or uint64, not {}", u.dtype().name());
}

std::string check_foreign(UOp u, Level) {
    const ForeignArg& arg = u.as<ForeignArg>();
    if (arg.text.empty()) return "has no text";
    if (!arg.name.empty() && u.dtype().lanes != 1) return "a function has one result";
    const auto fits = [](DType type) { return !type.is_bool() && (type.bits() == 32 || type.bits() == 64); };
    if (!fits(u.dtype().element())) return fmt::format("its results have 32 or 64 bits, not {}", u.dtype().name());
    for (UOp s : u.src())
        if (!fits(s.dtype()) || s.dtype().lanes != 1)
            return fmt::format("takes numbers of 32 or 64 bits, not {}", to_string(s));
    return {};
}

std::string check_priority(UOp u, Level) {
    const int level = u.as<IndexArg>().index;
    return level < 0 || level > 3 ? fmt::format("the priority {}; there are 0 to 3", level) : "";
}

std::string check_wmma(UOp u, Level) {
    const DType a = u.src(0).dtype().element(), b = u.src(1).dtype().element();
    const bool differ_in_sign =
        a.is_integer() && b.is_integer() && !a.is_bool() && !b.is_bool() && a.bits() == b.bits();
    if (a != b && !differ_in_sign) return fmt::format("multiplies {} and {}", to_string(u.src(0)), to_string(u.src(1)));
    return u.src(2).dtype() == u.dtype() ? "" : fmt::format("adds to {}", to_string(u.src(2)));
}

/// The check of an op's sources and argument, beside its row.
Check check_of(Op op) {
    switch (op) {
        case Op::reduce: return check_reduce;
        case Op::scan: return check_scan;
        case Op::take: return check_take;
        case Op::contiguous: return check_movement;
        case Op::custom: return check_custom;
        case Op::pick: return check_pick;
        case Op::param: return check_param;
        case Op::define_var: return check_variable;
        case Op::range: return check_range;
        case Op::break_if: return check_break;
        case Op::special: return check_special;
        case Op::index: return check_index;
        case Op::load: return check_load;
        case Op::store:
        case Op::atomic_add: return check_store;
        case Op::atomic: return check_atomic;
        case Op::fetched: return check_fetched;
        case Op::async_copy: return check_async_copy;
        case Op::async_wait: return check_async_wait;
        case Op::schedule: return check_schedule;
        case Op::trap: return check_trap;
        case Op::priority: return check_priority;
        case Op::foreign: return check_foreign;
        case Op::first_wave: return check_first_wave;
        case Op::last_block: return check_last_block;
        case Op::after: return check_after;
        case Op::end: return check_end;
        case Op::group:
        case Op::sink: return check_effects;
        case Op::vec: return check_vec;
        case Op::lane: return check_lane;
        case Op::contract: return check_contract;
        case Op::element: return check_element;
        case Op::shuffle_xor: return check_shuffle_xor;
        case Op::shuffle: return check_shuffle;
        case Op::ballot: return check_ballot;
        case Op::wmma: return check_wmma;
        default: return info(op).is(kMovement) ? check_movement : nullptr;
    }
}

std::string_view name(Level level) {
    return level == Level::tensor ? "a tensor graph" : level == Level::kernel ? "a kernel" : "a linear program";
}

}  // namespace

std::string node_fault(UOp u, Level level) {
    if (level != Level::tensor && !u.shape().empty())
        return fmt::format("{} has no place in {}: it has a shape", to_string(u), name(level));
    if (level == Level::linear && u.dtype().scalar == Scalar::index) return "index arithmetic has machine types by now";
    const OpInfo& row = info(u.op());
    for (UOp s : u.src())
        if (is_effect(s) && has_place(row, Level::tensor) && !u.is(Op::pick))
            return fmt::format("computes with {}, which has no value", to_string(s));
    if (!has_place(row, level)) return fmt::format("{} has no place in {}", row.name, name(level));
    const bool has_none = row.is(kOptional) && std::holds_alternative<NoArg>(u.arg());
    if (u.arg().index() != row.argument && !has_none) return "carries another op's argument";
    if (!row.elementwise() && row.is(kEffect) != is_effect(u))
        return "an effect has the type none, and nothing else has";
    Check check = check_of(u.op());
    return check ? check(u, level) : "";
}

}  // namespace strata
