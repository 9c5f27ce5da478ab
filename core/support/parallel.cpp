#include "strata/core/support/parallel.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "strata/core/support/error.h"
#include "strata/core/support/helpers_p.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/settings.h"

namespace strata {

size_t core_count() {
    static const size_t cores = std::max(1u, std::thread::hardware_concurrency());  // asks the system: 2 us and more
    return cores;
}

namespace detail {
namespace {

constexpr size_t kEnoughStack = size_t{4} << 20, kNewStack = size_t{32} << 20;

/// The indices of one parallel_for and who works on them.
class Job final : SharedWork {
  public:
    Job(size_t count, Step body, void* context) : count_(count), body_(body), context_(context) {}
    /// A job whose results the caller uses in order.
    Job(std::span<const size_t> starts, Step body, void* context, Step use, void* user)
        : count_(starts.size()),
          body_(body),
          context_(context),
          starts_(starts),
          use_(use),
          user_(user),
          done_(starts.size()) {}

    /// `first`: what the caller does before it works too.
    void run(size_t workers, Step first = nullptr, void* own = nullptr) {
        Helpers& pool = Helpers::of_this_process();
        if (workers > 1) pool.ask(*this, helpers_ = workers - 1);
        if (first) work_first(first, own);
        if (use_)
            work_and_use();
        else
            work();
        if (helpers_ > 0) wait(pool.excuse(*this));
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    void help() override {
        ScopedSettings scope(inherited_);
        StopFlag flag(stop_);
        work();
    }
    void ended() override {
        std::lock_guard lock(mutex_);
        ++ended_;
        changed_.notify_one();
    }

    void work() {
        try {
            while (do_next()) continue;
        } catch (...) {
            fail();
        }
    }

    void work_first(Step first, void* own) {
        try {
            first(own, 0);
        } catch (...) {
            fail();
        }
    }

    void work_and_use() {
        try {
            for (size_t used = 0; used < count_;) {
                if (is_done(used))
                    use_(user_, used++);
                else if (!do_next() && !wait_for(used))
                    break;
            }
        } catch (...) {
            fail();
        }
    }

    /// False: none is left.
    bool do_next() {
        size_t i = next_.fetch_add(1);
        if (i >= count_) return false;
        poll_interrupt();
        if (use_) i = starts_[i];
        body_(context_, i);
        if (!use_) return true;
        std::lock_guard lock(mutex_);
        done_[i] = true;
        changed_.notify_one();
        return true;
    }

    bool is_done(size_t i) {
        std::lock_guard lock(mutex_);
        return done_[i];
    }

    /// False: who worked on it failed.
    bool wait_for(size_t i) {
        std::unique_lock lock(mutex_);
        auto interruption =
            wait_polling(changed_, lock, [&] { return done_[i] || ended_ == helpers_; }, [&] { end(); });
        if (interruption) std::rethrow_exception(interruption);
        return done_[i];
    }

    void wait(size_t excused) {
        std::unique_lock lock(mutex_);
        ended_ += excused;
        auto interruption = wait_polling(changed_, lock, [&] { return ended_ == helpers_; }, [&] { end(); });
        if (interruption) failure_ = interruption;
    }

    void fail() {
        std::lock_guard lock(mutex_);
        // An interruption that was reported to the front end must reach it; a helper's follows from another failure.
        if (!failure_ || std::this_thread::get_id() == caller_) failure_ = std::current_exception();
        end();
    }

    void end() {
        next_ = count_;
        stop_ = true;
    }

    const Settings inherited_ = settings();
    const std::thread::id caller_ = std::this_thread::get_id();
    const size_t count_;
    const Step body_;
    void* const context_;
    const std::span<const size_t> starts_;
    const Step use_ = nullptr;
    void* const user_ = nullptr;
    std::vector<bool> done_;  ///< of those that are used
    std::atomic<size_t> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    size_t helpers_ = 0, ended_ = 0;
    std::exception_ptr failure_;
};

/// Bytes of this thread's stack that are left.
size_t stack_left() {
    thread_local const char* const low = [] {
        pthread_attr_t attributes;
        void* start = nullptr;
        size_t size = 0;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return static_cast<const char*>(nullptr);
        pthread_attr_getstack(&attributes, &start, &size);
        pthread_attr_destroy(&attributes);
        return static_cast<const char*>(start);
    }();
    return static_cast<size_t>(static_cast<const char*>(__builtin_frame_address(0)) - low);
}

struct OnNewStack {
    void (*body)(void*);
    void* context;
    Settings inherited;
    std::exception_ptr failure;

    static void* run(void* self) {
        auto& job = *static_cast<OnNewStack*>(self);
        ScopedSettings scope(job.inherited);
        try {
            job.body(job.context);
        } catch (...) {
            job.failure = std::current_exception();
        }
        return nullptr;
    }
};

}  // namespace

void parallel_for(size_t count, int threads, Step body, void* context) {
    const size_t workers = threads > 0 ? static_cast<size_t>(threads) : core_count();
    Job(count, body, context).run(std::min(workers, count));
}

void side_by_side(Step mine, void* own, Step other, void* context) { Job(1, other, context).run(2, mine, own); }

void parallel_in_order(std::span<const size_t> starts, Step body, void* context, Step use, void* user) {
    Job(starts, body, context, use, user).run(std::min(core_count(), starts.size()));
}

void with_stack(void (*body)(void*), void* context) {
    if (stack_left() >= kEnoughStack) return body(context);
    OnNewStack job{body, context, settings(), {}};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kNewStack);
    pthread_t thread{};
    const int refused = pthread_create(&thread, &attributes, &OnNewStack::run, &job);
    pthread_attr_destroy(&attributes);
    if (refused)
        user_error(ErrorKind::Device,
                   "the stack of this thread is too small to compile on, and the system gives no further thread. Start "
                   "threads with 8 MiB of stack (threading.stack_size, ulimit -s)");
    pthread_join(thread, nullptr);
    if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace detail
}  // namespace strata
