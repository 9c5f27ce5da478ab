#include <gtest/gtest.h>

#include <random>

#include "../isa/families.h"
#include "strata/asm/dsl/assembler.h"
#include "strata/asm/isa/print.h"
#include "text_form.h"

namespace strata::isa {
namespace {

class CdnaParsedRows : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Families, CdnaParsedRows, testing::Values(Arch::gfx942, Arch::gfx90a), arch_name);

constexpr uint32_t kSdwa = 249, kDpp = 250;  // codes of source 0 that announce a word of their own

/// Random words that decode to the row, with the word of DPP or SDWA where it takes one.
class WordMaker {
  public:
    WordMaker(Arch arch, uint32_t seed) : arch_(arch), table_(table(info(arch).family)), random_(seed) {}

    std::optional<Inst> make(const Row& row) {
        const Layout& layout = table_.layout(row.format);
        const bool native = has_half_registers(row.format);
        for (int attempt = 0; attempt < 2000; ++attempt) {
            uint64_t word = random64();
            if (random_() % 2) word &= random64();  // fewer bits: more optional fields are empty
            const uint64_t fixed = layout.op.mask() | (~uint32_t{0} << (32 - layout.prefix_bits));
            word = (word & table_.bits_of(row).read() & ~fixed) | layout.prefix | layout.op.put(row.opcode);
            const uint32_t extra = native && random_() % 2 ? random_() % 2 ? kSdwa : kDpp : 0;
            if (extra) word = (word & ~uint64_t{511}) | extra;
            std::array<uint32_t, 3> words = {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32),
                                             random32()};
            if (layout.words == 1) words[1] = extra == kSdwa ? sdwa_word(row) : extra ? dpp_word() : random32();
            auto inst = decode(arch_, words);
            // LLVM's disassembler knows register groups that cannot be written.
            if (inst && inst->row == &row && encode(arch_, *inst)) return *inst;
        }
        return {};
    }

  private:
    uint32_t pick(uint32_t count) { return random32() % count; }
    /// Selections of either source and the destination, some sign modifiers (CDNA3 ISA, "SDWA").
    uint32_t sdwa_word(const Row& row) {
        const bool compares = row.format == Format::VOPC;
        const uint32_t to =
            compares ? pick(2) * (0x80 | 2 * pick(50)) : pick(7) | pick(3) << 3 | (pick(16) & pick(16)) << 5;
        const uint32_t signs = pick(16) & pick(16), scalars = pick(4) ? 0 : 0x80;
        return pick(256) | to << 8 | pick(7) << 16 | (signs & 7) << 19 | scalars << 16 | pick(7) << 24 |
               (pick(8) & pick(8)) << 27;
    }
    uint32_t dpp_word() {
        constexpr uint32_t controls[] = {0x1b,  0xe4,  0x101, 0x11f, 0x128, 0x130, 0x134, 0x138,
                                         0x13c, 0x140, 0x141, 0x142, 0x143, 0x150, 0x15f};
        return pick(256) | controls[pick(std::size(controls))] << 8 | pick(2) << 19 | (pick(16) & pick(16)) << 20 |
               random32() << 24;
    }
    uint32_t random32() { return static_cast<uint32_t>(random_()); }
    uint64_t random64() { return uint64_t{random32()} << 32 | random32(); }
    Arch arch_;
    const FamilyTable& table_;
    std::mt19937 random_;
};

std::vector<uint32_t> words_of(const Encoded& encoded) {
    return {encoded.words.begin(), encoded.words.begin() + encoded.count};
}

}  // namespace

TEST_P(CdnaParsedRows, EveryFormPrintsParsesAndEncodesToTheSameBytes) {
    const Arch arch = GetParam();
    WordMaker maker(arch, 5);
    size_t compared = 0, sdwa = 0, dpp = 0, accumulators = 0;
    for (const Row& row : rows(info(arch).family)) {
        if (has_no_text_form(row)) continue;
        for (int round = 0; round < 8; ++round) {
            auto made = maker.make(row);
            ASSERT_TRUE(made) << row.mnemonic << ": no words decode to it";
            drop_what_cdna_text_leaves_out(*made);
            auto encoded = encode(arch, *made);
            ASSERT_TRUE(encoded) << encoded.error().message;
            auto decoded = decode(arch, words_of(*encoded));
            ASSERT_TRUE(decoded) << decoded.error().message;
            const std::string text = print(*decoded, arch);
            Assembler assembler(arch);
            assembler.emit_line(text);
            Result<std::vector<uint32_t>> again = assembler.words();
            EXPECT_TRUE(again) << text << "\n" << (again ? "" : again.error().message);
            if (again) {
                EXPECT_EQ(*again, words_of(*encoded)) << text;
            }
            ++compared;
            sdwa += decoded->sdwa.present;
            dpp += decoded->dpp.kind != DppKind::none;
            accumulators += text.find(" a[") != text.npos;
        }
    }
    EXPECT_GT(compared, 8000u);
    EXPECT_GT(sdwa, 200u);
    EXPECT_GT(dpp, 100u);
    EXPECT_GT(accumulators, 100u);
}

}  // namespace strata::isa
