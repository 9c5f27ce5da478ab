#pragma once
#include <map>
#include <memory>
#include <string>

#include "strata/asm/object/code_object.h"
#include "strata/hip/api/state.h"

namespace strata::hip::library {

/// Stays when its module goes, as graphs and programs may still name it; then it has none.
struct Function {
    std::shared_ptr<ModuleHandle> module;
    FunctionHandle* handle = nullptr;
    isa::KernelInfo kernel = {};
    int device = 0;  ///< as the emulator counts
    int units = 0;   ///< of that
    size_t argument_bytes = 0;
};
struct Module {
    std::shared_ptr<ModuleHandle> handle;  ///< is unloaded with the last that holds it: other threads may run its code
    isa::CodeObject object = {};
    int device = 0;
    std::map<std::string, Function*, std::less<>> functions = {};
};

/// A device's arch, with the features that code objects may ask for.
std::string arch_with_features(int device);

/// Loads an image, an offload bundle too, to a device. Faults of the image are written to stderr.
Code load(int device, const void* image, std::optional<size_t> size, std::unique_ptr<Module>& out);
Code unload(std::unique_ptr<Module> module);
/// A kernel of a module; nullptr: there is none. Call it from one thread at a time.
Function* function_of(Module& module, std::string_view name);
/// The function of a program's handle; nullptr: it is none, or its module is unloaded.
const Function* function_at(const void* handle);
/// The module that keeps a function's code loaded; none: its module is unloaded.
std::shared_ptr<ModuleHandle> keep(const Function& function);
/// A variable of a module, which is known as memory from then on.
Code variable_of(const Module& module, const char* name, DeviceRange& out);
/// The same of a module by the program's handle.
Code global_of(void* handle, const char* name, DeviceRange& out);
/// From now on forget(address) is called for each variable that goes with its module.
void when_variables_go(void (*forget)(DevicePtr variable));

}  // namespace strata::hip::library
