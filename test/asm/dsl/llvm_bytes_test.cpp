#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <map>

#include "../isa/families.h"
#include "../isa/maker.h"
#include "../isa/maker_cdna.h"
#include "../object/host_tools.h"
#include "llvm_refusals.h"
#include "strata/asm/dsl/assembler.h"
#include "strata/asm/isa/print.h"
#include "text_form.h"

// Every form's bytes: random instances are printed, and what llvm-mc makes of the text is what the encoder made.
namespace strata::isa {
namespace {

using test::TemporaryFolder;

struct Line {
    Inst inst;
    std::vector<uint32_t> words;
    std::string text;
};

/// llvm-mc's words of each line; none where it refuses it.
struct Answer {
    std::vector<uint32_t> words;
    std::string error;
};

std::vector<uint32_t> words_of(const Encoded& encoded) {
    return {encoded.words.begin(), encoded.words.begin() + encoded.count};
}

/// "[0x02,0x07,0x02,0x06]": bytes in memory order.
std::vector<uint32_t> words_in_brackets(std::string_view text) {
    std::vector<uint32_t> words;
    size_t bytes = 0;
    for (size_t at; (at = text.find("0x")) != text.npos; ++bytes) {
        uint32_t byte = 0;
        std::from_chars(text.data() + at + 2, text.data() + text.size(), byte, 16);
        if (bytes % 4 == 0) words.push_back(0);
        words.back() |= byte << 8 * (bytes % 4);
        text.remove_prefix(at + 2);
    }
    return words;
}

/// One process for all lines. A label in front of each tells its output apart; complaints go by line numbers.
std::vector<Answer> ask_llvm_mc(const std::vector<Line>& lines, Arch arch, bool wave64) {
    TemporaryFolder folder;
    std::string source;
    for (size_t i = 0; i < lines.size(); ++i) source += fmt::format("line_{}:\n{}\n", i, lines[i].text);
    test::write_file(folder.file("lines.s"), source);
    test::run(fmt::format("(llvm-mc-19 -triple=amdgcn-amd-amdhsa -mcpu={} {} --show-encoding {} >{} 2>{})",
                          info(arch).name, wave64 ? "-mattr=-wavefrontsize32,+wavefrontsize64" : "",
                          folder.file("lines.s"), folder.file("out"), folder.file("errors")));
    std::vector<Answer> answers(lines.size());
    std::ifstream out(folder.file("out")), errors(folder.file("errors"));
    size_t at = 0;
    for (std::string line; std::getline(out, line);) {
        if (line.starts_with("line_")) at = static_cast<size_t>(std::stoul(line.substr(5)));
        if (const size_t note = line.find("encoding: ["); note != line.npos)
            answers[at].words = words_in_brackets(std::string_view(line).substr(note));
    }
    for (std::string line; std::getline(errors, line);) {
        const size_t number = line.find(".s:"), message = line.find(": error: ");
        if (number == line.npos || message == line.npos) continue;
        answers[static_cast<size_t>(std::stoul(line.substr(number + 3))) / 2 - 1].error = line.substr(message + 9);
    }
    return answers;
}

/// Random instances of every form, every other one of operands that LLVM's assembler takes.
template <class AnyMaker, class Drop>
std::vector<Line> made_lines(Arch arch, AnyMaker maker, const Drop& drop_what_text_leaves_out) {
    constexpr int kRounds = 12;
    const Family family = info(arch).family;
    std::vector<Line> lines;
    for (const Row& row : rows(family)) {
        if (has_no_text_form(row)) continue;
        for (int round = 0; round < kRounds; ++round) {
            Inst inst = maker.make(row);
            drop_what_text_leaves_out(inst);
            if (round % 2) keep_to_what_is_taken(inst, family);
            auto encoded = encode(arch, inst);
            EXPECT_TRUE(encoded) << encoded.error().message;
            if (!encoded) continue;
            auto decoded = decode(arch, words_of(*encoded), wave_size(arch, row));
            EXPECT_TRUE(decoded) << row.mnemonic;
            if (decoded) lines.push_back({*decoded, words_of(*encoded), print(*decoded, arch)});
        }
    }
    return lines;
}

/// Lines of the forms that only wave64 has, or of all others.
std::vector<Line> made_lines(Arch arch, bool wave64) {
    const Family family = info(arch).family;
    std::vector<Line> lines = is_cdna(family) ? made_lines(arch, CdnaMaker(family, 7), drop_what_cdna_text_leaves_out)
                                              : made_lines(arch, Maker(family, 7), drop_what_text_leaves_out);
    std::erase_if(lines, [&](const Line& line) { return bool(line.inst.row->flags & kWave64) != wave64; });
    return lines;
}

/// The own assembler's words of a line.
std::vector<uint32_t> own_words(const Line& line, Arch arch) {
    Assembler assembler(arch, wave_size(arch, *line.inst.row));
    assembler.emit_line(line.text);
    Result<std::vector<uint32_t>> words = assembler.words();
    EXPECT_TRUE(words) << line.text << "\n" << (words ? "" : words.error().message);
    return words ? *words : std::vector<uint32_t>();
}

bool has_upper_half(std::string_view text) { return text.find(".h") != text.npos; }

class LlvmBytes : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Families, LlvmBytes, tested_archs(), arch_name);

}  // namespace

TEST_P(LlvmBytes, OfEveryFormAreThoseOfTheEncoderAndOfTheOwnAssembler) {
    if (std::system("llvm-mc-19 --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "llvm-mc-19 is not installed";
    const Arch arch = GetParam();
    std::map<const Row*, int> compared;
    size_t all = 0, refused = 0;
    for (bool wave64 : {false, true}) {
        const std::vector<Line> lines = made_lines(arch, wave64);
        const std::vector<Answer> answers = ask_llvm_mc(lines, arch, wave64);
        all += lines.size();
        for (size_t i = 0; i < lines.size(); ++i) {
            const Line& line = lines[i];
            EXPECT_EQ(own_words(line, arch), line.words) << line.text;
            const std::string_view complaint = due_complaint(line.inst, info(arch).family);
            EXPECT_EQ(answers[i].error, complaint) << line.text;
            int& times = compared[line.inst.row];
            refused += !complaint.empty();
            if (!complaint.empty()) continue;
            EXPECT_EQ(answers[i].words, line.words) << line.text;
            times++;
        }
    }
    for (auto [row, times] : compared) EXPECT_GT(times, 0) << row->mnemonic << " " << name(row->format);
    EXPECT_GT(all, 12000u);
    EXPECT_LT(refused, all / 20);
}

// RDNA's 16-bit operands are halves of registers in short forms and in VOP3; LLVM 19 knows them of few instructions.
TEST(OwnText, OfUpperHalvesAssemblesToTheSameBytes) {
    for (const Arch arch : {Arch::gfx1150, Arch::gfx1201}) {
        size_t upper = 0, of_scalars = 0;
        for (const Line& line : made_lines(arch, Maker(info(arch).family, 8, true), drop_what_text_leaves_out)) {
            EXPECT_EQ(own_words(line, arch), line.words) << line.text;
            upper += has_upper_half(line.text);
            of_scalars += line.inst.encoding == Format::VOP3 && line.text.find(" op_sel:[") != line.text.npos;
        }
        EXPECT_GT(upper, 1000u);
        EXPECT_GT(of_scalars, 100u);
    }
}

}  // namespace strata::isa
