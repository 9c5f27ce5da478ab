#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "machine_code.h"
#include "strata/asm/isa/constants.h"
#include "strata/codegen/lower/emit_p.h"

namespace strata::codegen {
namespace {

using namespace test;

class FoldBits : public testing::TestWithParam<isa::ArchInfo> {
  protected:
    isa::Arch arch() const { return GetParam().arch; }
};
INSTANTIATE_TEST_SUITE_P(Arch, FoldBits, testing::ValuesIn(isa::first_archs()),
                         [](const auto& info) { return std::string(info.param.name); });

/// Shifts, masks and fields of a register, one of another.
struct Chain {
    explicit Chain(isa::Arch arch) : code(arch) {
        item = code.fixed(Bank::vector, 1, isa::code::vgpr0);
        address = code.vector(2);
        code.copy(address.part(0), Constant{0});
        code.copy(address.part(1), Constant{1});
    }
    Place step(std::string_view name, Place of, int64_t number, int64_t width = 0) {
        const Place to = code.vector();
        if (width)
            code.op(name, {to}, {of, Constant{number}, Constant{width}});
        else
            code.op(name, {to}, {Constant{number}, of});
        return to;
    }
    Place either(Place a, Place b) {
        const Place to = code.vector();
        code.op("v_or_b32", {to}, {a, b});
        return to;
    }
    Place loaded_byte() {
        const Place to = code.vector();
        code.op(code.spelled("global_load_u8", "global_load_ubyte"), {to}, {address});
        return to;
    }

    /// The stored words where the item is `number`, and so is each byte that is loaded.
    std::vector<uint32_t> run(uint32_t number) const {
        std::map<uint32_t, uint32_t> values{{item.reg, number}};
        std::vector<uint32_t> stored;
        for (const Instruction& i : code.function.blocks[0].code) {
            if (i.pseudo == Pseudo::copy) continue;
            const std::string_view name = i.inst.row->mnemonic;
            auto read = [&](size_t at) {
                if (i.src[at]) return values.at(i.src[at].reg);
                const isa::Operand& operand = i.inst.src[at];
                return operand.is_literal() ? i.inst.literal : static_cast<uint32_t>(isa::inline_integer(operand.code));
            };
            if (name.starts_with("global_load")) values[i.dst[0].reg] = number & 0xff;
            if (name.starts_with("global_store")) stored.push_back(read(1));
            if (!name.starts_with("v_")) continue;
            const uint32_t a = read(0), b = read(1);
            const bool field = name.starts_with("v_bfe");
            const auto up = field ? 32 - b - read(2) : 0, down = field ? 32 - read(2) : 0;
            values[i.dst[0].reg] = name == "v_and_b32"       ? a & b
                                   : name == "v_or_b32"      ? a | b
                                   : name == "v_lshlrev_b32" ? b << a
                                   : name == "v_lshrrev_b32" ? b >> a
                                   : name == "v_ashrrev_i32" ? static_cast<uint32_t>(static_cast<int32_t>(b) >> a)
                                   : name == "v_bfe_u32"     ? a << up >> down
                                                         : static_cast<uint32_t>(static_cast<int32_t>(a << up) >> down);
        }
        return stored;
    }

    /// How many instructions are left of those that compute, with what is stored staying as it was.
    size_t left() {
        if (code.here().back().inst.row->mnemonic != "s_endpgm") code.end();
        std::vector<std::vector<uint32_t>> wanted;
        static constexpr uint32_t kNumbers[] = {0, 1, 0x80, 0xff, 0x7fff8000, 0x12345678, 0x89abcdef, 0xffffffff};
        for (uint32_t n : kNumbers) wanted.push_back(run(n));
        const std::string before = to_string(code.function);
        EXPECT_TRUE(fold_bits(code.function));
        EXPECT_TRUE(verify(code.function, Check::virtual_)) << to_string(code.function);
        for (size_t i = 0; i < wanted.size(); ++i)
            EXPECT_EQ(run(kNumbers[i]), wanted[i]) << before << to_string(code.function);
        return computing();
    }
    size_t computing() const {
        return static_cast<size_t>(std::ranges::count_if(code.function.blocks[0].code, [](const Instruction& i) {
            return i.pseudo == Pseudo::none && i.inst.row->mnemonic.starts_with("v_");
        }));
    }

    Code code;
    Place item, address;
};

TEST_P(FoldBits, ScalarsAreMadeInOneStepWhateverStandsBehind) {
    for (const bool copied : {true, false}) {
        Chain chain(arch());
        const Place item = chain.code.fixed(Bank::scalar, 1, 4), wide = chain.code.scalar(),
                    narrow = chain.code.scalar();
        chain.code.op("s_and_b32", {wide}, {item, Constant{0xffff}});
        chain.code.op("s_and_b32", {narrow}, {wide, Constant{63}});
        const Place stored = chain.code.vector();
        if (copied)
            chain.code.copy(stored, narrow);
        else
            chain.code.op("v_mov_b32", {stored}, {narrow});
        chain.code.store(stored, chain.address);
        chain.code.end();
        ASSERT_TRUE(fold_bits(chain.code.function));
        const std::vector<Instruction>& left = chain.code.function.blocks[0].code;
        const auto made = std::ranges::find_if(left, [&](const Instruction& i) { return i.dst[0] == narrow; });
        ASSERT_NE(made, left.end());
        EXPECT_EQ(made->src[0], item) << to_string(chain.code.function);
    }
}

TEST_P(FoldBits, ChainsOfAnyStepsStoreTheSameBits) {
    static constexpr std::string_view kShifts[] = {"v_lshlrev_b32", "v_lshrrev_b32", "v_ashrrev_i32"};
    size_t before = 0, after = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        auto pick = [&](unsigned below) { return static_cast<int>(random() % below); };
        Chain chain(arch());
        std::vector<Place> values{chain.item, chain.loaded_byte()};
        for (int n = 2 + pick(6); n > 0; --n) {
            const Place of = values[pick(3) ? values.size() - 1 : static_cast<size_t>(pick(values.size()))];
            const int kind = pick(8), by = pick(4) ? 8 * pick(4) : pick(32), width = 1 + pick(32 - by);
            if (kind < 3)
                values.push_back(chain.step(kShifts[kind], of, by));
            else if (kind < 5)
                values.push_back(chain.step("v_and_b32", of, pick(2) ? (int64_t{1} << width) - 1 : random()));
            else if (kind < 7)
                values.push_back(chain.step(kind == 5 ? "v_bfe_u32" : "v_bfe_i32", of, by, width));
            else
                values.push_back(chain.either(of, values[static_cast<size_t>(pick(values.size()))]));
            if (!pick(4)) chain.code.store(values.back(), chain.address);
        }
        chain.code.store(values.back(), chain.address);
        chain.code.end();
        remove_dead_code(chain.code.function);
        before += chain.computing();
        after += chain.left();
        if (HasFailure()) return;
    }
    EXPECT_LT(after, before * 9 / 10);
}

TEST_P(FoldBits, HalvesThatAreWidenedAreOneInstructionEach) {
    Chain low(arch()), high(arch());
    low.code.store(low.step("v_lshlrev_b32", low.step("v_and_b32", low.step("v_bfe_u32", low.item, 0, 16), 0xffff), 16),
                   low.address);
    EXPECT_EQ(low.left(), 1u);
    high.code.store(high.step("v_lshlrev_b32", high.step("v_lshrrev_b32", high.item, 16), 16), high.address);
    EXPECT_EQ(high.left(), 1u);
}

TEST_P(FoldBits, BitsThatAreShiftedOutOrMaskedLaterNeedNoMask) {
    Chain chain(arch());
    const Place byte = chain.step("v_bfe_u32", chain.item, 8, 8), top = chain.step("v_lshlrev_b32", byte, 24);
    chain.code.store(chain.step("v_and_b32", chain.step("v_ashrrev_i32", top, 4), 0x87f00000), chain.address);
    EXPECT_EQ(chain.left(), 3u);
}

TEST_P(FoldBits, BytesThatWereLoadedAreNotMasked) {
    Chain chain(arch());
    chain.code.store(chain.step("v_and_b32", chain.loaded_byte(), 0xff), chain.address);
    EXPECT_EQ(chain.left(), 0u);
}

TEST_P(FoldBits, ScalarsAreShiftedOnceWhereNobodyReadsScc) {
    for (const bool read : {false, true}) {
        Code code(arch());
        const Place given = code.fixed(Bank::scalar, 2, 0), once = code.scalar(), twice = code.scalar();
        const Place address = code.vector(2), value = code.vector(), chosen = code.scalar();
        code.copy(address.part(0), Constant{0});
        code.copy(address.part(1), Constant{1});
        code.op("s_lshl_b32", {once}, {given.part(0), Constant{8}});
        code.op("s_lshl_b32", {twice}, {once, Constant{2}});
        if (read) code.op("s_cselect_b32", {chosen}, {given.part(0), given.part(1)});
        code.op("s_and_b32", {code.scalar()}, {given.part(0), given.part(1)});
        code.copy(value, twice);
        code.store(value, address);
        if (read) code.copy(value, chosen);
        if (read) code.store(value, address);
        code.end();
        ASSERT_TRUE(fold_bits(code.function));
        EXPECT_TRUE(verify(code.function, Check::virtual_)) << to_string(code.function);
        const auto shifts = std::ranges::count_if(code.here(), [](const Instruction& i) {
            return i.pseudo == Pseudo::none && i.inst.row->mnemonic == "s_lshl_b32";
        });
        EXPECT_EQ(shifts, read ? 2 : 1) << to_string(code.function);
    }
}

TEST_P(FoldBits, RegistersThatChangeAreReadWhereTheyAre) {
    Chain chain(arch());
    const Place sum = chain.code.vector();
    chain.code.op("v_lshlrev_b32", {sum}, {Constant{3}, chain.item});
    const Place low = chain.step("v_and_b32", sum, 0xff);
    chain.code.op("v_lshlrev_b32", {sum}, {Constant{9}, chain.item});
    chain.code.store(chain.step("v_lshlrev_b32", low, 24), chain.address);
    chain.code.store(sum, chain.address);
    EXPECT_EQ(chain.left(), 4u);
}

}  // namespace
}  // namespace strata::codegen
