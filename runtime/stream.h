#pragma once
#include <memory>

#include "strata/runtime/device.h"

namespace strata::runtime {

class Event;

/// Work of one device in its order, beside that of the device's other streams. Memory is in order whatever streams use
/// it (Buffer::order); events order what is outside of Strata. All throw what the device reports.
class Stream : public std::enable_shared_from_this<Stream> {
  public:
    static std::shared_ptr<Stream> create(Device& device);
    /// Over a stream that is somebody else's, who keeps it for as long as this lives: a hipStream_t, a cudaStream_t.
    static std::shared_ptr<Stream> over(Device& device, uint64_t raw);
    /// The one that this thread's work goes to: null: the device's own.
    static std::shared_ptr<Stream> current(const Device& device);
    ~Stream();
    Stream(const Stream&) = delete;

    Device& device() const { return device_; }
    providers::StreamHandle* handle() const { return handle_; }
    uint64_t raw() const { return device_.api().stream_raw(handle_); }
    void synchronize() { device_.api().stream_synchronize(handle_).value(); }
    bool done() { return device_.api().stream_query(handle_).value(); }

    /// From here on this thread's work on the device goes to the stream, null being its own. Gives what was there.
    static std::shared_ptr<Stream> change(const Device& device, std::shared_ptr<Stream> to);

    /// While one lives, this thread's work on the device goes to its own stream, after what was given to the one
    /// before.
    class OwnScope {
      public:
        explicit OwnScope(Device& device) : device_(device), before_(change(device, nullptr)) {
            if (before_) before_->synchronize();
        }
        ~OwnScope() { change(device_, std::move(before_)); }
        OwnScope(const OwnScope&) = delete;

      private:
        Device& device_;
        std::shared_ptr<Stream> before_;
    };

  private:
    Stream(Device& device, providers::StreamHandle* handle);
    Device& device_;
    providers::StreamHandle* handle_;
};

/// A point in the work of a stream, null being the device's own.
class Event {
  public:
    explicit Event(Device& device);
    ~Event();
    Event(const Event&) = delete;

    Device& device() const { return device_; }
    bool recorded() const { return recorded_; }
    void record(const Stream* stream);
    /// The stream waits for the point from here on.
    void wait(const Stream* stream) const;
    void synchronize() const;
    bool done() const;
    /// Milliseconds from this point to another one, once both are over.
    double elapsed_ms(const Event& to) const;

  private:
    void check_recorded() const;
    Device& device_;
    providers::EventHandle* handle_;
    bool recorded_ = false;
};

/// `after` waits from here on for all that `before` was given so far.
void order(Device& device, const Stream* before, const Stream* after);

}  // namespace strata::runtime
