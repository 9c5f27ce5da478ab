#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "strata/asm/emu/launch/worker.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/mutex.h"

namespace strata::emu {

/// Helper threads sleep between launches; a launch hands each of them one Worker.
struct Pool::State {
    std::mutex mutex;
    std::condition_variable work, done;
    std::vector<std::thread> threads;
    std::vector<Worker*> waiting;
    size_t busy = 0;
    bool closing = false;
    const uint32_t process = Mutex::process_number();

    void serve() {
        pthread_setname_np(pthread_self(), "strata-emu");  // by which who counts the program's threads leaves them out
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

    /// Gives the workers to threads, as many as the system lets us have.
    void start(std::span<const std::unique_ptr<Worker>> workers) {
        std::lock_guard lock(mutex);
        try {
            while (threads.size() < workers.size()) threads.emplace_back([this] { serve(); });
        } catch (const std::system_error&) {  // the threads there are take all workgroups
        }
        for (const auto& worker : workers) waiting.push_back(worker.get());
        work.notify_all();
    }

    /// Work that no helper has taken up yet is dropped.
    std::exception_ptr finish(std::atomic<bool>& stop) {
        std::unique_lock lock(mutex);
        waiting.clear();
        return wait_polling(done, lock, [&] { return busy == 0; }, [&] { stop = true; });
    }
};

Pool::Pool() : state_(std::make_unique<State>()) {}

Pool::~Pool() {
    State& state = of_this_process();
    {
        std::lock_guard lock(state.mutex);
        state.closing = true;
    }
    state.work.notify_all();
    for (std::thread& thread : state.threads) thread.join();
}

/// The threads of a parent are not in its child, where what they left is not touched.
Pool::State& Pool::of_this_process() {
    if (state_->process != Mutex::process_number()) {
        (void)state_.release();
        state_ = std::make_unique<State>();
    }
    return *state_;
}

Result<Outcome> Pool::run(Plan& plan, int threads) {
    const uint64_t all = plan.groups_to_run();
    plan.end = all;
    if (!plan.last_waits || all < 2) return run_from(plan, 0, threads);
    plan.end = all - 1;
    STRATA_TRY(Outcome total, run_from(plan, 0, threads));
    plan.end = all;
    STRATA_TRY(const Outcome last, run_from(plan, all - 1, 1));
    total.instructions += last.instructions;
    total.waves += last.waves;
    return total;
}

Result<Outcome> Pool::run_from(Plan& plan, uint64_t first, int threads) {
    std::atomic<uint64_t> next{first};
    size_t count =
        static_cast<size_t>(std::clamp<uint64_t>(plan.end - first, 1, static_cast<uint64_t>(std::max(threads, 1))));
    plan.launch.alone = count == 1;
    std::vector<std::unique_ptr<Worker>> workers;
    const uint64_t share = std::max<uint64_t>((plan.end - first + count - 1) / count, 1);
    for (size_t i = 0; i < count; ++i) workers.push_back(std::make_unique<Worker>(plan, next, share, i == 0));
    State& state = of_this_process();
    if (count > 1) state.start(std::span(workers).subspan(1));
    workers[0]->run();
    std::exception_ptr interruption = workers[0]->thrown;
    if (count > 1)
        if (auto later = state.finish(plan.launch.stop)) interruption = later;
    Outcome total;
    const Worker* failed = nullptr;
    for (const auto& worker : workers) {
        total.instructions += worker->outcome.instructions;
        total.waves += worker->outcome.waves;
        if (worker->thrown && !interruption) interruption = worker->thrown;
        if (worker->error && (!failed || worker->error_group < failed->error_group)) failed = worker.get();
    }
    if (interruption) std::rethrow_exception(interruption);
    if (failed) {
        plan.over_budget = failed->over_budget;
        return *failed->error;
    }
    return total;
}

}  // namespace strata::emu
