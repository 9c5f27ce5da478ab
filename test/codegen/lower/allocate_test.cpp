#include <gtest/gtest.h>

#include "random_code.h"
#include "strata/codegen/machine/register_limits.h"
#include "virtual_code.h"

namespace strata::codegen {
namespace {

using namespace test;

using Allocate = EachArch;
INSTANTIATE_TEST_SUITE_P(Arch, Allocate, testing::ValuesIn(isa::first_archs()), arch_name);

/// Every instruction has an encoding, and the placed function does what the virtual one does.
void expect_same(MachineFunction& function) {
    const std::vector<uint64_t> wanted = run_virtual(function);
    ASSERT_FALSE(wanted.empty());
    const std::string before = to_string(function);
    const Result<void> done = allocate(function);
    ASSERT_TRUE(done) << const_cast<Result<void>&>(done).error().message;
    for (const Block& block : function.blocks)
        for (const Instruction& instruction : block.code) {
            ASSERT_EQ(instruction.pseudo, Pseudo::none);
            Result<isa::Encoded> encoded = isa::encode(function.target.arch, instruction.inst);
            ASSERT_TRUE(encoded) << encoded.error().message << "\n" << to_string(function, instruction);
        }
    ASSERT_EQ(run_placed(function), wanted) << before << to_string(function);
}

TEST_P(Allocate, RandomCodeComputesTheSameInItsPlaces) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        RandomCode random(arch(), seed, {.steps = 40 + static_cast<int>(seed) * 5});
        SCOPED_TRACE(seed);
        expect_same(random.code.function);
        if (HasFatalFailure()) return;
    }
}

TEST_P(Allocate, WhatLivesThroughoutFindsARowBesideSpilledPairs) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        RandomCode random(arch(), seed, {.steps = 600, .scalars = 20, .vectors = 10, .tuples = 1, .pairs = 60});
        SCOPED_TRACE(seed);
        expect_same(random.code.function);
        if (HasFatalFailure()) return;
    }
}

bool has(const MachineFunction& function, std::string_view beginning) {
    for (const Block& block : function.blocks)
        for (const Instruction& instruction : block.code)
            if (instruction.inst.row->mnemonic.starts_with(beginning)) return true;
    return false;
}

TEST_P(Allocate, WhatFindsNoRegisterIsKeptElsewhere) {
    const bool cdna = isa::is_cdna(isa::info(arch()).family);
    for (const RandomShape& shape :
         {RandomShape{.steps = 300, .scalars = 150, .vectors = 10, .tuples = 1},
          RandomShape{.steps = 300, .scalars = 6, .vectors = 60, .tuples = 50},
          RandomShape{.steps = 300, .scalars = 6, .vectors = 300, .tuples = 5},
          RandomShape{.steps = 400, .scalars = 150, .vectors = 100, .tuples = 20, .threads = 1024},
          RandomShape{.steps = 100, .scalars = 6, .vectors = 60, .tuples = 250, .threads = 512}})
        for (unsigned seed = 0; seed < 6; ++seed) {
            SCOPED_TRACE(fmt::format("{} scalars, {} vectors, {} tuples, seed {}", shape.scalars, shape.vectors,
                                     shape.tuples, seed));
            RandomCode random(arch(), seed, shape);
            MachineFunction& function = random.code.function;
            expect_same(function);
            if (HasFatalFailure()) return;
            const RegisterLimits limits = register_limits(function);
            EXPECT_LE((function.vgprs + 3) / 4 * 4 + function.agprs, limits.total);
            EXPECT_LE(function.sgprs, limits.sgprs);
            if (shape.scalars > 100) EXPECT_TRUE(has(function, "v_writelane"));
            if (shape.tuples == 250) EXPECT_TRUE(has(function, "scratch_store"));
            if (shape.vectors == 300) EXPECT_TRUE(has(function, cdna ? "v_accvgpr_read" : "scratch_load"));
        }
}

size_t count(const MachineFunction& function, std::string_view part) {
    size_t found = 0;
    for (const Block& block : function.blocks)
        for (const Instruction& instruction : block.code)
            found += instruction.inst.row->mnemonic.find(part) != std::string_view::npos;
    return found;
}

TEST_P(Allocate, WhatLiveRegistersTellIsMadeAgainAndNotKeptElsewhere) {
    constexpr int kValues = 300;
    AddressedCode code(arch(), 1024);
    std::vector<Place> vectors, scalars;
    const Place given = code.fixed(Bank::scalar, 1, 4);
    for (int i = 0; i < kValues; ++i) {
        vectors.push_back(code.vector());
        code.op("v_mul_f32", {vectors.back()}, {Constant{i + 100}, code.item});
        scalars.push_back(code.scalar());
        code.op("s_mul_i32", {scalars.back()}, {given, Constant{i + 100}});
    }
    for (int i = 0; i < kValues; ++i) {
        const Place sum = code.vector();
        code.op("v_add_f32", {sum}, {scalars[static_cast<size_t>(i)], vectors[static_cast<size_t>(i)]});
        code.store(sum, code.address);
    }
    code.store(code.product(code.item, given), code.address);
    code.end();
    expect_same(code.function);
    EXPECT_EQ(code.function.scratch, 0u);
    EXPECT_FALSE(has(code.function, "v_writelane") || has(code.function, "v_accvgpr"));
    const auto products = count(code.function, "v_mul_f32") + count(code.function, "s_mul_i32");
    EXPECT_EQ(products, 2u * kValues + 1);  // those that gave way are made at their use alone
}

TEST_P(Allocate, WhatIsMadeOfRegistersThatChangeIsKeptElsewhere) {
    AddressedCode code(arch(), 1024);
    std::vector<Place> vectors;
    const Place moving = code.vector();
    code.op("v_mul_f32", {moving}, {code.item, code.item});
    for (int i = 0; i < 300; ++i) {
        vectors.push_back(code.vector());
        code.op("v_mul_f32", {vectors.back()}, {Constant{i + 100}, moving});
    }
    code.op("v_mul_f32", {moving}, {code.item, moving});  // no longer what they were made of
    for (Place vector : vectors) code.store(code.product(vector, moving), code.address);
    code.end();
    expect_same(code.function);
    EXPECT_TRUE(has(code.function, "scratch_") || has(code.function, "v_accvgpr"));
}

TEST_P(Allocate, MasksOfOneBlockAreInVccUnlessAnInstructionNamesIt) {
    for (bool named : {false, true}) {
        Code code(arch());
        const Place a = code.fixed(Bank::vector, 1, isa::code::vgpr0), mask = code.mask(), b = code.vector();
        const Place address = code.vector(2);
        code.copy(address.part(0), a);
        code.copy(address.part(1), Constant{1});
        if (named) code.op("v_cmp_lt_f32", {Fixed{isa::code::vcc_lo}}, {a, a});
        code.op("v_cmp_lt_f32", {mask}, {a, a});
        code.op("v_cndmask_b32", {b}, {a, a, mask});
        if (named) code.op("v_cndmask_b32", {b}, {a, b, Fixed{isa::code::vcc_lo}});
        code.store(b, address);
        code.end();
        expect_same(code.function);
        EXPECT_EQ(code.function.registers[mask.reg].place == isa::code::vcc_lo, !named);
        for (const Instruction& instruction : code.here())
            if (instruction.src[2] == mask) EXPECT_EQ(isa::encode(arch(), instruction.inst)->count, named ? 2 : 1);
    }
}

TEST_P(Allocate, CopiesOfWhatEndsThereVanish) {
    Code code(arch());
    const Place item = code.fixed(Bank::vector, 1, isa::code::vgpr0), address = code.vector(2);
    const Place a = code.vector(), b = code.vector(), c = code.vector();
    code.copy(address.part(0), item);
    code.copy(address.part(1), Constant{1});
    code.op("v_add_f32", {a}, {address.part(0), address.part(0)});
    code.copy(b, a);
    code.copy(c, b);
    code.store(c, address);
    code.end();
    expect_same(code.function);
    int moves = 0;
    for (const Instruction& instruction : code.here()) moves += instruction.inst.row->mnemonic == "v_mov_b32";
    EXPECT_EQ(moves, 1);
    EXPECT_EQ(code.function.vgprs, 3);
}

TEST_P(Allocate, DeadPartsOfATupleAreFreeForOthers) {
    Code code(arch());
    const Place item = code.fixed(Bank::vector, 1, isa::code::vgpr0), address = code.vector(2), quad = code.vector(4);
    code.copy(address.part(0), item);
    code.copy(address.part(1), Constant{1});
    code.op(code.spelled("global_load_b128", "global_load_dwordx4"), {quad}, {address});
    for (int i = 0; i < 3; ++i) code.store(quad.part(i), address);
    Place sum = quad.part(3);
    for (int i = 0; i < 3; ++i) {
        const Place next = code.vector();
        code.op("v_add_f32", {next}, {sum, quad.part(3)});
        sum = next;
    }
    code.store(sum, address);
    code.end();
    expect_same(code.function);
    EXPECT_LE(code.function.vgprs, 6);
}

TEST(Allocate, OperandsThatReachHalfTheRegistersAreAmongThese) {
    for (const isa::Arch arch : {isa::Arch::gfx1100, isa::Arch::gfx1201}) {
        Code code(arch);
        const Place item = code.fixed(Bank::vector, 1, isa::code::vgpr0), address = code.vector(2);
        code.copy(address.part(0), item);
        code.copy(address.part(1), Constant{1});
        std::vector<Place> values;
        for (int i = 0; i < 150; ++i) {
            values.push_back(code.vector());
            code.op("v_mul_f32", {values.back()}, {item, address.part(1)});
        }
        const Place half = code.vector();
        code.copy(half, Constant{0});  // the table of facts has it read
        Instruction& fused = code.op("v_fmaak_f16", {half}, {item, item, Constant{0x5a5a}});
        fused.inst.src[2].code = isa::code::literal;
        for (Place value : values) code.store(value, address);
        code.store(half, address);
        code.end();
        expect_same(code.function);
    }
}

TEST(RegisterLimits, AWorkgroupOfTheProgramFitsTheMachine) {
    struct Case {
        isa::Arch arch;
        uint32_t threads;
        int vgprs, total;
    };
    // LLVM's getMaxNumVGPRs for as many waves a vector unit: gfx1100 has 1536 rows, gfx942 512.
    for (const Case& row : {Case{isa::Arch::gfx1100, 64, 256, 256}, Case{isa::Arch::gfx1100, 1024, 192, 192},
                            Case{isa::Arch::gfx1201, 512, 256, 256}, Case{isa::Arch::gfx942, 64, 256, 512},
                            Case{isa::Arch::gfx942, 512, 256, 256}, Case{isa::Arch::gfx90a, 1024, 128, 128}}) {
        const Code code(row.arch, row.threads);
        EXPECT_EQ(register_limits(code.function).vgprs, row.vgprs) << row.threads;
        EXPECT_EQ(register_limits(code.function).total, row.total) << row.threads;
    }
}

}  // namespace
}  // namespace strata::codegen
