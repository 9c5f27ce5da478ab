#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "random_code.h"
#include "virtual_code.h"

namespace strata::codegen {
namespace {

using namespace test;

using Unroll = EachArch;
INSTANTIATE_TEST_SUITE_P(Arch, Unroll, testing::ValuesIn(isa::first_archs()), arch_name);

size_t branches(const MachineFunction& function) {
    size_t count = 0;
    for (const Block& block : function.blocks)
        count += static_cast<size_t>(std::ranges::count_if(block.code, [](const Instruction& instruction) {
            return instruction.pseudo == Pseudo::none && instruction.inst.row->flags & isa::kBranch;
        }));
    return count;
}

TEST_P(Unroll, RandomCodeComputesTheSameWithFewerBranches) {
    size_t before = 0, after = 0;
    for (unsigned seed = 3000; seed < 3060; ++seed) {
        RandomCode random(arch(), seed, {.steps = 40 + static_cast<int>(seed % 100) * 5});
        MachineFunction& function = random.code.function;
        SCOPED_TRACE(seed);
        const std::vector<uint64_t> wanted = run_virtual(function);
        before += branches(function);
        ASSERT_TRUE(coalesce(function));
        const std::string text = to_string(function);
        ASSERT_TRUE(unroll(function));
        after += branches(function);
        ASSERT_EQ(run_virtual(function), wanted) << text << to_string(function);
        ASSERT_TRUE(schedule(function));
        ASSERT_TRUE(allocate(function));
        ASSERT_EQ(run_placed(function), wanted);
    }
    EXPECT_LT(after, before);
}

/// A sum of what a loop of `rounds` rounds loads, with `more` instructions in each.
void write_sum(AddressedCode& code, int rounds, int more) {
    const Place sum = code.vector();
    code.copy(sum, Constant{0});
    code.loop(rounds, [&] {
        const Place value = code.vector();
        code.op(code.spelled("global_load_b32", "global_load_dword"), {value}, {code.address});
        for (int i = 0; i < more; ++i) code.op("v_mul_f32", {value}, {value, value});
        code.op("v_add_f32", {sum}, {sum, value});
    });
    code.store(sum, code.address);
    code.end();
}

TEST_P(Unroll, AShortLoopIsStraightCodeWhoseLoadsStandTogether) {
    AddressedCode code(arch());
    write_sum(code, 16, 0);
    expect_same(code.function, unroll);
    EXPECT_EQ(branches(code.function), 0u);
    expect_same(code.function, schedule);
    ASSERT_EQ(code.function.blocks.size(), 1u);
    const std::vector<Instruction>& body = code.function.blocks[0].code;
    const auto loads = [](const Instruction& i) {
        return i.pseudo == Pseudo::none && i.inst.row->flags & isa::kMemory;
    };
    const auto first = std::ranges::find_if(body, loads);
    ASSERT_GE(body.end() - first, 16);
    EXPECT_GE(std::count_if(first, first + 20, loads), 16) << to_string(code.function);
}

TEST_P(Unroll, RoundsOfALongLoopGoTogetherAsTheirNumberDivides) {
    struct Case {
        int rounds, more;
        size_t copies;
    };
    for (const Case& row :
         {Case{1000, 0, 8}, Case{1001, 0, 7}, Case{997, 0, 1}, Case{1000, 40, 2}, Case{1000, 80, 1}}) {
        AddressedCode code(arch());
        write_sum(code, row.rounds, row.more);
        const size_t round = code.function.blocks[1].code.size() - 3;
        expect_same(code.function, unroll);
        EXPECT_EQ(code.function.blocks[1].code.size(), round * row.copies + 3) << row.rounds;
        EXPECT_EQ(branches(code.function), 1u);
    }
}

/// A loop of 8 rounds that loads from what it computes from its counter; `more` changes the address once it was used.
void write_walk(AddressedCode& code, int32_t stride, bool more) {
    const Place sum = code.vector();
    code.copy(sum, Constant{0});
    const Place counter{static_cast<uint32_t>(code.function.registers.size()), 0, 1};  // the next one
    code.loop(8, [&] {
        const Place address = code.vector(2), value = code.vector();
        code.op("v_mul_f32", {address.part(0)}, {counter, code.item});
        code.op("v_mul_f32", {address.part(1)}, {counter, code.item});
        code.op(code.spelled("global_load_b32", "global_load_dword"), {value}, {address}).stride = stride;
        if (more) code.op("v_mul_f32", {address.part(0)}, {value, value});
        code.op("v_add_f32", {sum}, {sum, value});
    });
    code.store(sum, code.address);
    code.end();
}

/// Offsets and addresses of the loads, and how many instructions compute addresses.
struct Walk {
    std::vector<int32_t> offsets;
    std::set<uint32_t> addresses;
    size_t computed = 0, steps = 0;
};
Walk walk_of(const MachineFunction& function) {
    Walk walk;
    for (const Instruction& one : function.blocks[0].code) {
        if (one.pseudo != Pseudo::none) continue;
        walk.steps += one.inst.row->format == isa::Format::SOP2;
        walk.computed += one.inst.row->mnemonic == "v_mul_f32" && function.registers[one.dst[0].reg].dwords == 2;
        if (!(one.inst.row->flags & isa::kMemory) || one.inst.row->flags & isa::kStore) continue;
        walk.offsets.push_back(one.inst.offset);
        walk.addresses.insert(one.src[0].reg);
    }
    return walk;
}

TEST_P(Unroll, AddressesThatMoveByTheSameInEachRoundAreOffsetsFromTheFirst) {
    AddressedCode code(arch());
    write_walk(code, 16, false);
    ASSERT_TRUE(unroll(code.function));
    const auto valid = verify(code.function, Check::virtual_);
    ASSERT_TRUE(valid) << valid.error().message;
    const Walk walk = walk_of(code.function);
    EXPECT_EQ(walk.offsets, (std::vector<int32_t>{0, 16, 32, 48, 64, 80, 96, 112}));
    EXPECT_EQ(walk.addresses.size(), 1u);
    EXPECT_EQ(walk.computed, 2u);
    EXPECT_EQ(walk.steps, 0u) << "nothing counts the rounds of what is no loop";
}

TEST_P(Unroll, AnAddressFromACounterOfZeroIsWhatIsAddedToIt) {
    for (const int first : {0, 1}) {
        AddressedCode code(arch());
        const Place sum = code.vector(), counter{static_cast<uint32_t>(code.function.registers.size()), 0, 1};
        code.copy(sum, Constant{0});
        code.loop(4, [&] {
            const Place far = code.scalar(), shifted = code.scalar(), place = code.vector(), value = code.vector();
            code.op("s_mul_i32", {far}, {counter, Constant{33}});
            code.op("s_lshl_b32", {shifted}, {far, Constant{2}});
            code.op(code.spelled("v_add_nc_u32", "v_add_u32"), {place}, {shifted, code.item});
            code.op(code.spelled("ds_load_b32", "ds_read_b32"), {value}, {place}).stride = 132;
            code.op("v_add_f32", {sum}, {sum, value});
        });
        code.store(sum, code.address);
        code.end();
        if (first) code.function.blocks[0].code.back().inst.src[0].code = isa::code::inline_zero + 1;
        ASSERT_TRUE(unroll(code.function));
        const auto valid = verify(code.function, Check::virtual_);
        ASSERT_TRUE(valid) << valid.error().message;
        const std::string text = to_string(code.function);
        EXPECT_EQ(text.find("s_mul_i32") == std::string::npos, first == 0) << text;
        for (const Instruction& one : code.function.blocks[0].code)
            if (one.pseudo == Pseudo::none && one.inst.row->mnemonic.starts_with("ds_"))
                EXPECT_EQ(one.src[0] == code.item, first == 0) << text;
    }
}

TEST_P(Unroll, ACounterOfZeroIsNotAddedToWhatAllLanesShareEither) {
    AddressedCode code(arch());
    const std::string_view add = code.function.family == isa::Family::rdna4 ? "s_add_co_u32" : "s_add_u32";
    const Place sum = code.vector(), shared = code.fixed(Bank::scalar, 1, 3);
    code.copy(sum, Constant{0});
    const Place counter{static_cast<uint32_t>(code.function.registers.size()), 0, 1};
    code.loop(4, [&] {
        const Place far = code.scalar(), all = code.scalar(), place = code.vector(), value = code.vector();
        code.op("s_mul_i32", {far}, {counter, Constant{132}});
        code.op(add, {all}, {far, shared});
        code.op(code.spelled("v_add_nc_u32", "v_add_u32"), {place}, {all, code.item});
        code.op(code.spelled("ds_load_b32", "ds_read_b32"), {value}, {place}).stride = 132;
        code.op("v_add_f32", {sum}, {sum, value});
    });
    code.store(sum, code.address);
    code.end();
    ASSERT_TRUE(unroll(code.function));
    const auto valid = verify(code.function, Check::virtual_);
    ASSERT_TRUE(valid) << valid.error().message;
    for (const Block& block : code.function.blocks)
        for (const Instruction& one : block.code) {
            EXPECT_NE(one.dst[0], counter) << to_string(code.function);
            if (one.pseudo != Pseudo::none) continue;
            EXPECT_NE(one.inst.row->mnemonic, add) << to_string(code.function);
            EXPECT_NE(one.inst.row->mnemonic, "s_mul_i32") << to_string(code.function);
        }
}

TEST_P(Unroll, WhatStoodAroundAShortLoopIsOneBlock) {
    AddressedCode code(arch());
    const Place sum = code.vector();
    code.copy(sum, Constant{0});
    code.loop(1000, [&] {
        for (int i = 0; i < 60; ++i) code.op("v_mul_f32", {sum}, {sum, code.item});
        code.loop(4, [&] {
            const Place value = code.vector();
            code.op(code.spelled("global_load_b32", "global_load_dword"), {value}, {code.address}).stride = 0;
            code.op("v_add_f32", {sum}, {sum, value});
        });
        for (int i = 0; i < 60; ++i) code.op("v_mul_f32", {sum}, {sum, code.item});
    });
    code.store(sum, code.address);
    code.end();
    const size_t before = code.function.blocks.size();
    expect_same(code.function, unroll);
    EXPECT_EQ(code.function.blocks.size(), before - 2) << to_string(code.function);
    EXPECT_EQ(branches(code.function), 1u);
    for (const Instruction& one : code.function.blocks[1].code)
        EXPECT_EQ(one.stride, Instruction::kUnsteady) << "by which addresses moved in the loop that is no more";
}

TEST_P(Unroll, AddressesStayThoseOfEachRoundWhereOffsetsDoNotReachThem) {
    const bool far = GetParam().family == isa::Family::rdna4;
    for (const auto& [stride, more] :
         {std::pair(far ? 1 << 22 : 1 << 11, false), std::pair(16, true), std::pair(Instruction::kUnsteady, false)}) {
        AddressedCode code(arch());
        write_walk(code, stride, more);
        ASSERT_TRUE(unroll(code.function));
        const Walk walk = walk_of(code.function);
        EXPECT_EQ(walk.addresses.size(), stride > 16 ? 4u : 8u) << stride << more;
        if (stride < 17) EXPECT_EQ(walk.offsets, std::vector<int32_t>(8));
    }
}

TEST_P(Unroll, ABaseOutOfReachOfOffsetsIsMovedOnceARoundForAllLoadsFromIt) {
    AddressedCode code(arch());
    const Place sum = code.vector();
    code.copy(sum, Constant{0});
    const Place counter{static_cast<uint32_t>(code.function.registers.size()), 0, 1};  // the next one
    code.loop(8, [&] {
        const Place base = code.scalar(2), first = code.vector(), second = code.vector();
        code.op("s_mul_i32", {base.part(0)}, {counter, Constant{33}});
        code.op("s_mul_i32", {base.part(1)}, {counter, Constant{33}});
        for (const Place value : {first, second})
            code.op(code.spelled("global_load_b32", "global_load_dword"), {value}, {code.item, base}).stride = 1 << 23;
        code.op("v_add_f32", {sum}, {sum, first});
        code.op("v_add_f32", {sum}, {sum, second});
    });
    code.store(sum, code.address);
    code.end();
    ASSERT_TRUE(unroll(code.function));
    const auto valid = verify(code.function, Check::virtual_);
    ASSERT_TRUE(valid) << valid.error().message;
    std::map<std::string_view, int> count;
    std::map<uint32_t, int> bases;
    for (const Instruction& one : code.function.blocks[0].code) {
        if (one.pseudo != Pseudo::none) continue;
        ++count[one.inst.row->mnemonic];
        if (one.inst.row->flags & isa::kMemory && !(one.inst.row->flags & isa::kStore)) ++bases[one.src[1].reg];
    }
    const std::string text = to_string(code.function);
    EXPECT_EQ(count["s_mul_i32"], 2) << text;
    EXPECT_EQ(count["s_add_u32"] + count["s_add_co_u32"], 7) << text;
    EXPECT_EQ(count["s_addc_u32"] + count["s_add_co_ci_u32"], 7) << text;
    EXPECT_EQ(bases.size(), 8u) << text;
    for (const auto& [base, loads] : bases) EXPECT_EQ(loads, 2) << text;
}

}  // namespace
}  // namespace strata::codegen
