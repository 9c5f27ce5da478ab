#include "strata/codegen/driver/compile_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "strata/codegen/driver/compile.h"
#include "strata/codegen/driver/compile_p.h"
#include "strata/codegen/driver/dump_p.h"
#include "strata/codegen/kernel/flops.h"
#include "strata/codegen/kernel/signature.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/linear/verify_in_place.h"
#include "strata/codegen/render/render.h"
#include "strata/core/support/parallel.h"
#include "strata/core/support/settings.h"
#include "strata/core/uop/places.h"
#include "strata/core/uop/scratch.h"
#include "strata/core/uop/uop.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

Result<executable::Code> compile_directly(const LinearProgram& program, const Target& target, Text text) {
    const auto start = std::chrono::steady_clock::now();
    STRATA_TRY(Lowered lowered, lower(program, target, text));
    STRATA_TRY(isa::Bytes object, lowered.object(target.arch));
    STRATA_TRY(isa::CodeObject parsed, isa::CodeObject::parse(std::move(object)));
    executable::Code compiled;
    compiled.object = std::make_shared<const isa::CodeObject>(std::move(parsed));
    compiled.entry = program.name;
    compiled.assembly = std::move(lowered.assembly);
    compiled.route = "direct lowering";
    compiled.lines_of = program.name + ".uops";
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    compiled.compile_ms = took.count() - lowered.text_ms;
    if (text == Text::yes) compiled.spec = std::make_shared<const isa::KernelSpec>(std::move(lowered.kernel));
    return compiled;
}

Result<void> check_has_instructions(const Target& target) {
    if (target.arch.is_amd()) return {};
    return make_error(ErrorKind::Unsupported,
                      "the target asm writes AMD's instructions and {} is a chip of NVIDIA: use the target hip",
                      target.arch.name());
}

Result<executable::Code> to_machine_code(const LinearProgram& program, const Target& target, Text text) {
    switch (target.route) {
        case Route::hip: {
            STRATA_TRY(const HipSource source, render_hip(program, target));
            STRATA_TRY(executable::Code compiled, compile_hip(source, target.arch));
            compiled.dynamic_lds = dynamic_lds(program, target);
            compiled.lines_of = source.file_name, compiled.lines = source.lines;
            return compiled;
        }
        case Route::asm_: {
            STRATA_TRY_VOID(check_has_instructions(target));
            STRATA_TRY_VOID(check_may_compile(program.name));
            return compile_directly(program, target, text);
        }
    }
    STRATA_CHECK(false, "a target without a route");
}

/// True for a user's kernel, whose sink has a name. Errors and faults of its code name lines of its tree().
bool is_users(UOp sink) { return sink.is(Op::sink) && !sink.as<SinkArg>().name.empty(); }

std::vector<executable::TakenBuffer> buffers_of(const LinearProgram& program) {
    UOpMap<bool> written;
    for (UOp u : program.ops)
        if (writes_memory(u)) written[memory_of(u)] = true;
    std::vector<executable::TakenBuffer> found;
    for (UOp u : program.params) {
        if (!u.is(Op::param)) continue;
        const ParamArg& arg = u.as<ParamArg>();
        const bool counter = program.has_counter && u == program.params.back();
        found.push_back(
            {fmt::format("{}{}", counter || written.contains(u) ? "out" : "in", arg.slot), u.dtype(), arg.size});
    }
    return found;
}

void add_launch(executable::Code& compiled, const LinearProgram& program, const Scheduled& scheduled) {
    compiled.grid = program.grid;
    compiled.block = program.block;
    compiled.places = parameter_places(program);
    compiled.buffers = buffers_of(program);
    compiled.schedule = to_string(scheduled.actions);
    compiled.flops = count_flops(scheduled.kernel.sink);
}

}  // namespace

BoundKernel start_kernel(const ScheduleItem& item) {
    BoundKernel bound = build_kernel(item);
    bound.kernel = start_schedule(bound.kernel);
    return bound;
}

SharedKernels::Use SharedKernels::start(const ScheduleItem& item) {
    Signature signature = signature_of_bodies(item.bodies());
    std::vector<UOp> outputs = item.outputs();
    if (!item.finish.empty()) {  // which reads outputs
        signature.form += fmt::format("finish {}", item.finish[0].bodies().size());
        for (UOp output : outputs)
            signature.form +=
                fmt::format(" {}", std::ranges::find(signature.buffers, output) - signature.buffers.begin());
    }
    const auto [at, first] = known_.try_emplace(std::move(signature.form));
    Known& known = at->second;
    if (first) {
        BoundKernel bound = start_kernel(item);
        known.kernel = kernels_.size();
        for (UOp buffer : std::span(bound.buffers).subspan(outputs.size()))
            known.buffers.push_back(
                static_cast<size_t>(std::ranges::find(signature.buffers, buffer) - signature.buffers.begin()));
        kernels_.push_back(std::move(bound.kernel));
    }
    Use use{known.kernel, std::move(outputs), first};
    for (size_t place : known.buffers) use.buffers.push_back(signature.buffers.at(place));
    return use;
}

namespace {

std::function<UOp(UOp)> lowering_change;

Kernel to_lower(const Kernel& kernel, const Target& target) {
    Kernel spread = spread_finish(kernel, target);
    if (lowering_change) spread.sink = lowering_change(spread.sink);
    return spread;
}

Result<executable::Code> compile(const Scheduled& scheduled, const Target& target, Text text) {
    std::optional<Places> places;
    if (is_users(scheduled.kernel.sink)) number_by_tree(places.emplace(), scheduled.kernel.sink);
    STRATA_TRY(LinearProgram program, linearize(to_lower(scheduled.kernel, target), target));
    if (places) program.places = &*places;
    STRATA_TRY(executable::Code compiled, to_machine_code(program, target, text));
    add_launch(compiled, program, scheduled);
    return compiled;
}

}  // namespace

void on_lowering(std::function<UOp(UOp sink)> change) { lowering_change = std::move(change); }

Result<executable::Code> compile_kernel(const Scheduled& scheduled, const Target& target, Text text) {
    const GraphScope scope;
    const ScratchNodes own;
    if (settings().dump.empty()) return compile(scheduled, target, text);
    Result<executable::Code> compiled = compile(scheduled, target, Text::yes);
    const Kernel kernel = spread_finish(scheduled.kernel, target);
    STRATA_TRY_VOID(dump_kernel(kernel, target, linearize(kernel, target), compiled));
    return compiled;
}

Result<executable::Code> render_alone(const Scheduled& scheduled, const Target& target, Error why) {
    const GraphScope scope;
    const ScratchNodes own;
    STRATA_TRY(const LinearProgram program, linearize(spread_finish(scheduled.kernel, target), target));
    STRATA_TRY(HipSource source, render_hip(program, target));
    executable::Code compiled;
    compiled.without_object = std::move(why);
    compiled.entry = program.name;
    compiled.text = std::move(source.text);
    compiled.route = "text alone";
    add_launch(compiled, program, scheduled);
    return compiled;
}

Result<isa::Bytes> one_object(std::span<const executable::Code> kernels, const Target& target) {
    if (kernels.size() == 1) return kernels[0].code_object();
    std::set<std::string_view> names;
    std::vector<isa::KernelSpec> specs;
    HipSource source;
    for (const executable::Code& one : kernels) {
        if (one.places.empty())
            return make_error(
                ErrorKind::Unsupported,
                "kernel {} is not Strata's own: no object holds it and others; .kernels[i].code_object has "
                "each alone",
                one.entry);
        if (!names.insert(one.entry).second) continue;
        if (one.spec) specs.push_back(*one.spec);
        source.text += one.text;
    }
    if (target.route == Route::asm_) return isa::write_code_object(target.arch, specs);
    STRATA_TRY(const executable::Code all, compile_hip(source, target.arch));
    return all.code_object();
}

std::vector<Result<executable::Code>> compile_kernels(std::span<const Scheduled> kernels, const Target& target,
                                                      Text text) {
    std::vector<Result<executable::Code>> compiled(kernels.size(), executable::Code{});
    parallel_for(kernels.size(), [&](size_t i) { compiled[i] = compile_kernel(kernels[i], target, text); });
    return compiled;
}

Result<void> verify_in_place(const Scheduled& kernel, const Target& target, std::span<const executable::InPlace> pairs,
                             std::span<const uint64_t> slots) {
    const GraphScope scope;
    const ScratchNodes own;
    STRATA_TRY(const LinearProgram program, linearize(spread_finish(kernel.kernel, target), target));
    return verify_in_place(program, pairs, slots);
}

namespace {
std::string trees(std::span<const UOp> roots) {
    std::string all;
    for (UOp root : roots) all += tree(root);
    return all;
}
}  // namespace

Result<std::vector<Stage>> stages_of(const ScheduleItem& item, const Target& target) {
    GraphScope scope;
    const Kernel kernel = start_kernel(item).kernel;
    const Scheduled scheduled = heuristic(kernel, target);
    STRATA_TRY(const LinearProgram program, linearize(spread_finish(scheduled.kernel, target), target));
    std::vector<Stage> stages{{"schedule", trees(item.bodies())},
                              {"kernel", tree(kernel.sink)},
                              {"optimize", to_string(scheduled.actions) + "\n"}};
    STRATA_TRY(std::vector<Stage> lowered, lowering_stages(program, target));
    for (Stage& stage : lowered) stages.push_back(std::move(stage));
    return stages;
}

Result<HipSource> render_kernel(const Kernel& kernel, const Target& target) {
    const GraphScope scope;
    const ScratchNodes own;
    STRATA_TRY(const LinearProgram program, linearize(spread_finish(kernel, target), target));
    return render_hip(program, target);
}

std::vector<PassName> instruction_passes() { return lowering_passes(); }

Result<std::string> instructions_after(const Kernel& kernel, const Target& target, std::string_view pass) {
    const GraphScope scope;
    STRATA_TRY(const LinearProgram program, linearize(kernel, target));
    return lowered_until(program, target, pass);
}

}  // namespace strata::codegen
