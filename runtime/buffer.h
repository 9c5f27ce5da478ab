#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/runtime/device.h"
#include "strata/runtime/stream.h"

namespace strata::runtime {

/// Device memory of `size` elements; freed with the object.
class Buffer : public std::enable_shared_from_this<Buffer> {
  public:
    Buffer(Device& device, DType dtype, int64_t size);
    /// Over memory that is somebody else's for as long as `borrowed` is kept; what has it is not to write there.
    Buffer(Device& device, DType dtype, int64_t size, providers::DevicePtr address, std::shared_ptr<void> borrowed);
    ~Buffer();
    Buffer(const Buffer&) = delete;

    Device& device() const { return device_; }
    DType dtype() const { return dtype_; }
    int64_t size() const { return size_; }
    uint64_t id() const { return id_; }  ///< grows from buffer to buffer of this process
    static uint64_t next_id();           ///< of the next one
    size_t bytes() const { return static_cast<size_t>(size_) * static_cast<size_t>(dtype_.bytes()); }
    providers::DevicePtr address();  ///< allocates on first use
    bool allocated() const { return address_ != 0; }
    bool is_borrowed() const { return borrowed_ != nullptr; }
    /// From now on others may take it for their value who were not made of it: who writes to it from outside writes to
    /// theirs.
    void hold_constant() { holds_constant_ = true; }
    bool holds_constant() const { return holds_constant_; }

    void copy_in(const void* host, size_t bytes);
    /// Fills a buffer that nothing was put in with a pattern over and over. A pattern of whole pages may take memory
    /// once alone.
    void repeat(std::span<const uint8_t> pattern);
    void copy_out(void* host, size_t bytes);
    /// Where the host can read the memory directly (the emulator), else nullptr.
    void* host_view();

    /// This thread's stream from here on comes after all that other streams do with the memory so far. Before each use
    /// by a kernel or a copy.
    void order(bool writes) {
        if (device_.had_streams()) order_on(Stream::current(device_), writes);
    }
    /// The same for another one, null being the device's own.
    void order_on(const std::shared_ptr<Stream>& stream, bool writes);

    /// Another stream from here on comes after all that was written so far.
    void be_ready_for(const Stream& theirs);

  private:
    /// Streams with work on it; the device's own is null.
    struct Uses {
        std::shared_ptr<Stream> writer = {};
        std::vector<std::shared_ptr<Stream>> readers = {};
    };
    void allocate(const std::function<Result<providers::DevicePtr>()>& malloc);

    uint64_t id_;
    Device& device_;
    DType dtype_;
    int64_t size_;
    providers::DevicePtr address_ = 0;
    std::shared_ptr<void> borrowed_;
    std::atomic<bool> holds_constant_{false};
    std::unique_ptr<Uses> uses_;  ///< none: its device's own stream alone
};

/// A buffer node for a new allocation. The memory lives as long as a Root reaches the node.
UOp new_buffer(Device& device, DType dtype, int64_t size);
/// A buffer node over memory of the host, which kernels use in place and `owner` keeps. A kernel that writes there
/// where it is not writable faults. Empty: the device cannot, as not on a card, or a part of the memory is in use here
/// as part of something else.
UOp borrowed_buffer(Device& device, DType dtype, int64_t size, void* memory, std::shared_ptr<void> owner,
                    bool writable = true);
/// A buffer node over memory of the device, which `owner` keeps.
UOp borrowed_buffer(Device& device, DType dtype, int64_t size, providers::DevicePtr memory,
                    std::shared_ptr<void> owner);
/// True if nothing else sees the memory below a view (reshapes of one buffer): no other tensor, graph, or array of the
/// host. The view itself has `roots` Roots and `users` nodes.
bool is_alone(UOp view, uint32_t roots, uint32_t users);
/// Copies the contents of one buffer to another of its size and device.
void copy_memory(Buffer& from, Buffer& to);
/// The memory of a buffer node.
std::shared_ptr<Buffer> find_buffer(UOp buffer);

}  // namespace strata::runtime
