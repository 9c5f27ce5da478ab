#include "strata/core/support/parallel.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "strata/core/support/settings.h"

namespace strata::detail {

void parallel_for(size_t count, int threads, void (*body)(void*, size_t), void* context) {
    size_t workers = threads > 0 ? static_cast<size_t>(threads) : std::max(1u, std::thread::hardware_concurrency());
    workers = std::min(workers, count);
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    auto work = [&] {
        for (size_t i; (i = next.fetch_add(1)) < count;) {
            try {
                body(context, i);
            } catch (...) {
                std::lock_guard lock(failure_mutex);
                if (!failure) failure = std::current_exception();
                next = count;
            }
        }
    };
    std::vector<std::thread> pool;
    const Settings inherited = settings();
    for (size_t i = 1; i < workers; ++i)
        pool.emplace_back([&] {
            ScopedSettings scope(inherited);
            work();
        });
    work();
    for (std::thread& thread : pool) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace strata::detail
