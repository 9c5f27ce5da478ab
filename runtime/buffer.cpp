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

Buffer::Buffer(Device& device, DType dtype, int64_t size, providers::DevicePtr address, std::shared_ptr<void> borrowed)
    : id_(buffers_made++),
      device_(device),
      dtype_(dtype),
      size_(size),
      address_(address),
      borrowed_(std::move(borrowed)) {}

uint64_t Buffer::next_id() { return buffers_made; }

Buffer::~Buffer() {
    try {  // who has the memory next comes after all of it
        if (uses_) order_on(nullptr, true);
    } catch (const Exception&) {  // a device that is lost
    }
    if (!address_ || borrowed_) return;
    (void)device_.api().free(device_.ordinal(), address_);
    context().memory.remove(bytes());
}

void Buffer::allocate(const std::function<Result<providers::DevicePtr>()>& malloc) {
    context().sweeper.sweep_for(bytes());
    Result<providers::DevicePtr> got = malloc();
    if (!got) {  // memory of dead tensors may be waiting for a sweep
        context().sweeper.sweep();
        got = malloc();
    }
    address_ = got.value();
    context().sweeper.note_allocation(bytes());
    context().memory.add(bytes());
}

providers::DevicePtr Buffer::address() {
    if (!address_) allocate([&] { return device_.api().malloc(device_.ordinal(), bytes()); });
    return address_;
}

void Buffer::repeat(std::span<const uint8_t> pattern) {
    const providers::HipApi& api = device_.api();
    if (!address_ && api.malloc_repeated) {
        allocate([&] { return api.malloc_repeated(device_.ordinal(), bytes(), pattern); });
        return;
    }
    order_on(nullptr, true);
    api.memcpy_to_device(device_.ordinal(), address(), pattern.data(), std::min(pattern.size(), bytes())).value();
    for (size_t done = pattern.size(); done < bytes(); done *= 2)
        api.memcpy_on_device(device_.ordinal(), address() + done, address(), std::min(done, bytes() - done)).value();
}

void Buffer::copy_in(const void* host, size_t bytes) {
    if (!bytes) return;
    const providers::HipApi& api = device_.api();
    const providers::DevicePtr to = address();
    order(true);
    if (const std::shared_ptr<Stream> on = Stream::current(device_)) {
        api.memcpy_async(on->handle(), providers::CopyKind::to_device, to, reinterpret_cast<uint64_t>(host), bytes)
            .value();
        return on->synchronize();
    }
    api.memcpy_to_device(device_.ordinal(), to, host, bytes).value();
}

void Buffer::copy_out(void* host, size_t bytes) {
    if (!bytes) return;
    const providers::HipApi& api = device_.api();
    const providers::DevicePtr from = address();
    order(false);
    if (const std::shared_ptr<Stream> on = Stream::current(device_)) {
        api.memcpy_async(on->handle(), providers::CopyKind::to_host, reinterpret_cast<uint64_t>(host), from, bytes)
            .value();
        return on->synchronize();
    }
    api.memcpy_to_host(device_.ordinal(), host, from, bytes).value();
}

void Buffer::be_ready_for(const Stream& theirs) {
    runtime::order(device_, uses_ ? uses_->writer.get() : nullptr, &theirs);
}

void Buffer::order_on(const std::shared_ptr<Stream>& stream, bool writes) {
    static Mutex mutex;
    std::lock_guard lock(mutex);
    if (!uses_ && !stream) return;
    if (!uses_) uses_ = std::make_unique<Uses>();
    std::vector<std::shared_ptr<Stream>>& readers = uses_->readers;
    const bool follows_writer = uses_->writer == stream || std::ranges::find(readers, stream) != readers.end();
    if (!follows_writer) runtime::order(device_, uses_->writer.get(), stream.get());
    if (writes) {
        for (const std::shared_ptr<Stream>& reader : readers)
            if (reader != stream) runtime::order(device_, reader.get(), stream.get());
        readers.clear();
        uses_->writer = stream;
    } else if (!follows_writer) {
        readers.push_back(stream);
    }
}

void* Buffer::host_view() { return device_.api().host_view(device_.ordinal(), address()); }

UOp new_buffer(Device& device, DType dtype, int64_t size) {
    return context().buffers.add(std::make_shared<Buffer>(device, dtype, size));
}

UOp borrowed_buffer(Device& device, DType dtype, int64_t size, void* memory, std::shared_ptr<void> owner,
                    bool writable) {
    const auto bytes = static_cast<size_t>(size) * static_cast<size_t>(dtype.bytes());
    std::shared_ptr<void> reach = context().host_memory.reach(device, memory, bytes, writable);
    if (!reach) return {};
    using Held = std::pair<std::shared_ptr<void>, std::shared_ptr<void>>;  // the second goes first
    auto held = std::make_shared<Held>(std::move(owner), std::move(reach));
    const auto address = reinterpret_cast<providers::DevicePtr>(memory);
    return context().buffers.add(std::make_shared<Buffer>(device, dtype, size, address, std::move(held)));
}

UOp borrowed_buffer(Device& device, DType dtype, int64_t size, providers::DevicePtr memory,
                    std::shared_ptr<void> owner) {
    return context().buffers.add(std::make_shared<Buffer>(device, dtype, size, memory, std::move(owner)));
}

std::shared_ptr<Buffer> find_buffer(UOp buffer) { return context().buffers.find(buffer); }

bool is_alone(UOp view, uint32_t roots, uint32_t users) {
    for (;; view = view.src(0), roots = 0, users = 1) {
        const Node& node = *view.node();
        if (node.roots() != roots || node.users.load(std::memory_order_relaxed) != users) return false;
        if (!view.is(Op::buffer)) continue;
        const std::shared_ptr<Buffer> memory = find_buffer(view);
        return !memory->is_borrowed() && memory.use_count() == 2;  // the one that Buffers has, and this
    }
}

void copy_memory(Buffer& from, Buffer& to) {
    if (Recorder* recorder = Recorder::active()) recorder->copied(from, to);
    if (!from.allocated()) return;  // nothing was written yet
    const Device& device = to.device();
    const providers::HipApi& api = device.api();
    const providers::DevicePtr target = to.address(), source = from.address();
    to.order(true);
    from.order(false);
    if (const std::shared_ptr<Stream> on = Stream::current(device))
        api.memcpy_async(on->handle(), providers::CopyKind::on_device, target, source, to.bytes()).value();
    else
        api.memcpy_on_device(device.ordinal(), target, source, to.bytes()).value();
}

UOp Buffers::add(std::shared_ptr<Buffer> buffer) {
    std::lock_guard lock(mutex_);
    UOp node = make(Op::buffer, buffer->dtype(), {}, BufferArg{next_id_++, buffer->size(), buffer->device().index()});
    all_.emplace(node, std::move(buffer));
    return node;
}

std::shared_ptr<void> HostMemory::reach(Device& device, void* memory, size_t bytes, bool writable) {
    const providers::HipApi& api = device.api();
    if (!api.map_host) return nullptr;
    std::lock_guard lock(mutex_);
    const auto low = reinterpret_cast<uintptr_t>(memory);
    auto found = ranges_.upper_bound({device.index(), low});
    const bool within = found != ranges_.begin() && std::prev(found)->first.first == device.index() &&
                        low + bytes <= std::prev(found)->first.second + std::prev(found)->second.bytes;
    if (within) {
        found = std::prev(found);
    } else {
        if (!api.map_host(device.ordinal(), memory, bytes, writable)) return nullptr;
        found = ranges_.emplace(std::pair(device.index(), low), Range{bytes, 0, 0}).first;
    }
    Range& range = found->second;
    ++range.users;
    if (writable && range.writers++ == 0 && range.users > 1) permit(device, found->first, range);
    return {&range, [this, &device, key = found->first, writable](void*) { leave(device, key, writable); }};
}

/// Sets kernels' access to a range, by those who use it now.
void HostMemory::permit(Device& device, Key key, const Range& range) {
    void* const memory = reinterpret_cast<void*>(key.second);
    (void)device.api().map_host(device.ordinal(), memory, range.bytes, range.writers > 0);
}

void HostMemory::leave(Device& device, Key key, bool writable) {
    std::lock_guard lock(mutex_);
    const auto found = ranges_.find(key);
    Range& range = found->second;
    const bool last_writer = writable && --range.writers == 0;
    if (--range.users) {
        if (last_writer) permit(device, key, range);
        return;
    }
    (void)device.api().unmap_host(device.ordinal(), reinterpret_cast<void*>(key.second));
    ranges_.erase(found);
}

std::shared_ptr<Buffer> Buffers::find(UOp buffer) {
    std::lock_guard lock(mutex_);
    auto found = all_.find(buffer);
    STRATA_CHECK(found != all_.end(), "{} has no memory", to_string(buffer));
    return found->second;
}

UOp Buffers::take_over(UOp buffer) {
    const std::shared_ptr<Buffer> memory = find(buffer);
    {
        std::lock_guard lock(mutex_);
        all_[buffer] = std::make_shared<Buffer>(memory->device(), memory->dtype(), memory->size());
    }
    return add(memory);
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
