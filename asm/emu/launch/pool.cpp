#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "strata/asm/emu/launch/worker.h"

namespace strata::emu {

/// Helper threads sleep between launches; a launch hands each of them one Worker.
struct Pool::State {
    std::mutex mutex;
    std::condition_variable work, done;
    std::vector<std::thread> threads;
    std::vector<Worker*> waiting;
    size_t busy = 0;
    bool closing = false;

    void serve() {
        std::unique_lock lock(mutex);
        for (;;) {
            work.wait(lock, [&] { return closing || !waiting.empty(); });
            if (waiting.empty()) return;
            Worker* worker = waiting.back();
            waiting.pop_back();
            ++busy;
            lock.unlock();
            worker->run();
            lock.lock();
            if (--busy == 0) done.notify_all();
        }
    }
};

Pool::Pool() : state_(std::make_unique<State>()) {}

Pool::~Pool() {
    {
        std::lock_guard lock(state_->mutex);
        state_->closing = true;
    }
    state_->work.notify_all();
    for (std::thread& thread : state_->threads) thread.join();
}

Result<Outcome> Pool::run(Plan& plan, int threads) {
    std::atomic<uint64_t> next{0};
    size_t count =
        static_cast<size_t>(std::clamp<uint64_t>(plan.groups(), 1, static_cast<uint64_t>(std::max(threads, 1))));
    plan.launch.alone = count == 1;
    std::vector<std::unique_ptr<Worker>> workers;
    for (size_t i = 0; i < count; ++i) workers.push_back(std::make_unique<Worker>(plan, next));
    {
        std::lock_guard lock(state_->mutex);
        while (state_->threads.size() + 1 < count)
            state_->threads.emplace_back([state = state_.get()] { state->serve(); });
        for (size_t i = 1; i < count; ++i) state_->waiting.push_back(workers[i].get());
    }
    if (count > 1) state_->work.notify_all();
    workers[0]->run();
    if (count > 1) {
        std::unique_lock lock(state_->mutex);
        state_->waiting.clear();  // what no helper has taken up yet has nothing left to do
        state_->done.wait(lock, [&] { return state_->busy == 0; });
    }
    Outcome total;
    const Worker* failed = nullptr;
    for (const auto& worker : workers) {
        total.instructions += worker->outcome.instructions;
        total.waves += worker->outcome.waves;
        if (worker->error && (!failed || worker->error_group < failed->error_group)) failed = worker.get();
    }
    if (failed) return *failed->error;
    return total;
}

}  // namespace strata::emu
