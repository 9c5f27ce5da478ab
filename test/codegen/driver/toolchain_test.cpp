// Messages to people when the compiler is not what it should be.
#include "strata/codegen/toolchain/clang/toolchain.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "fixtures.h"
#include "strata/codegen/driver/compile_p.h"
#include "strata/core/process/subprocess.h"
#include "strata/core/support/file.h"

namespace strata::codegen {
namespace {

using isa::Arch;

/// A compile with a program of the text given in the place of clang-19.
class FakeClangTest : public CompileTest {
  protected:
    Error compile_with(std::string_view program) const {
        const std::string file = folder() + "/clang-19";
        EXPECT_TRUE(write_file_atomically(file, program));
        EXPECT_EQ(chmod(file.c_str(), 0700), 0);
        SearchPaths paths = SearchPaths::usual();
        paths.programs = folder();
        paths.plugin.clear();
        auto compiled = compile_hip(scale_kernel(400), Arch::gfx1100, paths);
        EXPECT_FALSE(compiled);
        return compiled ? Error{} : compiled.error();
    }
    /// Only -cc1, the compiler proper, is the text given.
    Error compile_with_compiler(std::string_view program) const {
        const std::string real = find_program("clang-19", SearchPaths::usual().programs);
        return compile_with(
            fmt::format("#!/bin/sh\nif [ \"$1\" != -cc1 ]; then exec {} \"$@\"; fi\n{}", real, program));
    }
};

constexpr const char* kLoader =
    "clang-19: error while loading shared libraries: libLLVM.so.19.1: cannot open shared object file: No such file or "
    "directory";

TEST_F(FakeClangTest, EachWayToFailHasWordsOfItsOwn) {
    struct Case {
        const char *program, *words;
    };
    const std::string loader = fmt::format("#!/bin/sh\necho '{}' >&2\nexit 127\n", kLoader);
    for (auto [program, words] :
         std::initializer_list<Case>{{loader.c_str(), kLoader},
                                     {"#!/bin/sh\nkill -SEGV $$\n", "clang crashed (Segmentation fault)"},
                                     {"#!/bin/sh\necho 'this is Strata 3'\n",
                                      "is no clang 19 that works: asked with -### how it compiles, it wrote "
                                      "\"this is Strata 3\"; is another program of that name first in PATH?"},
                                     {"#!/bin/sh\nexit 3\n", "it wrote nothing (exit code 3)"},
                                     {"\x7f"
                                      "ELF but not really",
                                      "clang-19: Exec format error"},
                                     {"#!/nowhere/sh\n", "clang-19: No such file or directory"}}) {
        Error error = compile_with(program);
        EXPECT_EQ(error.kind, ErrorKind::Device) << program;
        EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
        EXPECT_NE(error.message.find(folder() + "/clang-19"), std::string::npos) << error.message;
    }
}

TEST_F(FakeClangTest, ACompilerThatCrashesOnASourceIsACompileErrorThatSaysSo) {
    Error crash = compile_with_compiler("echo 'Stack dump: ...' >&2; kill -SEGV $$");
    EXPECT_EQ(crash.kind, ErrorKind::Compile);
    EXPECT_EQ(crash.message, "kernel.hip: clang crashed (Segmentation fault)");
    EXPECT_EQ(crash.log, "Stack dump: ...\n");
    Error libraries = compile_with_compiler(fmt::format("echo '{}' >&2; exit 127", kLoader));
    EXPECT_EQ(libraries.kind, ErrorKind::Device);
    EXPECT_NE(libraries.message.find(kLoader), std::string::npos) << libraries.message;
}

TEST_F(FakeClangTest, ACacheThatIsDeletedBeforeEveryCompilationCostsNoResult) {
    const std::string file = folder() + "/bin/clang-19", real = find_program("clang-19", SearchPaths::usual().programs);
    std::filesystem::create_directory(folder() + "/bin");
    ASSERT_TRUE(write_file_atomically(
        file, fmt::format("#!/bin/sh\nif [ \"$1\" = -cc1 ]; then rm -rf {}/v2; fi\nexec {} \"$@\"\n", folder(), real)));
    ASSERT_EQ(chmod(file.c_str(), 0700), 0);
    SearchPaths paths = SearchPaths::usual();
    paths.programs = folder() + "/bin";
    paths.plugin.clear();
    for (bool freestanding : {true, false}) {
        HipSource source{.text = "extern \"C\" __global__ void k(float* x) { *x = sinf(*x); }\n",
                         .kernel = "k",
                         .freestanding = freestanding};
        auto compiled = compile_hip(source, Arch::gfx1100, paths);
        ASSERT_TRUE(compiled) << compiled.error().message << compiled.error().log;
        EXPECT_TRUE(compiled->object->find("k"));
    }
}

TEST_F(CompileTest, ALimitOnTheSizeOfFilesIsNamed) {
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        rlimit limit{1500, 1500};
        setrlimit(RLIMIT_FSIZE, &limit);
        SearchPaths paths = SearchPaths::usual();
        paths.plugin.clear();
        auto compiled = compile_hip(scale_kernel(401), Arch::gfx1100, paths);
        _exit(!compiled && compiled.error().message.find("ulimit -f") != std::string::npos ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace strata::codegen
