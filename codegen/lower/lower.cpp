// lower: selection, the passes of passes.def, bytes.
#include "strata/codegen/lower/lower.h"

#include <fmt/format.h>

#include <chrono>

#include "strata/codegen/decompose/decompose.h"
#include "strata/codegen/lower/emit_p.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/select/select.h"
#include "strata/core/support/settings.h"

namespace strata::codegen {
namespace {

struct Pass {
    std::string_view name, after;
    Check check;
    Result<void> (*run)(MachineFunction&);
};
constexpr Pass kPasses[] = {
#define PASS(name, check, after) {#name, after, Check::check, name},
#include "strata/codegen/machine/passes.def"
#undef PASS
};

size_t count(const MachineFunction& function) {
    size_t instructions = 0;
    for (const Block& block : function.blocks) instructions += block.code.size();
    return instructions;
}

[[maybe_unused]] Result<void> check(const MachineFunction& function, Check kind, std::string_view pass,
                                    std::string_view after) {
    if (Result<void> valid = verify(function, kind); !valid)
        return make_error(ErrorKind::Internal, "kernel {} for {}: {}, after which {}, left this: {}",
                          function.program.name, isa::info(function.target.arch).name, pass, after,
                          valid.error().message);
    return {};
}

Result<void> run(const Pass& pass, MachineFunction& function) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const size_t before = count(function);
    STRATA_TRY_VOID(pass.run(function));
    if (settings().debug >= 5) {
        std::chrono::duration<double, std::milli> ms = Clock::now() - start;
        fmt::print(stderr, "{}: {:<18} {:>6} -> {:<6} instructions {:.3f} ms\n", function.program.name, pass.name,
                   before, count(function), ms.count());
    }
    if (settings().debug >= 6) fmt::print(stderr, "{}", to_string(function));
#ifndef NDEBUG
    STRATA_TRY_VOID(check(function, pass.check, pass.name, pass.after));
#endif
    return {};
}

Result<MachineFunction> selected(const LinearProgram& program, const Target& target) {
    STRATA_TRY(MachineFunction function, select(program, target));
    if (settings().debug >= 6) fmt::print(stderr, "{}", to_string(function));
#ifndef NDEBUG
    STRATA_TRY_VOID(check(function, Check::virtual_, "selection", "only virtual registers are used"));
#endif
    return function;
}

Result<Lowered> finished(MachineFunction& function, Text text) {
    for (const Pass& pass : kPasses) STRATA_TRY_VOID(run(pass, function));
    return emit(function, text);
}

}  // namespace

Result<Lowered> lower(const LinearProgram& given, const Target& target, Text text) {
    GraphScope scope;
    const LinearProgram program = decompose(given, target);
    STRATA_TRY(MachineFunction function, selected(program, target));
    return finished(function, text);
}

Result<std::vector<Stage>> lowering_stages(const LinearProgram& given, const Target& target) {
    GraphScope scope;
    const LinearProgram program = decompose(given, target);
    std::string operations;
    for (const std::string& line : listing(program)) operations += line + "\n";
    std::vector<Stage> stages{{"decompose", std::move(operations)}};
    STRATA_TRY(MachineFunction function, selected(program, target));
    stages.push_back({"select", to_string(function)});
    STRATA_TRY(Lowered lowered, finished(function, Text::yes));
    stages.push_back({"emit", std::move(lowered.assembly)});
    return stages;
}

}  // namespace strata::codegen
