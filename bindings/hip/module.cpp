#include <elf.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/state_p.h"

using namespace strata;
using namespace strata::hip::library;

namespace {

struct Function {
    hip::FunctionHandle* handle;
    isa::KernelInfo kernel;
};
struct Module {
    hip::ModuleHandle* handle;
    isa::CodeObject object;
    std::vector<std::unique_ptr<Function>> functions = {};
};

/// Where an ELF file that nobody said the size of ends: behind its headers and all that they name. 0: it is none.
size_t elf_bytes(const void* image) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, SELFMAG);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    std::memcpy(&header, image, sizeof header);
    const auto* bytes = static_cast<const uint8_t*>(image);
    size_t end = std::max<size_t>(header.e_phoff + size_t{header.e_phnum} * sizeof(Elf64_Phdr),
                                  header.e_shoff + size_t{header.e_shnum} * sizeof(Elf64_Shdr));
    for (size_t i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr one;
        std::memcpy(&one, bytes + header.e_phoff + i * sizeof one, sizeof one);
        end = std::max<size_t>(end, one.p_offset + one.p_filesz);
    }
    for (size_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr one;
        std::memcpy(&one, bytes + header.e_shoff + i * sizeof one, sizeof one);
        if (one.sh_type != SHT_NOBITS) end = std::max<size_t>(end, one.sh_offset + one.sh_size);
    }
    return end;
}

Code refused(const Error& error) {
    tell("hipModuleLoadData", error);
    return error.kind == ErrorKind::Unsupported ? hipErrorNoBinaryForGpu : hipErrorInvalidImage;
}

Code load(void** out, const void* image) {
    const size_t bytes = elf_bytes(image);
    if (bytes == 0) return hipErrorInvalidImage;
    const auto* first = static_cast<const uint8_t*>(image);
    Result<isa::CodeObject> object = isa::CodeObject::parse(isa::Bytes(first, first + bytes));
    if (!object) return refused(object.error());
    Result<hip::ModuleHandle*> loaded = emulator().module_load(current(), object->image);
    if (!loaded) return refused(loaded.error());
    *out = new Module{*loaded, std::move(*object)};
    return hipSuccess;
}

/// The bytes of kernel arguments: as `extra` has them, or gathered from what `parameters` point to.
Code arguments_of(const isa::KernelInfo& kernel, void** parameters, void** extra, std::vector<uint8_t>& out) {
    if (extra) {
        const void* bytes = nullptr;
        const size_t* size = nullptr;
        for (; address(*extra) != kEnd; extra += 2) {
            if (address(*extra) == kBufferPointer)
                bytes = extra[1];
            else if (address(*extra) == kBufferSize)
                size = static_cast<const size_t*>(extra[1]);
            else
                return hipErrorInvalidValue;
        }
        if (!size || (*size && !bytes)) return hipErrorInvalidValue;
        const auto* first = static_cast<const uint8_t*>(bytes);
        out.assign(first, first + *size);
        return hipSuccess;
    }
    for (const isa::KernelArg& argument : kernel.args) {
        if (argument.value_kind.starts_with("hidden_")) break;
        if (!parameters || !*parameters) return hipErrorInvalidValue;
        out.resize(std::max<size_t>(out.size(), argument.offset + argument.size));
        std::memcpy(&out[argument.offset], *parameters++, argument.size);
    }
    return hipSuccess;
}

/// A kernel runs to its end here. What it does wrong is known to the calls behind, as on a device.
Code run(const Function& function, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, unsigned lds,
         hip::StreamHandle* stream, const std::vector<uint8_t>& arguments) {
    hip::LaunchReport report;
    const Result<void> ran =
        emulator().module_launch_kernel(function.handle, grid, block, lds, stream, arguments, report);
    if (ran) return hipSuccess;
    tell("hipModuleLaunchKernel", ran.error());
    if (ran.error().kind == ErrorKind::Launch && !report.over_budget) return hipErrorInvalidConfiguration;
    lose(report.over_budget ? hipErrorLaunchTimeOut : code_of(ran.error(), hipErrorLaunchFailure));
    return hipSuccess;
}

}  // namespace

int hipModuleLoadData(void** module, const void* image) {
    return entry("hipModuleLoadData", [&] { return module && image ? load(module, image) : hipErrorInvalidValue; });
}
int hipModuleUnload(void* module) {
    return entry("hipModuleUnload", [&] {
        const std::unique_ptr<Module> own(static_cast<Module*>(module));
        if (!own) return hipErrorInvalidHandle;
        return code_of(emulator().module_unload(own->handle), hipErrorInvalidHandle);
    });
}
int hipModuleGetFunction(void** function, void* module, const char* name) {
    return entry("hipModuleGetFunction", [&] {
        if (!function || !name) return hipErrorInvalidValue;
        if (!module) return hipErrorInvalidHandle;
        auto& own = *static_cast<Module*>(module);
        const isa::KernelInfo* const kernel = own.object.find(name);
        if (!kernel) return hipErrorNotFound;
        auto found = std::make_unique<Function>(Function{nullptr, *kernel});
        const Code code = give(emulator().module_function(own.handle, name), &found->handle, hipErrorNotFound);
        if (code == hipSuccess) *function = own.functions.emplace_back(std::move(found)).get();
        return code;
    });
}
int hipModuleGetGlobal(void** memory, size_t* bytes, void* module, const char* name) {
    return entry("hipModuleGetGlobal", [&] {
        if (!name || (!memory && !bytes)) return hipErrorInvalidValue;
        if (!module) return hipErrorInvalidHandle;
        hip::DeviceRange range;
        const Code code =
            give(emulator().module_global(static_cast<Module*>(module)->handle, name), &range, hipErrorNotFound);
        if (code != hipSuccess) return code;
        if (memory) *memory = reinterpret_cast<void*>(range.address);
        if (bytes) *bytes = range.bytes;
        return hipSuccess;
    });
}
int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned lds, void* stream, void** parameters,
                          void** extra) {
    return entry("hipModuleLaunchKernel", [&] {
        if (!function) return hipErrorInvalidHandle;
        if (parameters && extra) return hipErrorInvalidValue;
        const auto& own = *static_cast<Function*>(function);
        std::vector<uint8_t> arguments;
        const Code code = arguments_of(own.kernel, parameters, extra, arguments);
        if (code != hipSuccess) return code;
        return run(own, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, lds, stream_of(stream), arguments);
    });
}
