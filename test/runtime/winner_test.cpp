// Winners of searches as text and under their keys.
#include "strata/runtime/search/winner.h"

#include "helpers.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/runtime/program.h"

namespace strata::runtime {
namespace {

using namespace test;

using Winners = Runtime;

codegen::Kernel kernel_of(int64_t n) {
    UOp body = filled({n}) + number(1);
    UOp output = make(Op::buffer, body.dtype(), {}, BufferArg{1'000'000, n, 0});
    return codegen::start_kernel({output, body}).kernel;
}

const Winner kWinner{.kernel = "e_96",
                     .schedule = "upcast(0, 4) local(0, 8)",
                     .heuristic_ms = 0.1 + 0.2,
                     .best_ms = 1e-7,
                     .beam = 3,
                     .candidates = 17,
                     .rejected = 2,
                     .seconds = 1.5,
                     .stopped = "search_seconds"};

TEST_F(Winners, AreTheSameAfterTheyWereText) {
    const Winner back = Winner::of_text(kWinner.to_text());
    EXPECT_EQ(back.to_text(), kWinner.to_text());
    EXPECT_EQ(back.heuristic_ms, kWinner.heuristic_ms) << "to the last bit";
    EXPECT_EQ(back.schedule, kWinner.schedule);
    EXPECT_EQ(back.stopped, kWinner.stopped);
    const Winner bare = Winner::of_text("upcast(0, 2)");
    EXPECT_EQ(bare.schedule, "upcast(0, 2)");
    EXPECT_EQ(bare.beam, 0);
    EXPECT_EQ(Winner::of_text("").schedule, "");
    EXPECT_EQ(Winner::of_text("a\nunknown 3\nbeam many\n\n").beam, 0);
}

TEST_F(Winners, AreKeptUnderWhatDecidesThem) {
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
    EXPECT_FALSE(find_winner(key));
    keep_winner(key, kWinner);
    EXPECT_EQ(find_winner(key)->to_text(), kWinner.to_text());
    EXPECT_FALSE(find_winner(search_key(device(), kernel_of(97))));
}

TEST_F(Winners, ThatReplaceOthersSaySo) {
    GraphScope scope;
    const SearchKey key = search_key(device(), kernel_of(96));
    const uint64_t generation = winners_generation();
    const std::string state = winners_state();
    keep_winner(key, kWinner);
    keep_winner(key, kWinner);
    EXPECT_EQ(winners_generation(), generation) << "no plan holds another";
    EXPECT_EQ(winners_state(), state);
    Winner other = kWinner;
    other.schedule = "upcast(0, 2)";
    keep_winner(key, other);
    EXPECT_NE(winners_generation(), generation);
    EXPECT_NE(winners_state(), state);
}

TEST_F(Winners, FromElsewhereAreTakenWhereTheyAreFasterAndFit) {
    GraphScope scope;
    const SearchKey key = search_key(device(), kernel_of(96));
    const uint64_t generation = winners_generation();
    EXPECT_EQ(import_winner(key, kWinner), "");
    EXPECT_NE(winners_generation(), generation);
    EXPECT_NE(import_winner(key, kWinner).find("as fast"), std::string::npos);
    Winner faster = kWinner;
    faster.best_ms /= 2;
    EXPECT_EQ(import_winner(key, faster), "");
    EXPECT_EQ(find_winner(key)->best_ms, faster.best_ms);
    SearchKey old = key;
    old.compiler = "strata 0.0.1";
    EXPECT_NE(import_winner(old, faster).find("it was found with strata 0.0.1"), std::string::npos);
    EXPECT_FALSE(find_winner(old));
}

}  // namespace
}  // namespace strata::runtime
