#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "families.h"
#include "llvm_quirks.h"
#include "random_words.h"

using namespace strata;
using namespace strata::isa;

namespace {

constexpr size_t kWords = 8000;  // llvm-mc takes a second for 30000

std::string block(std::span<const uint32_t> words) {
    std::string text = "[";
    for (uint32_t word : words)
        for (int shift = 0; shift < 32; shift += 8) text += fmt::format("0x{:02x} ", word >> shift & 255);
    text.back() = ']';
    return text + "\n";
}

std::string without_comment(std::string text) {
    text.resize(std::min(text.size(), text.find(" ; ")));
    text.erase(text.find_last_not_of(" \t\n") + 1);
    return text;
}

class Oracle : public testing::TestWithParam<Arch> {
  protected:
    /// s_branch, whose target tells candidates apart.
    uint32_t marker(size_t index) const {
        bool rdna = info(GetParam()).wave_size == 32;
        return (rdna ? 0xbfa00000 : 0xbf820000) | (index & 0xffff);
    }

    /// llvm-mc's text for each candidate: its block is followed by a marker, so that leftovers are not attributed to
    /// it.
    std::vector<std::string> ask_llvm_mc(const std::vector<Words>& words) const {
        std::string path = testing::TempDir() + fmt::format("strata_isa_oracle_{}", getpid());
        {
            std::ofstream input(path);
            for (size_t i = 0; i < words.size(); ++i) {
                uint32_t end = marker(i);
                input << block(words[i]) << block({&end, 1});
            }
        }
        std::string command =
            fmt::format("llvm-mc-19 -triple=amdgcn-amd-amdhsa -mcpu={} --disassemble --show-encoding {} 2>/dev/null",
                        info(GetParam()).name, path);
        FILE* pipe = popen(command.c_str(), "r");
        std::vector<std::string> answers;
        std::string current;
        char buffer[1024];
        while (pipe && std::fgets(buffer, sizeof buffer, pipe)) {
            std::string line(buffer);
            size_t note = line.find("encoding: [");
            if (note == std::string::npos) continue;
            size_t mark = line.find_last_of(";/", note - 1);  // "; encoding" or "// encoding"
            mark -= line[mark] == '/';
            std::string text = line.substr(1, line.find_last_not_of(" \t", mark - 1));
            if (text == fmt::format("s_branch {}", answers.size() & 0xffff)) {
                answers.push_back(current);
                current.clear();
            } else if (current.empty()) {
                current = without_comment(text);
            }
        }
        if (pipe) pclose(pipe);
        unlink(path.c_str());
        return answers;
    }
};

INSTANTIATE_TEST_SUITE_P(Families, Oracle, shown_archs(), arch_name);

}  // namespace

TEST_P(Oracle, OfTheOtherTestsAnswersAsLlvmMcDoes) {
    LlvmOracle llvm(GetParam());
    if (!llvm.available() || std::system("llvm-mc-19 --version >/dev/null 2>&1") != 0)
        GTEST_SKIP() << "LLVM 19 is not installed";
    RandomWords candidates(info(GetParam()).family, 22);
    std::vector<Words> words;
    for (size_t i = 0; i < kWords; ++i) words.push_back(candidates.next());
    std::vector<std::string> answers = ask_llvm_mc(words);
    ASSERT_EQ(answers.size(), kWords);
    size_t valid = 0;
    for (size_t i = 0; i < kWords; ++i) {
        valid += !answers[i].empty();
        EXPECT_EQ(without_comment(llvm.ask(words[i]).text), answers[i]);
    }
    EXPECT_GT(valid, kWords / 4);
}
