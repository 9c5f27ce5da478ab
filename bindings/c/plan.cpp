// plan: what a plan is, and runs of it.
#include "guard_p.h"

/// A run whose operands were checked.
struct strata_call {
    std::shared_ptr<strata::c::State> state;
    std::shared_ptr<const strata::plan::Plan> plan;
    uint64_t workspace;
    std::vector<strata_tensor> operands;
    std::vector<uint64_t> data;
};

namespace strata::c {
namespace {

State* state_of(const strata_plan* plan) { return plan ? plan->state.get() : nullptr; }

strata_tensor like(const plan::Operand& operand) {
    strata_tensor out{0, operand.bytes, number_of(operand.dtype), static_cast<int32_t>(operand.shape.size()), {}, {}};
    std::ranges::copy(operand.shape, out.shape);
    std::ranges::copy(operand.strides, out.strides);
    return out;
}

void run_on(State& state, const strata_stream* stream, const plan::Plan& plan, uint64_t workspace,
            std::span<const uint64_t> data) {
    const OnStream on(state, stream);
    plan.launch(workspace, data);
    state.launches.fetch_add(plan.launches(), std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void strata_plan_destroy(strata_plan* plan) { delete plan; }

uint32_t strata_plan_operands(const strata_plan* plan) {
    return plan ? static_cast<uint32_t>(plan->plan->operands().size()) : 0;
}

uint32_t strata_plan_launches(const strata_plan* plan) { return plan ? plan->plan->launches() : 0; }

uint64_t strata_plan_workspace(const strata_plan* plan) { return plan ? plan->plan->workspace() : 0; }

strata_status strata_plan_operand(const strata_plan* plan, uint32_t i, strata_operand* operand) {
    return guarded(state_of(plan), [&] {
        const std::vector<plan::Operand>& all = needed(plan, "plan").plan->operands();
        if (i >= all.size())
            plan_error(Status::argument, "i", {all.size(), i}, "there is no operand {}: the plan has {}", i,
                       all.size());
        give(operand,
             {0, all[i].output ? uint32_t{STRATA_OPERAND_OUTPUT} : 0, all[i].name.c_str(), all[i].alignment,
              like(all[i])},
             "operand");
    });
}

strata_status strata_plan_precision(const strata_plan* plan, strata_precision* precision) {
    return guarded(state_of(plan), [&] {
        const plan::Precision& of = needed(plan, "plan").plan->precision();
        give(precision, {0, number_of(of.math), number_of(of.accumulate), of.deterministic, of.bit_stable, of.max_ulp},
             "precision");
    });
}

strata_status strata_plan_sku(const strata_plan* plan, char* json, uint64_t capacity, uint64_t* length,
                              uint64_t* hash) {
    return guarded(state_of(plan), [&] {
        const plan::Plan& of = *needed(plan, "plan").plan;
        const std::string& text = of.sku();
        if (length) *length = text.size();
        if (hash) *hash = of.sku_hash();
        if (!json) return;
        if (capacity <= text.size())
            plan_error(Status::buffer, "json", {text.size() + 1, capacity}, "the text has {} bytes, and there are {}",
                       text.size() + 1, capacity);
        std::memcpy(json, text.c_str(), text.size() + 1);
    });
}

strata_status strata_can_implement(const strata_plan* plan, const strata_tensor* operands, uint32_t count) {
    return guarded(state_of(plan), [&] { needed(plan, "plan").plan->check(views_of(operands, count)); });
}

strata_status strata_run(const strata_plan* plan, strata_stream* stream, uint64_t workspace, uint64_t bytes,
                         const strata_tensor* operands, uint32_t count) {
    return guarded(state_of(plan), [&] {
        const plan::Plan& of = *needed(plan, "plan").plan;
        const std::vector<plan::TensorView> views = views_of(operands, count);
        of.check(views);
        of.check_workspace(workspace, bytes);
        std::vector<uint64_t> data;
        for (const plan::TensorView& view : views) data.push_back(view.data);
        run_on(*plan->state, stream, of, workspace, data);
    });
}

strata_status strata_bind(const strata_plan* plan, uint64_t workspace, uint64_t bytes, const strata_tensor* operands,
                          uint32_t count, strata_call** call) {
    return guarded(state_of(plan), [&] {
        needed(call, "call") = nullptr;
        const plan::Plan& of = *needed(plan, "plan").plan;
        const std::vector<plan::TensorView> views = views_of(operands, count);
        of.check(views);
        of.check_workspace(workspace, bytes);
        auto made = std::make_unique<strata_call>(strata_call{plan->state, plan->plan, workspace, {}, {}});
        made->operands.assign(operands, operands + count);
        for (const plan::TensorView& view : views) made->data.push_back(view.data);
        *call = made.release();
    });
}

strata_status strata_call_set(strata_call* call, uint32_t i, uint64_t data) {
    return guarded(call ? call->state.get() : nullptr, [&] {
        strata_call& of = needed(call, "call");
        if (i >= of.data.size())
            plan_error(Status::argument, "i", {of.data.size(), i}, "there is no operand {}: the call has {}", i,
                       of.data.size());
        const uint64_t before = std::exchange(of.operands[i].data, data);
        try {
            of.plan->check(views_of(of.operands.data(), static_cast<uint32_t>(of.operands.size())));
        } catch (...) {
            of.operands[i].data = before;
            throw;
        }
        of.data[i] = data;
    });
}

strata_status strata_call_run(const strata_call* call, strata_stream* stream) {
    return guarded(call ? call->state.get() : nullptr, [&] {
        const strata_call& of = needed(call, "call");
        run_on(*of.state, stream, *of.plan, of.workspace, of.data);
    });
}

void strata_call_destroy(strata_call* call) { delete call; }
}

}  // namespace strata::c
