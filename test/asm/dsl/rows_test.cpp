#include <gtest/gtest.h>

#include "../isa/families.h"
#include "../isa/maker.h"
#include "strata/asm/dsl/assembler.h"
#include "strata/asm/isa/print.h"
#include "text_form.h"

namespace strata::isa {
namespace {

class ParsedRows : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Families, ParsedRows, testing::Values(Arch::gfx1150, Arch::gfx1201), arch_name);

}  // namespace

TEST_P(ParsedRows, EveryFormPrintsParsesAndEncodesToTheSameBytes) {
    const Arch arch = GetParam();
    const Family family = info(arch).family;
    Maker maker(family, 3, true);
    size_t compared = 0;
    for (const Row& row : rows(family)) {
        if (has_no_text_form(row)) continue;
        for (int round = 0; round < 8; ++round) {
            Inst inst = maker.make(row);
            drop_what_text_leaves_out(inst);
            auto encoded = encode(arch, inst);
            ASSERT_TRUE(encoded) << encoded.error().message;
            const std::vector<uint32_t> words(encoded->words.begin(), encoded->words.begin() + encoded->count);
            auto decoded = decode(arch, words, wave_size(arch, row));
            ASSERT_TRUE(decoded) << decoded.error().message;
            const std::string text = print(*decoded, arch);
            Assembler assembler(arch, wave_size(arch, row));
            assembler.emit_line(text);
            Result<std::vector<uint32_t>> again = assembler.words();
            EXPECT_TRUE(again) << text << "\n" << (again ? "" : again.error().message);
            if (again) {
                EXPECT_EQ(*again, words) << text;
            }
            ++compared;
        }
    }
    EXPECT_GT(compared, 8000u);
}

}  // namespace strata::isa
