// pass_by_name: the code as one of the passes of lower() leaves it.
#include "strata/codegen/lower/pass_by_name.h"

#include "strata/codegen/decompose/decompose.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/select/select.h"

namespace strata::codegen {
namespace {

struct NamedLowering {
    PassName of;
    Result<void> (*run)(MachineFunction&);
};
constexpr NamedLowering kNamedLowerings[] = {
#define PASS(name, check, after) {{#name, after}, name},
#include "strata/codegen/machine/passes.def"
#undef PASS
};

}  // namespace

std::vector<PassName> lowering_passes() {
    std::vector<PassName> all;
    for (const NamedLowering& pass : kNamedLowerings) all.push_back(pass.of);
    return all;
}

Result<std::string> lowered_until(const LinearProgram& given, const Target& target, std::string_view name) {
    GraphScope scope;
    STRATA_TRY(const size_t last, number_of_pass(lowering_passes(), name));
    const LinearProgram program = decompose(given, target);
    STRATA_TRY(MachineFunction function, select(program, target));
    for (size_t i = 0; i <= last; ++i) STRATA_TRY_VOID(kNamedLowerings[i].run(function));
    return to_string(function);
}

Result<std::vector<Stage>> instructions_by_pass(const LinearProgram& given, const Target& target) {
    GraphScope scope;
    const LinearProgram program = decompose(given, target);
    STRATA_TRY(MachineFunction function, select(program, target));
    std::vector<Stage> stages{{"select", to_string(function)}};
    for (const NamedLowering& pass : kNamedLowerings) {
        STRATA_TRY_VOID(pass.run(function));
        stages.push_back({std::string(pass.of.name), to_string(function)});
    }
    return stages;
}

}  // namespace strata::codegen
