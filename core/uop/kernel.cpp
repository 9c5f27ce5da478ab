#include "strata/core/uop/kernel.h"

namespace strata::uop {
namespace {

UOp listed(Op op, DType type, UOp first, std::span<const UOp> rest) {
    if (rest.empty()) return first;
    std::vector<UOp> sources{first};
    sources.insert(sources.end(), rest.begin(), rest.end());
    return make(op, type, sources);
}

std::span<const UOp> list(std::initializer_list<UOp> nodes) { return {nodes.begin(), nodes.size()}; }

}  // namespace

UOp buffer(int slot, DType type, int64_t size) {
    return make(Op::param, type, {}, ParamArg{Space::global, slot, size});
}
UOp variable(int slot, DType type) { return make(Op::define_var, type, {}, VariableArg{slot}); }
UOp placeholder(int64_t size, DType type, Space space, int slot) {
    return make(Op::param, type, {}, ParamArg{space, slot, size});
}
UOp range(int64_t size, int id, Axis axis, UOp steps) {
    return make(Op::range, dtypes::index, std::span(&steps, steps ? 1 : 0), RangeArg{id, size, axis});
}

UOp at(UOp memory, UOp offset, UOp predicate, std::optional<CachePolicy> cache) {
    const Arg how = cache ? Arg(CacheArg{*cache}) : Arg();
    if (predicate) return make(Op::index, memory.dtype(), {memory, offset, predicate}, how);
    return make(Op::index, memory.dtype(), {memory, offset}, how);
}
std::optional<CachePolicy> cache_of(UOp place) {
    const auto* arg = std::get_if<CacheArg>(&place.arg());
    return arg ? std::optional(arg->policy) : std::nullopt;
}
UOp at(UOp memory, int64_t offset) { return at(memory, index_const(offset)); }

UOp load(UOp place, UOp otherwise) {
    if (otherwise) return make(Op::load, place.dtype(), {place, otherwise});
    if (place.src().size() == 2) return make(Op::load, place.dtype(), {place});
    return make(Op::load, place.dtype(), {place, constant(place.dtype(), 0)});
}
UOp store(UOp place, UOp value) { return make(Op::store, dtypes::none, {place, value}); }
UOp store(UOp place, double value) { return store(place, constant(place.dtype(), value)); }

UOp after(UOp u, std::span<const UOp> earlier) { return listed(Op::after, u.dtype(), u, earlier); }
UOp after(UOp u, std::initializer_list<UOp> earlier) { return after(u, list(earlier)); }
UOp end(UOp effect, std::span<const UOp> ranges) { return listed(Op::end, dtypes::none, effect, ranges); }
UOp end(UOp effect, std::initializer_list<UOp> ranges) { return end(effect, list(ranges)); }
UOp barrier(std::span<const UOp> effects) { return make(Op::barrier, dtypes::none, effects); }
UOp barrier(UOp effect) { return barrier(std::span(&effect, 1)); }
UOp group(std::span<const UOp> effects) {
    return effects.size() == 1 ? effects[0] : make(Op::group, dtypes::none, effects);
}
UOp sink(UOp effect, std::string name) { return make(Op::sink, dtypes::none, {effect}, SinkArg{std::move(name)}); }

UOp break_if(UOp condition, UOp range) { return make(Op::break_if, dtypes::none, {condition, range}); }
UOp atomic(UOp place, AtomicArg what, UOp value, UOp expected) {
    const UOp effect = expected ? make(Op::atomic, dtypes::none, {place, value, expected}, what)
                                : make(Op::atomic, dtypes::none, {place, value}, what);
    return make(Op::fetched, value.dtype(), {effect});
}
UOp effect_below(UOp u) {
    UOp found = skip_after(u);
    if (found.is(Op::lane)) found = skip_after(found.src(0));
    return found.is(Op::fetched) ? found.src(0) : u;
}
UOp fence(MemoryScope scope, std::span<const UOp> earlier) {
    return make(Op::fence, dtypes::none, earlier, ScopeArg{scope});
}
UOp wave_barrier(std::span<const UOp> earlier) { return make(Op::wave_barrier, dtypes::none, earlier); }
UOp priority(int level, std::span<const UOp> earlier) {
    return make(Op::priority, dtypes::none, earlier, IndexArg{level});
}
UOp foreign(DType type, ForeignArg what, std::span<const UOp> numbers) {
    return make(Op::foreign, type, numbers, std::move(what));
}
UOp async_copy(UOp to, UOp from, int elements) {
    return make(Op::async_copy, dtypes::none, {to, from}, IndexArg{elements});
}
UOp async_commit(std::span<const UOp> earlier) { return make(Op::async_commit, dtypes::none, earlier); }
UOp async_wait(int groups, std::span<const UOp> earlier) {
    return make(Op::async_wait, dtypes::none, earlier, IndexArg{groups});
}
UOp schedule(ScheduleArg what, std::span<const UOp> earlier) { return make(Op::schedule, dtypes::none, earlier, what); }
UOp trap(UOp condition) { return make(Op::trap, dtypes::none, {condition}); }

UOp shuffle(UOp value, UOp lane) { return make(Op::shuffle, value.dtype(), {value, lane}); }
UOp ballot(UOp condition, DType type) { return make(Op::ballot, type, {condition}); }
UOp shuffle_xor(UOp value, int mask) { return make(Op::shuffle_xor, value.dtype(), {value}, IndexArg{mask}); }
UOp vec(std::span<const UOp> values) {
    if (values.size() == 1) return values[0];
    const UOp whole = values[0].is(Op::lane) ? values[0].src(0) : UOp();
    bool same = whole && whole.dtype().lanes == values.size();
    for (size_t i = 0; i < values.size() && same; ++i)
        same = values[i].is(Op::lane) && values[i].src(0) == whole &&
               values[i].as<IndexArg>().index == static_cast<int>(i);
    if (same) return whole;
    return make(Op::vec, values[0].dtype().vector(static_cast<int>(values.size())), values);
}
UOp lane(UOp vector, int i) {
    if (vector.is(Op::vec)) return vector.src(static_cast<size_t>(i));
    return vector.dtype().lanes == 1 ? vector : make(Op::lane, vector.dtype().element(), {vector}, IndexArg{i});
}
UOp contract(UOp value, std::span<const UOp> ranges) {
    int64_t lanes = 1;
    for (UOp r : ranges) lanes *= range_arg(r).size;
    return listed(Op::contract, value.dtype().vector(static_cast<int>(lanes)), value, ranges);
}
UOp element(UOp vector, UOp i) { return make(Op::element, vector.dtype().element(), {vector, i}); }
UOp wmma(std::string name, UOp a, UOp b, UOp c, bool clamp) {
    return make(Op::wmma, c.dtype(), {a, b, c}, MatrixArg{std::move(name), clamp});
}

UOp both(UOp a, UOp b) { return !a ? b : !b ? a : alu(Op::bit_and, {a, b}); }

}  // namespace strata::uop
