#include <cmath>

#include "harness.h"
#include "reference.h"

namespace strata::emu {
namespace {

using namespace valu_test;
using namespace reference;

/// The value of lane `lane` of source `i` in a type: floats as numbers or NaN, integers exactly.
Wide value(Bench& bench, const std::string& type, int i, int lane) {
    const uint32_t x = bench.v(2 * i, lane);
    const uint64_t q = bench.v64(2 * i, lane);
    if (type == "f16") return half_value(x & 0xffff);
    if (type == "f32") return to_float(x);
    if (type == "f64") return to_double(q);
    if (type == "i16") return static_cast<int16_t>(x);
    if (type == "u16") return x & 0xffff;
    if (type == "i32") return static_cast<int32_t>(x);
    if (type == "u32") return x;
    return type == "i64" ? Wide(static_cast<int64_t>(q)) : Wide(q);
}

bool holds(const std::string& relation, Wide a, Wide b) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    if (relation == "f" || relation == "t") return relation == "t";
    if (relation == "o" || relation == "u") return unordered == (relation == "u");
    if (relation == "lt") return a < b;
    if (relation == "eq") return a == b;
    if (relation == "le") return a <= b;
    if (relation == "gt") return a > b;
    if (relation == "ge") return a >= b;
    if (relation == "lg") return !unordered && a != b;
    if (relation == "ne") return a != b;
    return !holds(relation.substr(1), a, b);  // nge, nlg, ngt, nle, neq, nlt
}

/// Equal pairs and neighbours are as likely as distant values.
void fill(Bench& bench, int lanes, Inputs& inputs) {
    for (int lane = 0; lane < lanes; ++lane) {
        for (int row = 0; row < 4; ++row) bench.v(row, lane) = inputs.dword();
        const uint64_t r = inputs.next();
        if (r & 1) bench.v(3, lane) = bench.v(1, lane);
        if ((r & 6) == 0) bench.v(2, lane) = bench.v(0, lane);
        if ((r & 14) == 8) bench.v(2, lane) = bench.v(0, lane) ^ 0x80000000;
    }
}

struct Shape {
    int lanes;
    bool exec_form;
};

class ValuCompare : public testing::TestWithParam<Shape> {};

TEST_P(ValuCompare, EveryRelationAndTypeSetsBitsOfActiveLanesOnly) {
    if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    const auto [lanes, exec_form] = GetParam();
    const std::vector<std::string> ordered = {"lt", "eq", "le", "gt", "ge"};
    const std::vector<std::string> floats = {"f", "lt",  "eq",  "le",  "gt",  "lg",  "ge",  "o",
                                             "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "t"};
    const std::vector<std::string> integers = {"lt", "eq", "le", "gt", "ne", "ge"};
    for (const std::string type : {"f16", "f32", "f64", "i16", "u16", "i32", "u32", "i64", "u64"}) {
        auto relations = type[0] == 'f' ? floats : integers;
        if (type == "i32" || type == "u32" || type == "i64" || type == "u64")
            relations.insert(relations.end(), {"f", "t"});
        const bool wide = type.substr(1) == "64";
        for (const std::string& relation : relations) {
            const std::string mask = exec_form ? "" : lanes == 32 ? "s10, " : "s[10:11], ";
            const std::string text = "v_cmp" + std::string(exec_form ? "x_" : "_") + relation + "_" + type + "_e64 " +
                                     mask + (wide ? "v[0:1], v[2:3]" : "v0, v2");
            const auto words = assembled(text, lanes);
            for (const Variant& variant : variants()) {
                Bench bench(lanes);
                Code code;
                ASSERT_TRUE(!words.empty() && code.load(variant, words, lanes)) << text;
                Inputs inputs(std::hash<std::string>{}(text));
                for (int round = 0; round < 12; ++round) {
                    fill(bench, lanes, inputs);
                    const uint64_t exec = round & 1 ? ~uint64_t{0} : inputs.next();
                    bench.set_exec(exec);
                    bench.set_mask(10, ~uint64_t{0});
                    bench.set_mask(106, 0x1234);
                    ASSERT_TRUE(bench.run(code));
                    const uint64_t got = bench.s64(exec_form ? 126 : 10);
                    EXPECT_EQ(bench.s64(106), 0x1234u) << text << " changed VCC";
                    for (int lane = 0; lane < lanes; ++lane) {
                        const bool want = (exec >> lane & 1) &&
                                          holds(relation, value(bench, type, 0, lane), value(bench, type, 1, lane));
                        ASSERT_EQ(got >> lane & 1, want ? 1u : 0u)
                            << variant.name << " " << text << " lane " << lane << std::hex << " " << bench.v64(0, lane)
                            << " " << bench.v64(2, lane);
                    }
                }
            }
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Forms, ValuCompare,
                         testing::Values(Shape{32, false}, Shape{64, false}, Shape{32, true}, Shape{64, true}),
                         [](const auto& info) {
                             return "wave" + std::to_string(info.param.lanes) +
                                    (info.param.exec_form ? "_exec" : "_mask");
                         });

/// Class bits of RDNA3 ISA, V_CMP_CLASS_F32.
int class_of(int category, bool negative, bool quiet) {
    if (category == FP_NAN) return quiet ? 1 : 0;
    if (category == FP_INFINITE) return negative ? 2 : 9;
    if (category == FP_NORMAL) return negative ? 3 : 8;
    if (category == FP_SUBNORMAL) return negative ? 4 : 7;
    return negative ? 5 : 6;
}
int class16(uint32_t x) {
    const uint32_t magnitude = x & 0x7fff;
    const int category = magnitude > 0x7c00    ? FP_NAN
                         : magnitude == 0x7c00 ? FP_INFINITE
                         : magnitude >= 0x400  ? FP_NORMAL
                         : magnitude           ? FP_SUBNORMAL
                                               : FP_ZERO;
    return class_of(category, x & 0x8000, x & 0x200);
}

TEST(ValuCompareClass, FindsTheClassOfEveryKindOfNumber) {
    if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    const auto words =
        assembled("v_cmp_class_f32 s10, v0, v4\nv_cmp_class_f64 s11, v[0:1], v4\nv_cmp_class_f16 s12, v0, v4", 32);
    for (const Variant& variant : variants()) {
        Bench bench(32);
        Code code;
        ASSERT_TRUE(code.load(variant, words, 32));
        Inputs inputs(5);
        for (int round = 0; round < 40; ++round) {
            for (int lane = 0; lane < 32; ++lane)
                for (int row = 0; row < 5; ++row) bench.v(row, lane) = inputs.dword();
            ASSERT_TRUE(bench.run(code));
            for (int lane = 0; lane < 32; ++lane) {
                const uint32_t x = bench.v(0, lane), classes = bench.v(4, lane);
                const uint64_t q = bench.v64(0, lane);
                const int c32 = class_of(std::fpclassify(to_float(x)), x >> 31, x & 0x400000);
                const int c64 = class_of(std::fpclassify(to_double(q)), q >> 63, q >> 51 & 1);
                ASSERT_EQ(bench.wave().s[10] >> lane & 1, classes >> c32 & 1) << std::hex << x << " " << classes;
                ASSERT_EQ(bench.wave().s[11] >> lane & 1, classes >> c64 & 1) << std::hex << q << " " << classes;
                ASSERT_EQ(bench.wave().s[12] >> lane & 1, classes >> class16(x & 0xffff) & 1)
                    << std::hex << x << " " << classes;
            }
        }
    }
}

TEST(ValuCompareForms, ShortFormWritesVccAndTakesHalvesOfUpperRegisters) {
    if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    for (const Variant& variant : variants()) {
        Bench bench(64);
        Inputs inputs(9);
        for (int lane = 0; lane < 64; ++lane)
            for (int row = 0; row < 2; ++row) bench.v(row, lane) = inputs.dword();
        ASSERT_TRUE(bench.run(variant, assembled("v_cmp_gt_u32 vcc, s5, v1\n", 64)));
        for (int lane = 0; lane < 64; ++lane)
            EXPECT_EQ(bench.s64(106) >> lane & 1, bench.wave().s[5] > bench.v(1, lane) ? 1u : 0u);
    }
}

TEST(ValuCompareForms, AMaskThatOverwritesItsOwnScalarSourceReadsItFirst) {
    if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    for (const Variant& variant : variants()) {
        for (const char* text : {"v_cmp_eq_u32_e64 s[4:5], s4, v0", "v_cmp_eq_u32_e64 s[4:5], s5, v0"}) {
            Bench bench(64);
            bench.wave().s[4] = bench.wave().s[5] = 7;
            for (int lane = 0; lane < 64; ++lane) bench.v(0, lane) = lane % 3 ? 7 : 8;
            ASSERT_TRUE(bench.run(variant, assembled(text, 64)));
            for (int lane = 0; lane < 64; ++lane) EXPECT_EQ(bench.s64(4) >> lane & 1, lane % 3 ? 1u : 0u) << text;
        }
    }
}

}  // namespace
}  // namespace strata::emu
