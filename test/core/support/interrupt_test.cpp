#include "strata/core/support/interrupt.h"

#include <gtest/gtest.h>

#include <thread>

#include "strata/core/process/subprocess.h"
#include "strata/core/support/mutex.h"
#include "strata/core/support/parallel.h"
#include "strata/core/support/settings.h"

namespace strata {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// A front end with one lock, whose first thread is asked to stop.
namespace front {
std::thread::id first;
std::atomic<bool> stop{false}, closing{false};
std::atomic<int> asked{0}, released{0};
std::timed_mutex lock;
thread_local bool held = false;
int token;

constexpr FrontEnd kTable{
    [] {
        ++asked;
        return stop && std::this_thread::get_id() == first;
    },
    []() -> void* {
        if (!held) return nullptr;
        lock.unlock();
        held = false;
        ++released;
        return &token;
    },
    [](void*) {
        if (closing) return false;
        lock.lock();
        return held = true;
    },
    []() -> const Settings* { return nullptr; },
};
}  // namespace front

class Interrupts : public ::testing::Test {
  protected:
    void SetUp() override {
        front::first = std::this_thread::get_id();
        front::stop = front::closing = false;
        front::released = 0;
        set_front_end(&front::kTable);
        std::this_thread::sleep_for(kPollInterval);  // the last test asked
    }
    void TearDown() override { set_front_end(nullptr); }
};

/// Asks the first thread to stop after a while.
class StopSoon {
  public:
    StopSoon()
        : thread_([this] {
              std::this_thread::sleep_for(100ms);
              at_ = Clock::now();
              front::stop = true;
          }) {}
    ~StopSoon() { thread_.join(); }
    StopSoon(const StopSoon&) = delete;
    Clock::duration since() const { return Clock::now() - at_.load(); }

  private:
    std::atomic<Clock::time_point> at_{};
    std::thread thread_;
};

TEST_F(Interrupts, AThreadIsAskedOnceAnIntervalHoweverOftenItPolls) {
    front::asked = 0;
    const auto end = Clock::now() + 3 * kPollInterval;
    int polls = 0;
    for (; Clock::now() < end; ++polls) poll_interrupt();
    EXPECT_GE(front::asked, 2);
    EXPECT_LE(front::asked, 4);
    EXPECT_GT(polls, 100);
}

TEST_F(Interrupts, AParallelLoopAndLoopsWithinItStopTogether) {
    StopSoon soon;
    auto endless = [](size_t) {
        for (;;) poll_interrupt();
    };
    EXPECT_THROW(parallel_for(8, [&](size_t) { parallel_for(2, endless, 2); }, 3), Interrupted);
    EXPECT_LT(soon.since(), 2s);
}

TEST_F(Interrupts, ACallerWithNothingLeftToDoStopsItsHelpers) {
    StopSoon soon;
    std::atomic<bool> helped{false};
    const auto body = [&](size_t) {
        if (std::this_thread::get_id() == front::first) {
            while (!helped) std::this_thread::yield();
            return;
        }
        helped = true;
        for (;;) poll_interrupt();
    };
    EXPECT_THROW(parallel_for(2, body, 2), Interrupted);
    EXPECT_LT(soon.since(), 2s);
}

TEST_F(Interrupts, AChildProcessIsNotLeftBehind) {
    StopSoon soon;
    EXPECT_THROW((void)run_process({"/bin/sleep", "60"}), Interrupted);
    EXPECT_LT(soon.since(), 2s);
}

TEST_F(Interrupts, WaitingForAMutexStopsWhereItMay) {
    Mutex mutex;
    mutex.lock();
    std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
    StopSoon soon;
    EXPECT_THROW(StoppableLock lock(mutex), Interrupted);
    EXPECT_LT(soon.since(), 2s);
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST_F(Interrupts, WhoWaitsForAMutexHoldsNoOneUpInTheFrontEnd) {
    Mutex mutex;
    mutex.lock();
    std::thread waiting([&] {
        front::lock.lock();
        front::held = true;
        std::lock_guard lock(mutex);  // its holder needs the front end's lock before it lets go
        EXPECT_TRUE(front::held);
        front::held = false;
        front::lock.unlock();
    });
    while (!front::released) std::this_thread::yield();
    ASSERT_TRUE(front::lock.try_lock_for(20s));
    front::lock.unlock();
    mutex.unlock();
    waiting.join();
}

TEST_F(Interrupts, AThreadThatTheFrontEndDoesNotTakeBackHoldsNoMutex) {
    static Mutex mutex;  // outlives the thread, which sleeps on
    mutex.lock();
    std::thread([] {
        front::lock.lock();
        front::held = true;
        std::lock_guard lock(mutex);
        ADD_FAILURE() << "it went on";
    }).detach();
    while (!front::released) std::this_thread::yield();
    front::closing = true;
    mutex.unlock();
    std::this_thread::sleep_for(100ms);
    const std::lock_guard free(mutex);
}

}  // namespace
}  // namespace strata
