// widen_floats: bfloat16 and 8-bit floats are stored but not computed with; each operation runs in float32 and rounds
// once.
//
// Before  add bfloat16 x, y
// After   cast bfloat16 (add float32 (cast x), (cast y))
// Choosing, moving and converting values needs no arithmetic and stays. An integer fma becomes mul and add.
#include "strata/codegen/linear/passes_p.h"

namespace strata::codegen {
namespace {

bool is_storage_only(DType t) { return t.is_float() && (t.bits() == 8 || t.element() == dtypes::bfloat16); }

bool computes(UOp u) { return info(u.op()).elementwise() && !u.is(Op::cast) && !u.is(Op::bitcast) && !u.is(Op::where); }

UOp widened(UOp u, std::span<const UOp> sources) {
    std::vector<UOp> wide;
    for (UOp s : sources) wide.push_back(cast(s, dtypes::float32.vector(s.dtype().lanes)));
    return cast(alu(u.op(), wide), u.dtype());
}

}  // namespace

UOp widen_floats(UOp sink) {
    UOpMap<UOp> rebuilt;
    std::vector<UOp> sources;
    for (UOp u : toposort(sink)) {
        sources.clear();
        for (UOp s : u.src()) sources.push_back(rebuilt.at(s));
        if (computes(u) && is_storage_only(u.src(0).dtype()))
            rebuilt[u] = widened(u, sources);
        else if (u.is(Op::fma) && u.dtype().is_integer())
            rebuilt[u] = sources[0] * sources[1] + sources[2];
        else
            rebuilt[u] = u.with_src(sources);
    }
    return rebuilt.at(sink);
}

}  // namespace strata::codegen
