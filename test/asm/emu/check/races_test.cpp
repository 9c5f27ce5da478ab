#include "strict.h"

// Workgroups that use the same memory, as clang compiles them: with an order that they ask for, and without.
namespace strata::emu::harness {
namespace {

struct Program {
    std::string_view name, body;
    bool races;
};

// k(int* out): 8 workgroups of 64 lanes over 256 zeros; `first` is true of a workgroup's first lane.
constexpr Program kPrograms[] = {
    {"ElementsOfTwoWorkgroups", "if (TX < 32) out[BX / 2 * 32 + TX] = TX;", true},
    {"ElementsOfItsOwn", "if (TX < 32) out[BX * 32 + TX] = TX;", false},
    {"NeighbouringBytes", "((volatile uchar*)out)[TX * 8 + BX] = TX;", false},
    {"OneByteOfSeveral", "((uchar*)out)[TX * 8 + BX / 2] = TX;", true},
    {"AllReadOne", "if (TX < 16) out[128 + BX * 16 + TX] = out[5];", false},
    {"AllWriteOne", "if (first) out[0] = BX;", true},
    {"OneWritesWhatOthersRead", "if (BX == 0 && first) out[0] = 7; if (BX && first) out[BX] = out[0];", true},
    {"ReadsItsNeighbour", "if (first) { out[BX] = BX; out[64 + BX] = out[(BX + 1) % 8]; }", true},
    {"AllAdd", "add(out, 1);", false},
    {"OneClearsBeforeAllAdd", "if (BX == 0 && first) out[0] = 0; add(out, 1);", true},
    {"PlainReadOfASum", "add(out, 1); if (first) out[8 + BX] = out[0];", true},
    {"AtomicReadOfASum", "add(out, 1); if (first) out[8 + BX] = load(out);", false},
    {"LastOneSumsUp",
     "if (first) { out[8 + BX] = BX; fence(); int before = add(out, 1); fence();"
     "if (before == 7) { int s = 0; for (int i = 0; i < 8; ++i) s += out[8 + i]; out[1] = s; } }",
     false},
    {"LastOneSumsUpWithoutFences",
     "if (first) { out[8 + BX] = BX; int before = add(out, 1);"
     "if (before == 7) { int s = 0; for (int i = 0; i < 8; ++i) s += out[8 + i]; out[1] = s; } }",
     true},
    {"LastOneSumsUpWithoutTheSecondFence",
     "if (first) { out[8 + BX] = BX; fence(); int before = add(out, 1);"
     "if (before == 7) { int s = 0; for (int i = 0; i < 8; ++i) s += out[8 + i]; out[1] = s; } }",
     true},
    {"LastWorkgroupSumsUp",
     "__shared__ int last; if (TX < 16) out[64 + BX * 16 + TX] = BX; fence(); sync();"
     "if (first) last = add(out, 1) == 7; sync(); fence(); if (last && TX < 16) {"
     "int s = 0; for (int i = 0; i < 8; ++i) s += out[64 + i * 16 + TX]; out[16 + TX] = s; }",
     false},
    {"HandedOnByAFlag",
     "if (first && BX == 1) { out[8] = 5; __hip_atomic_store(out, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT); }"
     "if (first && BX == 0) { while (!__hip_atomic_load(out, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)); out[9] = "
     "out[8]; }",
     false},
    {"HandedOnByARelaxedFlag",
     "if (first && BX == 1) { out[8] = 5; __hip_atomic_store(out, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }"
     "if (first && BX == 0) { while (!load(out)); out[9] = out[8]; }",
     true},
    {"UnderALock",
     "if (first) { int free = 0; while (!__hip_atomic_compare_exchange_strong(out, &free, 1, __ATOMIC_ACQUIRE,"
     "__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) free = 0; out[1] += 1;"
     "__hip_atomic_store(out, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT); }",
     false},
    {"AtTheEdgeOfALock",
     "if (first) { int free = 0; while (!__hip_atomic_compare_exchange_strong(out, &free, 1, __ATOMIC_ACQUIRE,"
     "__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) free = 0; out[1] += 1;"
     "__hip_atomic_store(out, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT); out[1] = 3; }",
     true},
};

constexpr std::string_view kHead =
    "static __device__ inline void fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, \"agent\"); }\n"
    "static __device__ inline int add(int* p, int n) {"
    " return __hip_atomic_fetch_add(p, n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }\n"
    "static __device__ inline int load(int* p) {"
    " return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }\n"
    "KERNEL void k(int* out) { bool first = TX == 0; ";

class Races : public ::testing::TestWithParam<Arch> {};

constexpr std::string_view kHidden[] = {"AllWriteOne", "OneClearsBeforeAllAdd", "AtTheEdgeOfALock"};

TEST_P(Races, BetweenWorkgroupsAreFoundWhereNothingOrdersThem) {
    for (const char* level : {"-O0", "-O2"})
        for (const Program& program : kPrograms) {
            const std::string source = std::string(kHead) + std::string(program.body) + " }";
            const auto code = compile_hip(source, level, isa::info(GetParam()).name);
            const Ran ran = run_object(GetParam(), code, source, {.block = 64, .grid = 8, .races = true, .initial = 0});
            ASSERT_TRUE(ran.stats) << program.name << ": " << ran.stats.error().message;
            const std::vector<Kind> found = kinds(ran);
            // gfx90a's waits for loads, which are everywhere at -O0, wait for stores too: a store after one may be
            // atomic.
            const bool hidden = GetParam() == Arch::gfx90a && std::string_view(level) == "-O0" &&
                                std::ranges::find(kHidden, program.name) != std::end(kHidden);
            EXPECT_EQ(std::ranges::count(found, Kind::global_race) != 0, program.races && !hidden)
                << program.name << " " << level << "\n"
                << words(ran);
            EXPECT_EQ(std::ranges::count(found, Kind::global_race), std::ssize(found)) << program.name << words(ran);
            // Once: what the workgroups of several threads leave in memory depends on who comes first.
            const Ran unasked =
                run_once(GetParam(), code, {.block = 64, .grid = 8, .initial = 0}, Check::report, false);
            EXPECT_TRUE(unasked.findings.empty())
                << program.name << ": races are looked for only where that is asked for";
        }
}
INSTANTIATE_TEST_SUITE_P(Archs, Races, ::testing::Values(Arch::gfx1100, Arch::gfx1201, Arch::gfx942, Arch::gfx90a),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

TEST(Race, NamesBothWorkgroupsBothInstructionsAndTheMemory) {
    const Ran ran = run(Arch::gfx1100,
                        body("v_mov_b32 v2, 7\nv_mov_b32 v3, 0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 3\n"
                             "global_store_b32 v3, v2, s[4:5] offset:16\ns_endpgm\n"
                             "global_load_b32 v3, v3, s[4:5] offset:16\ns_waitcnt vmcnt(0)"),
                        {.grid = 2, .races = true});
    ASSERT_TRUE(ran.stats) << ran.stats.error().message;
    ASSERT_EQ(ran.findings.size(), 1u) << words(ran);
    const Finding& race = ran.findings[0];
    EXPECT_EQ(race.kind, Kind::global_race);
    for (const char* part : {"is written here by workgroup (1, 0, 0)", "was read by workgroup (0, 0, 0)",
                             "at byte 16 of allocation 'buffer'"})
        EXPECT_NE(race.what.find(part), std::string::npos) << race.what;
    EXPECT_EQ(race.witness->group[0], 1u);
    EXPECT_EQ(race.earlier, race.pc + 8 + 4);
    EXPECT_EQ(race.count, 32u) << "each lane's";
}

TEST(Race, WithAScalarLoadIsFound) {
    const auto text = [](std::string_view place) {
        return body(
            "v_mov_b32 v2, 7\nv_mov_b32 v3, 0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 3\nglobal_store_b32 v3, v2, s[4:5] "
            "offset:16\n"
            "s_endpgm\ns_load_b64 s[8:9], s[4:5], " +
            std::string(place) + "\ns_waitcnt lgkmcnt(0)");
    };
    expect_one(run(Arch::gfx1100, text("0xc"), {.grid = 2, .races = true}), Kind::global_race, "workgroup (0, 0, 0)");
    expect_none(run(Arch::gfx1100, text("0x14"), {.grid = 2, .races = true}));
}

}  // namespace
}  // namespace strata::emu::harness
