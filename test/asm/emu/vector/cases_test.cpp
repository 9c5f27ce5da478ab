#include <bit>
#include <cfloat>
#include <set>

#include "cases.h"

namespace strata::emu {
namespace {

using namespace valu_test;
using namespace reference;

class ValuCases : public testing::TestWithParam<int> {};

TEST_P(ValuCases, AgreeWithAScalarReferenceOfTheDocument) {
    const int lanes = GetParam();
    if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    Bench bench(lanes);
    for (const Case& row : kCases) {
        SCOPED_TRACE(row.text);
        const std::vector<uint32_t> words = assembled(for_wave(row.text, lanes), lanes);
        for (const Variant& variant : variants()) {
            Code code;
            if (words.empty() || !code.load(variant, words, lanes)) continue;
            check_case(row, variant, lanes, bench, code);
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Waves, ValuCases, testing::Values(32, 64),
                         [](const auto& info) { return "wave" + std::to_string(info.param); });

TEST(Valu, EveryRowOfTheTableHasAHandler) {
    using isa::Format;
    const std::set<Format> formats = {Format::VOP1,   Format::VOP2,  Format::VOPC,   Format::VOP3,
                                      Format::VOP3SD, Format::VOP3P, Format::VINTERP};
    for (const Variant& variant : variants()) {
        std::set<std::string> missing;
        for (const isa::Row& row : isa::rows(isa::Family::rdna3)) {
            if (!formats.count(row.format)) continue;
            isa::Inst inst;
            inst.row = &row;
            inst.encoding = row.format;
            auto place = [](isa::Type type) {
                const bool mask = type == isa::Type::lanes;
                return isa::Operand{static_cast<uint16_t>(mask ? isa::code::vcc_lo : isa::code::vgpr0 + 16), type};
            };
            for (size_t i = 0; i < row.dst.size(); ++i) inst.dst[i] = place(row.dst[i]);
            for (size_t i = 0; i < row.src.size(); ++i) inst.src[i] = place(row.src[i]);
            if (!variant.choose({inst, isa::Arch::gfx1100, 32})) missing.insert(std::string(row.mnemonic));
        }
        EXPECT_EQ(missing, std::set<std::string>()) << variant.name;
    }
}

}  // namespace
}  // namespace strata::emu
