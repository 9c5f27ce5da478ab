#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/target/chip.h"
#include "strata/core/support/mutex.h"
#include "strata/providers/providers.h"

namespace strata::runtime {

class PendingTime;

/// Puts work on a stream.
using Enqueue = std::function<Result<void>(providers::StreamHandle*)>;

/// One GPU, real or emulated, through one HipApi. Opened once, lives until the process ends.
class Device {
  public:
    Device(std::string name, uint16_t index, codegen::Chip arch, const providers::HipApi& api, int ordinal);
    ~Device();
    Device(const Device&) = delete;

    const std::string& name() const { return name_; }  ///< "emu:gfx1100"
    uint16_t index() const { return index_; }          ///< BufferArg::device
    codegen::Chip arch() const { return arch_; }
    const providers::HipApi& api() const { return *api_; }
    int ordinal() const { return ordinal_; }
    providers::DeviceProperties properties() const { return api_->device_properties(ordinal_).value(); }
    bool time_is_modelled() const { return api_->modelled_time; }
    bool interprets() const { return api_->interprets; }  ///< graphs, by codegen/interpret; no code is loaded

    /// Milliseconds on the device of what `enqueue` puts on this thread's stream, once it is done.
    Result<double> timed(const Enqueue& enqueue);
    /// Returns before it is done: what reads the device's memory afterwards waits for it.
    Result<void> started(const Enqueue& enqueue);
    /// The same; its time can be read later.
    Result<std::unique_ptr<PendingTime>> started_timed(const Enqueue& enqueue);

    /// The one that takes what is given to no other.
    Result<providers::StreamHandle*> own_stream();
    /// True if there was ever another.
    bool had_streams() const { return had_streams_.load(std::memory_order_relaxed); }
    void has_streams() { had_streams_ = true; }

  private:
    friend class PendingTime;
    Result<void> open_stream();
    Result<providers::StreamHandle*> stream_of_thread();
    /// Records the events of `time` around the work. To be called with the mutex held.
    Result<void> between_events(PendingTime& time, providers::StreamHandle* stream, const Enqueue& enqueue);
    Result<providers::EventHandle*> take_event();

    std::string name_;
    uint16_t index_;
    codegen::Chip arch_;
    const providers::HipApi* api_;
    int ordinal_;

    std::atomic<bool> had_streams_{false};
    Mutex timing_mutex_;  ///< one launch at a time stands between two events
    providers::StreamHandle* stream_ = nullptr;
    std::unique_ptr<PendingTime> waited_for_;  ///< of timed()
    Mutex events_mutex_;
    std::vector<providers::EventHandle*> events_;  ///< in no use
};

/// Opens a device by name: "emu:gfx942", "emu" (the provider's first), "" (the setting, else the default).
/// Throws a Device Exception that lists the known names.
Device& device(std::string_view name = "");
Device& device(uint16_t index);
std::vector<std::string> known_devices();

/// Adds a row to those of providers.def. Throws a Device Exception for a table that is not complete.
void add_provider(providers::Provider provider);

}  // namespace strata::runtime
