#include "strata/runtime/custom.h"

#include "strata/codegen/compile/compile.h"
#include "strata/codegen/compile/compile_kernel.h"
#include "strata/runtime/context_p.h"

namespace strata::runtime {

Result<codegen::Compiled> compile_custom(const CustomKernel& custom, const codegen::Target& target) {
    if (const auto* kernel = std::get_if<codegen::Kernel>(&custom.body))
        return codegen::compile_kernel({*kernel, {}}, target);
    codegen::Compiled compiled;
    if (const auto* source = std::get_if<codegen::HipSource>(&custom.body)) {
        STRATA_TRY(compiled, codegen::compile_hip(*source, target.arch));
    } else {
        STRATA_TRY(isa::CodeObject object, isa::CodeObject::parse(std::get<isa::Bytes>(custom.body)));
        compiled.object = std::make_shared<const isa::CodeObject>(std::move(object));
        compiled.entry = custom.name;
    }
    compiled.grid = custom.grid;
    compiled.block = custom.block;
    compiled.dynamic_lds = custom.lds;
    return compiled;
}

uint64_t register_custom(std::shared_ptr<const CustomKernel> kernel) {
    if (const auto* body = std::get_if<codegen::Kernel>(&kernel->body))
        STRATA_CHECK(kernel->graph.get() == body->sink, "kernel '{}' does not keep its graph alive", kernel->name);
    return context().custom.add(std::move(kernel));
}

void own_custom(UOp node) { context().custom.own(node); }
std::shared_ptr<const CustomKernel> find_custom(uint64_t id) { return context().custom.find(id); }

uint64_t CustomKernels::add(std::shared_ptr<const CustomKernel> kernel) {
    std::lock_guard lock(mutex_);
    all_.emplace(next_id_, Entry{std::move(kernel)});
    return next_id_++;
}

void CustomKernels::own(UOp node) {
    std::lock_guard lock(mutex_);
    all_.at(node.as<CustomArg>().id).node = node;
}

std::shared_ptr<const CustomKernel> CustomKernels::find(uint64_t id) {
    std::lock_guard lock(mutex_);
    auto found = all_.find(id);
    STRATA_CHECK(found != all_.end(), "user kernel {} is gone", id);
    return found->second.kernel;
}

void CustomKernels::forget(UOp node) {
    Entry last;  // freed outside the lock
    std::lock_guard lock(mutex_);
    auto found = all_.find(node.as<CustomArg>().id);
    if (found == all_.end() || found->second.node != node) return;
    last = std::move(found->second);
    all_.erase(found);
}

void CustomKernels::remember(uint64_t id, std::span<const UOp> views) {
    std::lock_guard lock(mutex_);
    auto found = all_.find(id);
    if (found == all_.end()) return;
    for (UOp view : views) found->second.views.emplace_back(view);
}

UOp CustomKernels::view(UOp pick) {
    std::lock_guard lock(mutex_);
    auto found = all_.find(pick.src(0).as<CustomArg>().id);
    auto index = static_cast<size_t>(pick.as<IndexArg>().index);
    return found == all_.end() || found->second.views.size() <= index ? UOp() : found->second.views[index].get();
}

}  // namespace strata::runtime
