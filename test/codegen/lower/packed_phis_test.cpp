#include <gtest/gtest.h>

#include <algorithm>

#include "virtual_code.h"

namespace strata::codegen {
namespace {

using namespace test;

using KeepPacked = EachArch;
INSTANTIATE_TEST_SUITE_P(Arch, KeepPacked, testing::ValuesIn(isa::first_archs()), arch_name);

enum class Twist { none, exchanged, of_two_dwords, read_twice, written_early };

/// A loop that joins two halves, computes with them and takes the result apart for the next round.
struct Halves : AddressedCode {
    Halves(isa::Arch arch, Twist twist) : AddressedCode(arch) {
        const Place low = vector(), high = vector(), other = vector();
        copy(low, item);
        copy(high, item);
        loop(1000, [&] {
            const Place joined = vector(), packed = vector(), upper = vector();
            const auto leave = [&] {
                op("v_lshrrev_b32", {upper}, {Constant{16}, twist == Twist::of_two_dwords ? joined : packed});
                copy(low, twist == Twist::exchanged ? upper : packed);
                copy(high, twist == Twist::exchanged ? packed : upper);
            };
            if (twist == Twist::written_early) op("v_mul_f32", {packed}, {item, item}), leave();
            op("v_perm_b32", {joined}, {high, low, Constant{0x05040100}});
            if (twist == Twist::read_twice) op("v_add_f32", {other}, {high, low});
            if (twist != Twist::written_early) op("v_mul_f32", {packed}, {joined, item}), leave();
            store(joined, address);
        });
        store(low, address);
        store(high, address);
        if (twist == Twist::read_twice) store(other, address);
        end();
    }
    size_t count(size_t block, std::string_view mnemonic) const {
        return static_cast<size_t>(std::ranges::count_if(function.blocks[block].code, [&](const Instruction& one) {
            return one.pseudo == Pseudo::none && one.inst.row->mnemonic == mnemonic;
        }));
    }
};

TEST_P(KeepPacked, HalvesAreJoinedInFrontOfTheLoopAndTakenApartBehindIt) {
    Halves code(arch(), Twist::none);
    ASSERT_TRUE(packed_phis(code.function));
    const auto valid = verify(code.function, Check::virtual_);
    EXPECT_TRUE(valid) << valid.error().message;
    EXPECT_EQ(code.count(0, "v_perm_b32"), 1u);
    EXPECT_EQ(code.count(1, "v_perm_b32") + code.count(1, "v_lshrrev_b32"), 0u) << to_string(code.function);
    EXPECT_EQ(code.count(2, "v_lshrrev_b32"), 1u);
}

TEST_P(KeepPacked, WhatIsNotOneDwordFromRoundToRoundStays) {
    for (const Twist twist : {Twist::exchanged, Twist::of_two_dwords, Twist::read_twice, Twist::written_early}) {
        Halves code(arch(), twist);
        expect_same(code.function, packed_phis);
        EXPECT_EQ(code.count(1, "v_perm_b32"), 1u) << static_cast<int>(twist);
        EXPECT_EQ(code.count(1, "v_lshrrev_b32"), 1u);
    }
}

}  // namespace
}  // namespace strata::codegen
