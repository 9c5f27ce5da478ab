#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>

namespace strata {

// How long work is stopped from outside. Threads that work or wait call poll_interrupt() every few milliseconds. It
// throws Interrupted when the front end wants them to stop, and unwinding releases what they hold.

/// Not an Exception: nobody who deals with failures takes it for one.
class Interrupted : public std::exception {
  public:
    const char* what() const noexcept override { return "interrupted"; }
};

struct Settings;

/// Hooks of a front end around working and waiting. Python has signals, which its main thread handles, a lock of its
/// own, and contexts of execution (threads, tasks) with settings each.
struct FrontEnd {
    bool (*wants_stop)();      ///< of this thread; may wait for the front end's lock
    void* (*let_go)();         ///< gives up the front end's lock; null: this thread does not hold it
    bool (*take_back)(void*);  ///< false: the front end is closing, this thread must never enter it again
    const Settings* (
        *settings)();  ///< of the context that this thread runs; null: it runs none, or has none of its own
};
/// One of static life; null: none, as at the start.
void set_front_end(const FrontEnd* front_end);
const FrontEnd* front_end();

constexpr std::chrono::milliseconds kPollInterval{50};

/// Throws Interrupted if the work of this thread is to stop. The front end is asked at most every kPollInterval, and
/// may need its lock. A caller of this holds no lock that a thread in the front end waits for, unless it is a Mutex
/// (mutex.h).
void poll_interrupt();

/// Waits until done() holds. An interruption meanwhile calls stop(), which should hasten that, and is returned.
template <class Done, class Stop>
std::exception_ptr wait_polling(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Done&& done,
                                Stop&& stop) {
    std::exception_ptr interruption;
    while (!changed.wait_for(lock, kPollInterval, done)) {
        if (interruption) continue;
        lock.unlock();
        try {
            poll_interrupt();
        } catch (...) {
            interruption = std::current_exception();
            stop();
        }
        lock.lock();
    }
    return interruption;
}

/// Makes this thread, for a scope, part of work that another one waits for: it stops when the flag is set.
class StopFlag {
  public:
    explicit StopFlag(const std::atomic<bool>& stop);
    ~StopFlag();
    StopFlag(const StopFlag&) = delete;

  private:
    const std::atomic<bool>* previous_;
};

/// The front end's lock is not held while this lives. `entered_again()`: takes it back; see FrontEnd::take_back.
class OutsideFrontEnd {
  public:
    OutsideFrontEnd();
    ~OutsideFrontEnd();
    OutsideFrontEnd(const OutsideFrontEnd&) = delete;
    bool entered_again();

  private:
    const FrontEnd* front_end_;
    void* token_;
};

/// For threads that the front end does not take back.
[[noreturn]] void sleep_forever();

}  // namespace strata
