// threads: threads of a kernel with each other: atomics, fences, votes.
#include "strata/codegen/tile/threads.h"

#include "strata/codegen/tile/trace.h"
#include "strata/core/support/error.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::lang {

UOp Trace::in_loop(UOp value) const {
    const Scope& scope = state_.scopes.back();
    if (!scope.range) return value;
    return scope.left ? uop::after(value, {scope.range, scope.left}) : uop::after(value, {scope.range});
}

UOp Trace::atomic(UOp memory, UOp offset, AtomicArg what, UOp value, UOp expected, UOp predicate) {
    offset = simplify(offset);
    const int lanes = value.dtype().lanes;
    predicate = uop::both(predicate, state_.predicate);
    const UOp place = uop::at(pointer(memory, offset, lanes, true), offset, predicate);
    const UOp found = uop::atomic(place, what, value, expected);
    const UOp effect = uop::effect_below(found);
    here(memory).writes.push_back({offset, effect, lanes});
    Scope& scope = state_.scopes.back();
    scope.effects.push_back(effect);
    return found;
}

void Trace::order_all(UOp effect) {
    order_others(effect);
    state_.scopes.back().ordered = effect;
}

void Trace::check_is_in_no_branch(const char* what, const char* why) const {
    if (state_.predicate)
        user_error(ErrorKind::Usage, "[lang.{}] in a branch: {}, so write it before or after the branch", what, why);
}

void Trace::fence(MemoryScope scope) { order_all(uop::fence(scope, seen_by_others())); }

void Trace::wave_barrier() { order_all(uop::wave_barrier(seen_by_others())); }

void Trace::async_copy(UOp to, UOp to_offset, UOp from, UOp from_offset, int elements, UOp predicate) {
    to_offset = simplify(to_offset), from_offset = simplify(from_offset);
    predicate = uop::both(predicate, state_.predicate);
    const UOp target = uop::at(pointer(to, to_offset, elements, true), to_offset, predicate);
    const UOp source = uop::at(pointer(from, from_offset, elements, false), from_offset, predicate);
    const UOp copied = uop::async_copy(target, source, elements);
    here(from).reads.push_back({from_offset, copied, elements});
    here(to).writes.push_back({to_offset, copied, elements});
    state_.scopes.back().effects.push_back(copied);
}

void Trace::async_commit() {
    check_is_in_no_branch("async_commit", "all lanes of a wave have the same groups of copies");
    order_all(uop::async_commit(seen_by_others()));
}

void Trace::async_wait(int groups) {
    if (groups < 0)
        user_error(ErrorKind::Usage, "[lang.async_wait] {}: it waits until 0 groups or more are left", groups);
    check_is_in_no_branch("async_wait", "all lanes of a wave wait together");
    order_all(uop::async_wait(groups, seen_by_others()));
}

void Trace::schedule(ScheduleArg what) {
    check_is_in_no_branch("sched_barrier", "all lanes of a wave run the same instructions");
    order_all(uop::schedule(what, seen_by_others()));
}

void Trace::priority(int level) {
    if (level < 0 || level > 3)
        user_error(ErrorKind::Usage, "[lang.set_priority] {}: a wave's priority is 0 to 3", level);
    check_is_in_no_branch("set_priority", "a wave has one priority");
    order_all(uop::priority(level, seen_by_others()));
}

void Trace::trap() {
    const UOp always = constant(dtypes::boolean, 1);
    state_.scopes.back().effects.push_back(uop::trap(in_loop(state_.predicate ? state_.predicate : always)));
}

UOp Trace::ballot(UOp condition, DType type) {
    return uop::ballot(in_loop(uop::both(state_.predicate, condition)), type);
}

namespace {

/// An element of memory that other threads see, of a type that atomics have.
void check_place(const View& place, AtomicOp operation) {
    const std::string_view name = atomic_names()[static_cast<size_t>(operation)];
    if (!place.has_memory() || place.is_in(Space::reg))
        user_error(ErrorKind::Usage,
                   "[atomic_{}] {} is of one thread: an atomic takes a place of a tensor or of lang.shared memory",
                   name, to_string(place));
    if (place.dtype() != place.memory().dtype())
        user_error(
            ErrorKind::DType,
            "[atomic_{}] the memory holds {}, and the view was recast to {}: an atomic is of the memory's own type",
            name, place.memory().dtype().name(), place.dtype().name());
}

void check_type(AtomicOp operation, DType type) {
    const std::string_view name = atomic_names()[static_cast<size_t>(operation)];
    const bool is_of_bits =
        operation == AtomicOp::bit_and || operation == AtomicOp::bit_or || operation == AtomicOp::bit_xor;
    if (type.bits() < 32)
        user_error(ErrorKind::DType, "[atomic_{}] has 32 or 64 bits, and the place holds {}{}", name, type.name(),
                   type.is_float() && type.bits() == 16 ? ": lang.atomic_add_pair adds to two neighbours"
                                                        : ": declare the memory wider");
    if (is_of_bits && !type.is_integer())
        user_error(ErrorKind::DType, "[atomic_{}] is of integers, and the place holds {}", name, type.name());
    if ((operation == AtomicOp::inc || operation == AtomicOp::dec) && !type.is_unsigned())
        user_error(ErrorKind::DType, "[atomic_{}] counts in uint32 or uint64, and the place holds {}", name,
                   type.name());
}

UOp found_in(const View& place, AtomicArg what, UOp value, UOp expected, UOp predicate) {
    const lo::Int at = place.index(0).integer();
    predicate = uop::both(predicate, place.predicate_at(at));
    return Trace::current("an atomic").atomic(place.memory(), at.uop(), what, value, expected, predicate);
}

}  // namespace

UOp atomic(const View& place, AtomicArg what, UOp value, UOp expected) {
    check_place(place, what.operation);
    check_type(what.operation, place.dtype());
    const UOp found = found_in(place, what, value, expected, {});
    const UOp inside = place.predicate_at(place.index(0).integer());
    return inside ? alu(Op::where, {inside, found, constant(found.dtype(), 0)}) : found;
}

std::array<UOp, 2> atomic_add_pair(const View& place, MemoryScope scope, UOp first, UOp second) {
    check_place(place, AtomicOp::add);
    if (!place.dtype().is_float() || place.dtype().bits() != 16)
        user_error(ErrorKind::DType,
                   "[atomic_add_pair] is of float16 and bfloat16, and the place holds {}: use atomic_add",
                   place.dtype().name());
    const lo::Int at = place.index(0).integer();
    if (!lo::surely_divides(2, at))
        user_error(ErrorKind::Usage,
                   "[atomic_add_pair] adds to two neighbours, the first at an even offset, which {} is not provably",
                   to_string(place));
    const UOp next = place.predicate_at(at + lo::Int(1));
    const UOp found = found_in(place, {AtomicOp::add, scope}, uop::vec(std::array{first, second}), {}, next);
    return {uop::lane(found, 0), uop::lane(found, 1)};
}

}  // namespace strata::lang
