#include "strata/runtime/artifact.h"

#include "strata/codegen/compile/compile.h"
#include "strata/codegen/kernel/build.h"
#include "strata/codegen/optimize/action.h"
#include "strata/codegen/schedule/schedule.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/program.h"

namespace strata::runtime {
namespace {

/// Buffers that only name places: their memory is never asked for.
class NamedStorage : public codegen::Storage {
  public:
    explicit NamedStorage(Device& device) : device_(device) {}
    UOp new_buffer(DType dtype, int64_t size) override { return runtime::new_buffer(device_, dtype, size); }
    UOp find(UOp) override { return UOp(); }

  private:
    Device& device_;
};

isa::Arch arch_of(const std::string& name) { return name.empty() ? device().arch() : isa::parse_arch(name).value(); }

Artifact::Kernel finished(isa::Bytes code_object, const std::string& name, std::array<uint32_t, 3> grid,
                          std::array<uint32_t, 3> block) {
    isa::CodeObject object = isa::CodeObject::parse(code_object).value();
    const isa::KernelInfo* info = object.find(name);
    if (!info) user_error(ErrorKind::Launch, "the code object has no kernel '{}'", name);
    Artifact::Kernel k{name, grid, block};
    k.vgprs = info->vgprs, k.sgprs = info->sgprs, k.lds = info->lds, k.scratch = info->scratch;
    k.code_object = std::move(code_object);
    return k;
}

Artifact::Kernel compiled(const codegen::HipSource& source, isa::Arch arch, std::array<uint32_t, 3> grid,
                          std::array<uint32_t, 3> block) {
    codegen::Compiled made = codegen::compile_hip(source, arch).value();
    Artifact::Kernel k = finished(std::move(made.code_object), made.entry, grid, block);
    k.source = source.text;
    k.compile_ms = made.compile_ms;
    return k;
}

Artifact::Kernel compiled(const codegen::Kernel& kernel, isa::Arch arch) {
    Rendered r = render(kernel, codegen::target_of(arch)).value();
    return compiled(r.source, arch, r.grid, r.block);
}

}  // namespace

Artifact compile(const CustomKernel& custom, const std::string& arch_name) {
    GraphScope scope;
    isa::Arch arch = arch_of(arch_name);
    if (const auto* source = std::get_if<codegen::HipSource>(&custom.body))
        return {{compiled(*source, arch, custom.grid, custom.block)}};
    if (const auto* kernel = std::get_if<codegen::Kernel>(&custom.body)) return {{compiled(*kernel, arch)}};
    return {{finished(std::get<isa::Bytes>(custom.body), custom.name, custom.grid, custom.block)}};
}

Artifact compile(std::span<const UOp> roots, const std::string& arch_name) {
    GraphScope scope;
    isa::Arch arch = arch_of(arch_name);
    NamedStorage storage(device());
    Artifact out;
    for (const codegen::ScheduleItem& item : codegen::make_schedule(roots, storage).items) {
        if (item.body.is(Op::custom)) {
            for (Artifact::Kernel& k : compile(*find_custom(item.body.as<CustomArg>().id), arch_name).kernels)
                out.kernels.push_back(std::move(k));
            continue;
        }
        codegen::Kernel start = codegen::start_schedule(codegen::build_kernel(item.output, item.body).kernel);
        codegen::Scheduled scheduled = codegen::heuristic(start, codegen::target_of(arch));
        Artifact::Kernel k = compiled(scheduled.kernel, arch);
        k.schedule = codegen::to_string(scheduled.actions);
        out.kernels.push_back(std::move(k));
    }
    return out;
}

}  // namespace strata::runtime
