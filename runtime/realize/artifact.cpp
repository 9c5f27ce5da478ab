#include "strata/runtime/artifact.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/driver/route.h"
#include "strata/codegen/schedule/named_storage.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/device.h"
#include "strata/runtime/program.h"
#include "strata/runtime/search/search.h"

namespace strata::runtime {

namespace {

Result<codegen::Compiled> compile_launch(const CustomLaunch& launch, const codegen::Target& target) {
    STRATA_TRY(codegen::Compiled compiled, compile_custom(*launch.kernel, target));
    const LaunchShape shape = shape_of(launch, compiled);
    compiled.grid = shape.grid;
    compiled.block = shape.block;
    compiled.dynamic_lds = shape.dynamic_lds;
    return compiled;
}

/// The device whose searches the settings let a target take schedules of, or null.
const Device* searched_on(const codegen::Target& target) {
    if (settings().beam == 0) return nullptr;
    const Device& here = device();
    return here.arch() == target.arch && target_of(here).route == target.route ? &here : nullptr;
}

/// Names by which the kernels of one object differ: equal kernels have one.
class Names {
  public:
    std::string of(const codegen::Kernel& kernel) {
        std::string name = kernel.name;
        for (int i = 2; known_.try_emplace(name, kernel.sink).first->second != kernel.sink; ++i)
            name = fmt::format("{}_n{}", kernel.name, i);
        return name;
    }

  private:
    std::map<std::string, UOp, std::less<>> known_;
};

}  // namespace

isa::Bytes Artifact::code_object() const { return one_object(kernels, target).value(); }

codegen::Target target_named(const std::string& arch) {
    const codegen::Chip chip = arch.empty() ? device().arch() : codegen::Chip::parse(arch).value();
    return codegen::target_of(chip, codegen::route_in_force(chip));
}

Artifact compile(const CustomKernel& custom, const codegen::Target& target) {
    codegen::Compiled compiled = compile_custom(custom, target).value();
    (void)compiled.info();  // its entry is there
    return {{std::move(compiled)}, target};
}

Artifact compile(std::span<const UOp> roots, const codegen::Target& target) {
    GraphScope scope;
    codegen::NamedStorage storage(target.arch.is_amd());
    Artifact out{{}, target};
    Names names;
    const Device* here = searched_on(target);
    for (const codegen::ScheduleItem& item : codegen::make_schedule(roots, storage, usual_fusion()).items) {
        if (item.body.is(Op::custom)) {
            out.kernels.push_back(compile_launch(*find_custom(item.body.as<CustomArg>().id), target).value());
            continue;
        }
        const codegen::Kernel kernel = codegen::start_kernel(item).kernel;
        codegen::Scheduled one = here ? known_schedule(*here, kernel) : unsearched(kernel, target);
        one.kernel.name = names.of(one.kernel);
        Result<codegen::Compiled> compiled = compile_kernel(one, target, codegen::Text::yes);
        if (!compiled && target.route == codegen::Route::hip && compiled.error().kind == ErrorKind::Device)
            compiled = render_alone(one, target, std::move(compiled.error()));
        out.kernels.push_back(std::move(compiled).value());
    }
    return out;
}

namespace {

uint64_t bytes_of(UOp buffer) {
    return static_cast<uint64_t>(buffer.as<BufferArg>().size) * static_cast<uint64_t>(buffer.dtype().bytes());
}

StepOutline outline_of(const codegen::ScheduleItem& item, std::vector<UOp>& read) {
    StepOutline step{.name = item.body.is(Op::custom) ? find_custom(item.body.as<CustomArg>().id)->kernel->name
                                                      : codegen::start_kernel(item).kernel.name,
                     .result = {},
                     .operations = {},
                     .why = std::string(to_string(item.why))};
    for (const codegen::ScheduleItem& finish : item.finish)
        step.why += fmt::format("; its last block computes the next step, which is small: {}", to_string(finish.why));
    for (UOp body : item.bodies())
        step.result +=
            fmt::format("{}{} {}", step.result.empty() ? "" : " and ", body.dtype().name(), to_string(body.shape()));
    for (UOp output : item.outputs()) step.written += bytes_of(output);
    std::map<std::string, int, std::less<>> counts;
    for (UOp u : codegen::in_order(item.bodies())) {
        if (u.is(Op::buffer)) {
            read.push_back(u);
            step.read += bytes_of(u);
        } else if (u.is(Op::reduce) || u.is(Op::scan)) {
            ++counts[fmt::format("{} {}", info(u.op()).name, info(u.as<ReduceArg>().op).name)];
        } else if (!info(u.op()).is(kMovement) && !u.is(Op::constant)) {
            ++counts[std::string(info(u.op()).name)];
        }
    }
    step.operations.assign(counts.begin(), counts.end());
    return step;
}

}  // namespace

Outline outline(std::span<const UOp> roots) {
    GraphScope scope;
    codegen::NamedStorage storage;
    Outline out;
    std::vector<UOp> read, made;
    const codegen::Schedule schedule = codegen::make_schedule(roots, storage, usual_fusion());
    for (const codegen::ScheduleItem& item : schedule.items) {
        out.steps.push_back(outline_of(item, read));
        for (UOp output : item.outputs()) made.push_back(output);
    }
    for (UOp root : schedule.roots) read.push_back(buffer_under(root));
    UOpMap<bool> counted;
    for (UOp u : read) {
        const bool result = std::ranges::any_of(schedule.roots, [&](UOp root) { return buffer_under(root) == u; });
        if ((result || std::ranges::find(made, u) == made.end()) && counted.emplace(u, true).second)
            out.least_bytes += bytes_of(u);
    }
    return out;
}

std::vector<std::vector<codegen::Stage>> stages(std::span<const UOp> roots, const codegen::Target& target) {
    GraphScope scope;
    codegen::NamedStorage storage(target.arch.is_amd());
    std::vector<std::vector<codegen::Stage>> out(1);
    for (UOp root : roots) out[0].push_back({"tensor", tree(root)});
    for (const codegen::ScheduleItem& item : codegen::make_schedule(roots, storage, usual_fusion()).items)
        if (!item.body.is(Op::custom)) out.push_back(codegen::stages_of(item, target).value());
    return out;
}

}  // namespace strata::runtime
