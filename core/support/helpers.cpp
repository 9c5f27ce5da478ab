#include "strata/core/support/helpers_p.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "strata/core/support/parallel.h"

namespace strata {

Helpers& Helpers::of_this_process() {
    static std::atomic<Helpers*> current{nullptr};  // not destroyed at the end, when its threads still sleep
    Helpers* here = current.load();
    if (here && here->process_ == Mutex::process_number()) return *here;
    auto* made = new Helpers(here);
    if (current.compare_exchange_strong(here, made)) return *made;
    delete made;
    return *here;
}

void Helpers::ask(SharedWork& work, size_t count) {
    const size_t most = std::max(core_count() - 1, count);
    std::lock_guard lock(mutex_);
    try {
        for (; threads_ < std::min(busy_ + open_.size() + count, most); ++threads_)
            std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {  // the threads there are do it
    }
    open_.insert(open_.end(), count, &work);
    asked_.notify_all();
}

size_t Helpers::excuse(SharedWork& work) {
    std::lock_guard lock(mutex_);
    return std::erase(open_, &work);
}

void Helpers::serve() {
    pthread_setname_np(pthread_self(), "strata-helper");  // by which who counts the program's threads leaves them out
    std::unique_lock lock(mutex_);
    for (;;) {
        asked_.wait(lock, [&] { return !open_.empty(); });
        SharedWork* const work = open_.back();
        open_.pop_back();
        ++busy_;
        lock.unlock();
        work->help();
        lock.lock();
        --busy_;
        lock.unlock();
        work->ended();
        lock.lock();
    }
}

}  // namespace strata
