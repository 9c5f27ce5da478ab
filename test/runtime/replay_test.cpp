#include "strata/runtime/replay.h"

#include "helpers.h"

namespace strata::runtime {
namespace {

using namespace test;
using Floats = std::vector<float>;

struct Recorded {
    Replay replay;
    std::vector<Root> results;
};

/// Replays of what realizing the roots does; their memory is what is wanted.
Recorded recorded_over(const std::vector<UOp>& inputs, const std::vector<UOp>& roots) {
    forget_results();
    Recorder recorder;
    std::vector<Root> results;
    {
        const Recorder::Scope scope(recorder);
        results = realize(roots);
    }
    std::vector<UOp> buffers;
    for (const Root& r : results) buffers.push_back(buffer_under(r.get()));
    return {Replay(std::move(recorder), inputs, buffers), std::move(results)};
}

/// Results of float32 over other inputs.
std::vector<Floats> run(Recorded& of, const std::vector<Root>& inputs) {
    GraphScope scope;
    std::vector<Root> nodes;
    std::vector<Buffer*> given, made;
    for (const Root& r : inputs) given.push_back(find_buffer(r.get()).get());
    for (size_t i = 0; i < of.results.size(); ++i) {
        const Replay::Result result = of.replay.result(i);
        EXPECT_EQ(result.kind, Replay::Result::Kind::made);
        nodes.emplace_back(of.replay.new_memory(i));
        made.push_back(find_buffer(nodes.back().get()).get());
    }
    of.replay.run(given, made, of.replay.feed());
    std::vector<Floats> out;
    for (const Root& node : nodes) out.push_back(values(node));
    return out;
}

class ReplayTest : public Runtime {};

TEST_F(ReplayTest, LaunchesTheSameKernelsOverOtherMemory) {
    const Root x = on_device(counting(8)), y = on_device(counting(8, 100));
    GraphScope scope;
    Recorded r = recorded_over({x.get()}, {x.get() * number(3) + number(1)});
    EXPECT_EQ(r.replay.actions(), 1u);
    Floats wanted;
    for (float v : counting(8, 100)) wanted.push_back(3 * v + 1);
    reset_stats();
    EXPECT_EQ(run(r, {y})[0], wanted);
    EXPECT_EQ(stats().kernels, 1u);
    EXPECT_EQ(stats().schedule_ms, 0) << "nothing is scheduled";
    EXPECT_EQ(values(r.results[0])[1], 4) << "memory of the recording is left alone";
}

TEST_F(ReplayTest, KeepsWhatItComputesOnTheWayInLittleMemory) {
    const Root x = on_device(counting(256));
    GraphScope scope;
    UOp step = x.get();
    for (int i = 0; i < 6; ++i) step = make(Op::contiguous, step.dtype(), {flip(step, {0}) + number(1)});
    Recorded r = recorded_over({x.get()}, {step});
    EXPECT_EQ(r.replay.actions(), 6u);
    EXPECT_GE(r.replay.own_bytes(), 256 * sizeof(float));
    EXPECT_LE(r.replay.own_bytes(), 2 * 256 * sizeof(float)) << "five values, of which two are needed at a time";
    EXPECT_EQ(run(r, {on_device(counting(256, 50))})[0], counting(256, 56));
}

TEST_F(ReplayTest, KnowsInputsAndConstantsAmongItsResults) {
    const Root x = on_device(counting(4));
    Recorder recorder;
    Root held;
    {
        const Recorder::Scope scope(recorder);
        held = on_device(counting(4, 7));
        recorder.uploaded(*find_buffer(held.get()), "seven", 5, {});
    }
    const std::vector<UOp> inputs{x.get()}, results{x.get(), held.get()};
    const Replay replay(std::move(recorder), inputs, results);
    EXPECT_EQ(replay.result(0).kind, Replay::Result::Kind::input);
    EXPECT_EQ(replay.result(1).kind, Replay::Result::Kind::constant);
    EXPECT_EQ(values(replay.result(1).constant), counting(4, 7));
}

TEST_F(ReplayTest, SeesWhichInputsShareMemory) {
    const Root x = on_device(counting(4)), y = on_device(counting(4));
    const std::vector<UOp> inputs{x.get(), y.get(), x.get()};
    const Replay replay(Recorder(), inputs, {});
    EXPECT_EQ(replay.first_with_memory_of(1), 1u);
    EXPECT_EQ(replay.first_with_memory_of(2), 0u);
}

TEST_F(ReplayTest, RefusesMemoryThatIsNeitherMadeNorGiven) {
    const Root x = on_device(counting(4)), other = on_device(counting(4));
    GraphScope scope;
    expect_error(ErrorKind::Usage, "4 elements of float32", [&] { recorded_over({x.get()}, {x.get() + other.get()}); });
}

TEST_F(ReplayTest, TellsWhatTwoOfThemDoOtherwise) {
    const Root x = on_device(counting(4));
    GraphScope scope;
    const Recorded once = recorded_over({x.get()}, {x.get() * number(3)}),
                   again = recorded_over({x.get()}, {x.get() * number(3)});
    EXPECT_EQ(once.replay.difference(again.replay), std::nullopt);
    const Recorded reduced = recorded_over({x.get()}, {sum(x.get(), {0})});
    EXPECT_NE(once.replay.difference(reduced.replay), std::nullopt);
    const Recorded nothing = recorded_over({x.get()}, {});
    EXPECT_EQ(*once.replay.difference(nothing.replay), "1 launches, then 0");
}

TEST_F(ReplayTest, IsOfTheSettingsInForce) {
    const Root x = on_device(counting(4));
    GraphScope scope;
    const Recorded r = recorded_over({x.get()}, {x.get() * number(3)});
    EXPECT_TRUE(r.replay.has_settings_in_force());
    Settings other = settings();
    other.beam += 1;
    const ScopedSettings changed(other);
    EXPECT_FALSE(r.replay.has_settings_in_force());
}

TEST_F(ReplayTest, WhatWouldNotBeDoneAgainIsRefusedWhileAThreadRecords) {
    refuse_in_recording("a look at values");
    Recorder recorder;
    const Recorder::Scope scope(recorder);
    EXPECT_EQ(Recorder::active(), &recorder);
    expect_error(ErrorKind::Usage, "[jit] a look at values", [] { refuse_in_recording("a look at values"); });
}

}  // namespace
}  // namespace strata::runtime
