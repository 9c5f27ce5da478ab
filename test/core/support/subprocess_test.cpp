#include "strata/core/support/subprocess.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

namespace strata {
namespace {

ProcessOutput shell(const std::string& script, std::string_view input = {}, double timeout = 30) {
    auto result = run_process({"/bin/sh", "-c", script}, input, timeout);
    EXPECT_TRUE(result);
    return result ? *result : ProcessOutput{};
}

TEST(Subprocess, InputGoesInAndBothOutputsAndTheExitCodeComeBack) {
    ProcessOutput run = shell("cat; echo trouble >&2; exit 3", "text");
    EXPECT_EQ(run.out, "text");
    EXPECT_EQ(run.err, "trouble\n");
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_FALSE(run.ok());
}

TEST(Subprocess, AChildThatReadsNothingAndAMegabyteOfInputDoNotBlock) {
    std::string input(1 << 20, 'x');
    EXPECT_TRUE(shell("exit 0", input).ok());
    EXPECT_EQ(shell("cat; cat /dev/null", input).out, input);
}

TEST(Subprocess, ASignalIsReported) {
    ProcessOutput run = shell("kill -SEGV $$");
    EXPECT_EQ(run.signal, SIGSEGV);
    EXPECT_EQ(run.exit_code, -1);
}

TEST(Subprocess, AChildThatHangsIsStopped) {
    auto start = std::chrono::steady_clock::now();
    ProcessOutput run = shell("exec sleep 60", {}, 0.1);
    EXPECT_TRUE(run.timed_out);
    EXPECT_FALSE(run.ok());
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Subprocess, AProgramThatIsNotThereIsAnErrorWithItsName) {
    auto run = run_process({"/nonexistent/program"});
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().kind, ErrorKind::Device);
    EXPECT_NE(run.error().message.find("/nonexistent/program"), std::string::npos);
}

TEST(Subprocess, ProgramsAreFoundInTheGivenFoldersOnly) {
    EXPECT_EQ(find_program("sh", "/nonexistent:/bin"), "/bin/sh");
    EXPECT_EQ(find_program("sh", ""), "");
    EXPECT_EQ(find_program("sh", "/nonexistent"), "");
    EXPECT_EQ(find_program("share", "/usr"), "") << "a folder is no program";
}

}  // namespace
}  // namespace strata
