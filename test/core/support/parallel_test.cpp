#include "strata/core/support/parallel.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "strata/core/support/settings.h"

namespace strata {
namespace {

TEST(Parallel, EveryIndexIsVisitedOnce) {
    for (size_t count : {0, 1, 7, 1000}) {
        std::vector<std::atomic<int>> visits(count);
        parallel_for(count, [&](size_t i) { ++visits[i]; }, 4);
        for (size_t i = 0; i < count; ++i) EXPECT_EQ(visits[i], 1) << i << " of " << count;
    }
}

TEST(Parallel, WorkersSeeTheCallersSettings) {
    Settings next = settings();
    next.beam = 77;
    ScopedSettings scope(next);
    std::atomic<int> right{0};
    parallel_for(100, [&](size_t) { right += settings().beam == 77; }, 4);
    EXPECT_EQ(right, 100);
}

TEST(Parallel, AnExceptionReachesTheCaller) {
    auto body = [](size_t i) {
        if (i == 3) throw std::runtime_error("three");
    };
    EXPECT_THROW(parallel_for(10, body, 4), std::runtime_error);
    EXPECT_THROW(parallel_for(10, body, 1), std::runtime_error);
}

TEST(Parallel, ResultsAreUsedInOrderByTheCallerWhileOthersAreMade) {
    for (const size_t count : {0, 1, 7, 300}) {
        std::vector<std::atomic<int>> made(count);
        std::vector<size_t> used;
        const auto caller = std::this_thread::get_id();
        std::vector<size_t> last_first(count);
        std::iota(last_first.rbegin(), last_first.rend(), size_t{0});
        parallel_in_order(
            last_first, [&](size_t i) { made[i] = static_cast<int>(i) + 1; },
            [&](size_t i) {
                EXPECT_EQ(std::this_thread::get_id(), caller);
                EXPECT_EQ(made[i], static_cast<int>(i) + 1);
                used.push_back(i);
            });
        ASSERT_EQ(used.size(), count);
        for (size_t i = 0; i < count; ++i) EXPECT_EQ(used[i], i);
    }
}

TEST(Parallel, AnExceptionOfAResultOrItsUserReachesTheCaller) {
    const auto ends_with = [](size_t failing_body, size_t failing_use) {
        size_t used = 0;
        const auto fail = [](size_t i, size_t failing) {
            if (i == failing) throw std::runtime_error("fails");
        };
        std::vector<size_t> starts(100);
        std::iota(starts.begin(), starts.end(), size_t{0});
        EXPECT_THROW(parallel_in_order(
                         starts, [&](size_t i) { fail(i, failing_body); },
                         [&](size_t i) {
                             ++used;
                             fail(i, failing_use);
                         }),
                     std::runtime_error);
        return used;
    };
    EXPECT_LE(ends_with(50, 1000), 50u);
    EXPECT_EQ(ends_with(1000, 20), 21u);
}

/// The threads that came to a loop in which each waits for all others.
std::set<std::thread::id> threads_of_a_loop(int count) {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    std::atomic<int> there{0};
    parallel_for(
        static_cast<size_t>(count),
        [&](size_t) {
            for (++there; there < count;) std::this_thread::yield();
            std::lock_guard lock(mutex);
            threads.insert(std::this_thread::get_id());
        },
        count);
    return threads;
}

TEST(Parallel, ThreadsStayForTheNextLoop) {
    const auto threads = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                             std::filesystem::directory_iterator());
    };
    EXPECT_EQ(threads_of_a_loop(4).size(), 4u);
    const auto there = threads();
    for (int i = 0; i < 200; ++i) EXPECT_EQ(threads_of_a_loop(4).size(), 4u);
    EXPECT_EQ(threads(), there);
}

TEST(Parallel, LoopsInLoopsMakeNoMoreThreadsThanThereAreCores) {
    const auto threads = [] {
        return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                                 std::filesystem::directory_iterator()));
    };
    const size_t before = threads();
    std::atomic<size_t> most{0};
    parallel_for(2 * core_count(), [&](size_t) {
        parallel_for(2 * core_count(), [&](size_t) {
            parallel_for(core_count(), [&](size_t) {});
            if (const size_t now = threads(); now > most) most = now;
        });
    });
    EXPECT_LE(most, std::max(before, core_count()));
}

TEST(Parallel, TwoAreDoneSideBySideOneOfThemByTheCaller) {
    for (int i = 0; i < 100; ++i) {
        std::atomic<bool> mine{false}, other{false};
        std::thread::id by;
        side_by_side(
            [&] {
                by = std::this_thread::get_id();
                while (!other) std::this_thread::yield();  // a helper comes to it
                mine = true;
            },
            [&] { other = true; });
        EXPECT_TRUE(mine);
        EXPECT_EQ(by, std::this_thread::get_id());
    }
}

TEST(Parallel, AnExceptionOfEitherOfTwoReachesTheCaller) {
    const auto fails = [] { throw std::runtime_error("either"); };
    EXPECT_THROW(side_by_side(fails, [] {}), std::runtime_error);
    EXPECT_THROW(side_by_side([] {}, fails), std::runtime_error);
    EXPECT_THROW(side_by_side(fails, fails), std::runtime_error);
}

TEST(Parallel, LoopsInLoopsAndOfManyThreadsEnd) {
    std::atomic<int> done{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller)
        callers.emplace_back([&] {
            for (int i = 0; i < 50; ++i)
                parallel_for(3, [&](size_t) { parallel_for(5, [&](size_t) { ++done; }, 3); }, 3);
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(done, 4 * 50 * 3 * 5);
}

TEST(Parallel, AChildHasThreadsOfItsOwn) {
    threads_of_a_loop(4);
    const pid_t child = fork();
    if (child == 0) _exit(threads_of_a_loop(4).size() == 4 ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(threads_of_a_loop(4).size(), 4u);
}

TEST(Parallel, GoesOnWithTheThreadsThatTheSystemGives) {
#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
    GTEST_SKIP() << "the sanitizer needs the address space";
#endif
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit tight{pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + (size_t{20} << 20), before.rlim_max};
    setrlimit(RLIMIT_AS, &tight);  // room for two stacks of 8 MiB
    std::atomic<int> done{0};
    std::set<std::thread::id> threads;
    std::mutex mutex;
    parallel_for(
        256,
        [&](size_t) {
            ++done;
            std::lock_guard lock(mutex);
            threads.insert(std::this_thread::get_id());
        },
        64);
    setrlimit(RLIMIT_AS, &before);
    EXPECT_EQ(done, 256);
    EXPECT_LT(threads.size(), 64u);
}

/// Touches `bytes` of stack, a page a call; how many.
[[gnu::noinline]] size_t deep(size_t bytes) {
    std::array<volatile char, 4096> frame{};
    frame[0] = 1;
    return bytes < frame.size() ? 0 : deep(bytes - frame.size()) + static_cast<size_t>(frame[0]);
}

TEST(Parallel, ASmallStackIsChangedForALargeOne) {
    Settings next = settings();
    next.beam = 78;
    const auto body = [](void* settings_of_thread) -> void* {
        ScopedSettings scope(*static_cast<Settings*>(settings_of_thread));
        const auto here = std::this_thread::get_id();
        EXPECT_EQ(with_stack([] { return deep(size_t{6} << 20); }), size_t{6} << 8);
        EXPECT_EQ(with_stack([] { return settings().beam; }), 78);
        EXPECT_NE(with_stack([] { return std::this_thread::get_id(); }), here);
        EXPECT_THROW(with_stack([] { throw std::runtime_error("inside"); }), std::runtime_error);
        return nullptr;
    };
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, &attributes, body, &next), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    const auto here = std::this_thread::get_id();
    EXPECT_EQ(with_stack([] { return std::this_thread::get_id(); }), here);
}

}  // namespace
}  // namespace strata
