// Shadow against all accesses that an element had.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "strata/codegen/interpret/shadow_p.h"

namespace strata::codegen {
namespace {

struct Past {
    uint32_t wave, epoch;
    bool writes;
};

/// Another wave made one of two accesses without a barrier between them, and one of them writes.
bool is_race(const std::vector<Past>& past, const Past& now) {
    return std::ranges::any_of(past, [&](const Past& one) {
        return one.epoch == now.epoch && one.wave != now.wave && (one.writes || now.writes);
    });
}

TEST(Shadow, RacesAreAccessesOfTwoWavesBetweenTwoBarriers) {
    std::mt19937 random(1);
    int races = 0, clean = 0;
    for (int history = 0; history < 20000; ++history) {
        Shadow shadow(1, true);
        std::vector<Past> past;
        uint32_t epoch = 0;
        for (int step = 0; step < 12; ++step) {
            if (random() % 3 == 0) ++epoch;
            const Past now{static_cast<uint32_t>(random() % 3), epoch, random() % 4 == 0};
            const Accessor by{.block = 0, .wave = now.wave, .epoch = now.epoch};
            const bool found = (now.writes ? shadow.write(0, by, false) : shadow.read(0, by)).has_value();
            ASSERT_EQ(found, is_race(past, now)) << "history " << history << ", step " << step;
            if (found) {
                ++races;
                break;
            }
            past.push_back(now);
            if (step == 11) ++clean;
        }
    }
    EXPECT_GT(races, 1000);
    EXPECT_GT(clean, 1000);
}

}  // namespace
}  // namespace strata::codegen
