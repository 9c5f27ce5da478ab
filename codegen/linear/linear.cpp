// linearize: linearization. The passes of passes.def, then the order of execution.
#include "strata/codegen/linear/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "strata/codegen/kernel/last_block.h"
#include "strata/codegen/linear/passes_p.h"
#include "strata/core/support/settings.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/verify.h"

namespace strata::codegen {
namespace {

int slot_of(UOp parameter) {
    return parameter.is(Op::param) ? parameter.as<ParamArg>().slot : parameter.as<VariableArg>().slot;
}

void collect_params(LinearProgram& program) {
    for (UOp u : program.ops) {
        if (u.is(Op::define_var)) program.params.push_back(u);
        if (!u.is(Op::param)) continue;
        const ParamArg& arg = u.as<ParamArg>();
        if (arg.space == Space::global) program.params.push_back(u);
        if (arg.space == Space::local)
            program.lds += (static_cast<uint32_t>(arg.size * u.dtype().bytes()) + 15) / 16 * 16;
    }
    std::ranges::sort(program.params, {}, slot_of);
}

/// Of the largest local memory.
UOp first_access_of_largest(const LinearProgram& program) {
    UOp found;
    int64_t most = 0;
    for (UOp u : program.ops) {
        if (!u.is(Op::load) && !u.is(Op::store)) continue;
        const UOp memory = memory_of(u);
        const int64_t bytes = memory.as<ParamArg>().size * memory.dtype().bytes();
        if (memory.as<ParamArg>().space == Space::local && bytes > most) found = u, most = bytes;
    }
    return found;
}

enum class Check : uint8_t { open, kernel };

struct Pass {
    std::string_view name, after;
    Check check;
    Result<UOp> (*run)(UOp, Context&);
};
constexpr Pass kPasses[] = {
#define PASS(name, check, after) {#name, after, Check::check, name},
#include "strata/codegen/linear/passes.def"
#undef PASS
};

Result<UOp> run(const Pass& pass, UOp sink, Context& context) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    STRATA_TRY(UOp next, pass.run(sink, context));
    if (settings().debug >= 5) {
        std::chrono::duration<double, std::milli> ms = Clock::now() - start;
        fmt::print(stderr, "{}: {:<18} {:>6} -> {:<6} nodes {:.3f} ms\n", context.program.name, pass.name,
                   toposort(sink).size(), toposort(next).size(), ms.count());
    }
#ifndef NDEBUG
    if (Result<void> valid = verify_kernel(next); pass.check == Check::kernel && !valid)
        return make_error(ErrorKind::Internal, "kernel {}: {}, after which {}, left this: {}", context.program.name,
                          pass.name, pass.after, valid.error().message);
#endif
    return next;
}

}  // namespace

Result<UOp> simplify(UOp sink, Context&) { return strata::simplify(sink); }

Context context_of(const Kernel& kernel, const Target& target) {
    const SinkArg& hints = kernel.sink.as<SinkArg>();
    return {.target = target,
            .program = {.name = kernel.name, .waves = hints.waves, .registers = hints.registers},
            .finish = finish_of(kernel.sink)};
}

Error LinearProgram::about(UOp u, Error error) const {
    const Places* const known = places ? places : Places::active();
    if (known) error.file = name + ".uops", error.line = static_cast<int>(known->of(u));
    return error;
}

std::vector<executable::ParameterPlace> parameter_places(const LinearProgram& program) {
    std::vector<executable::ParameterPlace> places;
    uint32_t end = 0;
    for (UOp u : program.params) {
        executable::ParameterPlace place{.slot = slot_of(u), .bytes = sizeof(uint64_t)};
        if (u.is(Op::define_var)) place.number = u.dtype(), place.bytes = static_cast<uint32_t>(u.dtype().bytes());
        place.offset = (end + place.bytes - 1) / place.bytes * place.bytes;
        end = place.offset + place.bytes;
        places.push_back(place);
    }
    if (program.has_counter) places.back().counter = true;
    return places;
}

Result<LinearProgram> linearize(const Kernel& kernel, const Target& target) {
    GraphScope scope;
    STRATA_TRY_VOID(verify_input(kernel));
    Context context = context_of(kernel, target);
    UOp sink = without_finish(kernel.sink);
    for (const Pass& pass : kPasses) {
        STRATA_TRY(sink, run(pass, sink, context));
    }
    LinearProgram& program = context.program;
    STRATA_TRY(program.ops, order(context.scopes(sink)));
    collect_params(program);
    if (program.lds > target.lds_bytes)
        return program.about(first_access_of_largest(program),
                             make_error(ErrorKind::Usage, "{}: {} bytes of local memory; a workgroup has {}",
                                        program.name, program.lds, target.lds_bytes));
    STRATA_TRY_VOID(verify_linear(program.ops));
    STRATA_TRY_VOID(verify_waves(program, target));
    return std::move(program);
}

}  // namespace strata::codegen
