// Tuning records of searches as text and under their keys.
#include "strata/runtime/search/tuning_record.h"

#include "helpers.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/runtime/program.h"

namespace strata::runtime {
namespace {

using namespace test;

using TuningRecords = Runtime;

codegen::Kernel kernel_of(int64_t n) {
    UOp body = filled({n}) + number(1);
    UOp output = make(Op::buffer, body.dtype(), {}, BufferArg{1'000'000, n, 0});
    return codegen::start_kernel({output, body}).kernel;
}

const TuningRecord kRecord{.kernel = "e_96",
                           .schedule = "upcast(0, 4) local(0, 8)",
                           .heuristic_ms = 0.1 + 0.2,
                           .best_ms = 1e-7,
                           .beam = 3,
                           .candidates = 17,
                           .rejected = 2,
                           .seconds = 1.5,
                           .stopped = "search_seconds"};

TEST_F(TuningRecords, AreTheSameAfterTheyWereText) {
    const TuningRecord back = TuningRecord::of_text(kRecord.to_text());
    EXPECT_EQ(back.to_text(), kRecord.to_text());
    EXPECT_EQ(back.heuristic_ms, kRecord.heuristic_ms) << "to the last bit";
    EXPECT_EQ(back.schedule, kRecord.schedule);
    EXPECT_EQ(back.stopped, kRecord.stopped);
    const TuningRecord bare = TuningRecord::of_text("upcast(0, 2)");
    EXPECT_EQ(bare.schedule, "upcast(0, 2)");
    EXPECT_EQ(bare.beam, 0);
    EXPECT_EQ(TuningRecord::of_text("").schedule, "");
    EXPECT_EQ(TuningRecord::of_text("a\nunknown 3\nbeam many\n\n").beam, 0);
}

TEST_F(TuningRecords, AreKeptUnderWhatDecidesThem) {
    GraphScope scope;
    const SearchKey key = search_key(device(), kernel_of(96));
    EXPECT_EQ(key, search_key(device(), kernel_of(96)));
    EXPECT_NE(key.structure, search_key(device(), kernel_of(97)).structure);
    EXPECT_NE(key.arch, search_key(device("emu:gfx942"), kernel_of(96)).arch);
    Settings other = settings();
    other.emu_model = "w7900";
    {
        const ScopedSettings in_force(other);
        EXPECT_NE(key.model, search_key(device(), kernel_of(96)).model);
    }
    other = settings();
    other.target = target_of(device()).route == codegen::Route::hip ? "asm" : "hip";
    {
        const ScopedSettings in_force(other);
        const SearchKey there = search_key(device(), kernel_of(96));
        EXPECT_NE(key.target, there.target);
        EXPECT_NE(key.compiler, there.compiler);
    }
    EXPECT_FALSE(find_record(key));
    keep_record(key, kRecord);
    EXPECT_EQ(find_record(key)->to_text(), kRecord.to_text());
    EXPECT_FALSE(find_record(search_key(device(), kernel_of(97))));
}

TEST_F(TuningRecords, ThatReplaceOthersSaySo) {
    GraphScope scope;
    const SearchKey key = search_key(device(), kernel_of(96));
    const uint64_t generation = records_generation();
    const std::string state = records_state();
    keep_record(key, kRecord);
    keep_record(key, kRecord);
    EXPECT_EQ(records_generation(), generation) << "no plan holds another";
    EXPECT_EQ(records_state(), state);
    TuningRecord other = kRecord;
    other.schedule = "upcast(0, 2)";
    keep_record(key, other);
    EXPECT_NE(records_generation(), generation);
    EXPECT_NE(records_state(), state);
}

TEST_F(TuningRecords, FromElsewhereAreTakenWhereTheyAreFasterAndFit) {
    GraphScope scope;
    const SearchKey key = search_key(device(), kernel_of(96));
    const uint64_t generation = records_generation();
    EXPECT_EQ(import_record(key, kRecord), "");
    EXPECT_NE(records_generation(), generation);
    EXPECT_NE(import_record(key, kRecord).find("as fast"), std::string::npos);
    TuningRecord faster = kRecord;
    faster.best_ms /= 2;
    EXPECT_EQ(import_record(key, faster), "");
    EXPECT_EQ(find_record(key)->best_ms, faster.best_ms);
    SearchKey old = key;
    old.compiler = "strata 0.0.1";
    EXPECT_NE(import_record(old, faster).find("it was found with strata 0.0.1"), std::string::npos);
    EXPECT_FALSE(find_record(old));
}

}  // namespace
}  // namespace strata::runtime
