#include "strata/core/support/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
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

}  // namespace
}  // namespace strata
