// lower_index: index arithmetic gets a machine type, int32 where its bounds fit and int64 elsewhere.
//
// Before  index r0 * 4096 + r1
// After   int32 where r0 * 4096 + r1 < 2^31; else int64(r0) * 4096 + int64(r1)
// Bounds are those of the whole expression and of its sources: an int64 chain that ends small stays int64 inside.
#include "strata/codegen/linear/passes_p.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

bool is_index(UOp u) { return u.dtype().scalar == Scalar::index; }

bool fits_int32(UOp u) {
    Bounds b = bounds(u);
    return b.low >= int_min(dtypes::int32) && b.high <= int_max(dtypes::int32);
}

/// The type in which a node computes: its own bounds and those of its index sources must fit.
DType machine_type(UOp u) {
    bool small = !is_index(u) || fits_int32(u);
    for (UOp s : u.src()) small &= !is_index(s) || fits_int32(s);
    return small ? dtypes::int32 : dtypes::int64;
}

UOp retyped(UOp value, DType to) {
    if (value.dtype() == to) return value;
    return value.is_const() ? constant_int(to, const_int(value)) : cast(value, to);
}

}  // namespace

Result<UOp> lower_index(UOp sink, Context&) {
    return rebuild(sink, [](UOp u, std::vector<UOp>& sources) {
        const DType type = machine_type(u);
        if ((info(u.op()).elementwise() && !u.is(Op::cast)) || u.is(Op::range))
            for (size_t i = 0; i < sources.size(); ++i)
                if (is_index(u.src(i))) sources[i] = retyped(sources[i], type);
        if (!is_index(u)) return u.with_src(sources);
        if (u.is_const()) return constant_int(type, const_int(u));
        if (u.is(Op::cast)) return retyped(sources[0], fits_int32(u) ? dtypes::int32 : dtypes::int64);
        UOp typed = make(u.op(), type, sources, u.arg());
        return fits_int32(u) ? retyped(typed, dtypes::int32) : typed;
    });
}

}  // namespace strata::codegen
