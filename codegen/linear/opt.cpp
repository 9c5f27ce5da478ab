// opt: passes of linearize by name.
#include "strata/codegen/linear/opt.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/codegen/kernel/last_block.h"
#include "strata/codegen/linear/passes_p.h"

namespace strata::codegen {
namespace {

struct NamedPass {
    PassName of;
    Result<UOp> (*run)(UOp, Context&);
};
constexpr NamedPass kNamed[] = {
#define PASS(name, check, after) {{#name, after}, name},
#include "strata/codegen/linear/passes.def"
#undef PASS
};

}  // namespace

std::vector<PassName> linear_passes() {
    std::vector<PassName> all;
    for (const NamedPass& pass : kNamed) all.push_back(pass.of);
    return all;
}

Result<size_t> number_of_pass(std::span<const PassName> passes, std::string_view name) {
    for (size_t i = passes.size(); i-- > 0;)
        if (passes[i].name == name) return i;
    std::string known;
    for (const PassName& pass : passes) known += (known.empty() ? "" : ", ") + std::string(pass.name);
    return make_error(ErrorKind::Usage, "there is no pass '{}'; those there are: {}", name, known);
}

Result<std::vector<GraphAfter>> graphs_by_pass(const Kernel& kernel, const Target& target) {
    GraphScope scope;
    Context context = context_of(kernel, target);
    UOp sink = without_finish(kernel.sink);
    std::vector<GraphAfter> graphs;
    for (const NamedPass& pass : kNamed) {
        STRATA_TRY(sink, pass.run(sink, context));
        graphs.push_back({pass.of.name, tree(sink)});
    }
    return graphs;
}

Result<UOp> run_passes(UOp sink, std::span<const std::string> names, const Target& target) {
    GraphScope scope;
    if (!sink.is(Op::sink)) return make_error(ErrorKind::Usage, "passes take a kernel, which ends in a sink");
    const Kernel kernel{sink, sink.as<SinkArg>().name.empty() ? "kernel" : sink.as<SinkArg>().name};
    STRATA_TRY_VOID(verify_input(kernel));
    Context context = context_of(kernel, target);
    sink = without_finish(sink);
    const std::vector<PassName> known = linear_passes();
    for (const std::string& name : names) {
        STRATA_TRY(const size_t pass, number_of_pass(known, name));
        STRATA_TRY(sink, kNamed[pass].run(sink, context));
    }
    return sink;
}

}  // namespace strata::codegen
