#include "strata/hip/module/module.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "strata/asm/isa/arch.h"
#include "strata/core/support/file.h"
#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/module/bundle_p.h"
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {
namespace {

std::atomic<void (*)(DevicePtr)> forget_variable{nullptr};

Code refused(const Error& error) {
    tell("loading code", error);
    return error.kind == ErrorKind::Unsupported ? hipErrorNoBinaryForGpu : hipErrorInvalidImage;
}

struct Modules {
    Mutex mutex;
    std::map<void*, std::unique_ptr<Module>> all;
};
struct Functions {
    Mutex mutex;
    std::unordered_map<const void*, std::unique_ptr<Function>> all;  ///< that ever were
};
Functions& functions() {
    static auto* all = new Functions;
    return *all;
}
Modules& modules() {
    static auto* all = new Modules;
    return *all;
}

Code load_for_program(void** out, const void* image, std::optional<size_t> size = {}) {
    if (!out || !image) return hipErrorInvalidValue;
    std::unique_ptr<Module> module;
    const Code code = load(current(), image, size, module);
    if (code != hipSuccess) return code;
    std::lock_guard lock(modules().mutex);
    *out = module.get();
    modules().all[*out] = std::move(module);
    return hipSuccess;
}

Code load_file(void** out, const char* file) {
    if (!out || !file || !*file) return hipErrorInvalidValue;
    const std::optional<std::string> image = read_file(file);
    return image ? load_for_program(out, image->data(), image->size()) : hipErrorFileNotFound;
}

Module* module_of(void* handle) {
    const auto found = modules().all.find(handle);
    return found == modules().all.end() ? nullptr : found->second.get();
}

Code unload_of_program(void* handle) {
    std::unique_ptr<Module> own;
    {
        std::lock_guard lock(modules().mutex);
        if (!handle) return hipErrorInvalidHandle;
        if (!module_of(handle)) return hipErrorNotFound;
        own = std::move(modules().all.extract(handle).mapped());
    }
    return unload(std::move(own));
}

}  // namespace

std::string arch_with_features(int device) {
    const std::string& arch = query(device).arch;
    const Result<isa::Arch> row = isa::parse_arch(arch);
    return row && is_cdna(isa::info(*row).family) ? arch + ":sramecc+:xnack-" : arch;
}

Code load(int device, const void* image, std::optional<size_t> size, std::unique_ptr<Module>& out) {
    Result<isa::Bytes> code = code_for(image, size, arch_with_features(device));
    if (!code) return refused(code.error());
    Result<isa::CodeObject> object = isa::CodeObject::parse(std::move(*code));
    if (!object) return refused(object.error());
    Result<ModuleHandle*> loaded = emulator().module_load(device, object->image);
    if (!loaded) return refused(loaded.error());
    std::shared_ptr<ModuleHandle> handle(*loaded, [](ModuleHandle* own) { (void)emulator().module_unload(own); });
    out = std::make_unique<Module>(Module{std::move(handle), std::move(*object), device});
    return hipSuccess;
}

void when_variables_go(void (*forget)(DevicePtr variable)) { forget_variable = forget; }

Code unload(std::unique_ptr<Module> module) {
    for (const isa::Symbol& symbol : module->object.symbols) {
        const Result<DeviceRange> range = emulator().module_global(module->handle.get(), symbol.name);
        if (!range) continue;
        (void)take_note(range->address);
        if (const auto forget = forget_variable.load()) forget(range->address);
    }
    std::lock_guard lock(functions().mutex);
    for (const auto& [name, function] : module->functions) function->module.reset();
    return hipSuccess;
}

Function* function_of(Module& module, std::string_view name) {
    if (const auto known = module.functions.find(name); known != module.functions.end()) return known->second;
    const isa::KernelInfo* const kernel = module.object.find(name);
    if (!kernel) return nullptr;
    const Result<FunctionHandle*> handle = emulator().module_function(module.handle.get(), name);
    if (!handle) return nullptr;
    auto function = std::make_unique<Function>(
        Function{module.handle, *handle, *kernel, module.device, query(module.device).units});
    for (const isa::KernelArg& argument : kernel->args)
        if (!argument.value_kind.starts_with("hidden_"))
            function->argument_bytes = std::max<size_t>(function->argument_bytes, argument.offset + argument.size);
    Function* const out = module.functions[std::string(name)] = function.get();
    std::lock_guard lock(functions().mutex);
    functions().all[out] = std::move(function);
    return out;
}

const Function* function_at(const void* handle) {
    std::lock_guard lock(functions().mutex);
    const auto found = functions().all.find(handle);
    return found != functions().all.end() && found->second->module ? found->second.get() : nullptr;
}

std::shared_ptr<ModuleHandle> keep(const Function& function) {
    std::lock_guard lock(functions().mutex);
    return function.module;
}

Code variable_of(const Module& module, const char* name, DeviceRange& out) {
    const Code code = give(emulator().module_global(module.handle.get(), name), &out, hipErrorNotFound);
    if (code == hipSuccess) note({out.address, out.bytes, module.device, MemoryKind::variable});
    return code;
}

Code global_of(void* handle, const char* name, DeviceRange& out) {
    std::lock_guard lock(modules().mutex);
    const Module* const own = module_of(handle);
    if (!handle) return hipErrorInvalidHandle;
    return own ? variable_of(*own, name, out) : hipErrorNotFound;
}

}  // namespace strata::hip::library

using namespace strata;
using namespace strata::hip::library;

int hipModuleLoad(void** module, const char* file) {
    return entry("hipModuleLoad", [&] { return load_file(module, file); });
}
int hipModuleLoadData(void** module, const void* image) {
    return entry("hipModuleLoadData", [&] { return load_for_program(module, image); });
}
int hipModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
    return entry("hipModuleLoadDataEx", [&] { return load_for_program(module, image); });
}
int hipModuleUnload(void* module) {
    return entry("hipModuleUnload", [&] {
        if (const Code code = wait_for_device(current()); code != hipSuccess) return code;
        return unload_of_program(module);
    });
}
int hipModuleGetFunction(void** function, void* module, const char* name) {
    return entry("hipModuleGetFunction", [&] {
        if (!function || !name || !*name) return hipErrorInvalidValue;
        if (!module) return hipErrorInvalidHandle;
        std::lock_guard lock(modules().mutex);
        Module* const own = module_of(module);
        if (!own) return hipErrorNotFound;
        *function = function_of(*own, name);
        return *function ? hipSuccess : hipErrorNotFound;
    });
}
int hipModuleGetGlobal(void** memory, size_t* bytes, void* module, const char* name) {
    return entry("hipModuleGetGlobal", [&] {
        if (!name || !*name || (!memory && !bytes)) return hipErrorInvalidValue;
        strata::hip::DeviceRange range;
        const Code code = global_of(module, name, range);
        if (code != hipSuccess) return code;
        if (memory) *memory = reinterpret_cast<void*>(range.address);
        if (bytes) *bytes = range.bytes;
        return hipSuccess;
    });
}
