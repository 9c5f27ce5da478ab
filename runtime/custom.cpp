#include "strata/runtime/custom.h"

#include <algorithm>

#include "strata/codegen/driver/compile.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/signature/parameters.h"
#include "strata/executable/bytes.h"
#include "strata/executable/file.h"
#include "strata/runtime/context_p.h"

namespace strata::runtime {

namespace {

Result<std::string> only_kernel(const isa::CodeObject& object) {
    if (object.kernels.size() == 1) return object.kernels[0].name;
    std::string names;
    for (const isa::KernelInfo& kernel : object.kernels)
        names += (names.empty() ? "" : ", ") + codegen::demangled(kernel.name);
    return make_error(ErrorKind::Usage, "there are {} kernels, say which by name: {}", object.kernels.size(),
                      names.empty() ? "none (is __global__ missing?)" : names);
}

}  // namespace

Result<executable::Code> compile_custom(const CustomKernel& custom, const codegen::Target& target) {
    if (const auto* kernel = std::get_if<codegen::Kernel>(&custom.body))
        return codegen::compile_kernel({*kernel, {}}, target, codegen::Text::yes);
    if (const auto* code = std::get_if<executable::Code>(&custom.body)) return *code;
    executable::Code compiled;
    if (const auto* source = std::get_if<codegen::HipSource>(&custom.body)) {
        STRATA_TRY(compiled, codegen::compile_hip(*source, target.arch));
    } else {
        STRATA_TRY(isa::CodeObject object, isa::CodeObject::parse(std::get<isa::Bytes>(custom.body)));
        compiled.object = std::make_shared<const isa::CodeObject>(std::move(object));
        compiled.entry = custom.name;
    }
    if (compiled.entry.empty()) {
        STRATA_TRY(compiled.entry, only_kernel(*compiled.object));
    }
    compiled.parameters = codegen::parameters_of(compiled.info(), compiled.text);
    compiled.grid = custom.grid;
    compiled.block = custom.block;
    compiled.dynamic_lds = custom.lds;
    return compiled;
}

Result<std::string> bytes_of_compiled(const CustomKernel& kernel, Device& device) {
    const std::shared_ptr<Program> loaded = program(device, kernel);
    if (!loaded->code.object) return make_error(ErrorKind::Unsupported, "kernel '{}' has no machine code", kernel.name);
    executable::Executable alone{.arch = std::string(device.arch().name())};
    alone.kernels.push_back({.code = {loaded, &loaded->code}});
    executable::Writer w;
    w.text(executable::to_bytes(alone));
    const UOp sink = std::get<codegen::Kernel>(kernel.body).sink;
    w.list(kernel.loaded->written_slots(sink), [&](size_t slot) { w.number(slot); });
    return std::move(w.bytes);
}

std::shared_ptr<CustomKernel> compiled_of_bytes(std::string_view bytes, const Device& device) {
    executable::Reader r(bytes);
    const std::optional<executable::Executable> alone = executable::of_bytes(r.text());
    std::vector<size_t> slots;
    r.list([&] { slots.push_back(r.number()); });
    if (!r.done() || !alone || alone->arch != device.arch().name() || alone->kernels.size() != 1 ||
        !alone->kernels[0].code)
        return nullptr;
    executable::Code code = *alone->kernels[0].code;
    code.cached = true, code.route = "disk cache";
    auto kernel = std::make_shared<CustomKernel>();
    kernel->name = code.entry, kernel->arch = alone->arch, kernel->takes_grid = true;
    kernel->body = std::move(code);
    kernel->loaded->keep_written_slots(std::move(slots));
    return kernel;
}

LaunchShape shape_of(const CustomLaunch& launch, const executable::Code& code) {
    LaunchShape shape{code.grid, code.block, launch.lds.value_or(code.dynamic_lds)};
    const bool is_graph = std::holds_alternative<codegen::Kernel>(launch.kernel->body) ||
                          std::holds_alternative<executable::Code>(launch.kernel->body);
    if (is_graph && launch.kernel->takes_grid) shape.grid = launch.kernel->grid;
    if (launch.grid[0] && (!is_graph || launch.kernel->takes_grid)) shape.grid = launch.grid;
    if (is_graph) return shape;
    if (launch.block[0]) shape.block = launch.block;
    return shape;
}

CustomArg register_custom(CustomLaunch launch) {
    if (const auto* body = std::get_if<codegen::Kernel>(&launch.kernel->body))
        STRATA_CHECK(launch.kernel->graph.get() == body->sink, "kernel '{}' does not keep its graph alive",
                     launch.kernel->name);
    return context().custom.add(std::make_shared<const CustomLaunch>(std::move(launch)));
}

std::shared_ptr<const CustomLaunch> find_custom(uint64_t id) { return context().custom.find(id); }

CustomArg CustomKernels::add(std::shared_ptr<const CustomLaunch> launch) {
    std::lock_guard lock(mutex_);
    const uint64_t id = next_id_++;
    all_.emplace(id, Entry{std::move(launch)});
    return {id, std::shared_ptr<const void>(this, [id](const void*) { context().custom.forget(id); })};
}

std::shared_ptr<const CustomLaunch> CustomKernels::find(uint64_t id) {
    std::lock_guard lock(mutex_);
    auto found = all_.find(id);
    STRATA_CHECK(found != all_.end(), "user kernel {} is gone", id);
    return found->second.launch;
}

std::shared_ptr<Mutex> CustomKernels::turn(uint64_t id) {
    std::lock_guard lock(mutex_);
    auto found = all_.find(id);
    STRATA_CHECK(found != all_.end(), "user kernel {} is gone", id);
    return found->second.turn;
}

void CustomKernels::forget(uint64_t id) {
    Entry last;  // freed outside the lock
    std::lock_guard lock(mutex_);
    auto found = all_.find(id);
    last = std::move(found->second);
    all_.erase(found);
}

void CustomKernels::remember(UOp node, std::vector<Root> held) {
    if (std::ranges::none_of(held, [](const Root& view) { return bool(view.get()); })) return;
    std::lock_guard lock(mutex_);
    held_.emplace(node, std::move(held));
}

void CustomKernels::forget(UOp node) {
    std::vector<std::vector<Root>> last;  // freed outside the lock
    std::lock_guard lock(mutex_);
    const auto [first, end] = held_.equal_range(node);
    for (auto at = first; at != end; ++at) last.push_back(std::move(at->second));
    held_.erase(first, end);
}

UOp CustomKernels::view(UOp pick, const Device& device) {
    std::lock_guard lock(mutex_);
    const auto [first, end] = held_.equal_range(pick.src(0));
    for (auto at = first; at != end; ++at)
        if (UOp view = at->second[static_cast<size_t>(pick.as<IndexArg>().index)].get();
            view && device_under(view) == device.index())
            return view;
    return UOp();
}

}  // namespace strata::runtime
