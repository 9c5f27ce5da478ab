#include "strata/codegen/linear/linear.h"

#include <algorithm>

#include "strata/codegen/linear/passes_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/verify.h"

namespace strata::codegen {
namespace {

void collect_params(LinearProgram& program) {
    for (UOp u : program.ops) {
        if (!u.is(Op::param)) continue;
        const ParamArg& arg = u.as<ParamArg>();
        if (arg.space == Space::global) program.params.push_back(u);
        if (arg.space == Space::local)
            program.lds += (static_cast<uint32_t>(arg.size * u.dtype().bytes()) + 15) / 16 * 16;
    }
    std::sort(program.params.begin(), program.params.end(),
              [](UOp a, UOp b) { return a.as<ParamArg>().slot < b.as<ParamArg>().slot; });
}

}  // namespace

Result<LinearProgram> linearize(const Kernel& kernel, const Target& target) {
    GraphScope scope;
    LinearProgram program;
    program.name = kernel.name;
    STRATA_TRY_VOID(verify_input(kernel));
    UOp sink = gate_group_stores(kernel.sink);
    ThreadOrder threads = arrange_threads(sink);
    // From here no upcast, no unroll range and none of one step is left.
    STRATA_TRY(sink, expand(sink));
    // Every reduction that becomes a loop of its own has ranges of its own.
    sink = unshare_ranges(sink);
    // From here no reduce and no group range is left: loops are closed by end.
    sink = lower_reduces(sink, threads);
    // From here every range is a loop.
    STRATA_TRY(sink, map_grid(sink, threads, target, program));
    sink = simplify(sink);
    // After simplify, which would take the casts between narrow and wide floats for needless.
    sink = widen_floats(sink);
    // Constants stand last in sums, which is how vectorize finds neighbours.
    sink = vectorize(arrange_sums(sink), target);
    sink = lower_index(sink);
    STRATA_TRY(program.ops, order(sink));
    collect_params(program);
    if (program.lds > target.lds_bytes)
        return make_error(ErrorKind::Usage, "{}: {} bytes of local memory; a workgroup has {}", program.name,
                          program.lds, target.lds_bytes);
    STRATA_TRY_VOID(verify_linear(program.ops));
    return program;
}

}  // namespace strata::codegen
