#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "strata/asm/emu/launch/state.h"

namespace strata::emu {
namespace {

constexpr uint64_t kLargestImage = 1ull << 32;
constexpr std::string_view kManaged = ".managed";  // clang's suffix for the value of a __managed__ variable

std::string_view kind_of(const isa::Segment& segment) {
    return segment.executable ? "code" : segment.writable ? "device variables" : "constants";
}

/// Makes bytes zero; of many, by fresh pages of the host, which cost nothing until they are used.
void clear(uint64_t at, size_t bytes) {
    constexpr uint64_t kPage = DeviceMemory::kPage, kMany = uint64_t{1} << 20;
    const uint64_t first = (at + kPage - 1) / kPage * kPage, last = (at + bytes) / kPage * kPage;
    auto write = [](uint64_t from, uint64_t to) { memset(reinterpret_cast<void*>(from), 0, to - from); };
    if (bytes < kMany || madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0)
        return write(at, at + bytes);
    write(at, first);
    write(last, at + bytes);
}

}  // namespace

/// A __managed__ variable is a pointer, which the host sets to where the value is.
void Module::State::set_managed() const {
    for (const isa::Symbol& value : object.symbols) {
        if (!value.name.ends_with(kManaged)) continue;
        const std::string_view name(value.name.data(), value.name.size() - kManaged.size());
        const auto pointer = std::ranges::find(object.symbols, name, &isa::Symbol::name);
        if (pointer == object.symbols.end() || pointer->size != 8 || pointer->address > size - 8) continue;
        const uint64_t address = base + value.address;
        memcpy(reinterpret_cast<void*>(base + pointer->address), &address, 8);
    }
}

/// Copies the segments into device memory and applies the relocations.
Result<void> Module::State::place(std::string_view label) {
    for (const isa::Segment& segment : object.segments) {
        if (segment.memory_size > kLargestImage || segment.address > kLargestImage ||
            segment.bytes.size() > segment.memory_size)
            return make_error(ErrorKind::Unsupported, "a segment of the code object is too large");
        size = std::max(size, static_cast<size_t>(segment.address + segment.memory_size));
    }
    StoppableLock lock(shared->mutex);
    STRATA_TRY(base, shared->memory.reserve(size));
    for (const isa::Segment& segment : object.segments) {
        uint64_t at = base + segment.address;
        std::ranges::copy(segment.bytes, reinterpret_cast<uint8_t*>(at));
        clear(at + segment.bytes.size(), segment.memory_size - segment.bytes.size());
        if (segment.memory_size == 0) continue;
        shared->memory.add(
            {at, at + segment.memory_size, fmt::format("{} of {}", kind_of(segment), label), segment.writable});
    }
    for (const isa::Relocation& relocation : object.relocations) {
        if (relocation.address > size || size - relocation.address < 8)
            return make_error(ErrorKind::Unsupported, "a relocation at {:#x} lies outside the code object",
                              relocation.address);
        uint64_t value = base + relocation.addend;
        memcpy(reinterpret_cast<void*>(base + relocation.address), &value, 8);
    }
    set_managed();
    return {};
}

Result<void> Module::State::decode() {
    for (const isa::KernelInfo& kernel : object.kernels) {
        STRATA_TRY(LoadedKernel loaded, decode_kernel(object, kernel, base));
        kernels.emplace(kernel.name, std::move(loaded));
    }
    return {};
}

Result<const LoadedKernel*> Module::State::kernel(std::string_view name) const {
    if (auto it = kernels.find(name); it != kernels.end()) return &it->second;
    return object.kernel(name).error();
}

Module::Module(std::unique_ptr<State> state) : state_(std::move(state)) {}

Module::~Module() {
    try {
        std::lock_guard lock(state_->shared->mutex);
        if (state_->base) state_->shared->memory.release(state_->base);
    } catch (const Exception&) {  // after a fork the memory stays
    }
}

const isa::CodeObject& Module::object() const { return state_->object; }

Result<DeviceAddress> Module::symbol(std::string_view name, size_t* size) const {
    const isa::Symbol* found = nullptr;
    for (const isa::Symbol& symbol : state_->object.symbols) {
        if (symbol.is_function) continue;
        const bool managed = symbol.name.ends_with(kManaged) && symbol.name.size() == name.size() + kManaged.size() &&
                             symbol.name.starts_with(name);
        if (managed || (!found && symbol.name == name)) found = &symbol;
    }
    if (found) {
        if (size) *size = found->size;
        return state_->base + found->address;
    }
    return make_error(ErrorKind::Usage, "the module has no device variable '{}'", name);
}

}  // namespace strata::emu
