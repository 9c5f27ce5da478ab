#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

#include "strata/asm/llvm/assemble.h"

// LLVM's assembler ends its process, or never comes back, for texts like these. Each is an error here, and the next
// text is assembled as ever.
namespace strata::isa {
namespace {

struct Hostile {
    const char* name;
    std::string text;
    std::string_view word;  ///< what the message says
};

std::string nested(std::string_view open, int times, std::string_view close) {
    std::string text = ".long ";
    for (int i = 0; i < times; ++i) text += open;
    text += '1';
    for (int i = 0; i < times; ++i) text += close;
    return text;
}

const Hostile kHostile[] = {
    {"Byte", ".byte 1", ""},
    {"Text", "s_endpgm\n.ascii \"abc\"", ""},
    {"SizeOfNothing", "f:\n.size f, nowhere", ""},
    {"UnsettledDifference", ".uleb128 a-b", ""},
    {"DeepParentheses", nested("(", 100'000, ")"), ""},
    {"ManySigns", nested("-", 200'000, ""), ""},
    {"ZeroOfATebibyte", ".zero 1<<40", "MiB"},
    {"OpenStringWithoutEnd", "foo, \"189, -16\n", "10 s"},
    {"FillOfGibibytes", ".fill 0x7fffffff, 8, 1", "MiB"},
};

class Refused : public testing::TestWithParam<Hostile> {};
std::string its_name(const testing::TestParamInfo<Hostile>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Texts, Refused, testing::ValuesIn(kHostile), its_name);

/// Processes that this one has started and that still run.
std::vector<pid_t> children() {
    std::vector<pid_t> found;
    std::ifstream list(fmt::format("/proc/self/task/{}/children", gettid()));
    for (pid_t child; list >> child;) found.push_back(child);
    return found;
}

void expect_that_it_works() {
    const auto words = assemble_instructions("s_nop 0", Arch::gfx1100);
    ASSERT_TRUE(words) << words.error().message;
    EXPECT_EQ(*words, std::vector<uint32_t>{0xbf800000});
}

}  // namespace

TEST_P(Refused, AsAnErrorOfTheTextWithinItsTime) {
    const auto start = std::chrono::steady_clock::now();
    const Result<Bytes> image = assemble(GetParam().text, Arch::gfx1100, "mine.s");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(25));
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().kind, ErrorKind::Assembly);
    EXPECT_TRUE(image.error().message.starts_with("mine.s:")) << image.error().message;
    EXPECT_NE(image.error().message.find(GetParam().word), std::string::npos) << image.error().message;
    EXPECT_EQ(image.error().file, "mine.s");
    EXPECT_EQ(image.error().source, GetParam().text);
    expect_that_it_works();
}

TEST(llvm_service, IsOneProcessForAllTexts) {
    expect_that_it_works();
    const std::vector<pid_t> before = children();
    ASSERT_EQ(before.size(), 1u);
    for (int i = 0; i < 20; ++i) expect_that_it_works();
    EXPECT_EQ(children(), before);
}

TEST(llvm_service, IsStartedAgainWhenSomebodyEndsIt) {
    expect_that_it_works();
    for (pid_t child : children()) kill(child, SIGKILL);
    expect_that_it_works();
}

TEST(llvm_service, OfAForkedProcessIsItsOwn) {
    expect_that_it_works();
    const pid_t forked = fork();
    if (forked == 0) {
        const auto words = assemble_instructions("s_nop 1", Arch::gfx1100);
        _exit(words && *words == std::vector<uint32_t>{0xbf800001} ? 0 : 1);
    }
    const auto words = assemble_instructions("s_nop 2", Arch::gfx1100);
    EXPECT_TRUE(words && *words == std::vector<uint32_t>{0xbf800002});
    int status = -1;
    ASSERT_EQ(waitpid(forked, &status, 0), forked);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(llvm_service, EndsWithItsProcessEvenWhileATextKeepsIt) {
    std::array<int, 2> ends;
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t forked = fork();
    if (forked == 0) {
        (void)assemble_instructions("s_nop 0", Arch::gfx1100);
        const std::vector<pid_t> own = children();
        const pid_t service = own.empty() ? 0 : own[0];
        if (write(ends[1], &service, sizeof service) != sizeof service) _exit(1);
        (void)assemble(".byte 1\n.p2align 4", Arch::gfx1100);
        _exit(0);
    }
    pid_t service = 0;
    ASSERT_EQ(read(ends[0], &service, sizeof service), static_cast<ssize_t>(sizeof service));
    ASSERT_GT(service, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(kill(service, 0), 0);
    kill(forked, SIGKILL);
    int status = 0;
    waitpid(forked, &status, 0);
    auto gone = [&] {
        std::ifstream file(fmt::format("/proc/{}/stat", service));
        std::string line;
        return !std::getline(file, line) || line.find(") Z ") != std::string::npos;
    };
    for (int i = 0; i < 100 && !gone(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(gone());
    close(ends[0]);
    close(ends[1]);
}

}  // namespace strata::isa
