// select: descriptors, and plans of them.
#include "strata/plan/select.h"

#include "strata/plan/save.h"

#include "guard_p.h"
#include "strata/core/support/parallel.h"

struct strata_desc {
    std::shared_ptr<strata::c::State> state;
    strata::plan::Descriptor descriptor;
};

namespace strata::c {
namespace {

constexpr int32_t kMostRank = 64;

State* state_of(const strata_desc* desc) { return desc ? desc->state.get() : nullptr; }

strata_status set(strata_desc* desc, const char* name, const auto& value) {
    return guarded(state_of(desc),
                   [&] { needed(desc, "desc").descriptor.attributes[&needed(name, "name")] = value(); });
}

plan::Preference preference_of(const strata_preference* given) {
    if (!given) return {};
    const strata_preference p = struct_of(given, "preference");
    if ((p.flags & ~uint32_t{STRATA_PREFERENCE_DETERMINISTIC}) || p.reserved != 0 || p.beam < 0 || p.beam > 1000)
        plan_error(Status::argument, "preference", {}, "flags, beam or reserved of the preference are out of range");
    plan::Preference out{.target = p.target ? p.target : "",
                         .deterministic = (p.flags & STRATA_PREFERENCE_DETERMINISTIC) != 0,
                         .beam = p.beam};
    if (p.max_workspace) out.max_workspace = p.max_workspace;
    return out;
}

}  // namespace

extern "C" {

strata_status strata_desc_create(strata_context* context, const char* operation, strata_desc** desc) {
    return guarded(context ? context->state.get() : nullptr, [&] {
        needed(desc, "desc") = nullptr;
        *desc = new strata_desc{needed(context, "context").state, {&needed(operation, "operation")}};
    });
}

strata_status strata_desc_tensor(strata_desc* desc, const char* name, int32_t dtype, int32_t rank, const int64_t* shape,
                                 const int64_t* strides) {
    return guarded(state_of(desc), [&] {
        plan::Descriptor& to = needed(desc, "desc").descriptor;
        const DType type = type_of(dtype, &needed(name, "name"));
        if (rank < 0 || rank > kMostRank)
            plan_error(Status::argument, name, {static_cast<uint64_t>(kMostRank), static_cast<uint64_t>(rank)},
                       "'{}' has a rank of {}", name, rank);
        if (rank > 0) (void)needed(shape, "shape");
        plan::Spec spec{type, Shape(shape, shape + rank)};
        if (strides) spec.strides = Shape(strides, strides + rank);
        to.tensors.insert_or_assign(name, std::move(spec));
    });
}

strata_status strata_desc_ints(strata_desc* desc, const char* name, const int64_t* values, uint32_t count) {
    return set(desc, name, [&] {
        if (count > 0) (void)needed(values, "values");
        return std::vector<int64_t>(values, values + count);
    });
}

strata_status strata_desc_float(strata_desc* desc, const char* name, double value) {
    return set(desc, name, [&] { return value; });
}

strata_status strata_desc_text(strata_desc* desc, const char* name, const char* value) {
    return set(desc, name, [&] { return std::string(&needed(value, "value")); });
}

void strata_desc_destroy(strata_desc* desc) { delete desc; }

strata_status strata_select(strata_context* context, const strata_desc* desc, const strata_preference* preference,
                            strata_plan** plan) {
    return guarded(context ? context->state.get() : nullptr, [&] {
        needed(plan, "plan") = nullptr;
        const std::shared_ptr<State>& state = needed(context, "context").state;
        const plan::Descriptor& of = needed(desc, "desc").descriptor;
        const plan::Preference preferred = preference_of(preference);
        plan::Selection made = with_stack([&] { return plan::find_or_compile(*state->device, of, preferred); });
        state->compilations += made.compilations;
        *plan = new strata_plan{state, std::move(made.plan)};
    });
}

strata_status strata_plan_save(const strata_plan* plan, const char* path) {
    return guarded(plan ? plan->state.get() : nullptr,
                   [&] { plan::save(*needed(plan, "plan").plan, &needed(path, "path")); });
}
}

}  // namespace strata::c
