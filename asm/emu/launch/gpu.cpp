#include "strata/asm/emu/gpu.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "strata/asm/emu/launch/state.h"
#include "strata/asm/object/features.h"
#include "strata/core/support/guarded.h"
#include "strata/core/support/settings.h"

namespace strata::emu {
namespace {

/// The card's memory, or the host's if that is smaller.
uint64_t capacity_of(const Model& model) {
    auto card = static_cast<uint64_t>(model.dram_gib * 1073741824.0);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    if (pages <= 0 || page <= 0) return card;
    return std::min(card, static_cast<uint64_t>(pages) * static_cast<uint64_t>(page));
}

/// The card that the settings name, if it is one of this arch, else the arch's usual card.
const Model* usual_model(isa::Arch arch) {
    const std::string& wanted = settings().emu_model;
    const std::string_view name = isa::info(arch).name;
    const auto is_wanted = [&](const Model& card) { return card.name == wanted && card.arch != name; };
    return isa::find_card(name, std::ranges::any_of(isa::cards(), is_wanted) ? "" : wanted).value();
}

Error bad_range(std::string_view what, const DeviceMemory& memory, DeviceAddress address, size_t bytes) {
    return make_error(ErrorKind::Usage, "{} of {} bytes at {:#x}: {}", what, bytes, address,
                      memory.describe(address, bytes));
}

}  // namespace

Gpu::State::State(isa::Arch arch_, const Model* model_)
    : arch(arch_), model(model_), shared(std::make_shared<SharedMemory>(capacity_of(*model_))), caches(*model_) {}

Gpu::Gpu(isa::Arch arch, std::string_view model) {
    state_ = std::make_unique<State>(
        arch, model.empty() ? usual_model(arch) : isa::find_card(isa::info(arch).name, model).value());
}

Gpu::~Gpu() = default;

isa::Arch Gpu::arch() const { return state_->arch; }
std::string_view Gpu::model() const { return state_->model->name; }
int Gpu::units() const { return state_->model->cus; }
size_t Gpu::memory_bytes() const { return capacity_of(*state_->model); }
Gpu::Card Gpu::card() const {
    const Model& model = *state_->model;
    return {static_cast<int>(model.mhz * 1000),
            static_cast<size_t>(model.l2_mib * 1048576),
            model.dram_gbs,
            model.unit().waves * isa::Unit::kSimds / model.unit().cus,
            model.launch_us,
            model.next_launch_us};
}

Result<DeviceAddress> Gpu::allocate(size_t bytes, std::string_view label) {
    StoppableLock lock(state_->shared->mutex);
    return state_->shared->memory.allocate(bytes, label);
}

Result<DeviceAddress> Gpu::allocate_repeated(size_t bytes, std::span<const uint8_t> pattern) {
    if (pattern.empty()) return make_error(ErrorKind::Usage, "memory cannot be filled with a pattern of no bytes");
    StoppableLock lock(state_->shared->mutex);
    STRATA_TRY(const DeviceAddress address, state_->shared->memory.allocate(bytes, {}));
    state_->shared->repeated.fill(address, bytes, pattern);
    return address;
}

Result<DeviceAddress> Gpu::allocate_pages(size_t bytes) {
    StoppableLock lock(state_->shared->mutex);
    return state_->shared->memory.allocate(bytes, {}, DeviceMemory::kPage);
}

Result<int> Gpu::share(DeviceAddress address) {
    StoppableLock no_kernel(state_->launch_mutex);
    StoppableLock lock(state_->shared->mutex);
    const Allocation* const at = state_->shared->memory.find(address, 1);
    if (!at || at->low != address || address % DeviceMemory::kPage)
        return make_error(ErrorKind::Usage, "{:#x} is no memory in pages of its own: {}", address,
                          state_->shared->memory.describe(address, 1));
    const int file = state_->shared->repeated.share(address, at->high - at->low);
    if (file < 0) return make_error(ErrorKind::Device, "the host refuses a file for {} bytes", at->high - at->low);
    return file;
}

Result<void> Gpu::free(DeviceAddress address) {
    try {
        std::lock_guard lock(state_->shared->mutex);
        state_->shared->repeated.release(address);
        return state_->shared->memory.free(address);
    } catch (const Exception& e) {  // a destructor asks: after a fork the memory stays
        return e.error();
    }
}

/// Where a side of a copy is the host's own, it may not be there.
Result<void> Gpu::copied(void* to, const void* from, size_t bytes) {
    if (copy_guarded(to, from, bytes)) return {};
    return make_error(ErrorKind::Usage, "a copy of {} bytes from {} to {} meets memory of the host that is not there",
                      bytes, from, to);
}

Result<void> Gpu::read(void* to, DeviceAddress from, size_t bytes) const {
    StoppableLock lock(state_->shared->mutex);
    if (bytes == 0) return {};
    if (!state_->shared->memory.find(from, bytes)) return bad_range("read", state_->shared->memory, from, bytes);
    return copied(to, reinterpret_cast<const void*>(from), bytes);
}

Result<void> Gpu::write(DeviceAddress to, const void* from, size_t bytes) {
    StoppableLock lock(state_->shared->mutex);
    if (bytes == 0) return {};
    if (!state_->shared->memory.find(to, bytes)) return bad_range("write", state_->shared->memory, to, bytes);
    return copied(reinterpret_cast<void*>(to), from, bytes);
}

Result<void> Gpu::fill(DeviceAddress to, uint8_t value, size_t bytes) {
    StoppableLock lock(state_->shared->mutex);
    if (bytes == 0) return {};
    if (!state_->shared->memory.find(to, bytes)) return bad_range("fill", state_->shared->memory, to, bytes);
    const Allocation* const at = state_->shared->memory.find(to, bytes);
    if (!at->mapped) memset(reinterpret_cast<void*>(to), value, bytes);
    if (at->mapped && !fill_guarded(reinterpret_cast<void*>(to), &value, 1, bytes))
        return bad_range("fill of what is not there,", state_->shared->memory, to, bytes);
    return {};
}

Result<void> Gpu::copy(DeviceAddress to, DeviceAddress from, size_t bytes) {
    StoppableLock lock(state_->shared->mutex);
    if (bytes == 0) return {};
    if (!state_->shared->memory.find(from, bytes)) return bad_range("copy from", state_->shared->memory, from, bytes);
    if (!state_->shared->memory.find(to, bytes)) return bad_range("copy to", state_->shared->memory, to, bytes);
    return copied(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}

Result<void> Gpu::map_host(void* memory, size_t bytes, bool writable) {
    const auto address = reinterpret_cast<DeviceAddress>(memory);
    {
        StoppableLock lock(state_->shared->mutex);
        if (state_->shared->memory.is_mapped(address, bytes)) {
            state_->shared->memory.permit(address, true, writable);
            return {};
        }
    }
    return map_virtual(memory, bytes, writable ? "memory of the host" : "memory of the host that is only read", true,
                       writable);
}

Result<void> Gpu::map_virtual(void* memory, size_t bytes, std::string_view label, bool readable, bool writable) {
    const auto address = reinterpret_cast<DeviceAddress>(memory);
    StoppableLock lock(state_->shared->mutex);
    if (state_->shared->memory.overlaps(address, bytes))
        return make_error(ErrorKind::Usage, "{} bytes at {:#x} are the device's already: {}", bytes, address,
                          state_->shared->memory.describe(address, bytes));
    state_->shared->memory.map(address, memory, bytes, std::string(label));
    state_->shared->memory.permit(address, readable, writable);
    return {};
}

Result<void> Gpu::unmap_host(void* memory) {
    std::lock_guard lock(state_->shared->mutex);
    state_->shared->memory.remove(reinterpret_cast<DeviceAddress>(memory));
    return {};
}

size_t Gpu::allocated_bytes() const {
    StoppableLock lock(state_->shared->mutex);
    return state_->shared->memory.allocated();
}

size_t Gpu::pooled_bytes() const { return state_->shared->memory.pooled(); }

Result<std::shared_ptr<Module>> Gpu::load(std::span<const uint8_t> code_object) {
    STRATA_TRY(isa::CodeObject object, isa::CodeObject::parse(isa::Bytes(code_object.begin(), code_object.end())));
    if (object.for_nvidia)
        return make_error(ErrorKind::Device, "the code object is for a chip of NVIDIA, the device is {}",
                          isa::info(state_->arch).name);
    if (!isa::runs_on(object, state_->arch))
        return make_error(ErrorKind::Unsupported,
                          "the code object is for {}, the device is {}; compile for the device's arch",
                          isa::info(object.arch).name, isa::info(state_->arch).name);
    object.arch = state_->arch;  // of a generic target it is the first that runs such code
    uint64_t wanted = 0;         // segments are in order
    for (const isa::Segment& segment : object.segments) wanted = segment.address + segment.memory_size;
    if (const uint64_t capacity = capacity_of(*state_->model); wanted > capacity)
        return make_error(ErrorKind::Device, "the code object wants {} bytes of device memory; {} has {}", wanted,
                          state_->model->name, capacity);
    auto state = std::make_unique<Module::State>();
    state->object = std::move(object);
    state->shared = state_->shared;
    std::string label = state->object.kernels.empty() ? "module" : "module of '" + state->object.kernels[0].name + "'";
    std::shared_ptr<Module> module(new Module(std::move(state)));  // from here on ~Module gives the memory back
    STRATA_TRY_VOID(module->state_->place(label));
    STRATA_TRY_VOID(module->state_->decode());
    return module;
}

}  // namespace strata::emu
