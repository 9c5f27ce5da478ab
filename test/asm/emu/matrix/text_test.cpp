#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "../vector/harness.h"
#include "model.h"
#include "strata/asm/emu/run_wave.h"
#include "strata/asm/llvm/assemble.h"

// Matrix instructions from text to handler: the decoder fills an Inst as the handlers read it.
namespace strata::emu {
namespace {

using namespace matrix_model;

std::string registers(int first, int dwords) {
    if (dwords == 1) return "v" + std::to_string(first);
    return "v[" + std::to_string(first) + ":" + std::to_string(first + dwords - 1) + "]";
}

std::string text_of(const Case& c, const std::string& modifiers, const std::string& addend = {}) {
    auto dwords = [](int count, const std::string& type) { return (count * bits_of(type) + 31) / 32; };
    const bool half_register = bits_of(c.result) == 16 && c.arch == Arch::gfx1100;
    const int d = dwords(results(c), c.result) * (half_register ? 2 : 1);
    const std::string third = c.sparse ? registers(kIndex, 1) : addend.empty() ? registers(kC, d) : addend;
    return c.mnemonic + " " + registers(kD, d) + ", " + registers(kA, dwords(elements(c, true), c.a)) + ", " +
           registers(kB, dwords(elements(c, false), c.b)) + ", " + third + modifiers;
}

class MatrixText : public ::testing::TestWithParam<Case> {
  protected:
    /// The text decodes to what `form` chooses.
    void check(const std::string& text, const Form& form) {
        const Case& c = GetParam();
        const auto words = isa::assemble_instructions(text, c.arch, c.lanes);
        ASSERT_TRUE(words) << text << ": " << words.error().message;
        const auto inst = isa::decode(c.arch, *words, c.lanes);
        ASSERT_TRUE(inst) << text << ": " << inst.error().message;
        const isa::Row row{c.mnemonic, isa::Format::VOP3P, 0, {}, {}, isa::kMatrix};
        const valu_test::Variant variant = valu_test::variants().back();
        const std::optional<Op> decoded_op = variant.choose({*inst, c.arch, c.lanes});
        const isa::Inst made_inst = instruction(c, form, row);
        const std::optional<Op> made_op = variant.choose({made_inst, c.arch, c.lanes});
        ASSERT_TRUE(decoded_op && made_op) << text;
        EXPECT_EQ(decoded_op->run, made_op->run) << text;
        const MatrixFields &decoded = decoded_op->matrix(), &made = made_op->matrix();
        EXPECT_EQ(decoded.plan, made.plan) << text;
        EXPECT_EQ(decoded.flags, made.flags) << text;
        EXPECT_EQ(decoded.dst, made.dst) << text;
        EXPECT_EQ(decoded.a, made.a) << text;
        EXPECT_EQ(decoded.b, made.b) << text;
        EXPECT_EQ(decoded.index, made.index) << text;
        EXPECT_EQ(decoded.addend, made.addend) << text;
        EXPECT_EQ(decoded.constant, made.constant) << text;
        EXPECT_EQ(decoded.neg, made.neg) << text;
        EXPECT_EQ(decoded.neg_hi, made.neg_hi) << text;
    }
};

TEST_P(MatrixText, DecodesItsOperands) {
    const Case& c = GetParam();
    ASSERT_NO_FATAL_FAILURE(check(text_of(c, ""), {}));
    if (!c.sparse) {
        ASSERT_NO_FATAL_FAILURE(check(text_of(c, "", "-2.0"), {.constant = 245}));
    }
}

TEST_P(MatrixText, DecodesItsModifiers) {
    const Case& c = GetParam();
    const int sets = 32 / (2 * elements(c, true));
    if (c.cdna()) {
        if (c.sparse) return check(text_of(c, " abid:" + std::to_string(sets - 1)), {.abid = sets - 1});
        if (c.blocks > 1 && c.a != "f64") check(text_of(c, " cbsz:1 abid:1 blgp:5"), {.cbsz = 1, .abid = 1, .blgp = 5});
        if (c.arch == Arch::gfx942 && c.a == "f64") check(text_of(c, " neg:[1,0,1]"), {.blgp = 5});
        return;
    }
    const int op_sel = c.sparse ? sets - 1 : 0;
    const std::string suffix = op_sel ? " index_key:" + std::to_string(op_sel) : "";
    if (c.result == "i32") {
        check(text_of(c, suffix + " neg_lo:[0,1,0] clamp"), {.neg = 2, .op_sel = op_sel, .clamp = true});
    } else if (bits_of(c.a) == 8) {
        if (c.sparse) return check(text_of(c, suffix), {.op_sel = op_sel});
        check(text_of(c, " neg_lo:[0,0,1] neg_hi:[0,0,1]"), {.neg = 4, .neg_hi = 4});
    } else if (c.sparse) {
        check(text_of(c, suffix + " neg_lo:[1,0,0] neg_hi:[1,1,0]"), {.neg = 1, .neg_hi = 3, .op_sel = op_sel});
    } else {
        const bool high = c.arch == Arch::gfx1100 && bits_of(c.result) == 16;
        check(text_of(c, std::string(high ? " op_sel:[0,0,1]" : "") + " neg_lo:[1,0,1] neg_hi:[0,1,1]"),
              {.neg = 5, .neg_hi = 6, .op_sel = high ? 4 : 0});
    }
}

// A wave of 64 lanes has fewer registers of the same matrices: the program must not ask for those of a wave of 32.
TEST(MatrixOfWave64, MultipliesInTheRegistersThatAWaveOf64Needs) {
    struct Product {
        Arch arch;
        const char* text;
    };
    const Product products[] = {
        {Arch::gfx1100, "v_wmma_f32_16x16x16_f16 v[16:19], v[0:7], v[8:15], v[16:19]"},
        {Arch::gfx1201, "v_wmma_f32_16x16x16_f16 v[16:19], v[0:1], v[8:9], v[16:19]"},
        {Arch::gfx1201, "v_swmmac_f32_16x16x32_f16 v[16:19], v[0:1], v[8:11], v15 index_key:3"}};
    for (const Product& product : products) {
        const auto words = isa::assemble_instructions(std::string(product.text) + "\ns_endpgm", product.arch, 64);
        ASSERT_TRUE(words) << words.error().message;
        WaveRun wave;
        wave.wave_size = 64;
        wave.exec = ~0ull;
        wave.vgpr.resize(20 * 64);
        auto fill = [&](size_t first, size_t count, uint32_t value) {
            std::fill_n(wave.vgpr.begin() + static_cast<std::ptrdiff_t>(first * 64), count * 64, value);
        };
        fill(0, 8, 0x40004000);   // 2.0
        fill(8, 7, 0x42004200);   // 3.0
        fill(16, 4, 0x3f800000);  // 1.0
        fill(15, 1, product.text[2] == 's' ? 0x44444444 : 0x42004200);
        const auto result =
            run_wave(product.arch, {reinterpret_cast<const uint8_t*>(words->data()), words->size() * 4}, wave);
        ASSERT_TRUE(result) << product.text << ": " << result.error().message;
        for (size_t i = 16 * 64; i < 20 * 64; ++i) EXPECT_EQ(std::bit_cast<float>(wave.vgpr[i]), 16 * 2 * 3 + 1) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(All, MatrixText, ::testing::ValuesIn(all_cases()), case_name);

}  // namespace
}  // namespace strata::emu
