// artifact: files that were compiled elsewhere, and plans of them.
#include "strata/plan/artifact.h"

#include "guard_p.h"

struct strata_artifact {
    std::shared_ptr<strata::c::State> state;
    strata::executable::ArtifactFiles files;
};

namespace strata::c {
namespace {

using Read = Result<executable::ArtifactFiles>;

strata_status opened(strata_context* context, strata_artifact** artifact, const auto& read) {
    return guarded(context ? context->state.get() : nullptr, [&] {
        needed(artifact, "artifact") = nullptr;
        const std::shared_ptr<State>& state = needed(context, "context").state;
        Read files = read();
        if (!files) throw PlanError(Status::artifact, "", {}, files.error().message);
        *artifact = new strata_artifact{state, *std::move(files)};
    });
}

}  // namespace

extern "C" {

strata_status strata_artifact_open(strata_context* context, const char* path, strata_artifact** artifact) {
    return opened(context, artifact, [&] { return executable::read_artifact(&needed(path, "path")); });
}

strata_status strata_artifact_memory(strata_context* context, const void* bytes, uint64_t count,
                                     strata_artifact** artifact) {
    return opened(context, artifact, [&] {
        const auto* first = static_cast<const char*>(&needed(static_cast<const char*>(bytes), "bytes"));
        return executable::artifact_of_bytes("memory", {first, count});
    });
}

strata_status strata_artifact_load(const strata_artifact* artifact, strata_plan** plan) {
    return guarded(artifact ? artifact->state.get() : nullptr, [&] {
        needed(plan, "plan") = nullptr;
        const strata_artifact& of = needed(artifact, "artifact");
        *plan = new strata_plan{of.state, plan::load(*of.state->device, of.files)};
    });
}

void strata_artifact_close(strata_artifact* artifact) { delete artifact; }
}

}  // namespace strata::c
