#include "strata/codegen/target/target.h"

#include <gtest/gtest.h>

#include "strata/asm/isa/inst.h"

namespace strata::codegen {
namespace {

TEST(Target, IsFilledFromTheRowOfItsArch) {
    for (const isa::ArchInfo& row : isa::archs()) {
        Target t = target_of(row.arch);
        EXPECT_EQ(t.arch, row.arch);
        EXPECT_EQ(t.route, Route::hip);
        EXPECT_EQ(t.wave_size, row.wave_size);
        EXPECT_EQ(t.lds_bytes, row.lds_bytes);
        EXPECT_EQ(t.max_block, row.max_block);
        EXPECT_EQ(t.vector_bytes, 16);
    }
}

TEST(Target, RoutesHaveNames) {
    EXPECT_EQ(*parse_route("hip"), Route::hip);
    EXPECT_EQ(*parse_route("asm"), Route::asm_);
    EXPECT_NE(parse_route("cuda").error().message.find("known: hip, asm"), std::string::npos);
}

TEST(Target, MatrixShapesAreInstructionsOfTheArch) {
    for (const isa::ArchInfo& row : isa::archs()) {
        Target t = target_of(row.arch);
        EXPECT_FALSE(t.matrix.empty()) << row.name;
        for (const MatrixShape& shape : t.matrix) {
            EXPECT_EQ(shape.family, row.family);
            EXPECT_NE(isa::find_row(row.family, shape.mnemonic), nullptr) << row.name << ": " << shape.mnemonic;
            std::string sizes = fmt::format("_{}x{}x{}", shape.m, shape.n, shape.k);
            EXPECT_NE(shape.mnemonic.find(sizes), std::string_view::npos) << shape.mnemonic;
        }
    }
}

TEST(Target, LanesGiveMatricesAllOfTheirElements) {
    for (const isa::ArchInfo& row : isa::archs()) {
        const Target t = target_of(row.arch);
        for (const MatrixShape& shape : t.matrix) {
            const int copies = row.family == isa::Family::rdna3 ? 2 : 1;
            EXPECT_EQ(shape.operand_elements() * t.wave_size, shape.m * shape.k * copies) << shape.mnemonic;
            EXPECT_EQ(shape.accumulator_elements() * t.wave_size, shape.m * shape.n) << shape.mnemonic;
        }
    }
}

TEST(Target, EveryMaskHasAWay) {
    for (const isa::ArchInfo& row : isa::archs()) {
        const Target t = target_of(row.arch);
        for (int mask = 1; mask < t.wave_size; ++mask) {
            const LaneXor way = lane_xor(t, mask);
            EXPECT_EQ(way.path == LanePath::dpp, way.control != 0) << row.name << " " << mask;
            EXPECT_TRUE(way.path != LanePath::dpp || mask < 16) << row.name << " " << mask;
        }
    }
}

TEST(Target, WaveOperationsAreInstructionsOfTheArch) {
    for (const isa::ArchInfo& row : isa::archs()) {
        const unsigned ops = target_of(row.arch).wave_ops;
        auto has = [&](std::string_view mnemonic) { return isa::find_row(row.family, mnemonic) != nullptr; };
        EXPECT_EQ((ops & wave_ops::permlane) != 0, has("v_permlane16_b32") && has("v_permlanex16_b32")) << row.name;
        EXPECT_EQ((ops & wave_ops::bpermute) != 0, has("ds_bpermute_b32")) << row.name;
        EXPECT_EQ((ops & wave_ops::row_bcast) != 0, isa::is_cdna(row.family)) << row.name;
        EXPECT_EQ((ops & wave_ops::dpp8) != 0, !isa::is_cdna(row.family)) << row.name;
    }
}

}  // namespace
}  // namespace strata::codegen
