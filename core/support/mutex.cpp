#include "strata/core/support/mutex.h"

#include <pthread.h>

#include "strata/core/support/error.h"
#include "strata/core/support/interrupt.h"

namespace strata {

uint32_t Mutex::process_number() {
    static std::atomic<uint32_t> number{0};
    static const int armed = pthread_atfork(nullptr, nullptr, [] { ++number; });
    (void)armed;
    return number.load(std::memory_order_relaxed);
}

void Mutex::wait(bool may_stop) {
    // A thread of this process may have locked it and not yet said so: not for two intervals.
    constexpr int kIntervalsOfDoubt = 2;
    if (process_.load(std::memory_order_relaxed) == kLost) refuse_after_fork();
    OutsideFrontEnd outside;
    for (int failed = 0; !mutex_.try_lock_for(kPollInterval); ++failed) {
        if (failed >= kIntervalsOfDoubt && process_.load(std::memory_order_relaxed) != process_number()) {
            process_.store(kLost, std::memory_order_relaxed);
            refuse_after_fork();
        }
        if (may_stop) poll_interrupt();
    }
    process_.store(process_number(), std::memory_order_relaxed);
    if (outside.entered_again()) return;
    unlock();
    sleep_forever();
}

void refuse_after_fork() {
    user_error(ErrorKind::Device,
               "this process was forked while another thread of its parent computed, and the locks of that thread are "
               "lost. Fork before or after computing, or start processes by the 'spawn' method of multiprocessing");
}

}  // namespace strata
