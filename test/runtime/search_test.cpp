// The search on a device: candidates that are checked and timed, records on disk.
#include <fstream>
#include <thread>

#include "helpers.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/core/support/disk_cache.h"
#include "strata/runtime/program.h"
#include "strata/runtime/search/search.h"
#include "strata/runtime/search/search_judge_p.h"
#include "strata/runtime/search/tuning_session.h"

namespace strata::runtime {
namespace {

using namespace test;

class SearchOnDevice : public Runtime {
  protected:
    SearchOnDevice() {
        Settings s = settings();
        s.beam = 1;
        s.debug = 1;  // a search says so on stderr
        beam_.emplace(s);
    }

    std::vector<codegen::Action> choose(const codegen::Kernel& kernel, std::span<const providers::DevicePtr> memory) {
        ::testing::internal::CaptureStderr();
        std::vector<codegen::Action> actions = choose_schedule(device(), kernel, memory).actions;
        searched = ::testing::internal::GetCapturedStderr().find("search ") != std::string::npos;
        return actions;
    }
    static codegen::Target target() { return target_of(device()); }
    bool searched = false;

    struct WithCompiler {
        CandidateCompiler compiler{target()};
    };
    struct Judge : WithCompiler, DeviceJudge {
        Judge(const codegen::Kernel& kernel, std::span<const uint64_t> memory)
            : DeviceJudge(device(), kernel, codegen::heuristic(kernel, target()), memory, compiler) {}
    };

    /// The one record on disk.
    std::filesystem::path entry() {
        for (const auto& file : std::filesystem::recursive_directory_iterator(folder()))
            if (file.is_regular_file() && file.path().parent_path().filename() == "schedules" &&
                content(file.path()).find("state of all tuning records") == std::string::npos)
                return file.path();
        ADD_FAILURE() << "no schedule was kept";
        return {};
    }
    static std::string content(const std::filesystem::path& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

  private:
    std::optional<ScopedSettings> beam_;
};

codegen::Kernel started(UOp body) {
    UOp output = make(Op::buffer, body.dtype(), {}, BufferArg{1'000'000, body.numel(), 0});
    return codegen::start_kernel({output, body}).kernel;
}

TEST_F(SearchOnDevice, GivesTheResultsOfTheUnsearchedSchedule) {
    Root x = on_device(counting(64, -30)), y = on_device(counting(64, 5));
    Root rows = on_device<int32_t>({3, 0, 7, 3, 1}, dtypes::int32);
    std::vector<Root> roots;
    {
        GraphScope scope;
        UOp a = reshape(x.get(), {8, 8}), b = reshape(y.get(), {8, 8});
        roots.emplace_back(matmul(a, b));
        roots.emplace_back(take(a, rows.get(), 0) * number(2));
    }
    Settings plain = settings();
    plain.beam = 0;
    for (const Root& root : roots) {
        Array wanted;
        {
            Memory memory;
            for (const Root& r : {x, y, rows}) {
                Array held(r.get().dtype(), r.get().shape());
                if (held.dtype.is_float())
                    for (size_t i = 0; i < held.numel(); ++i) held.f[i] = values(r)[i];
                else
                    for (size_t i = 0; i < held.numel(); ++i) held.i[i] = values<int32_t>(r)[i];
                memory[r.get().as<BufferArg>().id] = held;
            }
            wanted = evaluate(root.get(), memory);
        }
        ::testing::internal::CaptureStderr();
        std::vector<float> got = values(realized(root.get()));
        EXPECT_NE(::testing::internal::GetCapturedStderr().find("search "), std::string::npos);
        ASSERT_EQ(got.size(), wanted.numel());
        for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], wanted.f[i]) << i;
    }
}

TEST_F(SearchOnDevice, KeepsTuningRecordsOnDiskAndTrustsOnlyWholeEntries) {
    Root x = on_device(counting(96));
    GraphScope scope;
    codegen::Kernel kernel = started(sum(reshape(x.get(), {6, 16}), {1}));
    std::vector<providers::DevicePtr> memory{0, find_buffer(x.get())->address()};

    std::vector<codegen::Action> found = choose(kernel, memory);
    EXPECT_TRUE(searched);
    EXPECT_TRUE(codegen::apply_all(kernel, found, target()));
    EXPECT_EQ(choose(kernel, memory), found);
    EXPECT_FALSE(searched) << "the record was on disk";

    // Header: magic, sizes of key and payload, checksum; then both.
    std::string whole = content(entry());
    uint64_t key_size = 0;
    std::memcpy(&key_size, whole.data() + 8, 8);
    std::string key = whole.substr(56, key_size);
    EXPECT_EQ(key, search_key(device(), kernel).text());
    for (const std::string& part : {std::string("gfx1100"), std::string("7900xtx"), compiler_version(target())})
        EXPECT_NE(key.find(part), std::string::npos) << key;
    DiskCache disk = DiskCache::of_settings();
    ASSERT_EQ(TuningRecord::of_text(disk.get(CacheKind::schedules, key).value()).schedule, codegen::to_string(found));

    disk.put(CacheKind::schedules, key, "upcast(0, 2)");
    EXPECT_EQ(codegen::to_string(choose(kernel, memory)), "upcast(0, 2)") << "what is on disk is what is used";
    EXPECT_FALSE(searched);

    for (const char* unusable : {"upcast(0, 5)", "local(9, 2)", "nonsense", "pad(0, 0)"}) {
        disk.put(CacheKind::schedules, key, unusable);
        EXPECT_EQ(choose(kernel, memory), found) << unusable;
        EXPECT_TRUE(searched) << unusable;
    }
    for (size_t cut : {whole.size() - 3, size_t{20}, size_t{0}}) {
        std::ofstream(entry(), std::ios::binary | std::ios::trunc) << whole.substr(0, cut);
        EXPECT_EQ(choose(kernel, memory), found);
        EXPECT_TRUE(searched) << "an entry of " << cut << " bytes";
    }
    whole = content(entry());
    whole[whole.size() - 2] ^= 1;
    std::ofstream(entry(), std::ios::binary | std::ios::trunc) << whole;
    EXPECT_EQ(choose(kernel, memory), found);
    EXPECT_TRUE(searched) << "a flipped bit";
}

TEST_F(SearchOnDevice, IsNeverSlowerThanTheHandWrittenSchedule) {
    Root x = on_device(counting(1024));
    GraphScope scope;
    codegen::Kernel kernel = started(sum(reshape(x.get(), {16, 64}), {1}));
    std::vector<providers::DevicePtr> memory{0, find_buffer(x.get())->address()};
    std::vector<codegen::Action> found = choose(kernel, memory);
    auto time = [&](const std::vector<codegen::Action>& actions) {
        codegen::Scheduled k{codegen::apply_all(kernel, actions, target()).value(), actions};
        Buffer out(device(), dtypes::float32, 16);
        std::vector<providers::DevicePtr> buffers{out.address(), memory[1]};
        return programs(device(), std::span(&k, 1))[0]->launch(buffers).time_ms;
    };
    EXPECT_LE(time(found), time(codegen::heuristic(kernel, target()).actions));
    EXPECT_LT(time(found), time({}));
}

TEST_F(SearchOnDevice, ACandidateThatRunsFarLongerThanTheBestIsStopped) {
    GraphScope scope;
    const codegen::Kernel kernel = started(reduce(filled({1, 1 << 21}), Op::max, {1}));
    const std::vector<providers::DevicePtr> memory{0};
    Judge judge(kernel, memory);
    const auto scheduled = [&](std::string_view text) {
        const auto actions = codegen::parse_actions(text).value();
        return codegen::Scheduled{codegen::apply_all(kernel, actions, target()).value(), actions};
    };
    const std::vector<codegen::Scheduled> both{codegen::heuristic(kernel, target()), scheduled("unroll(0, 4)")};
    const std::vector<codegen::Trial> trials = judge.judge(both);
    EXPECT_TRUE(trials.at(0).ms) << trials[0].why;
    EXPECT_FALSE(trials.at(1).ms);
    EXPECT_TRUE(trials[1].slower);
    EXPECT_NE(trials[1].why.find("without coming to its end"), std::string::npos) << trials[1].why;
    const codegen::Scheduled another = scheduled("group(0, 128)");
    EXPECT_TRUE(judge.judge({&another, 1})[0].ms) << "a stopped candidate leaves no state";
}

TEST_F(SearchOnDevice, AWrongCandidateHasNoTimeAndOneThatIsWrongAtOnePlaceNeverWins) {
    GraphScope scope;
    const codegen::Kernel kernel = started(filled({1 << 16}) + number(1));
    UOp value;
    for (UOp u : toposort(kernel.sink))
        if (u.is(Op::store)) value = u.src(1);
    const UOp element = ranges(kernel.sink).at(0);
    const auto with = [&](UOp other) {
        return codegen::Scheduled{{substitute(kernel.sink, {{value, other}}), kernel.name}, {}};
    };
    const auto between = [&](int64_t from, int64_t to, UOp inside, UOp outside) {
        return alu(Op::where, {element < index_const(from), outside,
                               alu(Op::where, {element < index_const(to), inside, outside})});
    };
    const UOp wrong = value + value;
    Judge judge(kernel, std::vector<uint64_t>(2));
    const std::vector<codegen::Scheduled> candidates{with(wrong),
                                                     with(between(1 << 15, 1 << 16, wrong, value)),
                                                     with(between(777, 778, wrong, value)),
                                                     {kernel, {}}};
    const std::vector<codegen::Trial> trials = judge.judge(candidates);
    for (const int i : {0, 1}) {
        EXPECT_FALSE(trials[static_cast<size_t>(i)].ms) << i;
        EXPECT_NE(trials[static_cast<size_t>(i)].why.find("wrong result: off by"), std::string::npos) << trials[0].why;
    }
    EXPECT_TRUE(trials[2].ms) << "that place is of no workgroup that runs: " << trials[2].why;
    EXPECT_NE(judge.objection(candidates[2]).find("wrong result: off by"), std::string::npos);
    EXPECT_EQ(judge.objection(candidates[3]), "");
    EXPECT_FALSE(judge.judge(std::span(candidates).first(1))[0].ms) << "as after the first time";
}

TEST_F(SearchOnDevice, ACandidateThatTheUsersBudgetStopsIsRefusedAndNoneOtherIs) {
    GraphScope scope;
    const codegen::Kernel kernel = started(reduce(filled({1, 1 << 16}), Op::max, {1}));
    Judge judge(kernel, {});
    const codegen::Scheduled start = codegen::heuristic(kernel, target());
    ASSERT_TRUE(judge.judge({&start, 1})[0].ms);
    const auto actions = codegen::parse_actions("group(0, 32)").value();
    const codegen::Scheduled long_one{codegen::apply_all(kernel, actions, target()).value(), actions};
    Settings few = settings();
    few.emu_budget = 20;
    const ScopedSettings scarce(few);
    const codegen::Trial ended = judge.judge({&long_one, 1})[0];
    EXPECT_FALSE(ended.ms);
    EXPECT_FALSE(ended.slower) << "that it is slow is not known";
    EXPECT_NE(ended.why.find("without coming to its end"), std::string::npos) << ended.why;
}

/// The kernels of the table of benchmarks that have one, smaller where that leaves them what they are.
std::vector<std::pair<const char*, codegen::Kernel>> searched_kernels() {
    const auto product = [](int64_t n) {
        const UOp a = expand(reshape(filled({n, n}), {n, 1, n}), {n, n, n}),
                  b = expand(reshape(permute(filled({n, n}, dtypes::float32, 2), {1, 0}), {1, n, n}), {n, n, n});
        return started(reshape(sum(a * b, {2}), {n, n}));
    };
    const UOp x = filled({256, 512});
    return {{"x * 2 + 1", started(x * number(2) + number(1))},
            {"transpose", started(permute(filled({512, 256}), {1, 0}))},
            {"row sums", started(reshape(sum(x, {1}), {256}))},
            {"column sums", started(reshape(sum(x, {0}), {512}))},
            {"sum", started(reshape(sum(reshape(x, {16, 8192}), {1}), {16}))},
            {"matmul", product(128)}};
}

TEST_F(SearchOnDevice, TheUnoptimisedKernelHasTheTimeOfTheUsualSampleThoughFewOfItsWorkgroupsRun) {
    Settings s = settings();
    s.target = "asm";
    s.emu_sampled = true;
    const ScopedSettings sampled(s);
    GraphScope scope;
    for (const auto& [name, kernel] : searched_kernels()) {
        const codegen::Scheduled plain{kernel, {}};
        std::vector<std::unique_ptr<Buffer>> buffers;
        std::vector<uint64_t> memory;
        for (int i = 0; i < 3; ++i) {
            buffers.push_back(std::make_unique<Buffer>(device(), dtypes::float32, 512 * 512));
            memory.push_back(buffers.back()->address());
        }
        Judge judge(kernel, memory);
        const codegen::Trial trial = judge.judge({&plain, 1})[0];
        ASSERT_TRUE(trial.ms) << name << ": " << trial.why;
        const double usual = programs(device(), {&plain, 1})[0]->launch(memory).time_ms;
        EXPECT_NEAR(*trial.ms, usual, 0.02 * usual) << name;
    }
}

TEST_F(SearchOnDevice, ACandidateThatIsWrongInItsFirstOrItsLastElementHasNoTime) {
    GraphScope scope;
    const codegen::Kernel kernel = started(filled({1 << 16}) + number(1));
    for (const int64_t at : {int64_t{0}, int64_t{(1 << 16) - 1}}) {  // of the first workgroup, of the last
        UOp value;
        for (UOp u : toposort(kernel.sink))
            if (u.is(Op::store)) value = u.src(1);
        const UOp element = ranges(kernel.sink).at(0);
        const UOp other = alu(Op::where, {element < index_const(at), value,
                                          alu(Op::where, {element < index_const(at + 1), value + value, value})});
        const codegen::Scheduled wrong{{substitute(kernel.sink, {{value, other}}), kernel.name}, {}};
        Judge judge(kernel, std::vector<uint64_t>(2));
        const codegen::Trial trial = judge.judge({&wrong, 1})[0];
        EXPECT_FALSE(trial.ms) << at;
        EXPECT_NE(trial.why.find("wrong result: off by"), std::string::npos) << trial.why;
    }
}

TEST_F(SearchOnDevice, WhatIsCompiledByItsCostAloneFindsWhatCompilingAllFinds) {
    Settings s = settings();
    s.target = "asm";
    const ScopedSettings direct(s);
    GraphScope scope;
    int tried = 0, of = 0;
    for (const auto& [name, kernel] : searched_kernels()) {
        const std::vector<uint64_t> none(4);
        Judge some(kernel, none), every(kernel, none);
        const int width = 2;
        const auto pruned =
            codegen::beam_search(kernel, target(), width, some, {.round = compiled_in_a_round(width)}).value();
        const auto all = codegen::beam_search(kernel, target(), width, every).value();
        EXPECT_LE(pruned.ms, 1.02 * all.ms)
            << name << ": " << codegen::to_string(pruned.best.actions) << " | " << codegen::to_string(all.best.actions);
        tried += pruned.tried, of += all.tried;
    }
    EXPECT_LT(tried, 0.6 * of);
}

TEST_F(SearchOnDevice, ARecordingNotesEachKernelOnceAndThoseOfItsThreadAlone) {
    Root x = on_device(counting(96));
    GraphScope scope;
    const codegen::Kernel kernel = started(sum(reshape(x.get(), {6, 16}), {1}));
    const std::vector<providers::DevicePtr> memory{0, find_buffer(x.get())->address()};
    EXPECT_EQ(TuningSession::number(), 0u);
    const TuningSession all(TuningSession::Of::all_threads);
    {
        const TuningSession mine(TuningSession::Of::this_thread);
        EXPECT_GT(TuningSession::number(), 0u);
        choose(kernel, memory);
        choose(kernel, memory);
        ASSERT_EQ(mine.searches().size(), 1u);
        EXPECT_EQ(mine.searches()[0].key, search_key(device(), kernel));
        EXPECT_FALSE(mine.searches()[0].known);
        EXPECT_GT(mine.searches()[0].record.candidates, 2);
        EXPECT_EQ(all.searches().size(), 1u);
    }
    std::thread([&] {
        const TuningSession mine(TuningSession::Of::this_thread);
        EXPECT_TRUE(mine.searches().empty());
    }).join();
    const TuningSession later(TuningSession::Of::this_thread);
    std::thread([&] { EXPECT_GT(TuningSession::number(), 0u) << "the one of all threads"; }).join();
    choose(kernel, memory);
    ASSERT_EQ(later.searches().size(), 1u);
    EXPECT_TRUE(later.searches()[0].known);
}

TEST_F(SearchOnDevice, WithoutABeamTheHandWrittenScheduleIsTaken) {
    GraphScope scope;
    codegen::Kernel kernel = started(filled({4096}) + number(1));
    Settings s = settings();
    s.beam = 0;
    ScopedSettings off(s);
    EXPECT_EQ(choose(kernel, {}), codegen::heuristic(kernel, target()).actions);
    EXPECT_FALSE(searched);
}

}  // namespace
}  // namespace strata::runtime
