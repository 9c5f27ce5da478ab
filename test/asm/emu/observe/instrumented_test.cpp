#include "strata/asm/emu/observe/instrumented.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "strata/asm/emu/observe/counter.h"
#include "strata/asm/llvm/assemble.h"

namespace strata::emu {
namespace {

/// Writes down what it sees of a wave, up to a limit.
struct Recorder final : Observer {
    explicit Recorder(size_t limit_) : limit(limit_) {}
    Wants before(Wave&, const Site& site) override {
        if (seen.size() == limit) return Wants::nothing;
        seen.push_back(site.op().index);
        return then;
    }
    bool before_run(Wave&, const Site& site) override {
        runs.push_back(site.op().index);
        return passes;
    }
    size_t limit;
    Wants then = Wants::every;
    bool passes = true;          ///< whole runs
    std::vector<uint32_t> seen;  ///< ordinals of instructions
    std::vector<uint32_t> runs;  ///< of those that start one
};

/// The loop's body is a straight run; what comes before and after it is checked by itself.
struct RunsOfLoop final : Runs {
    std::span<const InRun> runs_of(const Chunk&) override { return places; }
    std::vector<InRun> places = {InRun::no, InRun::start, InRun::inside, InRun::inside, InRun::no};
};

/// The head of the loop is watched.
struct WatchedHead final : Watch {
    std::span<const uint8_t> watched(const Chunk&) override { return places; }
    std::vector<uint8_t> places = {0, 1, 0, 0, 0};
};

/// One wave of code that counts s0 down from 3, observed or not.
class CountDown {
  public:
    CountDown()
        : words_(isa::assemble_instructions("s_mov_b32 s0, 3\n"
                                            "again:\n"
                                            "s_sub_i32 s0, s0, 1\n"
                                            "s_cmp_lg_i32 s0, 0\n"
                                            "s_cbranch_scc1 again\n"
                                            "s_endpgm\n",
                                            isa::Arch::gfx1100)
                     .value()),
          program(isa::Arch::gfx1100, 32, 1, 0,
                  std::span(reinterpret_cast<const uint8_t*>(words_.data()), words_.size() * 4), 0x10000),
          instrumented(program),
          by_runs(program, &runs_),
          by_watch(program, nullptr, &watch_),
          memory_(std::aligned_alloc(64, sizeof(Wave) + 32 * 4), &std::free) {}

    Wave& run(std::vector<Observer*> observers) { return run(std::move(observers), instrumented); }
    /// `first`: the instruction to start at.
    Wave& run(std::vector<Observer*> observers, InstrumentedCode& copy, size_t first = 0) {
        const Op* const entry = program.entry(0).value() + first;
        launch_.program = &program;
        group_.launch = &launch_;
        group_.waves = 1;
        group_.observers = observers;
        group_.code = observers.empty() ? static_cast<Code*>(&program) : &copy;
        Wave& wave = *new (memory_.get()) Wave();
        wave.group = &group_;
        wave.budget = 1000;
        wave.fault = &fault_;
        wave.pc = wave.run_start = observers.empty() ? entry : copy.copy_of(entry);
        for (const Op* op = wave.pc; op;) op = op->run(&wave, op);
        EXPECT_EQ(wave.stop, Stop::end) << fault_;
        return wave;
    }

  private:
    std::vector<uint32_t> words_;
    RunsOfLoop runs_;
    WatchedHead watch_;

  public:
    Program program;
    InstrumentedCode instrumented, by_runs, by_watch;

  private:
    std::unique_ptr<void, decltype(&std::free)> memory_;
    Launch launch_;
    Workgroup group_;
    std::string fault_;
};

const std::vector<uint32_t> kPath = {0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4};

}  // namespace

TEST(Instrumented, ObserversSeeEveryInstructionSideBySide) {
    CountDown loop;
    const uint64_t plain = loop.run({}).executed;
    Recorder first(100), second(100);
    const Wave& wave = loop.run({&first, &second});
    EXPECT_EQ(first.seen, kPath);
    EXPECT_EQ(second.seen, kPath);
    EXPECT_EQ(wave.executed, plain);
    EXPECT_EQ(wave.s[0], 0u);
}

TEST(Instrumented, OneObserverThatHasSeenEnoughLeavesTheOthersAlone) {
    CountDown loop;
    Recorder brief(2), other(100);
    Counter counter;
    loop.run({&brief, &counter, &other});
    EXPECT_EQ(brief.seen, (std::vector<uint32_t>{0, 1}));
    EXPECT_EQ(other.seen, kPath);
    EXPECT_EQ(counter.counts(*loop.program.chunks().at(0)), (std::vector<uint64_t>{1, 3, 3, 3, 1}));
}

TEST(Instrumented, AWaveThatAllHaveSeenEnoughOfGoesOnInTheProgramItself) {
    CountDown loop;
    Recorder brief(5), briefer(1);
    const Wave& wave = loop.run({&briefer, &brief});
    EXPECT_EQ(brief.seen.size(), 5u);
    EXPECT_NE(loop.program.chunk(wave.last), nullptr);
    Recorder whole(100);
    const Wave& observed = loop.run({&whole});
    EXPECT_EQ(loop.program.chunk(observed.last), nullptr);
    EXPECT_EQ(loop.program.chunk(loop.instrumented.plain(observed.last)), loop.program.chunks().at(0));
}

TEST(Instrumented, AnObserverOfWhatIsWatchedIsToldOfNothingElseUnlessOthersAre) {
    CountDown loop;
    const uint64_t plain = loop.run({}).executed;
    Recorder sparing(100), other(100);
    sparing.then = Wants::watched;
    EXPECT_EQ(loop.run({&sparing}, loop.by_watch).executed, plain);
    EXPECT_EQ(sparing.seen, (std::vector<uint32_t>{0, 1, 1, 1}));
    sparing.seen.clear();
    EXPECT_EQ(loop.run({&sparing, &other}, loop.by_watch).executed, plain);
    EXPECT_EQ(sparing.seen, kPath);
    EXPECT_EQ(other.seen, kPath);
}

TEST(Instrumented, RunsThatAnObserverPassesAreNotToldInstructionByInstruction) {
    CountDown loop;
    const uint64_t plain = loop.run({}).executed;
    Recorder passing(100), looking(100);
    EXPECT_EQ(loop.run({&passing}, loop.by_runs).executed, plain);
    EXPECT_EQ(passing.runs, (std::vector<uint32_t>{1, 1, 1}));
    EXPECT_EQ(passing.seen, (std::vector<uint32_t>{0, 4}));
    looking.passes = false;
    const Wave& wave = loop.run({&looking}, loop.by_runs);
    EXPECT_EQ(wave.executed, plain);
    EXPECT_EQ(wave.s[0], 0u);
    EXPECT_EQ(looking.runs, passing.runs);
    EXPECT_EQ(looking.seen, kPath);
    EXPECT_EQ(loop.program.chunk(loop.by_runs.plain(wave.last)), loop.program.chunks().at(0));
}

TEST(Instrumented, AWaveThatComesToTheMiddleOfARunIsLookedAtThere) {
    CountDown loop;
    Recorder recorder(100);
    loop.run({&recorder}, loop.by_runs, 3);
    EXPECT_EQ(recorder.seen, (std::vector<uint32_t>{3, 4}));
    EXPECT_TRUE(recorder.runs.empty());
}

TEST(Instrumented, TheCounterStartsAnew) {
    CountDown loop;
    Counter counter;
    loop.run({&counter});
    counter.clear();
    EXPECT_EQ(counter.counts(*loop.program.chunks().at(0)), (std::vector<uint64_t>(5)));
    loop.run({&counter});
    EXPECT_EQ(counter.counts(*loop.program.chunks().at(0)), (std::vector<uint64_t>{1, 3, 3, 3, 1}));
}

}  // namespace strata::emu
