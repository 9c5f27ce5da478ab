#include "strata/codegen/compile/compile_kernel.h"

#include "strata/codegen/compile/compile.h"
#include "strata/codegen/kernel/flops.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/render/render.h"
#include "strata/core/support/parallel.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {
namespace {

Result<Compiled> to_machine_code(const LinearProgram& program, const Target& target) {
    switch (target.route) {
        case Route::hip: {
            STRATA_TRY(const HipSource source, render_hip(program, target));
            return compile_hip(source, target.arch);
        }
        case Route::asm_: break;
    }
    return make_error(ErrorKind::Unsupported,
                      "target 'asm' (direct lowering) is not available in this version; use 'hip'");
}

}  // namespace

BoundKernel start_kernel(const ScheduleItem& item) {
    BoundKernel bound = build_kernel(item.output, item.body);
    bound.kernel = start_schedule(bound.kernel);
    return bound;
}

Result<Compiled> compile_kernel(const Scheduled& scheduled, const Target& target) {
    GraphScope scope;
    STRATA_TRY(const LinearProgram program, linearize(scheduled.kernel, target));
    STRATA_TRY(Compiled compiled, to_machine_code(program, target));
    compiled.grid = program.grid;
    compiled.block = program.block;
    for (UOp param : program.params) compiled.slots.push_back(param.as<ParamArg>().slot);
    compiled.actions = scheduled.actions;
    compiled.flops = count_flops(scheduled.kernel.sink);
    return compiled;
}

std::vector<Result<Compiled>> compile_kernels(std::span<const Scheduled> kernels, const Target& target) {
    std::vector<Result<Compiled>> compiled(kernels.size(), Compiled{});
    parallel_for(kernels.size(), [&](size_t i) { compiled[i] = compile_kernel(kernels[i], target); });
    return compiled;
}

Result<HipSource> render_kernel(const Kernel& kernel, const Target& target) {
    GraphScope scope;
    STRATA_TRY(const LinearProgram program, linearize(kernel, target));
    return render_hip(program, target);
}

}  // namespace strata::codegen
