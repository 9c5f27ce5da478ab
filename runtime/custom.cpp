#include "strata/runtime/custom.h"

#include <mutex>
#include <unordered_map>

#include "strata/codegen/compile/compile.h"
#include "strata/codegen/compile/compile_kernel.h"
#include "strata/runtime/memory_p.h"

namespace strata::runtime {
namespace {

std::mutex custom_mutex;
struct Entry {
    std::shared_ptr<const CustomKernel> kernel;
    UOp node = {};                 ///< not kept alive
    std::vector<Root> views = {};  ///< of its buffers, once it has run
};
std::unordered_map<uint64_t, Entry>& kernels() {
    static auto* all = new std::unordered_map<uint64_t, Entry>;
    return *all;
}
uint64_t next_id = 1;

}  // namespace

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
    std::lock_guard lock(custom_mutex);
    kernels().emplace(next_id, Entry{std::move(kernel)});
    return next_id++;
}

std::shared_ptr<const CustomKernel> find_custom(uint64_t id) {
    std::lock_guard lock(custom_mutex);
    auto found = kernels().find(id);
    STRATA_CHECK(found != kernels().end(), "user kernel {} is gone", id);
    return found->second.kernel;
}

void own_custom(UOp node) {
    std::lock_guard lock(custom_mutex);
    kernels().at(node.as<CustomArg>().id).node = node;
}

void forget_custom(UOp node) {
    Entry last;  // freed outside the lock
    std::lock_guard lock(custom_mutex);
    auto found = kernels().find(node.as<CustomArg>().id);
    if (found == kernels().end() || found->second.node != node) return;
    last = std::move(found->second);
    kernels().erase(found);
}

void remember_custom(uint64_t id, std::span<const UOp> views) {
    std::lock_guard lock(custom_mutex);
    auto found = kernels().find(id);
    if (found == kernels().end()) return;
    for (UOp view : views) found->second.views.emplace_back(view);
}

UOp custom_view(UOp pick) {
    std::lock_guard lock(custom_mutex);
    auto found = kernels().find(pick.src(0).as<CustomArg>().id);
    auto index = static_cast<size_t>(pick.as<IndexArg>().index);
    return found == kernels().end() || found->second.views.size() <= index ? UOp() : found->second.views[index].get();
}

}  // namespace strata::runtime
