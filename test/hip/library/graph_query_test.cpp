// Queries about graphs: text for Graphviz, attributes of kernels, why a graph was not made ready.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "fixture.h"

namespace strata::hip::library {
namespace {

class ToldGraphs : public Library {
  protected:
    void SetUp() override {
        Library::SetUp();
        ASSERT_EQ(hipGraphCreate(&graph_, 0), hipSuccess);
        memory_ = filled(counted(1)), host_.resize(kCount);
        void* arguments[] = {&memory_, &memory_};
        const KernelParameters p{{kCount, 1, 1}, nullptr, add_one_.function, {1, 1, 1}, arguments, 0};
        ASSERT_EQ(hipGraphAddKernelNode(&kernel_, graph_, nullptr, 0, &p), hipSuccess);
        ASSERT_EQ(hipGraphAddMemcpyNode1D(&copy_, graph_, &kernel_, 1, host_.data(), memory_, kCount * 4, 2),
                  hipSuccess);
    }
    void TearDown() override {
        EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
        free_all({memory_});
    }
    std::string dot(unsigned flags) {
        const std::string path = fmt::format("{}graph-{}.dot", testing::TempDir(), getpid());
        EXPECT_EQ(hipGraphDebugDotPrint(graph_, path.c_str(), flags), hipSuccess);
        std::ifstream file(path);
        std::string out{std::istreambuf_iterator<char>(file), {}};
        file.close();
        std::filesystem::remove(path);
        return out;
    }
    static size_t times(const std::string& text, std::string_view part) {
        size_t out = 0;
        for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
        return out;
    }
    AddOne add_one_;
    Words host_;
    void *graph_ = nullptr, *memory_ = nullptr, *kernel_ = nullptr, *copy_ = nullptr;
};

TEST_F(ToldGraphs, AreTextForGraphviz) {
    void *child = nullptr, *node = nullptr;
    ASSERT_EQ(hipGraphCreate(&child, 0), hipSuccess);
    const FillParameters fill{memory_, 4, 1, 0, 5, kCount};
    EXPECT_EQ(hipGraphAddMemsetNode(&node, child, nullptr, 0, &fill), hipSuccess);
    EXPECT_EQ(hipGraphAddChildGraphNode(&node, graph_, &copy_, 1, child), hipSuccess);
    EXPECT_EQ(hipGraphAddEmptyNode(&node, graph_, nullptr, 0), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(child), hipSuccess);
    const std::string plain = dot(0), all = dot(1), sizes = dot(1 << 2);
    for (const auto& [part, count] : std::initializer_list<std::pair<const char*, size_t>>{{"KERNEL", 1},
                                                                                           {"MEMCPY", 1},
                                                                                           {"DtoH", 1},
                                                                                           {"MEMSET", 1},
                                                                                           {"EMPTY", 1},
                                                                                           {"->", 2},
                                                                                           {"subgraph", 2},
                                                                                           {"graph_0 -> graph_1", 1},
                                                                                           {"add_one", 1},
                                                                                           {"grid", 0},
                                                                                           {"value", 0},
                                                                                           {"digraph {", 1}})
        EXPECT_EQ(times(plain, part), count) << part << " in " << plain;
    EXPECT_EQ(times(plain, "{"), times(plain, "}"));
    EXPECT_EQ(times(sizes, "block 32 1 1"), 1u);
    EXPECT_EQ(times(sizes, "value"), 0u);
    EXPECT_EQ(times(all, "block 32 1 1") + times(all, "value 0x5") + times(all, "bytes 128 1 1"), 3u);
    EXPECT_EQ(hipGraphDebugDotPrint(nullptr, "x", 0), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphDebugDotPrint(graph_, nullptr, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphDebugDotPrint(graph_, "", 0), hipErrorOperatingSystem);
    EXPECT_EQ(hipGraphDebugDotPrint(graph_, "/dev/full", 0), hipErrorOperatingSystem) << "no room";
}

TEST_F(ToldGraphs, HaveKernelsWithAttributes) {
    enum { window = 1, cooperative, priority = 8 };
    KernelAttribute value{}, told{};
    EXPECT_EQ(hipGraphKernelNodeGetAttribute(kernel_, cooperative, &told), hipSuccess);
    EXPECT_EQ(told.cooperative, 0);
    value.cooperative = 2;
    EXPECT_EQ(hipGraphKernelNodeSetAttribute(kernel_, cooperative, &value), hipSuccess);
    value.priority = -1;
    EXPECT_EQ(hipGraphKernelNodeSetAttribute(kernel_, priority, &value), hipSuccess);
    value.window = {memory_, 2, 0.6f, 1, 0};
    EXPECT_EQ(hipGraphKernelNodeSetAttribute(kernel_, window, &value), hipSuccess);
    void *other = nullptr, *arguments[] = {&memory_, &memory_};
    const KernelParameters many{{kCount, 1, 1}, nullptr, add_one_.function, {1 << 20, 1, 1}, arguments, 0};
    ASSERT_EQ(hipGraphAddKernelNode(&other, graph_, nullptr, 0, &many), hipSuccess);
    value.cooperative = 1;
    EXPECT_EQ(hipGraphKernelNodeSetAttribute(other, cooperative, &value), hipErrorCooperativeLaunchTooLarge);
    EXPECT_EQ(hipGraphKernelNodeCopyAttributes(kernel_, other), hipSuccess);
    for (void* node : {kernel_, other}) {
        EXPECT_EQ(hipGraphKernelNodeGetAttribute(node, window, &told), hipSuccess);
        EXPECT_TRUE(told.window.start == memory_ && told.window.hit == 2 && told.window.ratio == 0.6f &&
                    told.window.miss == 1 && told.window.bytes == 0);
        EXPECT_EQ(hipGraphKernelNodeGetAttribute(node, cooperative, &told), hipSuccess);
        EXPECT_EQ(told.cooperative, 2);
        EXPECT_EQ(hipGraphKernelNodeGetAttribute(node, priority, &told), hipSuccess);
        EXPECT_EQ(told.priority, -1);
    }
    EXPECT_EQ(times(dot(1 << 9), "cooperative 2\\npriority -1"), 2u);
    for (const AccessWindow bad : {AccessWindow{memory_, 2, -0.1f, 1, 0},
                                   {memory_, 2, 1.1f, 1, 0},
                                   {memory_, 2, 0.6f, 2, 0},
                                   {memory_, 3, 0.6f, 1, 0},
                                   {memory_, 2, 0.6f, 1, 64}}) {
        value.window = bad;
        EXPECT_EQ(hipGraphKernelNodeSetAttribute(kernel_, window, &value), hipErrorInvalidValue);
    }
    for (void* bad : {static_cast<void*>(nullptr), copy_}) {
        EXPECT_EQ(hipGraphKernelNodeSetAttribute(bad, priority, &value), hipErrorInvalidValue);
        EXPECT_EQ(hipGraphKernelNodeGetAttribute(bad, priority, &value), hipErrorInvalidValue);
        EXPECT_EQ(hipGraphKernelNodeCopyAttributes(bad, kernel_), hipErrorInvalidValue);
        EXPECT_EQ(hipGraphKernelNodeCopyAttributes(kernel_, bad), hipErrorInvalidValue);
    }
    EXPECT_EQ(hipGraphKernelNodeSetAttribute(kernel_, -1, &value), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphKernelNodeGetAttribute(kernel_, 3, &value), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphKernelNodeSetAttribute(kernel_, priority, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphKernelNodeGetAttribute(kernel_, priority, nullptr), hipErrorInvalidValue);
}

TEST_F(ToldGraphs, SayWhyTheyAreNotReady) {
    enum { made, failed, bad_structure };
    void *ready = nullptr, *stream = nullptr;
    ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
    ReadyParameters p{&p, 2, -1, stream};  // hipGraphInstantiateFlagUpload
    EXPECT_EQ(hipGraphInstantiateWithParams(&ready, graph_, &p), hipSuccess);
    EXPECT_TRUE(p.result == made && p.bad == nullptr);
    EXPECT_EQ(hipGraphLaunch(ready, stream), hipSuccess);
    EXPECT_EQ(host_, counted(2));
    unsigned long long flags = 0;
    EXPECT_EQ(hipGraphExecGetFlags(ready, &flags), hipSuccess);
    EXPECT_EQ(flags, 2u);
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    EXPECT_EQ(hipGraphInstantiateWithParams(nullptr, graph_, &p), hipErrorInvalidValue);
    EXPECT_EQ(p.result, failed);
    EXPECT_EQ(hipGraphInstantiateWithParams(&ready, nullptr, &p), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphInstantiateWithParams(&ready, graph_, nullptr), hipErrorInvalidValue);
    p.stream = &p;
    EXPECT_EQ(hipGraphInstantiateWithParams(&ready, graph_, &p), hipErrorInvalidValue) << "uploads by no stream";
    p.flags = 16;
    EXPECT_EQ(hipGraphInstantiateWithParams(&ready, graph_, &p), hipErrorInvalidValue);
    EXPECT_EQ(p.result, failed);
    EXPECT_EQ(hipGraphAddDependencies(graph_, &copy_, &kernel_, 1), hipSuccess);
    p.flags = 0;
    EXPECT_EQ(hipGraphInstantiateWithParams(&ready, graph_, &p), hipErrorInvalidValue);
    EXPECT_EQ(p.result, bad_structure) << "a circle";
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
}

}  // namespace
}  // namespace strata::hip::library
