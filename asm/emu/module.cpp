#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "strata/asm/emu/gpu_p.h"

namespace strata::emu {
namespace {

constexpr uint64_t kLargestImage = 1ull << 32;

std::string_view kind_of(const isa::Segment& segment) {
    return segment.executable ? "code" : segment.writable ? "device variables" : "constants";
}

}  // namespace

const isa::Segment* code_segment(const isa::CodeObject& object, uint64_t address) {
    for (const isa::Segment& segment : object.segments)
        if (segment.executable && address >= segment.address && address - segment.address < segment.bytes.size())
            return &segment;
    return nullptr;
}

/// Copies the segments into device memory and applies the relocations.
Result<void> Module::State::place(std::string_view label) {
    for (const isa::Segment& segment : object.segments) {
        if (segment.memory_size > kLargestImage || segment.address > kLargestImage ||
            segment.bytes.size() > segment.memory_size)
            return make_error(ErrorKind::Unsupported, "a segment of the code object is too large");
        size = std::max(size, static_cast<size_t>(segment.address + segment.memory_size));
    }
    std::lock_guard lock(shared->mutex);
    STRATA_TRY(base, shared->memory.reserve(size));
    for (const isa::Segment& segment : object.segments) {
        uint64_t at = base + segment.address;
        std::ranges::copy(segment.bytes, reinterpret_cast<uint8_t*>(at));
        memset(reinterpret_cast<char*>(at) + segment.bytes.size(), 0, segment.memory_size - segment.bytes.size());
        if (segment.memory_size == 0) continue;
        shared->memory.add(
            {at, at + segment.memory_size, fmt::format("{} of {}", kind_of(segment), label), segment.writable});
        parts.push_back(at);
    }
    for (const isa::Relocation& relocation : object.relocations) {
        if (relocation.address > size || size - relocation.address < 8)
            return make_error(ErrorKind::Unsupported, "a relocation at {:#x} lies outside the code object",
                              relocation.address);
        uint64_t value = base + relocation.addend;
        memcpy(reinterpret_cast<void*>(base + relocation.address), &value, 8);
    }
    return {};
}

Result<LoadedKernel> decode_kernel(const isa::CodeObject& object, const isa::KernelInfo& kernel, uint64_t base) {
    const isa::ArchInfo& arch = isa::info(object.arch);
    const isa::Segment* text = code_segment(object, kernel.entry_address);
    if (!text)
        return make_error(ErrorKind::Unsupported, "kernel '{}' has its entry {:#x} outside the code", kernel.name,
                          kernel.entry_address);
    LoadedKernel loaded;
    loaded.info = &kernel;
    loaded.descriptor = base + kernel.descriptor_address;
    const uint64_t address = base + text->address;
    const uint8_t* bytes = base ? reinterpret_cast<const uint8_t*>(address) : text->bytes.data();
    const uint64_t offset = kernel.entry_address - text->address + entry_offset(kernel.descriptor, arch);
    loaded.program =
        std::make_unique<Program>(object.arch, kernel.descriptor.wave_size(arch), kernel.descriptor.vgprs(arch),
                                  kernel.descriptor.accum_offset(), std::span(bytes, text->bytes.size()), address);
    loaded.measured = std::make_unique<MeasuredCode>(*loaded.program);
    Result<const Op*> entry = loaded.program->entry(offset);
    if (!entry) {
        Error error = std::move(entry.error());
        error.message = fmt::format("kernel '{}': {}", kernel.name, error.message);
        return error;
    }
    loaded.entry = *entry;
    return loaded;
}

Result<void> Module::State::decode() {
    for (const isa::KernelInfo& kernel : object.kernels) {
        STRATA_TRY(LoadedKernel loaded, decode_kernel(object, kernel, base));
        kernels.emplace(kernel.name, std::move(loaded));
    }
    return {};
}

Module::Module(std::unique_ptr<State> state) : state_(std::move(state)) {}

Module::~Module() {
    std::lock_guard lock(state_->shared->mutex);
    for (uint64_t part : state_->parts) state_->shared->memory.remove(part);
    if (state_->base) state_->shared->memory.release(state_->base, state_->size);
}

const isa::CodeObject& Module::object() const { return state_->object; }

Result<DeviceAddress> Module::symbol(std::string_view name, size_t* size) const {
    for (const isa::Symbol& symbol : state_->object.symbols) {
        if (symbol.name != name || symbol.is_function) continue;
        if (size) *size = symbol.size;
        return state_->base + symbol.address;
    }
    return make_error(ErrorKind::Usage, "the module has no device variable '{}'", name);
}

}  // namespace strata::emu
