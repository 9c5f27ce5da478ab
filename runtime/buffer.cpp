#include "strata/runtime/buffer.h"

#include <mutex>

#include "strata/runtime/memory_p.h"

namespace strata::runtime {
namespace {

std::mutex buffers_mutex;
UOpMap<std::shared_ptr<Buffer>>& buffers() {  // by node, which is not kept alive
    static auto* all = new UOpMap<std::shared_ptr<Buffer>>;
    return *all;
}
uint64_t next_id = 1;

}  // namespace

Buffer::Buffer(Device& device, DType dtype, int64_t size) : device_(device), dtype_(dtype), size_(size) {}

Buffer::~Buffer() {
    if (address_) (void)device_.api().free(device_.ordinal(), address_);
}

hip::DevicePtr Buffer::address() {
    if (!address_) {
        Result<hip::DevicePtr> got = device_.api().malloc(device_.ordinal(), bytes());
        if (!got) {  // memory of dead tensors may be waiting for a sweep
            release_unreached();
            got = device_.api().malloc(device_.ordinal(), bytes());
        }
        address_ = got.value();
        note_allocation(bytes());
    }
    return address_;
}

void Buffer::copy_in(const void* host, size_t bytes) {
    if (bytes) device_.api().memcpy_to_device(device_.ordinal(), address(), host, bytes).value();
}

void Buffer::copy_out(void* host, size_t bytes) {
    if (bytes) device_.api().memcpy_to_host(device_.ordinal(), host, address(), bytes).value();
}

void* Buffer::host_view() { return device_.api().host_view(device_.ordinal(), address()); }

UOp new_buffer(Device& device, DType dtype, int64_t size) {
    std::lock_guard lock(buffers_mutex);
    UOp node = make(Op::buffer, dtype, {}, BufferArg{next_id++, size, device.index()});
    buffers().emplace(node, std::make_shared<Buffer>(device, dtype, size));
    return node;
}

std::shared_ptr<Buffer> find_buffer(UOp buffer) {
    std::lock_guard lock(buffers_mutex);
    auto found = buffers().find(buffer);
    STRATA_CHECK(found != buffers().end(), "{} has no memory", to_string(buffer));
    return found->second;
}

void forget_buffer(UOp buffer) {
    std::shared_ptr<Buffer> last;  // freed outside the lock
    std::lock_guard lock(buffers_mutex);
    if (auto found = buffers().find(buffer); found != buffers().end()) {
        last = std::move(found->second);
        buffers().erase(found);
    }
}

}  // namespace strata::runtime
