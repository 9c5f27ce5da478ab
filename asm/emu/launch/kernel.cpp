#include "strata/asm/emu/launch/kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/asm/emu/fidelity.h"
#include "strata/asm/emu/launch/abi.h"
#include "strata/asm/emu/report/use.h"
#include "strata/asm/object/features.h"

namespace strata::emu {
namespace {

constexpr uint32_t kDynamicStack = 16384;  // scratch bytes a lane of kernels whose stack depth is not known

}  // namespace

uint32_t scratch_bytes(const isa::KernelInfo& kernel) {
    const uint32_t fixed = std::max(kernel.descriptor.private_segment_fixed_size, kernel.scratch);
    const bool dynamic = kernel.descriptor.dynamic_stack() || kernel.uses_dynamic_stack;
    return dynamic ? std::max(fixed, kDynamicStack) : fixed;
}

Result<LoadedKernel> decode_kernel(const isa::CodeObject& object, const isa::KernelInfo& kernel, uint64_t base) {
    const isa::ArchInfo& arch = isa::info(object.arch);
    const isa::Segment* text = object.code_at(kernel.entry_address);
    if (!text)
        return make_error(ErrorKind::Unsupported, "kernel '{}' has its entry {:#x} outside the code", kernel.name,
                          kernel.entry_address);
    LoadedKernel loaded;
    loaded.info = &kernel;
    STRATA_TRY(loaded.services, ServiceArguments::of(object, kernel));
    loaded.descriptor = base + kernel.descriptor_address;
    const uint64_t address = base + text->address;
    const uint8_t* bytes = base ? reinterpret_cast<const uint8_t*>(address) : text->bytes.data();
    const uint64_t offset = kernel.entry_address - text->address + entry_offset(kernel.descriptor, arch);
    loaded.program =
        std::make_unique<Program>(object.arch, kernel.descriptor.wave_size(arch), kernel.descriptor.vgprs(arch),
                                  kernel.descriptor.accum_offset(), std::span(bytes, text->bytes.size()), address);
    loaded.costs = std::make_unique<CostTable>(*loaded.program);
    loaded.instrumented = std::make_unique<InstrumentedCode>(*loaded.program, nullptr, loaded.costs.get());
    loaded.counter = std::make_unique<Counter>();
    Watched watched{.accesses_private = scratch_bytes(kernel) != 0, .faults_replay = isa::faults_replay(object)};
    loaded.accesses = std::make_unique<AccessTable>(*loaded.program, watched);
    loaded.checked = std::make_unique<InstrumentedCode>(*loaded.program, loaded.accesses.get());
    watched.global_memory = true;
    loaded.shared_accesses = std::make_unique<AccessTable>(*loaded.program, watched);
    loaded.shared = std::make_unique<InstrumentedCode>(*loaded.program, loaded.shared_accesses.get());
    loaded.pointers = std::make_unique<PointerTable>(object, kernel);
    Result<const Op*> entry = loaded.program->entry(offset);
    if (!entry) {
        Error error = std::move(entry.error());
        error.message = fmt::format("kernel '{}': {}", kernel.name, error.message);
        return error;
    }
    loaded.entry = *entry;
    loaded.cleared = std::make_unique<RowsToClear>(*loaded.program, loaded.entry);
    return loaded;
}

Result<std::vector<InstructionUse>> kernel_fidelity(const isa::CodeObject& object, std::string_view kernel) {
    STRATA_TRY(const isa::KernelInfo* const info, object.kernel(kernel));
    STRATA_TRY(LoadedKernel loaded, decode_kernel(object, *info, 0));
    return instructions_of(*loaded.program);
}

}  // namespace strata::emu
