#include "strata/runtime/artifact.h"

#include "strata/codegen/driver/compile_graph.h"
#include "strata/codegen/driver/route.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/device.h"
#include "strata/runtime/program.h"
#include "strata/runtime/search/search.h"

namespace strata::runtime {

namespace {

Result<executable::Code> compile_launch(const CustomLaunch& launch, const codegen::Target& target) {
    STRATA_TRY(executable::Code compiled, compile_custom(*launch.kernel, target));
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

/// Users' kernels by name, and compiled for a target where there is one.
class Named : public codegen::UserKernels {
  public:
    explicit Named(const codegen::Target* target = nullptr) : target_(target) {}
    codegen::UserKernel kernel(UOp custom) const override {
        const auto launch = find_custom(custom.as<CustomArg>().id);
        executable::Kernel kernel{launch->kernel->name};
        if (target_) kernel.code = std::make_shared<const executable::Code>(compile_launch(*launch, *target_).value());
        return {std::move(kernel)};
    }

  private:
    const codegen::Target* target_;
};

}  // namespace

isa::Bytes Artifact::code_object() const { return one_object(kernels, target).value(); }

codegen::Target target_named(const std::string& arch) {
    const codegen::Chip chip = arch.empty() ? device().arch() : codegen::Chip::parse(arch).value();
    return codegen::target_of(chip, codegen::route_in_force(chip));
}

bool Artifact::from_cache() const { return std::ranges::all_of(kernels, &executable::Code::cached); }

Artifact compile(const CustomKernel& custom, const codegen::Target& target) {
    executable::Code compiled = compile_custom(custom, target).value();
    (void)compiled.info();  // its entry is there
    return {{std::move(compiled)}, target, {}, {}, custom.graph};
}

Artifact compile(std::span<const UOp> roots, const codegen::Target& target) {
    GraphScope scope;
    const Device* here = searched_on(target);
    const Named users(&target);
    codegen::GraphOptions options{.fusion = usual_fusion(),
                                  .copy_by_kernels = true,
                                  .distinct_names = true,
                                  .names = true,
                                  .user_kernels = &users};
    options.schedule = [&](const codegen::KernelStart& start) {
        return here ? known_schedule(*here, start.kernel) : unsearched(start.kernel, target);
    };
    options.code = [&](std::span<const codegen::Scheduled> kernels) {
        return codegen::compile_codes(kernels, target, codegen::Text::yes, true);
    };
    Artifact out{{}, target, codegen::compile_graph(roots, target, options).executable};
    for (const executable::Step& step : out.executable.steps)
        out.kernels.push_back(*out.executable.kernels[step.kernel].code);
    return out;
}

executable::Executable outline(std::span<const UOp> roots, bool copy_by_kernels) {
    GraphScope scope;
    const Named users;
    codegen::GraphOptions options{
        .fusion = usual_fusion(), .copy_by_kernels = copy_by_kernels, .provenance = true, .user_kernels = &users};
    options.schedule = [](const codegen::KernelStart& start) { return codegen::Scheduled{start.kernel, {}}; };
    return codegen::compile_graph(roots, target_of(device()), options).executable;
}

}  // namespace strata::runtime
