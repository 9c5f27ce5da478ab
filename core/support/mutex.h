#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

namespace strata {

/// For state of the process. Who waits for it holds up no one in the front end, whose lock it gives up meanwhile. In
/// the child of a fork, what a thread of the parent held is not waited for: that is a Device Exception.
class Mutex {
  public:
    void lock() {
        if (!try_lock()) wait(false);
    }
    bool try_lock() {
        if (!mutex_.try_lock()) return false;
        process_.store(process_number(), std::memory_order_relaxed);
        return true;
    }
    void unlock() { mutex_.unlock(); }
    /// For what others hold for seconds: throws Interrupted when this thread is to stop.
    void lock_or_stop() {
        if (!try_lock()) wait(true);
    }

    /// Forks between the first process and this one.
    static uint32_t process_number();

  private:
    static constexpr uint32_t kLost = ~0u;  ///< a process that is not: nobody will unlock it

    void wait(bool may_stop);
    std::timed_mutex mutex_;
    std::atomic<uint32_t> process_{0};  ///< that locked it last
};

/// A lock_guard by lock_or_stop().
class StoppableLock {
  public:
    explicit StoppableLock(Mutex& mutex) : mutex_(mutex) { mutex_.lock_or_stop(); }
    ~StoppableLock() { mutex_.unlock(); }
    StoppableLock(const StoppableLock&) = delete;

  private:
    Mutex& mutex_;
};

/// Refuses what a thread of the parent was at when this process was forked.
[[noreturn]] void refuse_after_fork();

}  // namespace strata
