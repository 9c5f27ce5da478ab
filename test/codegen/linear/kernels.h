#pragma once
#include <string>
#include <vector>

#include "strata/codegen/linear/linear.h"

namespace strata::codegen {

// Short builders of kernel graphs.
inline UOp param(int slot, int64_t size, DType type = dtypes::float32, Space space = Space::global) {
    return make(Op::param, type, {}, ParamArg{space, slot, size});
}
inline UOp range(int id, int64_t size, Axis axis) {
    return make(Op::range, dtypes::index, {}, RangeArg{id, size, axis});
}
inline UOp at(UOp memory, UOp offset) { return make(Op::index, memory.dtype(), {memory, offset}); }
inline UOp at(UOp memory, int64_t offset) { return at(memory, constant_int(dtypes::index, offset)); }
inline UOp at(UOp memory, UOp offset, UOp predicate) {
    return make(Op::index, memory.dtype(), {memory, offset, predicate});
}
inline UOp load(UOp place) { return make(Op::load, place.dtype(), {place}); }
inline UOp load(UOp place, UOp otherwise) { return make(Op::load, place.dtype(), {place, otherwise}); }
inline UOp store(UOp place, UOp value) { return make(Op::store, dtypes::none, {place, value}); }
inline UOp list(Op op, DType type, UOp first, std::vector<UOp> rest) {
    rest.insert(rest.begin(), first);
    return make(op, type, rest);
}
inline UOp after(UOp u, std::vector<UOp> earlier) { return list(Op::after, u.dtype(), u, std::move(earlier)); }
inline UOp end(UOp effect, std::vector<UOp> ranges) { return list(Op::end, dtypes::none, effect, std::move(ranges)); }
inline UOp barrier(UOp effect) { return make(Op::barrier, dtypes::none, {effect}); }
inline UOp reduce(Op op, UOp value, std::vector<UOp> ranges) {
    ranges.insert(ranges.begin(), value);
    return make(Op::reduce, value.dtype(), ranges, ReduceArg{op, {}});
}
inline UOp scan(Op op, UOp value, std::vector<UOp> ranges) {
    ranges.insert(ranges.begin(), value);
    return make(Op::scan, value.dtype(), ranges, ReduceArg{op, {}});
}
inline Kernel kernel(std::string name, UOp effect) {
    return {make(Op::sink, dtypes::none, {effect}, SinkArg{}), std::move(name)};
}

/// A user's sum of n * 262144 floats: 1024 blocks of 256 threads, one result a block.
inline Kernel block_sum(int64_t n) {
    UOp out = param(0, 1024), x = param(1, n * 262144);
    UOp g = range(0, 1024, Axis::global), l = range(1, 256, Axis::local), r = range(2, n, Axis::reduce),
        t = range(3, 256, Axis::reduce);
    UOp acc = param(0, 1, dtypes::float32, Space::reg), lds = param(1, 256, dtypes::float32, Space::local),
        total = param(2, 1, dtypes::float32, Space::reg);
    UOp zero = constant(dtypes::float32, 0);
    UOp running = after(acc, {store(at(acc, 0), zero), r});
    UOp update = store(at(running, 0), load(at(running, 0)) + load(at(x, (r * 1024 + g) * 256 + l)));
    UOp done = after(acc, {end(update, {r})});
    UOp ready = after(lds, {barrier(store(at(lds, l), load(at(done, 0))))});
    UOp adding = after(total, {store(at(total, 0), zero), t});
    UOp added = end(store(at(adding, 0), load(at(adding, 0)) + load(at(ready, t))), {t});
    UOp result = load(at(after(total, {added}), 0));
    return kernel("block_sum", end(store(at(out, g, l < 1), result), {g, l}));
}

}  // namespace strata::codegen
