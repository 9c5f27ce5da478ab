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

Result<std::vector<GraphAfter>> graphs_by_pass(const Kernel& kernel, const Target& target) {
    GraphScope scope;
    Context context{
        .target = target, .program = {.name = kernel.name}, .threads = {}, .finish = finish_of(kernel.sink)};
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
    Context context{.target = target,
                    .program = {.name = sink.as<SinkArg>().name.empty() ? "kernel" : sink.as<SinkArg>().name},
                    .threads = {},
                    .finish = finish_of(sink)};
    STRATA_TRY_VOID(verify_input({sink, context.program.name}));
    sink = without_finish(sink);
    for (const std::string& name : names) {
        const auto pass = std::ranges::find_if(kNamed, [&](const NamedPass& p) { return p.of.name == name; });
        if (pass == std::end(kNamed)) {
            std::string known;
            for (const NamedPass& p : kNamed) known += (known.empty() ? "" : ", ") + std::string(p.of.name);
            return make_error(ErrorKind::Usage, "there is no pass '{}'; those there are: {}", name, known);
        }
        STRATA_TRY(sink, pass->run(sink, context));
    }
    return sink;
}

}  // namespace strata::codegen
