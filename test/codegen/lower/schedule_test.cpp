#include <gtest/gtest.h>

#include <algorithm>

#include "random_code.h"
#include "strata/codegen/machine/liveness.h"
#include "strata/codegen/machine/pressure.h"
#include "strata/codegen/machine/workarounds.h"
#include "virtual_code.h"

namespace strata::codegen {
namespace {

using namespace test;

using Schedule = EachArch;
INSTANTIATE_TEST_SUITE_P(Arch, Schedule, testing::ValuesIn(isa::first_archs()), arch_name);

int pressure(const MachineFunction& function) {
    const Liveness live(function);
    return PressureMap(function, live).most({0, 2 * live.instructions()})[1];
}

size_t index_of(const std::vector<Instruction>& code, std::string_view mnemonic) {
    for (size_t i = 0; i < code.size(); ++i)
        if (code[i].pseudo == Pseudo::none && code[i].inst.row->mnemonic == mnemonic) return i;
    return code.size();
}

TEST_P(Schedule, RandomCodeComputesTheSameInItsNewOrder) {
    int moved = 0;
    for (unsigned seed = 2000; seed < 2060; ++seed) {
        const RandomShape shape{.steps = 40 + static_cast<int>(seed % 100) * 5,
                                .vectors = 10 + static_cast<int>(seed % 50)};
        RandomCode random(arch(), seed, shape);
        MachineFunction& function = random.code.function;
        SCOPED_TRACE(seed);
        const std::vector<uint64_t> wanted = run_virtual(function);
        const std::string before = to_string(function);
        ASSERT_TRUE(schedule(function));
        const std::string after = to_string(function);
        moved += before != after;
        ASSERT_EQ(run_virtual(function), wanted) << before << after;
        RandomCode again(arch(), seed, shape);
        ASSERT_TRUE(schedule(again.code.function));
        EXPECT_EQ(to_string(again.code.function), after) << "the order is no function of the code";
        ASSERT_TRUE(allocate(function));
        ASSERT_EQ(run_placed(function), wanted);
    }
    EXPECT_GT(moved, 50);
}

/// Ends the code and puts it in another order that stores the same.
void schedule_to_end(Code& code) {
    code.end();
    expect_same(code.function, schedule);
}

TEST_P(Schedule, LoadsStandBeforeWhatDoesNotNeedThem) {
    AddressedCode code(arch());
    const Place address = code.address;
    const std::string_view load = code.spelled("global_load_b32", "global_load_dword");
    Place sum = code.vector();
    code.op("v_mul_f32", {sum}, {address.part(0), address.part(0)});
    for (int i = 0; i < 4; ++i) {
        const Place value = code.vector(), next = code.vector();
        code.op(load, {value}, {address}).inst.offset = 4 * i;
        code.op("v_add_f32", {next}, {sum, value});
        sum = next;
    }
    code.store(sum, address);
    schedule_to_end(code);
    const auto is_load = [&](const Instruction& i) { return i.pseudo == Pseudo::none && i.inst.row->mnemonic == load; };
    const auto first = std::ranges::find_if(code.here(), is_load);
    EXPECT_TRUE(std::all_of(first, first + 4, is_load)) << to_string(code.function);
}

TEST_P(Schedule, RegistersLimitHowManyLoadsStandInFront) {
    AddressedCode code(arch(), 1024);
    const Place address = code.address;
    for (int i = 0; i < 100; ++i) {
        const Place value = code.vector(4), sum = code.vector();
        code.op(code.spelled("global_load_b128", "global_load_dwordx4"), {value}, {address}).inst.offset = 16 * i;
        code.op("v_add_f32", {sum}, {value.part(0), value.part(1)});
        code.op("v_add_f32", {sum}, {sum, value.part(2)});
        code.op("v_add_f32", {sum}, {sum, value.part(3)});
        code.op("v_mul_f32", {address.part(0)}, {address.part(0), sum});
    }
    code.store(address.part(0), address);
    const int before = pressure(code.function);
    schedule_to_end(code);
    EXPECT_GE(pressure(code.function), before);
    EXPECT_LE(pressure(code.function), isa::is_cdna(code.function.family) ? 64 : 96);
    ASSERT_TRUE(allocate(code.function));
    EXPECT_EQ(code.function.scratch, 0u);
}

TEST_P(Schedule, LoadsOfManyRoundsRunAheadOfASumAsFarAsRegistersLast) {
    AddressedCode code(arch());
    const std::string_view load = code.spelled("global_load_b128", "global_load_dwordx4");
    const Place sum = code.vector(4);
    for (int i = 0; i < 4; ++i) code.copy(sum.part(i), Constant{0});
    for (int round = 0; round < 100; ++round) {
        const Place a = code.vector(4), b = code.vector(4);
        code.op(load, {a}, {code.address}).inst.offset = 16 * round;
        code.op(load, {b}, {code.address}).inst.offset = 16 * round + 2048;
        for (int i = 0; i < 4; ++i) code.op("v_fma_f32", {sum.part(i)}, {a.part(i), b.part(i), sum.part(i)});
    }
    code.store(sum, code.address);
    schedule_to_end(code);
    const std::vector<Instruction>& body = code.function.blocks[0].code;
    EXPECT_GE(index_of(body, "v_fma_f32"), 12u) << "loads of several rounds stand in front of the first sum";
    ASSERT_TRUE(allocate(code.function));
    EXPECT_EQ(code.function.scratch, 0u);
}

TEST_P(Schedule, WhatIsLoadedForTheNextRoundIsLoadedEarly) {
    AddressedCode code(arch());
    const std::string_view load = code.spelled("global_load_b32", "global_load_dword");
    const Place sum = code.vector(), next = code.vector();
    code.copy(sum, Constant{0});
    code.op(load, {next}, {code.address});
    code.loop(10, [&] {
        code.op("v_add_f32", {sum}, {sum, next});
        for (int i = 0; i < 30; ++i) code.op("v_mul_f32", {sum}, {sum, sum});
        code.op(load, {next}, {code.address});
    });
    code.store(sum, code.address);
    schedule_to_end(code);
    EXPECT_LT(index_of(code.function.blocks[1].code, load), 5u) << to_string(code.function);
}

TEST_P(Schedule, LoadsStayBehindStoresOfTheSameMemoryAndPassThoseOfAnother) {
    for (const bool same : {false, true}) {
        AddressedCode code(arch());
        const Place address = code.address, value = code.vector();
        const std::string_view load = code.spelled("global_load_b32", "global_load_dword");
        const std::string_view local = code.spelled("ds_store_b32", "ds_write_b32");
        Place data = address.part(0);
        for (int i = 0; i < 5; ++i) {
            const Place next = code.vector();
            code.op("v_mul_f32", {next}, {data, data});
            data = next;
        }
        if (same)
            code.store(data, address);
        else
            code.op(local, {}, {address.part(0), data});
        code.op(load, {value}, {address});
        code.store(value, address);
        schedule_to_end(code);
        const std::string_view store = same ? code.spelled("global_store_b32", "global_store_dword") : local;
        EXPECT_EQ(index_of(code.here(), load) > index_of(code.here(), store), same) << to_string(code.function);
    }
}

TEST_P(Schedule, LoadsOfMemoryThatNobodyWritesPassBarriersAndStores) {
    for (const bool unchanging : {false, true}) {
        AddressedCode code(arch(), 32);
        const Place address = code.address, value = code.vector();
        const std::string_view load = code.spelled("global_load_b32", "global_load_dword");
        const std::string_view barrier = code.function.family == isa::Family::rdna4 ? "s_barrier_wait" : "s_barrier";
        const Place data = code.product(code.product(address.part(0), address.part(0)), address.part(0));
        code.store(data, address);
        if (barrier == "s_barrier")
            code.op(barrier, {}, {});
        else
            code.op(barrier, {}, {Constant{-1}});
        Instruction& made = code.op(load, {value}, {address});
        made.inst.offset = 4096 - 4;
        made.unchanging = unchanging;
        code.store(code.product(value, value), address);
        code.end();
        ASSERT_TRUE(schedule(code.function));
        const size_t at = index_of(code.here(), load);
        EXPECT_EQ(at < index_of(code.here(), code.spelled("global_store_b32", "global_store_dword")), unchanging);
        EXPECT_EQ(at < index_of(code.here(), barrier), unchanging) << to_string(code.function);
    }
}

TEST_P(Schedule, ALoadForTheNextRoundStaysBehindABarrierThatWouldWaitForIt) {
    AddressedCode code(arch(), 32);
    if (code.function.family == isa::Family::rdna4) GTEST_SKIP() << "its barriers are two instructions";
    const std::string_view load = code.spelled("global_load_b32", "global_load_dword");
    const std::string_view local = code.spelled("ds_store_b32", "ds_write_b32");
    const Place sum = code.vector(), next = code.vector();
    code.copy(sum, Constant{0});
    code.op(load, {next}, {code.address}).unchanging = true;
    code.loop(10, [&] {
        Place data = next;
        for (int i = 0; i < 8; ++i) data = code.product(data, data);
        const Place early = code.vector();
        code.copy(early, next);
        code.op(local, {}, {code.address.part(0), data});
        code.op("s_barrier", {}, {});
        code.op(load, {next}, {code.address}).unchanging = true;
        for (int i = 0; i < 30; ++i) code.op("v_mul_f32", {sum}, {sum, early});
    });
    code.store(sum, code.address);
    code.end();
    ASSERT_TRUE(schedule(code.function));
    const std::vector<Instruction>& body = code.function.blocks[1].code;
    const bool waits_for_all = value_of(Workaround::barriers_wait_for_all, code.function.target) != 0;
    EXPECT_EQ(index_of(body, load) > index_of(body, "s_barrier"), waits_for_all) << to_string(code.function);
}

TEST_P(Schedule, WhatIsPredicatedAlikeStandsTogether) {
    AddressedCode code(arch());
    const Place address = code.address, mask = code.mask();
    code.op("v_cmp_lt_f32", {mask}, {address.part(1), address.part(0)});
    Place sum = address.part(0);
    std::vector<Place> values;
    for (int i = 0; i < 4; ++i) {
        values.push_back(code.vector());
        code.copy(values.back(), Constant{0});
        Instruction& load = code.op(code.spelled("ds_load_b32", "ds_read_b32"), {values.back()}, {address.part(0)});
        load.predicate = mask;
        load.keeps = true;
        load.inst.offset = 4 * i;
    }
    for (Place value : values) {
        const Place next = code.vector();
        code.op("v_add_f32", {next}, {sum, value});
        sum = next;
    }
    code.store(sum, address);
    schedule_to_end(code);
    int turns = 0;
    for (size_t i = 1; i < code.here().size(); ++i) turns += code.here()[i].predicate != code.here()[i - 1].predicate;
    EXPECT_EQ(turns, 2) << to_string(code.function);
}

TEST_P(Schedule, NothingThatWritesSccStandsBetweenATestAndItsReaders) {
    AddressedCode code(arch());
    const Place address = code.address;
    const Place group = code.fixed(Bank::scalar, 1, 8), a = code.scalar(), b = code.scalar(), c = code.scalar();
    code.op("s_cmp_lt_i32", {}, {group, Constant{5}});
    code.op("s_cselect_b32", {a}, {group, Constant{7}});
    code.op("s_and_b32", {b}, {group, Constant{3}});
    code.op("s_cmp_lt_i32", {}, {b, a});
    code.op("s_cselect_b32", {c}, {a, b});
    const Place value = code.vector();
    code.copy(value, c);
    code.store(value, address);
    code.loop(2, [&] { code.op("v_add_f32", {value}, {value, address.part(0)}); });
    code.store(value, address);
    schedule_to_end(code);
    const std::vector<Instruction>& body = code.function.blocks[1].code;
    ASSERT_GE(body.size(), 2u);
    EXPECT_EQ(body[body.size() - 2].inst.row->mnemonic, "s_cmp_lt_i32");
}

}  // namespace
}  // namespace strata::codegen
