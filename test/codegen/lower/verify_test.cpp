#include <gtest/gtest.h>

#include "function.h"

// Functions with one thing wrong each, and what is said of them.
namespace strata::codegen {
namespace {

using isa::Arch;

std::string said(const MachineFunction& function, Check check) {
    auto valid = verify(function, check);
    return valid ? "" : valid.error().message;
}

/// A function over virtual registers.
struct Virtual : Function {
    explicit Virtual(Arch arch = Arch::gfx1100) : Function(arch, "s_endpgm") { code.blocks[0].code.pop_back(); }

    Instruction& put(std::string_view mnemonic, std::vector<Place> dst, std::vector<Place> src) {
        Instruction one{};
        one.inst.row = isa::find_row(code.family, mnemonic);
        for (size_t i = 0; i < dst.size(); ++i) one.dst[i] = dst[i];
        for (size_t i = 0; i < src.size(); ++i) one.src[i] = src[i];
        code.blocks.back().code.push_back(one);
        return code.blocks.back().code.back();
    }
    std::string said_at_end() {
        put("s_endpgm", {}, {});
        return said(code, Check::virtual_);
    }
    Place fixed(Bank bank, int dwords, int16_t at) {
        const Place place = code.add(bank, dwords);
        code.registers[place.reg].fixed = at;
        return place;
    }
};

TEST(Verify, SaysNothingOfCodeThatIsRight) {
    Virtual f;
    const Place x = f.fixed(Bank::vector, 1, isa::code::vgpr0), y = f.code.add(Bank::vector, 1);
    f.put("v_add_f32", {y}, {x, x});
    f.put("v_mul_f32", {y}, {y, x});
    EXPECT_EQ(f.said_at_end(), "");
}

TEST(Verify, FindsRegistersWithoutAValue) {
    Virtual f;
    const Place x = f.fixed(Bank::vector, 1, isa::code::vgpr0), y = f.code.add(Bank::vector, 1);
    f.put("v_add_f32", {f.code.add(Bank::vector, 1)}, {x, y});
    EXPECT_NE(f.said_at_end().find("%1 has no value on some way to here"), std::string::npos);
}

TEST(Verify, FindsRegistersWithoutAValueOnOneOfTwoWays) {
    Virtual f;
    const Place x = f.fixed(Bank::vector, 1, isa::code::vgpr0), y = f.code.add(Bank::vector, 1);
    const Place s = f.fixed(Bank::scalar, 1, 2);
    f.put("s_cmp_eq_u32", {}, {s, s});
    f.put("s_cbranch_scc1", {}, {}).target = 2;
    f.code.blocks.emplace_back();
    f.put("v_mov_b32", {y}, {x});
    f.code.blocks.emplace_back();
    f.put("v_add_f32", {f.code.add(Bank::vector, 1)}, {x, y});
    EXPECT_NE(f.said_at_end().find("block2"), std::string::npos);
}

TEST(Verify, FindsPartsOfATupleWithoutAValue) {
    Virtual f;
    const Place x = f.fixed(Bank::vector, 1, isa::code::vgpr0), pair = f.code.add(Bank::vector, 2);
    const Place base = f.fixed(Bank::scalar, 2, 0);
    f.put("v_mov_b32", {pair.part(0)}, {x});
    f.put("global_store_b64", {}, {x, pair, base});
    EXPECT_NE(f.said_at_end().find("has no value"), std::string::npos);
}

TEST(Verify, FindsSccThatNothingWrote) {
    Virtual f;
    f.put("s_cbranch_scc1", {}, {}).target = 0;
    EXPECT_NE(f.said_at_end().find("scc has no value"), std::string::npos);
}

TEST(Verify, FindsWrongBanksSizesAndAlignments) {
    {
        Virtual f;
        const Place s = f.fixed(Bank::scalar, 1, 2);
        f.put("v_add_f32", {f.code.add(Bank::scalar, 1)}, {s, s});
        EXPECT_NE(f.said_at_end().find("bank that the field does not take"), std::string::npos);
    }
    {
        Virtual f;
        const Place x = f.fixed(Bank::vector, 2, isa::code::vgpr0);
        f.put("v_add_f32", {f.code.add(Bank::vector, 1)}, {x, x});
        EXPECT_NE(f.said_at_end().find("has 2 dwords where 1 are wanted"), std::string::npos);
    }
    {
        Virtual f;
        const Place four = f.fixed(Bank::scalar, 4, 4);
        f.put("s_mov_b64", {f.code.add(Bank::scalar, 2)}, {four.part(1, 2)});
        EXPECT_NE(f.said_at_end().find("is not aligned to 2 registers"), std::string::npos);
    }
}

TEST(Verify, FindsPredicatesThatAreNoMasks) {
    Virtual f(Arch::gfx942);
    const Place x = f.fixed(Bank::vector, 1, isa::code::vgpr0);
    f.put("v_mov_b32", {f.code.add(Bank::vector, 1)}, {x}).predicate = f.fixed(Bank::scalar, 1, 4);
    EXPECT_NE(f.said_at_end().find("has 1 dwords where 2 are wanted"), std::string::npos);
}

TEST(Verify, FindsCodeThatGoesOnBehindItsEnd) {
    Function f(Arch::gfx1100, "s_nop 0");
    EXPECT_NE(said(f.code, Check::placed).find("goes on past its last instruction"), std::string::npos);
}

TEST(Verify, FindsResultsThatOverwriteWhatTheyAreMadeOf) {
    Function f(Arch::gfx90a, "s_load_dwordx2 s[0:1], s[0:1], 0x0\ns_endpgm");
    EXPECT_NE(said(f.code, Check::placed).find("overwrites what it reads"), std::string::npos);
    Function one(Arch::gfx90a, "s_load_dword s0, s[0:1], 0x0\ns_endpgm");
    EXPECT_EQ(said(one.code, Check::placed), "");
    constexpr std::string_view product = "v_mad_u64_u32 v[2:3], null, v1, v1, v[2:3]\ns_endpgm";
    EXPECT_NE(said(Function(Arch::gfx1100, product).code, Check::placed).find("MADIntraFwdBug"), std::string::npos);
}

TEST(Verify, FindsTooFewInitialisedScalars) {
    Function f(Arch::gfx1100, "s_endpgm");
    EXPECT_EQ(said(f.code, Check::finished), "");
    f.code.user_sgprs = 2;
    EXPECT_NE(said(f.code, Check::finished).find("the chip wants 16"), std::string::npos);
}

TEST(Verify, AsksTheLinterAtTheEnd) {
    Function f(Arch::gfx1201, "global_load_b32 v1, v0, s[0:1]\nv_mov_b32 v2, v1\ns_endpgm");
    EXPECT_EQ(said(f.code, Check::placed), "");
    EXPECT_NE(said(f.code, Check::finished).find("may still fill it"), std::string::npos);
}

TEST(Workarounds, AShiftsAmountIsNotInTheLastRegister) {
    Function f(Arch::gfx90a, "v_lshlrev_b64 v[0:1], v7, v[2:3]\ns_endpgm");
    f.code.vgprs = 8;
    f.code.agprs = 0;
    ASSERT_TRUE(insert_hazards(f.code));
    EXPECT_EQ(f.code.vgprs, 9);
}

}  // namespace
}  // namespace strata::codegen
