#include "strata/core/process/subprocess.h"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "strata/core/support/file.h"

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

/// A process of any parent, by its number.
class Other {
  public:
    /// Reads the number from a file that somebody is about to write.
    explicit Other(const std::string& file) {
        for (int i = 0; i < 1000 && number_ <= 0; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            number_ = std::atoi(read_file(file).value_or("").c_str());
        }
        handle_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, number_, 0)));
    }
    bool found() const { return static_cast<bool>(handle_); }
    bool ends() const {
        pollfd waiting{handle_.get(), POLLIN, 0};
        return poll(&waiting, 1, 10'000) == 1;
    }

  private:
    int number_ = -1;
    UniqueFd handle_;
};

class SubprocessTree : public testing::Test {
  protected:
    SubprocessTree() : folder_(testing::TempDir() + "strata-process-XXXXXX") { EXPECT_TRUE(mkdtemp(folder_.data())); }
    ~SubprocessTree() override { std::filesystem::remove_all(folder_); }
    std::string file() const { return folder_ + "/number"; }
    std::string folder_;
};

TEST_F(SubprocessTree, AChildEndsWithItsParentHoweverThatEnds) {
    pid_t parent = fork();
    if (parent == 0) {
        (void)run_process({"/bin/sh", "-c", "echo $$ > " + file() + "; exec sleep 100"});
        _exit(0);
    }
    Other child(file());
    ASSERT_TRUE(child.found());
    ASSERT_EQ(kill(parent, SIGKILL), 0);
    EXPECT_TRUE(child.ends());
    EXPECT_EQ(waitpid(parent, nullptr, 0), parent);
}

TEST_F(SubprocessTree, ItsTimeIsAlsoThatOfTheProgramsItStarts) {
    ProcessOutput run = shell("sleep 100 & echo $! > " + file() + "; wait", {}, 1);
    EXPECT_TRUE(run.timed_out);
    EXPECT_EQ(run.signal, SIGKILL);
    Other child(file());
    EXPECT_TRUE(!child.found() || child.ends());
}

TEST(Subprocess, AChildHasNeitherOurHandlersNorOurBlockedSignals) {
    auto previous = signal(SIGTERM, [](int) {});
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    EXPECT_EQ(shell("kill -TERM $$; sleep 10").signal, SIGTERM);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    signal(SIGTERM, previous);
    EXPECT_EQ(shell("kill -USR1 $$; sleep 10").signal, SIGUSR1);
}

TEST(Subprocess, AChildHasTheStackThatACompilerNeeds) {
    rlimit usual{};
    ASSERT_EQ(getrlimit(RLIMIT_STACK, &usual), 0);
    if (usual.rlim_max < rlim_t{8} << 20) GTEST_SKIP() << "no process may have as much here (ulimit -H -s)";
    rlimit small = usual;
    small.rlim_cur = 64 << 10;
    ASSERT_EQ(setrlimit(RLIMIT_STACK, &small), 0);
    const std::string said = shell("ulimit -s").out;
    ASSERT_EQ(setrlimit(RLIMIT_STACK, &usual), 0);
    EXPECT_EQ(said, "8192\n");
}

TEST(Subprocess, StreamsThatAreClosedHereAreTheChildsAllTheSame) {
    pid_t child = fork();
    if (child == 0) {
        for (int fd : {0, 1, 2}) close(fd);
        auto run = run_process({"/bin/sh", "-c", "cat; echo trouble >&2"}, "text");
        _exit(run && run->out == "text" && run->err == "trouble\n" ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(Subprocess, OutputBeyondTheLimitOnFilesIsAnErrorThatNamesIt) {
    for (const char* script : {"head -c 5000 /dev/zero", "head -c 5000 /dev/zero >&2", "trap '' XFSZ; yes"}) {
        pid_t child = fork();
        if (child == 0) {
            rlimit limit{1000, 1000};
            setrlimit(RLIMIT_FSIZE, &limit);
            auto run = run_process({"/bin/sh", "-c", script});
            const char* words = "/bin/sh writes more than the 1000 bytes that a file may have here (ulimit -f)";
            _exit(!run && run.error().message == words ? 0 : 1);
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << script;
    }
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
