#include "strata/core/support/interrupt.h"

#include <unistd.h>

#include <utility>

namespace strata {
namespace {

std::atomic<const FrontEnd*> installed{nullptr};
thread_local const std::atomic<bool>* stop_flag = nullptr;
thread_local std::chrono::steady_clock::time_point next_poll{};

}  // namespace

void set_front_end(const FrontEnd* front_end) { installed.store(front_end, std::memory_order_release); }
const FrontEnd* front_end() { return installed.load(std::memory_order_acquire); }

void poll_interrupt() {
    if (stop_flag && stop_flag->load(std::memory_order_relaxed)) throw Interrupted();
    const FrontEnd* asked = front_end();
    if (!asked) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_poll) return;
    next_poll = now + kPollInterval;
    if (asked->wants_stop()) throw Interrupted();
}

StopFlag::StopFlag(const std::atomic<bool>& stop) : previous_(std::exchange(stop_flag, &stop)) {}
StopFlag::~StopFlag() { stop_flag = previous_; }

OutsideFrontEnd::OutsideFrontEnd() : front_end_(front_end()), token_(front_end_ ? front_end_->let_go() : nullptr) {}
OutsideFrontEnd::~OutsideFrontEnd() {
    if (!entered_again()) sleep_forever();
}
bool OutsideFrontEnd::entered_again() {
    void* token = std::exchange(token_, nullptr);
    return !token || front_end_->take_back(token);
}

void sleep_forever() {
    for (;;) pause();
}

}  // namespace strata
