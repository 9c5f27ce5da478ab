#pragma once
#include "strata/core/uop/uop.h"

/// Short builders of kernels as graphs (kernel-level ops of ops.def), with the names of Python's strata.uop. What each
/// op means and which graphs are valid: ops.def, verify_kernel.
namespace strata::uop {

namespace detail {
inline UOp listed(Op op, DType type, UOp first, std::initializer_list<UOp> rest) {
    std::vector<UOp> sources{first};
    sources.insert(sources.end(), rest.begin(), rest.end());
    return make(op, type, sources);
}
}  // namespace detail

/// The kernel's buffer number `slot`: the output of a custom kernel is 0, its inputs follow.
inline UOp buffer(int slot, DType type, int64_t size) {
    return make(Op::param, type, {}, ParamArg{Space::global, slot, size});
}
/// Memory of a block (local) or of a thread (reg).
inline UOp placeholder(int64_t size, DType type, Space space, int slot = 0) {
    return make(Op::param, type, {}, ParamArg{space, slot, size});
}
/// A loop variable 0 .. size-1; ids are distinct in a kernel and give the order of nesting.
inline UOp range(int64_t size, int id, Axis axis) {
    return make(Op::range, dtypes::index, {}, RangeArg{id, size, axis});
}

/// A place in memory; nothing is touched there where `gate` is false.
inline UOp at(UOp memory, UOp offset, UOp gate = {}) {
    if (gate) return make(Op::index, memory.dtype(), {memory, offset, gate});
    return make(Op::index, memory.dtype(), {memory, offset});
}
inline UOp at(UOp memory, int64_t offset) { return at(memory, index_const(offset)); }
/// What is at a place; 0 where its gate is false.
inline UOp load(UOp place) {
    if (place.src().size() == 2) return make(Op::load, place.dtype(), {place});
    return make(Op::load, place.dtype(), {place, constant(place.dtype(), 0)});
}
inline UOp store(UOp place, UOp value) { return make(Op::store, dtypes::none, {place, value}); }
inline UOp store(UOp place, double value) { return store(place, constant(place.dtype(), value)); }

/// The value or memory, used only after the effects and inside of the ranges given.
inline UOp after(UOp u, std::initializer_list<UOp> earlier) { return detail::listed(Op::after, u.dtype(), u, earlier); }
inline UOp end(UOp effect, std::initializer_list<UOp> ranges) {
    return detail::listed(Op::end, dtypes::none, effect, ranges);
}
inline UOp barrier(UOp effect) { return make(Op::barrier, dtypes::none, {effect}); }
/// The whole kernel.
inline UOp sink(UOp effect, std::string name) {
    return make(Op::sink, dtypes::none, {effect}, SinkArg{std::move(name)});
}

}  // namespace strata::uop
