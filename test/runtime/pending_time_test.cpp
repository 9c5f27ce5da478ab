// Times of launches that nobody waits for, on a device that counts what it is asked.
#include "helpers.h"
#include "strata/runtime/replay.h"

namespace strata::runtime {
namespace {

using namespace test;

constexpr double kLaunchMs = 0.5;

struct Asked {
    size_t launches = 0, graphs = 0, waits = 0, events = 0, event_waits = 0;
} asked;

/// Its launches do nothing, and take half a millisecond.
const providers::HipApi& counting_device() {
    static const providers::HipApi api = [] {
        providers::HipApi a = providers::emulated();
        a.provider = "counted";
        a.modelled_time = false;
        a.module_launch_kernel = [](providers::FunctionHandle*, std::array<uint32_t, 3>, std::array<uint32_t, 3>,
                                    uint32_t, providers::StreamHandle*, std::span<const uint8_t>,
                                    const providers::LaunchRequest&, providers::LaunchReport&) {
            ++asked.launches;
            return Result<void>();
        };
        a.graph_launch = [](providers::GraphHandle*, providers::StreamHandle*) {
            ++asked.graphs;
            return Result<void>();
        };
        a.stream_synchronize = [](providers::StreamHandle*) {
            ++asked.waits;
            return Result<void>();
        };
        a.event_create = [](int) {
            ++asked.events;
            return Result<providers::EventHandle*>(reinterpret_cast<providers::EventHandle*>(asked.events));
        };
        a.event_destroy = [](providers::EventHandle*) { return Result<void>(); };
        a.event_record = [](providers::EventHandle*, providers::StreamHandle*) { return Result<void>(); };
        a.event_synchronize = [](providers::EventHandle*) {
            ++asked.event_waits;
            return Result<void>();
        };
        a.event_elapsed_ms = [](providers::EventHandle*, providers::EventHandle*) { return Result<double>(kLaunchMs); };
        return a;
    }();
    return api;
}

class PendingTimes : public Runtime {
  protected:
    static void SetUpTestSuite() { add_provider({"counted", counting_device}); }
    PendingTimes() {
        Settings s = settings();
        s.device = "counted";
        scope_.emplace(s);
        x_ = on_device(std::vector<float>(8));
        asked = {};
    }
    /// A list of as many kernels.
    Replay replay_of(size_t kernels) const {
        GraphScope scope;
        forget_results();
        UOp step = x_.get();
        for (size_t i = 0; i < kernels; ++i)
            step = make(Op::contiguous, step.dtype(), {step * number(static_cast<double>(i + 2))});
        Recorder recorder;
        Root result;
        {
            const Recorder::Scope recording(recorder);
            result = realized(step);
        }
        const std::vector<UOp> inputs{x_.get()}, results{buffer_under(result.get())};
        return {std::move(recorder), inputs, results};
    }
    void run(Replay& replay) const {
        const std::vector<Buffer*> given{find_buffer(x_.get()).get()};
        GraphScope scope;
        const Root made(replay.new_memory(0));
        const std::vector<Buffer*> results{find_buffer(made.get()).get()};
        replay.run(given, results, {});
    }

  private:
    std::optional<ScopedSettings> scope_;
    Root x_;
};

TEST_F(PendingTimes, WhoAsksForTimesLeavesACapturedFunctionOneLaunch) {
    Replay replay = replay_of(3);
    reset_stats();
    asked = {};
    for (int call = 0; call < 4; ++call) run(replay);
    EXPECT_EQ(asked.graphs, 4u);
    EXPECT_EQ(asked.launches, 0u);
    EXPECT_EQ(asked.waits + asked.event_waits, 0u) << "nobody waits before times are read";
    const Stats got = stats();
    EXPECT_EQ(got.kernels, 12u);
    EXPECT_EQ(got.time_ms, 4 * kLaunchMs);
    EXPECT_FALSE(got.modelled);
    EXPECT_EQ(asked.event_waits, 4u);
    EXPECT_EQ(stats().time_ms, 4 * kLaunchMs) << "read once";
    EXPECT_EQ(asked.event_waits, 4u);
}

TEST_F(PendingTimes, KernelsOfTensorsAreTimedOneByOneAndNotWaitedFor) {
    reset_stats();
    replay_of(3);
    EXPECT_EQ(asked.launches, 3u);
    EXPECT_EQ(asked.waits + asked.event_waits, 0u);
    const Stats got = stats();
    ASSERT_EQ(got.launches.size(), 3u);
    for (const Stats::Launch& launch : got.launches) EXPECT_EQ(launch.time_ms, kLaunchMs) << launch.name;
    EXPECT_EQ(got.time_ms, 3 * kLaunchMs);
}

TEST_F(PendingTimes, ManyLaunchesKeepFewEventsAndLoseNoTime) {
    Replay replay = replay_of(1);
    reset_stats();
    asked = {};
    constexpr size_t kLaunches = 10'000;
    for (size_t call = 0; call < kLaunches; ++call) run(replay);
    const Stats got = stats();
    EXPECT_EQ(got.kernels, kLaunches);
    EXPECT_EQ(got.time_ms, static_cast<double>(kLaunches) * kLaunchMs);
    for (const Stats::Launch& launch : got.launches) ASSERT_EQ(launch.time_ms, kLaunchMs);
    EXPECT_LE(asked.events, 2 * 4096u);
}

TEST_F(PendingTimes, LaunchesBeforeAResetAreNotCountedAfterIt) {
    Replay replay = replay_of(2);
    run(replay);
    reset_stats();
    EXPECT_EQ(stats().time_ms, 0);
    run(replay);
    EXPECT_EQ(stats().time_ms, kLaunchMs);
}

TEST_F(PendingTimes, WhoIsToldOfEachLaunchWaitsForIt) {
    Replay replay = replay_of(3);
    Settings told = settings();
    told.debug = 1;
    const ScopedSettings scope(told);
    asked = {};
    run(replay);
    EXPECT_EQ(asked.graphs, 0u);
    EXPECT_EQ(asked.launches, 3u);
    EXPECT_EQ(asked.waits, 3u);
}

}  // namespace
}  // namespace strata::runtime
