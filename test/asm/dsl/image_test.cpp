// Text of image instructions to bytes, as llvm-mc makes them, and back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "strata/asm/dsl/assembler.h"
#include "strata/asm/isa/image.h"
#include "strata/asm/isa/print.h"
#include "strata/asm/llvm/assemble.h"

namespace strata::isa {
namespace {

class ImageText : public testing::TestWithParam<Arch> {
  protected:
    static std::string group(char file, uint32_t first, int count) {
        return count == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + count - 1);
    }
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_()) % limit; }

    /// Random registers and modifiers of a mnemonic and shape; empty: more addresses than are there.
    std::string line(std::string_view mnemonic, ImageKind kind, const ImageDimInfo& dim, int levels) {
        const bool rdna4 = GetParam() == Arch::gfx1201, separate = rdna4 || below(2);
        const int addresses = dim.coordinates + levels;
        if (addresses == 0 || dim.coordinates == 0 || addresses > 3) return {};
        const bool gathers = kind == ImageKind::gather, samples = gathers || kind == ImageKind::sample;
        const uint32_t dmask = gathers ? 1u << below(4) : 1 + below(15);
        std::string list = group('v', below(250), separate ? 1 : addresses);
        for (int i = 1; separate && i < addresses; ++i) list += fmt::format(", v{}", below(256));
        if (separate && addresses > 1) list = "[" + list + "]";
        std::string text =
            fmt::format("{} {}, {}, {}", mnemonic, group('v', below(250), gathers ? 4 : std::popcount(dmask)), list,
                        group('s', 4 * below(24), 8));
        if (samples) text += ", " + group('s', 4 * below(24), 4);
        text += fmt::format(" dmask:{:#x} dim:{}", dmask, dim.name);
        if (below(2) && (!rdna4 || samples)) text += " unorm";
        if (rdna4)
            return text + (below(2) ? " th:TH_" + std::string(kind == ImageKind::store ? "STORE" : "LOAD") +
                                          "_NT scope:SCOPE_DEV"
                                    : "");
        for (const char* flag : {" glc", " slc", " dlc"}) text += below(2) ? flag : "";
        return text;
    }
    std::string refusal(std::string_view text) {
        Assembler assembler(GetParam());
        assembler.emit_line(text);
        auto words = assembler.words();
        return words ? "" : words.error().message;
    }

  private:
    std::mt19937 random_{3};
};

INSTANTIATE_TEST_SUITE_P(Rdna, ImageText, testing::Values(Arch::gfx1100, Arch::gfx1201),
                         [](const auto& of) { return std::string(strata::isa::info(of.param).name); });

TEST_P(ImageText, BecomesTheBytesOfLlvmAndIsPrintedAsItWas) {
    std::vector<std::string> lines;
    for (int round = 0; round < 20; ++round)
        for (const ImageDimInfo& dim : kImageDims) {
#define IMAGE(mnemonic, kind, levels) lines.push_back(line(#mnemonic, ImageKind::kind, dim, levels));
#include "strata/asm/isa/images.def"
        }
    std::erase(lines, "");
    ASSERT_GT(lines.size(), 500u);
    Assembler assembler(GetParam());
    std::string all;
    for (const std::string& each : lines) {
        assembler.emit_line(each);
        all += each + "\n";
    }
    const auto ours = assembler.words(), theirs = assemble_instructions(all, GetParam());
    ASSERT_TRUE(ours) << ours.error().message;
    ASSERT_TRUE(theirs) << theirs.error().message << theirs.error().log;
    EXPECT_EQ(*ours, *theirs);
    std::span<const uint32_t> rest = *ours;
    for (const std::string& each : lines) {
        const auto inst = decode(GetParam(), rest);
        ASSERT_TRUE(inst) << each;
        EXPECT_EQ(print(*inst, GetParam()), each);
        rest = rest.subspan(inst->size / 4);
    }
}

TEST_P(ImageText, ThatIsNoInstructionIsRefusedWithWhatToWrite) {
    const auto says = [&](std::string_view text, std::string_view part) {
        EXPECT_NE(refusal(text).find(part), std::string::npos) << refusal(text);
    };
    says("image_load v0, v1, s[0:7] dmask:0x1", "it needs a dim, as dim:SQ_RSRC_IMG_2D");
    says("image_load v0, v1, s[0:7] dim:SQ_RSRC_IMG_1D", "it needs components, as dmask:0xf");
    says("image_load v0, v1, s[0:7] dmask:0x3 dim:SQ_RSRC_IMG_1D",
         "the data of this dmask is 2 vector registers, not v0");
    says("image_load v0, v1, s[0:3] dmask:0x1 dim:SQ_RSRC_IMG_1D", "the descriptor of the image is 8 scalar registers");
    says("image_load v0, [v1, v2], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_3D", "it takes 3 address registers by themselves");
    says("image_load v0, v1, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_CUBE", "dim:SQ_RSRC_IMG_CUBE");
    says("image_load v0, v1, s[2:9] dmask:0x1 dim:SQ_RSRC_IMG_1D", "must start at a multiple of 4 SGPRs");
    says("image_sample v0, v1, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_1D", "it takes data, addresses and descriptors");
    says("image_gather4_c v0, v1, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D", "only loads, stores, samples and gathers");
    says("image_gather4 v[0:3], v[4:5], s[0:7], s[8:11] dmask:0x3 dim:SQ_RSRC_IMG_2D",
         "it needs one component, as dmask:0x1");
    says("v_mov_b32 v0, v1 dmask:0x1", "dmask, dim and unorm are of images");
}

}  // namespace
}  // namespace strata::isa
