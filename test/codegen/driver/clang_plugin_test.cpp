#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "fixtures.h"
#include "strata/codegen/driver/compile_p.h"
#include "strata/core/support/file.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/parallel.h"

namespace strata::codegen {
namespace {

using isa::Arch;

SearchPaths without_plugin() {
    SearchPaths paths = SearchPaths::usual();
    paths.plugin.clear();
    return paths;
}

bool plugin_built() {
    auto tools = find_toolchain(SearchPaths::usual());
    return tools && !tools->plugin.empty();
}

/// Kernels of different size and library use.
std::vector<HipSource> mixed_sources(int tag) {
    std::vector<HipSource> sources;
    for (int i = 0; i < 6; ++i) {
        sources.push_back(scale_kernel(tag * 100 + i));
        sources.push_back(
            {.text = fmt::format("__device__ float helper(float x) {{ return sin(x) + {0}.0f; }}\n"
                                 "extern \"C\" __global__ void k(float* x, double* y) {{\n"
                                 "    __shared__ float part[64];\n"
                                 "    part[threadIdx.x] = helper(x[threadIdx.x]);\n"
                                 "    __syncthreads();\n"
                                 "    y[threadIdx.x] = pow((double)part[threadIdx.x ^ 1], {0}.5) * blockDim.x;\n"
                                 "}}\n",
                                 tag * 100 + i),
             .kernel = "k"});
    }
    return sources;
}

/// Compiles past every cache.
class Uncached {
  public:
    Uncached() : scope_(without_cache()) {}

  private:
    static Settings without_cache() {
        Settings next = settings();
        next.no_cache = true;
        return next;
    }
    ScopedSettings scope_;
};

TEST_F(CompileTest, BothRoutesGiveTheSameBytes) {
    if (!plugin_built()) GTEST_SKIP() << "built without libclang-cpp";
    Uncached uncached;
    for (const HipSource& source : mixed_sources(1)) {
        auto inside = compile_hip(source, Arch::gfx1100);
        auto outside = compile_hip(source, Arch::gfx1100, without_plugin());
        ASSERT_TRUE(inside && outside);
        EXPECT_EQ(inside->route, "clang (in process)");
        EXPECT_EQ(outside->route, "clang (subprocess)");
        EXPECT_TRUE(inside->code_object() == outside->code_object()) << source.text;
    }
}

TEST_F(CompileTest, ParallelCompilationGivesTheBytesOfSerialCompilation) {
    Uncached uncached;
    std::vector<HipSource> sources = mixed_sources(2);
    sources.push_back({.text = "extern \"C\" __global__ void broken() { no }", .kernel = "broken"});
    for (auto arch : {Arch::gfx1100, Arch::gfx90a}) {
        std::vector<Result<executable::Code>> serial;
        for (const HipSource& source : sources) serial.push_back(compile_hip(source, arch));
        std::vector<Result<executable::Code>> parallel(sources.size(), executable::Code{});
        parallel_for(sources.size(), [&](size_t i) { parallel[i] = compile_hip(sources[i], arch); });
        for (size_t i = 0; i + 1 < sources.size(); ++i) {
            ASSERT_TRUE(serial[i] && parallel[i]) << i;
            EXPECT_TRUE(serial[i]->code_object() == parallel[i]->code_object()) << i;
        }
        ASSERT_FALSE(parallel.back());
        EXPECT_EQ(parallel.back().error().kind, ErrorKind::Compile);
    }
}

TEST_F(CompileTest, ManyThreadsInTheCompilerDoNotDisturbOneAnother) {
    if (!plugin_built()) GTEST_SKIP() << "built without libclang-cpp";
    Uncached uncached;
    const Settings inherited = settings();
    const std::vector<HipSource> sources = mixed_sources(3);
    std::vector<isa::Bytes> expected;
    for (const HipSource& source : sources)
        expected.push_back(compile_hip(source, Arch::gfx1100).value().code_object());
    std::vector<int> right(8);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < right.size(); ++t)
        threads.emplace_back([&, t] {
            ScopedSettings scope(inherited);
            for (size_t i = 0; i < sources.size(); ++i) {
                size_t at = (i + t) % sources.size();
                auto compiled = compile_hip(sources[at], Arch::gfx1100);
                right[t] += compiled && compiled->code_object() == expected[at];
            }
        });
    for (auto& thread : threads) thread.join();
    for (int count : right) EXPECT_EQ(count, static_cast<int>(sources.size()));
}

/// A kernel that keeps clang busy for seconds.
HipSource long_work(int tag) {
    std::string text = "extern \"C\" __global__ void k(double* x) {\n    double y = x[threadIdx.x];\n";
    for (int i = 0; i < 250; ++i) text += fmt::format("    y += sin(y * {}.25 + x[{}]);\n", i + tag, i);
    return {.text = text + "    x[threadIdx.x] = y;\n}\n", .kernel = "k"};
}

TEST_F(CompileTest, WhoWaitsForTheCompilerCanLeaveAndComeBack) {
    for (const SearchPaths& paths : {SearchPaths::usual(), without_plugin()}) {
        Uncached uncached;
        std::atomic<bool> stop{false};
        std::chrono::steady_clock::time_point stopped;
        std::thread stopper([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            stopped = std::chrono::steady_clock::now();
            stop = true;
        });
        {
            const StopFlag part(stop);
            EXPECT_THROW((void)compile_hip(long_work(1), Arch::gfx1100, paths), Interrupted);
        }
        const auto end = std::chrono::steady_clock::now();
        stopper.join();
        EXPECT_LT(std::chrono::duration<double>(end - stopped).count(), 1.0);  // 0.05 on an idle machine
        for (int next = 0; next < 2; ++next)
            EXPECT_TRUE(compile_hip(scale_kernel(52'000 + next), Arch::gfx1100, paths));
    }
}

TEST_F(CompileTest, ErrorsAreTheSameOnBothRoutes) {
    HipSource source{.text = "extern \"C\" __global__ void k(float* x) {\n  *x = nothing;\n  x->y = 1;\n}\n",
                     .kernel = "k"};
    auto inside = compile_hip(source, Arch::gfx1100);
    auto outside = compile_hip(source, Arch::gfx1100, without_plugin());
    ASSERT_TRUE(!inside && !outside);
    EXPECT_EQ(inside.error().message, outside.error().message);
    EXPECT_EQ(inside.error().log, outside.error().log);
    EXPECT_EQ(inside.error().line, 2);
}

TEST_F(CompileTest, AnErrorThatEndsClangDoesNotEndTheProcess) {
    // The backend cannot select this and calls it a fatal error, which ends the clang program.
    HipSource source{.text = "extern \"C\" __global__ void k(long* x) { *x = (long)__builtin_thread_pointer(); }\n",
                     .kernel = "k"};
    for (int repeat = 0; repeat < 6; ++repeat) {
        auto compiled = compile_hip(source, Arch::gfx1100);
        ASSERT_FALSE(compiled);
        EXPECT_EQ(compiled.error().kind, ErrorKind::Compile);
        EXPECT_NE(compiled.error().message.find("Cannot select"), std::string::npos) << compiled.error().message;
        for (int next = 0; next < 2; ++next) {
            auto after = compile_hip(scale_kernel(41'000 + 2 * repeat + next), Arch::gfx1100);
            ASSERT_TRUE(after);
            EXPECT_EQ(after->route, plugin_built() ? "clang (in process)" : "clang (subprocess)");
        }
    }
}

TEST_F(CompileTest, AUserSourceThatCrashesClangIsACompileError) {
    HipSource source{.text = "#pragma clang __debug crash\n", .freestanding = false};
    auto compiled = compile_hip(source, Arch::gfx1100);
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().kind, ErrorKind::Compile);
    EXPECT_NE(compiled.error().message.find("clang crashed"), std::string::npos) << compiled.error().message;
}

/// True if generated text that crashes clang is an error, after which the process compiles by the program.
bool survives(std::string_view text) {
    Uncached uncached;
    const HipSource source{.text = std::string(text), .kernel = "k"};
    auto compiled = compile_hip(source, Arch::gfx1100);
    if (compiled || compiled.error().kind != ErrorKind::Compile) return false;
    if (compiled.error().message.find("clang crashed") == std::string::npos) return false;
    auto after = compile_hip(scale_kernel(43'000), Arch::gfx1100);
    return after && after->route == "clang (subprocess)";
}

TEST_F(CompileTest, ACrashOfClangDoesNotEndTheProcess) {
    EXPECT_EXIT(_exit(survives("#pragma clang __debug crash\n") ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST_F(CompileTest, ACrashOfTheProgramItselfStillEndsIt) {
    EXPECT_TRUE(compile_hip(scale_kernel(44'000), Arch::gfx1100));
    EXPECT_EXIT((raise(SIGSEGV), _exit(0)), [](int status) { return status != 0; }, "");
}

TEST_F(CompileTest, APluginThatCannotBeLoadedLeavesTheSubprocess) {
    ASSERT_TRUE(write_file_atomically(folder() + "/strata_clang.so", "not a library"));
    SearchPaths paths = SearchPaths::usual();
    paths.plugin = folder();
    auto compiled = compile_hip(scale_kernel(42), Arch::gfx1100, paths);
    ASSERT_TRUE(compiled) << compiled.error().message;
    EXPECT_EQ(compiled->route, "clang (subprocess)");
}

}  // namespace
}  // namespace strata::codegen
