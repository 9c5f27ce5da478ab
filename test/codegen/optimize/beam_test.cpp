#include "strata/codegen/optimize/beam.h"

#include <set>

#include "../kernel/build_helpers.h"
#include "../target/gfx1100.h"
#include "strata/codegen/optimize/cost.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/parallel.h"

namespace strata::codegen {
namespace {

using namespace test;

int64_t total(const Kernel& k, Axis axis) {
    int64_t n = 1;
    for (UOp r : ranges(k.sink))
        if (r.as<RangeArg>().axis == axis) n *= r.as<RangeArg>().size;
    return n;
}

/// Times a kernel by a rule instead of running it; refuses what another rule says.
class RuleJudge : public Judge {
  public:
    using Time = double (*)(const Kernel&);
    using Refuses = bool (*)(const Kernel&);
    explicit RuleJudge(
        Time time, Refuses refuses = [](const Kernel&) { return false; })
        : time_(time), refuses_(refuses) {}

    std::vector<Trial> judge(std::span<const Scheduled> candidates) override {
        std::vector<Trial> out;
        for (const auto& [k, actions] : candidates) {
            EXPECT_TRUE(verify_kernel(k.sink));
            seen.push_back(k.sink);
            out.push_back(refuses_(k) ? Trial{{}, "wrong result"} : Trial{time_(k), {}});
        }
        return out;
    }
    std::string objection(const Scheduled& best) override { return objects(best.kernel) ? "wrong in full" : ""; }
    std::vector<UOp> seen;
    Refuses objects = [](const Kernel&) { return false; };

  private:
    Time time_;
    Refuses refuses_;
};

/// Best at a block of 64 threads and 8 elements a thread.
double blocks_of_64(const Kernel& k) {
    double threads = std::log2(static_cast<double>(block_size(k))),
           wide = std::log2(static_cast<double>(total(k, Axis::upcast)));
    return 1 + std::fabs(threads - 6) + std::fabs(wide - 3);
}
/// Prefers long reductions in one thread, then threads.
double serial(const Kernel& k) {
    return 10 + static_cast<double>(total(k, Axis::group)) - 1 / static_cast<double>(total(k, Axis::local));
}

Kernel elementwise() { return start_schedule(built(filled({4096}) + number(1)).kernel); }
Kernel rows() { return start_schedule(built(sum(filled({64, 256}), {1})).kernel); }

TEST(BeamSearch, FindsTheFastestScheduleInReach) {
    GraphScope scope;
    for (int width : {2, 4}) {
        RuleJudge judge(blocks_of_64);
        Result<SearchResult> found = beam_search(elementwise(), gfx1100, width, judge);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(found->ms, 1) << to_string(found->best.actions);
        Kernel k = found->best.kernel;
        EXPECT_EQ(apply_all(elementwise(), found->best.actions, gfx1100)->sink, k.sink);
        EXPECT_EQ(block_size(k), 64);
        EXPECT_EQ(total(k, Axis::upcast), 8);
    }
}

TEST(BeamSearch, TriesTheSameInTheSameOrderWhatIsMadeOnAnotherThreadBefore) {
    GraphScope scope;
    for (Kernel (*kernel)() : {elementwise, rows})
        for (auto* time : {blocks_of_64, serial}) {
            RuleJudge alone(time), prepared(time);
            const SearchResult found = beam_search(kernel(), gfx1100, 2, alone).value();
            BeamSearch search(kernel(), gfx1100);
            side_by_side([] {}, [&] { (void)search.first_round(); });
            const SearchResult other = search.run(2, prepared).value();
            EXPECT_EQ(prepared.seen, alone.seen);
            EXPECT_EQ(other.best.kernel.sink, found.best.kernel.sink);
            EXPECT_EQ(other.best.actions, found.best.actions);
        }
}

TEST(BeamSearch, ABeamOfOneImprovesTheHandWrittenSchedule) {
    GraphScope scope;
    RuleJudge judge(blocks_of_64);
    SearchResult found = beam_search(elementwise(), gfx1100, 1, judge).value();
    EXPECT_LT(found.ms, found.start_ms);
    EXPECT_EQ(total(found.best.kernel, Axis::upcast), 8);
}

TEST(BeamSearch, TheTimeReportedIsThatOfTheActions) {
    GraphScope scope;
    for (auto time : {blocks_of_64, serial})
        for (auto kernel : {elementwise, rows}) {
            RuleJudge judge(time);
            SearchResult found = beam_search(kernel(), gfx1100, 2, judge).value();
            EXPECT_EQ(time(found.best.kernel), found.ms);
            EXPECT_EQ(time(heuristic(kernel(), gfx1100).kernel), found.start_ms);
            EXPECT_LE(found.ms, found.start_ms);
        }
}

TEST(BeamSearch, IgnoresWhatTheJudgeRefuses) {
    GraphScope scope;
    RuleJudge judge(blocks_of_64, [](const Kernel& k) { return total(k, Axis::upcast) > 2; });
    SearchResult found = beam_search(elementwise(), gfx1100, 2, judge).value();
    Kernel k = found.best.kernel;
    EXPECT_EQ(total(k, Axis::upcast), 2);
    EXPECT_EQ(block_size(k), 64);
    EXPECT_GT(found.rejected, 0);
    ASSERT_FALSE(found.rejections.empty());
    EXPECT_NE(found.rejections[0].find("upcast("), std::string::npos) << found.rejections[0];
    EXPECT_NE(found.rejections[0].find(": wrong result"), std::string::npos) << found.rejections[0];
}

TEST(BeamSearch, TakesTheNextWhereTheJudgeObjectsToTheFastest) {
    GraphScope scope;
    RuleJudge judge(blocks_of_64);
    judge.objects = [](const Kernel& k) { return block_size(k) == 64; };
    SearchResult found = beam_search(elementwise(), gfx1100, 2, judge).value();
    EXPECT_NE(block_size(found.best.kernel), 64);
    EXPECT_GT(found.rejected, 0);
    EXPECT_NE(found.rejections[0].find("wrong in full"), std::string::npos) << found.rejections[0];
    judge.objects = [](const Kernel&) { return true; };
    EXPECT_FALSE(beam_search(elementwise(), gfx1100, 2, judge));
}

TEST(BeamSearch, WorksWhenTheHandWrittenScheduleIsRefused) {
    GraphScope scope;
    RuleJudge judge(serial, [](const Kernel& k) { return total(k, Axis::group) > 1; });
    SearchResult found = beam_search(rows(), gfx1100, 2, judge).value();
    EXPECT_EQ(total(found.best.kernel, Axis::group), 1);
}

TEST(BeamSearch, GivesTheSameAnswerEveryTime) {
    GraphScope scope;
    RuleJudge flat([](const Kernel&) { return 1.0; });
    std::vector<Action> first = beam_search(rows(), gfx1100, 3, flat).value().best.actions;
    for (int i = 0; i < 3; ++i) {
        std::vector<UOp> noise;  // nodes in between move the addresses of later ones
        for (int n = 0; n < 100; ++n) noise.push_back(filled({n + 1}));
        EXPECT_EQ(beam_search(rows(), gfx1100, 3, flat).value().best.actions, first);
    }
}

/// Half the threads that are chosen without a search are best, with as many elements a thread.
template <Kernel (*kernel)()>
double half_the_threads(const Kernel& k) {
    const Kernel start = heuristic(kernel(), gfx1100).kernel;
    if (total(k, Axis::upcast) != total(start, Axis::upcast) || block_size(k) > block_size(start)) return 3;
    return block_size(k) == block_size(start) ? 2 : block_size(k) == block_size(start) / 2 ? 1 : 3;
}
Kernel large() { return start_schedule(built(filled({1 << 20}) + number(1)).kernel); }

TEST(BeamSearch, ChangesAnActionOfTheFastestWhereNoMoreOfThemHelp) {
    GraphScope scope;
    RuleJudge judge(half_the_threads<elementwise>);
    SearchResult found = beam_search(elementwise(), gfx1100, 2, judge).value();
    EXPECT_EQ(found.start_ms, 2);
    EXPECT_EQ(found.ms, 1) << to_string(found.best.actions);
}

TEST(BeamSearch, LeavesTheFastestAsItIsWhereMemoryBoundsIt) {
    GraphScope scope;
    RuleJudge judge(half_the_threads<large>);
    SearchResult found = beam_search(large(), gfx1100, 2, judge).value();
    EXPECT_EQ(found.ms, 2) << to_string(found.best.actions);
}

TEST(BeamSearch, StopsWhenNothingIsWorthIt) {
    GraphScope scope;
    RuleJudge flat([](const Kernel& k) { return 1.0 - 0.0001 * static_cast<double>(block_size(k)) / 256; });
    SearchResult found = beam_search(elementwise(), gfx1100, 2, flat).value();
    EXPECT_LE(found.tried, 2 + 2 * 20) << "one round past the start, no more";
}

TEST(BeamSearch, NeverAsksForOneKernelTwice) {
    GraphScope scope;
    RuleJudge judge(blocks_of_64);
    SearchResult found = beam_search(rows(), gfx1100, 4, judge).value();
    std::set<const Node*> distinct;
    for (UOp u : judge.seen) distinct.insert(u.node());
    EXPECT_EQ(static_cast<size_t>(found.tried), judge.seen.size());
    EXPECT_EQ(distinct.size(), judge.seen.size());
}

TEST(BeamSearch, SaysWhyWhenNothingRuns) {
    GraphScope scope;
    RuleJudge judge(serial, [](const Kernel&) { return true; });
    Result<SearchResult> found = beam_search(rows(), gfx1100, 2, judge);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::Device);
    EXPECT_NE(found.error().message.find("r_64_256"), std::string::npos) << found.error().message;
    EXPECT_NE(found.error().message.find("wrong result"), std::string::npos) << found.error().message;
}

TEST(BeamSearch, AWiderBeamIsNeverWorse) {
    GraphScope scope;
    // A valley: two steps that each cost before a third that pays.
    RuleJudge::Time valley = [](const Kernel& k) {
        bool all = total(k, Axis::local) > 1 && total(k, Axis::upcast) > 1 && total(k, Axis::unroll) > 1;
        return all ? 1.0 : 5.0 - 0.5 * static_cast<double>(ranges(k.sink).size());
    };
    RuleJudge narrow(valley), wide(valley);
    double one = beam_search(rows(), gfx1100, 1, narrow).value().ms,
           eight = beam_search(rows(), gfx1100, 8, wide).value().ms;
    EXPECT_LE(eight, one);
    EXPECT_EQ(eight, 1.0);
}

TEST(BeamSearch, TriesNoMoreThanItMayAndThatIsTheStart) {
    GraphScope scope;
    for (const int most : {1, 2, 3, 10, 25}) {
        RuleJudge judge(blocks_of_64);
        const SearchResult found = beam_search(rows(), gfx1100, 4, judge, {.candidates = most}).value();
        EXPECT_EQ(found.tried, std::max(most, 2));
        EXPECT_EQ(judge.seen.size(), static_cast<size_t>(found.tried));
        EXPECT_EQ(found.stopped, Stopped::candidates);
        EXPECT_LE(found.ms, found.start_ms);
    }
    RuleJudge judge(blocks_of_64);
    const SearchResult found =
        beam_search(rows(), gfx1100, 4, judge, {.time = std::chrono::duration<double>(1e-9)}).value();
    EXPECT_EQ(found.tried, 2);
    EXPECT_EQ(found.stopped, Stopped::time);
    EXPECT_EQ(beam_search(rows(), gfx1100, 4, judge, {.candidates = 1 << 20}).value().stopped, Stopped::no);
}

TEST(BeamSearch, OfARoundThoseAreTriedThatCostTheLeastAndWhatItStartsFromAlways) {
    GraphScope scope;
    for (auto kernel : {elementwise, rows})
        for (const int most : {1, 3, 8}) {
            RuleJudge judge([](const Kernel& k) { return static_cost(k, gfx1100).clocks(); }), all(judge);
            const SearchResult found = beam_search(kernel(), gfx1100, 2, judge, {.round = most}).value();
            const SearchResult whole = beam_search(kernel(), gfx1100, 2, all).value();
            EXPECT_EQ(found.best.actions, whole.best.actions) << "the cost is the time here, so that nothing is missed";
            EXPECT_GT(found.left_out, 0);
            EXPECT_EQ(whole.left_out, 0);
            EXPECT_LT(found.tried, whole.tried);
            EXPECT_EQ(judge.seen.at(0), heuristic(kernel(), gfx1100).kernel.sink);
            EXPECT_EQ(judge.seen.at(1), kernel().sink);
        }
}

TEST(BeamSearch, TriesTheHandWrittenScheduleFirstAndPrefersIt) {
    GraphScope scope;
    RuleJudge flat([](const Kernel&) { return 1.0; });
    for (auto kernel : {elementwise, rows}) {
        flat.seen.clear();
        const SearchResult found = beam_search(kernel(), gfx1100, 2, flat).value();
        const Scheduled start = heuristic(kernel(), gfx1100);
        EXPECT_EQ(flat.seen.at(0), start.kernel.sink);
        EXPECT_EQ(found.best.actions, start.actions);
    }
}

TEST(BeamSearch, AThousandthIsNotWorthAnotherScheduleThanTheHandWrittenOne) {
    GraphScope scope;
    static UOp start;
    static double others = 0;
    const Kernel kernel = elementwise();
    start = heuristic(kernel, gfx1100).kernel.sink;
    for (const double ms : {0.9995, 0.998}) {
        others = ms;
        RuleJudge judge([](const Kernel& k) { return k.sink == start ? 1 : others; });
        const SearchResult found = beam_search(kernel, gfx1100, 2, judge).value();
        EXPECT_EQ(found.ms, ms > 0.999 ? 1 : ms) << to_string(found.best.actions);
    }
}

TEST(BeamSearch, StartsFromWhatIsKnownToBeGood) {
    GraphScope scope;
    RuleJudge judge(blocks_of_64), again(blocks_of_64);
    const SearchResult before = beam_search(elementwise(), gfx1100, 2, judge).value();
    const std::vector<std::vector<Action>> known{before.best.actions, parse_actions("upcast(7, 3)").value()};
    const SearchResult found = beam_search(elementwise(), gfx1100, 2, again, {.candidates = 1}, known).value();
    EXPECT_EQ(found.tried, 3) << "what no longer fits is left out";
    EXPECT_EQ(found.best.actions, before.best.actions);
    EXPECT_EQ(found.start_ms, before.start_ms);
}

/// Is interrupted at the n-th call.
class InterruptedJudge : public RuleJudge {
  public:
    explicit InterruptedJudge(int calls) : RuleJudge(blocks_of_64), left_(calls) {}
    std::vector<Trial> judge(std::span<const Scheduled> candidates) override {
        if (left_-- == 0) throw Interrupted();
        return RuleJudge::judge(candidates);
    }

  private:
    int left_;
};

TEST(BeamSearch, AnInterruptionLeavesTheBestUntilThen) {
    GraphScope scope;
    double last = 1e9;
    bool ended = false;
    for (int calls = 1; !ended; ++calls) {
        InterruptedJudge judge(calls);
        const SearchResult found = beam_search(rows(), gfx1100, 2, judge).value();
        ended = found.stopped == Stopped::no;
        EXPECT_EQ(static_cast<bool>(found.interruption), !ended);
        EXPECT_EQ(found.stopped, ended ? Stopped::no : Stopped::interrupted);
        EXPECT_LE(found.ms, last);
        double best = 1e9;
        for (const UOp sink : judge.seen) best = std::min(best, blocks_of_64({sink, "seen"}));
        EXPECT_EQ(found.ms, best);
        last = found.ms;
        ASSERT_LT(calls, 100);
    }
    InterruptedJudge at_once(0);
    EXPECT_THROW((void)beam_search(rows(), gfx1100, 2, at_once), Interrupted);
}

TEST(BeamSearch, WhatIsStoppedAsTooSlowIsNoMistake) {
    GraphScope scope;
    class Impatient : public RuleJudge {
      public:
        Impatient() : RuleJudge(blocks_of_64) {}
        std::vector<Trial> judge(std::span<const Scheduled> candidates) override {
            std::vector<Trial> out = RuleJudge::judge(candidates);
            for (Trial& trial : out)
                if (*trial.ms > 8) trial = {{}, "ran too long", true};
            return out;
        }
    } judge;
    const SearchResult found = beam_search(elementwise(), gfx1100, 2, judge).value();
    EXPECT_EQ(found.rejected, 0);
    EXPECT_GT(found.slower, 0);
    EXPECT_LE(found.ms, found.start_ms);
}

}  // namespace
}  // namespace strata::codegen
