#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "machine_code.h"
#include "strata/asm/isa/constants.h"
#include "strata/codegen/lower/emit_p.h"

namespace strata::codegen {
namespace {

using namespace test;

struct Row {
    std::string_view second, first, as;
};
constexpr Row kRows[] = {
#define FUSE(second, first, as, order) {#second, #first, #as},
#include "strata/codegen/lower/opt/combine.def"
};

class Fuse : public testing::TestWithParam<isa::ArchInfo> {
  protected:
    isa::Arch arch() const { return GetParam().arch; }
};
INSTANTIATE_TEST_SUITE_P(Arch, Fuse, testing::ValuesIn(isa::first_archs()),
                         [](const auto& info) { return std::string(info.param.name); });

uint32_t computed(std::string_view name, uint32_t a, uint32_t b, uint32_t c) {
    if (name == "v_add_nc_u32" || name == "v_add_u32") return a + b;
    if (name == "v_lshlrev_b32") return b << (a & 31);
    if (name == "v_and_b32") return a & b;
    if (name == "v_or_b32") return a | b;
    if (name == "v_xor_b32") return a ^ b;
    if (name == "v_add_lshl_u32") return (a + b) << (c & 31);
    if (name == "v_lshl_add_u32") return (a << (b & 31)) + c;
    if (name == "v_add3_u32") return a + b + c;
    if (name == "v_xad_u32") return (a ^ b) + c;
    if (name == "v_and_or_b32") return (a & b) | c;
    if (name == "v_lshl_or_b32") return a << (b & 31) | c;
    if (name == "v_or3_b32") return a | b | c;
    if (name == "v_xor3_b32") return a ^ b ^ c;
    const auto most = [](uint32_t x, uint32_t y) {
        return std::bit_cast<uint32_t>(std::fmax(std::bit_cast<float>(x), std::bit_cast<float>(y)));
    };
    if (name == "v_max_f32" || name == "v_max_num_f32") return most(a, b);
    if (name == "v_max3_f32" || name == "v_max3_num_f32") return most(most(a, b), c);
    ADD_FAILURE() << name;
    return 0;
}

/// The family's own name.
std::string_view spelled(isa::Family family, std::string_view name) {
    if (isa::is_cdna(family)) return name == "v_add_nc_u32" ? "v_add_u32" : name;
    if (family != isa::Family::rdna4) return name;
    return name == "v_max_f32" ? "v_max_num_f32" : name == "v_max3_f32" ? "v_max3_num_f32" : name;
}

/// Two vector registers and two scalars that are given, and what is computed from them.
struct Pair {
    explicit Pair(isa::Arch arch) : code(arch) {
        v[0] = code.fixed(Bank::vector, 1, isa::code::vgpr0);
        v[1] = code.fixed(Bank::vector, 1, isa::code::vgpr0 + 1);
        s = code.fixed(Bank::scalar, 2, 0);
        address = code.vector(2);
        code.copy(address.part(0), Constant{0});
        code.copy(address.part(1), Constant{1});
    }
    Place op(std::string_view name, Argument a, Argument b) {
        const Place to = code.vector();
        code.op(spelled(code.function.family, name), {to}, {a, b});
        return to;
    }
    std::vector<uint32_t> run() const {
        std::map<std::pair<uint32_t, uint8_t>, uint32_t> values{
            {{v[0].reg, 0}, 0x89abcdef}, {{v[1].reg, 0}, 0x12345679}, {{s.reg, 0}, 0xf0f0000f}, {{s.reg, 1}, 7}};
        std::vector<uint32_t> stored;
        for (const Block& block : code.function.blocks)
            for (const Instruction& i : block.code) {
                if (i.pseudo == Pseudo::copy || i.inst.row->mnemonic.starts_with("s_")) continue;
                auto read = [&](size_t at) -> uint32_t {
                    if (i.src[at]) return values.at({i.src[at].reg, i.src[at].first});
                    const isa::Operand& o = i.inst.src[at];
                    return !o.present()     ? 0
                           : o.is_literal() ? i.inst.literal
                                            : static_cast<uint32_t>(isa::inline_integer(o.code));
                };
                if (i.inst.row->mnemonic.starts_with("global_store"))
                    stored.push_back(read(1));
                else
                    values[{i.dst[0].reg, i.dst[0].first}] = computed(i.inst.row->mnemonic, read(0), read(1), read(2));
            }
        return stored;
    }
    size_t computing() const {
        size_t count = 0;
        for (const Block& block : code.function.blocks)
            for (const Instruction& i : block.code)
                count += i.pseudo == Pseudo::none && i.inst.row->mnemonic.starts_with("v_");
        return count;
    }
    /// How many instructions go, with what is stored staying as it was.
    size_t gone() {
        code.end();
        const std::vector<uint32_t> wanted = run();
        const std::string before = to_string(code.function);
        const size_t count = computing();
        EXPECT_TRUE(combine(code.function));
        EXPECT_TRUE(verify(code.function, Check::virtual_)) << to_string(code.function);
        EXPECT_EQ(run(), wanted) << before << to_string(code.function);
        return count - computing();
    }

    Code code;
    Place v[2], s, address;
};

TEST_P(Fuse, EveryRowMeansWhatItsTwoInstructionsMean) {
    for (const Row& row : kRows) {
        SCOPED_TRACE(row.as);
        const isa::Family family = isa::info(arch()).family;
        const bool there = isa::find_row(family, spelled(family, row.as));
        for (const bool first_is_left : {false, true}) {
            if (row.second == "v_lshlrev_b32" && first_is_left) continue;
            Pair pair(arch());
            const Place middle =
                pair.op(row.first, row.first == "v_lshlrev_b32" ? Argument(Constant{5}) : pair.v[0], pair.v[1]);
            const Argument other = row.second == "v_lshlrev_b32" ? Argument(Constant{3}) : pair.v[0];
            pair.code.store(first_is_left ? pair.op(row.second, middle, pair.v[0]) : pair.op(row.second, other, middle),
                            pair.address);
            EXPECT_EQ(pair.gone(), there ? 1u : 0u);
        }
    }
}

TEST_P(Fuse, WhatOthersReadOrALoopChangesStaysAnInstruction) {
    Pair read(arch()), loop(arch());
    const Place sum = read.op("v_add_nc_u32", read.v[0], read.v[1]);
    read.code.store(sum, read.address);
    read.code.store(read.op("v_lshlrev_b32", Constant{2}, sum), read.address);
    EXPECT_EQ(read.gone(), 0u);
    const Place outside = loop.op("v_add_nc_u32", loop.v[0], loop.v[1]);
    loop.code.begin_block(0);
    loop.code.store(loop.op("v_lshlrev_b32", Constant{2}, outside), loop.address);
    EXPECT_EQ(loop.gone(), 0u);
}

TEST_P(Fuse, FieldsTakeWhatTheFamilyAllows) {
    const bool cdna = isa::is_cdna(isa::info(arch()).family);
    Pair literal(arch()), scalars(arch()), same(arch()), three(arch());
    literal.code.store(literal.op("v_or_b32", literal.v[0], literal.op("v_and_b32", Constant{0x12345}, literal.v[1])),
                       literal.address);
    EXPECT_EQ(literal.gone(), cdna ? 0u : 1u);
    auto sum = [](Pair& pair, Argument a, Argument b) {
        pair.code.store(pair.op("v_add_nc_u32", b, pair.op("v_add_nc_u32", a, pair.v[1])), pair.address);
        return pair.gone();
    };
    EXPECT_EQ(sum(scalars, scalars.s.part(0), scalars.s.part(1)), cdna ? 0u : 1u);
    EXPECT_EQ(sum(same, same.s.part(1), same.s.part(1)), 1u);
    EXPECT_EQ(sum(three, Constant{77777}, Constant{88888}), 0u);
}

}  // namespace
}  // namespace strata::codegen
