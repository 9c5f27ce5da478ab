#pragma once
#include <atomic>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/core/support/lru.h"
#include "strata/core/support/mutex.h"
#include "strata/providers/providers.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/custom.h"
#include "strata/runtime/launch_plan.h"
#include "strata/runtime/program.h"
#include "strata/runtime/realize.h"

namespace strata::runtime {

/// Who provides devices, and those that were opened, by index.
class Devices {
  public:
    explicit Devices(std::vector<providers::Provider> providers = {std::begin(providers::kProviders),
                                                                   std::end(providers::kProviders)});
    Device& open(std::string_view name);  ///< "" = the first there is
    Device& at(uint16_t index);
    std::vector<std::string> known();
    size_t pooled_bytes();
    void add_provider(providers::Provider provider);

  private:
    Device* opened(std::string_view name);

    Mutex mutex_;
    std::vector<providers::Provider> providers_;
    std::vector<std::unique_ptr<Device>> all_;
    std::map<std::string, Device*, std::less<>> by_name_;  ///< also by each alias that opened one
};

/// The memory of buffer nodes.
class Buffers {
  public:
    UOp add(std::shared_ptr<Buffer> buffer);
    std::shared_ptr<Buffer> find(UOp buffer);
    void forget(UOp buffer);
    /// A node for the memory of another one, which from then on has other memory, in which nothing is.
    UOp take_over(UOp buffer);

  private:
    Mutex mutex_;
    std::unordered_map<UOp, std::shared_ptr<Buffer>, UOpHash> all_;  ///< the nodes are not kept alive
    uint64_t next_id_ = 1;
};

/// Memory of the host that devices see for now.
class HostMemory {
  public:
    /// Until the result is gone. nullptr: the device cannot, or sees a part of it already as part of something else.
    std::shared_ptr<void> reach(Device& device, void* memory, size_t bytes, bool writable);

  private:
    using Key = std::pair<uint16_t, uintptr_t>;  ///< device and address
    struct Range {
        size_t bytes;
        int users, writers;  ///< writers: of the users, those that kernels may write for
    };
    void permit(Device& device, Key key, const Range& range);
    void leave(Device& device, Key key, bool writable);

    Mutex mutex_;
    std::map<Key, Range> ranges_;
};

/// The index of the device that holds a view of memory.
inline uint16_t device_under(UOp view) { return buffer_under(view).as<BufferArg>().device; }

/// The kernels of custom nodes, and what those that have run left in memory.
class CustomKernels {
  public:
    /// For all nodes with this argument; it goes with the last of them.
    CustomArg add(std::shared_ptr<const CustomLaunch> launch);
    std::shared_ptr<const CustomLaunch> find(uint64_t id);
    void forget(uint64_t id);
    /// Views of the results of a custom node that has run, which others hold, by source, or empty. The node does not
    /// run again for them on their device. The node is not kept alive.
    void remember(UOp node, std::vector<Root> held);
    void forget(UOp node);
    /// The view for one result of a custom node that has run on the device, else empty.
    UOp view(UOp pick, const Device& device);
    /// Held by the thread that runs a custom node: another one that wants its results waits for them.
    std::shared_ptr<Mutex> turn(uint64_t id);

  private:
    struct Entry {
        std::shared_ptr<const CustomLaunch> launch;
        std::shared_ptr<Mutex> turn = std::make_shared<Mutex>();
    };
    Mutex mutex_;
    std::unordered_multimap<UOp, std::vector<Root>, UOpHash> held_;  ///< by node: one entry for each time that it ran
    std::unordered_map<uint64_t, Entry> all_;
    uint64_t next_id_ = 1;
};

/// Which nodes are in memory: a view of the buffer that holds the value, one a device. A node that reads no buffer is
/// the same node on all of them. The node itself is not kept alive.
class Results {
  public:
    UOp find(UOp node, const Device& device);
    void remember(UOp node, UOp view);
    void forget(UOp node);
    void forget_all();

  private:
    using Views = std::unordered_multimap<UOp, Root, UOpHash>;
    Views::iterator place(UOp node, uint16_t device);

    Mutex mutex_;
    Views views_;
};

/// Loaded programs by kernel graph and device, up to settings().programs_mb. Sinks are rooted: their addresses stay
/// theirs. A program that goes is unloaded when its last launch is over, and its graph is swept.
class Programs {
  public:
    std::shared_ptr<Program> find(UOp sink, const Device& device);
    /// In place of what `find` gave; where another thread added one meanwhile, that stays. Gives the one that is there.
    std::shared_ptr<Program> add(UOp sink, const Device& device, std::shared_ptr<Program> program,
                                 const std::shared_ptr<Program>& before);
    void count_into(Stats& stats);

  private:
    struct Key {
        UOp sink;
        uint16_t device;
        codegen::Route route;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        size_t operator()(const Key& key) const {
            return (UOpHash()(key.sink) * 31 + key.device) * 31 + static_cast<size_t>(key.route);
        }
    };
    struct Entry {
        Root sink;
        std::shared_ptr<Program> program;
    };
    Mutex mutex_;
    Lru<Key, Entry, KeyHash> all_;
};

/// Which numbers of kernels change from call to call. From the second value on they are parameters, so that the third
/// and all after it compile nothing.
class ChangingNumbers {
  public:
    /// Which values of a kernel of this form were others before; all false: none yet, or these are the first ones.
    std::vector<bool> changing(uint64_t form, std::span<const uint64_t> values);

  private:
    static constexpr size_t kMost = 4096;  // kernels
    struct Entry {
        std::vector<uint64_t> first;
        std::vector<bool> changing;  ///< was another one since
    };
    Mutex mutex_;
    Lru<uint64_t, Entry> all_;  ///< by form
};

/// How graphs of signatures that were computed before are computed, up to settings().plans_mb.
class LaunchPlans {
  public:
    struct Known {
        std::shared_ptr<const LaunchPlan> plan;  ///< none: one is to be made,
        std::vector<bool> parameters;            ///< which numbers are its parameters
    };
    Known find(const std::string& signature, std::span<const uint64_t> numbers);
    void add(const std::string& signature, std::span<const uint64_t> numbers, const std::vector<bool>& changing,
             std::shared_ptr<const LaunchPlan> plan, bool from_disk);
    void count_into(Stats& stats);
    void reset_counts();

  private:
    /// A plan and the launches it serves: those whose numbers are `numbers` wherever they are not parameters.
    struct Made {
        std::shared_ptr<const LaunchPlan> plan;
        std::vector<uint64_t> numbers;
        std::vector<bool> parameters;
        bool serves(std::span<const uint64_t> asked) const;
    };
    struct Entry {
        std::vector<uint64_t> first;  ///< numbers
        std::vector<bool> changing;   ///< was another one since
        Made exact, general;          ///< without parameters, with some
    };
    Mutex mutex_;
    Lru<std::string, Entry> all_;
    uint64_t found_ = 0, made_ = 0;
};

/// Code objects of users' kernels that were loaded last. A module that a kernel uses lives as long as the kernel.
class Modules {
  public:
    std::shared_ptr<Module> load(Device& device, std::span<const uint8_t> code_object);

  private:
    static constexpr size_t kMost = 64;
    struct Entry {
        std::string key;
        std::shared_ptr<Module> module;
    };
    Mutex mutex_;
    std::list<Entry> recent_;
};

/// Bytes of tensors in the memory of all devices.
class MemoryUse {
  public:
    void add(size_t bytes) {
        const size_t now = live_.fetch_add(bytes) + bytes;
        for (size_t peak = peak_.load(); now > peak && !peak_.compare_exchange_weak(peak, now);) {
        }
    }
    void remove(size_t bytes) { live_ -= bytes; }
    size_t live() const { return live_; }
    void reset_peak() { peak_ = live_.load(); }
    void count_into(Stats& stats) const { stats.live_bytes = live_, stats.peak_bytes = peak_; }

  private:
    std::atomic<size_t> live_{0}, peak_{0};
};

/// The counts of Stats since the last reset. Times of launches that nobody waited for are read when they are asked for.
class Counters {
  public:
    Stats get();  ///< waits for timed launches, and throws what their device reports
    void reset();
    void add_times(double schedule_ms, double compile_ms);
    /// `fill` writes all of a launch over an older one, but for the time where that is pending.
    void add(bool modelled, const std::function<void(Stats::Launch&)>& fill, std::unique_ptr<PendingTime> time);
    /// Launches of which nothing more is known.
    void add_unlisted(uint64_t kernels, uint64_t bytes, uint64_t flops, std::unique_ptr<PendingTime> time);

  private:
    static constexpr uint64_t kUnlisted = ~uint64_t{0};
    struct Pending {
        std::unique_ptr<PendingTime> time;
        uint64_t launch;  ///< number since the reset, or kUnlisted
    };
    /// Reads times, those of the first launches first, until `left` are left.
    void read_times(size_t left);
    void add_time(double ms, uint64_t launch, uint64_t resets);

    Mutex reading_mutex_;  ///< outside of the other one, which is not held while a device is waited for
    Mutex mutex_;
    Stats stats_;            ///< its launches are a ring once they are as many as are kept
    uint64_t launches_ = 0;  ///< reported ones
    uint64_t resets_ = 0;
    std::deque<Pending> pending_;
};

/// Frees graph nodes that no tensor reaches before memory runs short, and what hangs on them: buffers, user kernels,
/// results.
class Sweeper {
  public:
    void note_allocation(size_t bytes) { allocated_since_ += bytes; }
    void sweep();
    /// Before `bytes` more are allocated.
    void sweep_for(size_t bytes);

  private:
    std::atomic<size_t> allocated_since_{0};
};

/// All that the runtime remembers from call to call; each part has a lock of its own, never held while another is
/// taken.
struct Context {
    Context();
    Devices devices;
    Buffers buffers;
    HostMemory host_memory;
    MemoryUse memory;
    CustomKernels custom;
    Results results;
    Programs programs;
    ChangingNumbers numbers;
    LaunchPlans plans;
    Modules modules;
    Counters counters;
    Sweeper sweeper;
};

/// The one of this process, since graph nodes are the process's too. Made on first use and never destroyed: tensors of
/// static life may outlive every other object.
Context& context();

}  // namespace strata::runtime
