#include "strata/runtime/buffer.h"

#include <algorithm>
#include <atomic>

#include "strata/runtime/context_p.h"
#include "strata/runtime/replay.h"

namespace strata::runtime {
namespace {

std::atomic<uint64_t> buffers_made{0};

}  // namespace

Buffer::Buffer(Device& device, DType dtype, int64_t size)
    : id_(buffers_made++), device_(device), dtype_(dtype), size_(size) {}

uint64_t Buffer::next_id() { return buffers_made; }

Buffer::~Buffer() {
    if (!address_) return;
    (void)device_.api().free(device_.ordinal(), address_);
    context().memory.remove(bytes());
}

void Buffer::allocate(const std::function<Result<hip::DevicePtr>()>& malloc) {
    context().sweeper.sweep_for(bytes());
    Result<hip::DevicePtr> got = malloc();
    if (!got) {  // memory of dead tensors may be waiting for a sweep
        context().sweeper.sweep(Generation::all);
        got = malloc();
    }
    address_ = got.value();
    context().sweeper.note_allocation(bytes());
    context().memory.add(bytes());
}

hip::DevicePtr Buffer::address() {
    if (!address_) allocate([&] { return device_.api().malloc(device_.ordinal(), bytes()); });
    return address_;
}

void Buffer::repeat(std::span<const uint8_t> pattern) {
    const hip::HipApi& api = device_.api();
    if (!address_ && api.malloc_repeated) {
        allocate([&] { return api.malloc_repeated(device_.ordinal(), bytes(), pattern); });
        return;
    }
    copy_in(pattern.data(), std::min(pattern.size(), bytes()));
    for (size_t done = pattern.size(); done < bytes(); done *= 2)
        api.memcpy_on_device(device_.ordinal(), address() + done, address(), std::min(done, bytes() - done)).value();
}

void Buffer::copy_in(const void* host, size_t bytes) {
    if (bytes) device_.api().memcpy_to_device(device_.ordinal(), address(), host, bytes).value();
}

void Buffer::copy_out(void* host, size_t bytes) {
    if (bytes) device_.api().memcpy_to_host(device_.ordinal(), host, address(), bytes).value();
}

void* Buffer::host_view() { return device_.api().host_view(device_.ordinal(), address()); }

UOp new_buffer(Device& device, DType dtype, int64_t size) { return context().buffers.add(device, dtype, size); }
std::shared_ptr<Buffer> find_buffer(UOp buffer) { return context().buffers.find(buffer); }

bool is_alone(UOp view, uint32_t roots, uint32_t users) {
    for (;; view = view.src(0), roots = 0, users = 1) {
        const Node& node = *view.node();
        if (node.roots.load(std::memory_order_relaxed) != roots || node.users.load(std::memory_order_relaxed) != users)
            return false;
        if (view.is(Op::buffer)) return find_buffer(view).use_count() == 2;  // the one that Buffers has, and this
    }
}

void copy_memory(Buffer& from, Buffer& to) {
    if (Recorder* recorder = Recorder::active()) recorder->copied(from, to);
    if (!from.allocated()) return;  // nothing was written yet
    const Device& device = to.device();
    device.api().memcpy_on_device(device.ordinal(), to.address(), from.address(), to.bytes()).value();
}

UOp Buffers::add(Device& device, DType dtype, int64_t size) {
    std::lock_guard lock(mutex_);
    UOp node = make(Op::buffer, dtype, {}, BufferArg{next_id_++, size, device.index()});
    all_.emplace(node, std::make_shared<Buffer>(device, dtype, size));
    return node;
}

std::shared_ptr<Buffer> Buffers::find(UOp buffer) {
    std::lock_guard lock(mutex_);
    auto found = all_.find(buffer);
    STRATA_CHECK(found != all_.end(), "{} has no memory", to_string(buffer));
    return found->second;
}

void Buffers::forget(UOp buffer) {
    std::shared_ptr<Buffer> last;  // freed outside the lock
    std::lock_guard lock(mutex_);
    if (auto found = all_.find(buffer); found != all_.end()) {
        last = std::move(found->second);
        all_.erase(found);
    }
}

}  // namespace strata::runtime
