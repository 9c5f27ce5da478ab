#include <gtest/gtest.h>

#include "machine_code.h"
#include "strata/codegen/lower/emit_p.h"

namespace strata::codegen {
namespace {

using namespace test;

class FoldLanes : public testing::TestWithParam<isa::ArchInfo> {
  protected:
    FoldLanes() : code(GetParam().arch) {
        item = code.fixed(Bank::vector, 1, isa::code::vgpr0);
        address = code.fixed(Bank::vector, 2, isa::code::vgpr0 + 2);
        scalar = code.fixed(Bank::scalar, 1, 2);
    }
    /// The value of the lane beside this one.
    Place neighbour(Place of) {
        const Place to = code.vector();
        code.op("v_mov_b32", {to}, {of}).inst.dpp = {.kind = isa::DppKind::dpp16, .ctrl = 0xb1, .bound_ctrl = true};
        return to;
    }
    /// How many instructions are left that are operations, and how many of them read another lane.
    std::pair<int, int> folded(Place result) {
        code.store(result, address);
        code.op("s_endpgm", {}, {});
        EXPECT_TRUE(fold_dpp(code.function));
        const auto valid = verify(code.function, Check::virtual_);
        EXPECT_TRUE(valid) << valid.error().message;
        std::pair<int, int> count;
        for (const Instruction& one : code.function.blocks[0].code) {
            count.first += !(one.inst.row->flags & isa::kMemory);
            count.second += one.inst.dpp.kind != isa::DppKind::none;
        }
        return {count.first - 1, count.second};  // but for s_endpgm
    }

    Code code;
    Place item, address, scalar;
};
INSTANTIATE_TEST_SUITE_P(Arch, FoldLanes, testing::ValuesIn(isa::first_archs()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(FoldLanes, AnOperationReadsTheOtherLaneItselfFromEitherSide) {
    const Place first = code.vector(), second = code.vector();
    code.op("v_add_f32", {first}, {neighbour(item), item});
    code.op("v_mul_f32", {second}, {first, neighbour(first)});
    EXPECT_EQ(folded(second), std::pair(2, 2));
}

TEST_P(FoldLanes, AnOperationWhoseSourcesHaveTheirSidesReadsItOnItsOwn) {
    const Place right = code.vector(), left = code.vector();
    code.op("v_sub_f32", {left}, {neighbour(item), item});
    code.op("v_sub_f32", {right}, {left, neighbour(left)});
    EXPECT_EQ(folded(right), std::pair(3, 2));
}

TEST_P(FoldLanes, WhatTwoReadOrAScalarStandsBesideStaysAMove) {
    const Place shared = neighbour(item), first = code.vector(), second = code.vector(), beside = code.vector();
    code.op("v_add_f32", {first}, {shared, item});
    code.op("v_mul_f32", {second}, {shared, first});
    code.op("v_add_f32", {beside}, {scalar, neighbour(second)});
    EXPECT_EQ(folded(beside), std::pair(5, 2));
}

TEST_P(FoldLanes, OperationsOfThreeSourcesHaveNoRoomForIt) {
    const Place sum = code.vector();
    code.op("v_fma_f32", {sum}, {neighbour(item), item, item});
    EXPECT_EQ(folded(sum), std::pair(2, 1));
}

}  // namespace
}  // namespace strata::codegen
