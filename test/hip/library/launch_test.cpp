// Programs' code as clang registers it, and every way to launch a kernel of it.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "fixture.h"
#include "strata/hip/api/structs.h"

namespace strata::hip::library {
namespace {

/// A program whose function `host` stands for add_one, `variable` for its numbers.
class Launches : public Library {
  protected:
    struct Wrapper {
        uint32_t magic = 0x48495046, version = 1;
        const void* image = nullptr;
        const void* unused = nullptr;
    };
    void SetUp() override {
        Library::SetUp();
        wrapper_.image = code_.data();
        binary_ = __hipRegisterFatBinary(&wrapper_);
        ASSERT_TRUE(binary_);
        __hipRegisterFunction(binary_, &host_, nullptr, "add_one", 0, nullptr, nullptr, nullptr, nullptr, nullptr);
        __hipRegisterVar(binary_, &variable_, nullptr, "numbers", 0, 16, 0, 0);
        x_ = filled(counted(1)), out_ = filled(Words(kCount));
    }
    void TearDown() override {
        free_all({x_, out_});
        __hipUnregisterFatBinary(binary_);
        EXPECT_EQ(hipLaunchKernel(&host_, one_, block_, arguments_, 0, nullptr), hipErrorInvalidDeviceFunction);
    }
    void expect_sums() {
        EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
        EXPECT_EQ(read(out_), counted(2));
        EXPECT_EQ(hipMemset(out_, 0, kCount * 4), hipSuccess);
    }

    const isa::Bytes code_ = add_one_code();
    Wrapper wrapper_;
    void** binary_ = nullptr;
    const char host_ = 0;
    char variable_ = 0;
    void *x_ = nullptr, *out_ = nullptr;
    void* arguments_[2] = {&out_, &x_};
    const Dim3 one_{1, 1, 1}, block_{kCount, 1, 1};
};

TEST_F(Launches, ByPointer) {
    EXPECT_EQ(hipLaunchKernel(&host_, one_, block_, arguments_, 0, nullptr), hipSuccess);
    expect_sums();
    EXPECT_EQ(hipLaunchKernel_spt(&host_, one_, block_, arguments_, 0, nullptr), hipSuccess);
    expect_sums();
    EXPECT_EQ(hipLaunchCooperativeKernel(&host_, one_, block_, arguments_, 0, nullptr), hipSuccess);
    expect_sums();
    EXPECT_EQ(hipLaunchCooperativeKernel_spt(&host_, one_, block_, arguments_, 0, nullptr), hipSuccess);
    expect_sums();
    EXPECT_EQ(hipLaunchKernel(&host_, {0, 1, 1}, block_, arguments_, 0, nullptr), hipErrorInvalidConfiguration);
    EXPECT_EQ(hipLaunchKernel_spt(&host_, one_, {1025, 1, 1}, arguments_, 0, nullptr), hipErrorInvalidConfiguration);
    EXPECT_EQ(hipLaunchKernel(&host_, one_, block_, nullptr, 0, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipLaunchCooperativeKernel_spt(&host_, one_, {65536, 65536, 1}, arguments_, 0, nullptr),
              hipErrorInvalidConfiguration)
        << "a product beyond 32 bits";
    EXPECT_EQ(hipLaunchCooperativeKernel(&variable_, one_, block_, arguments_, 0, nullptr),
              hipErrorInvalidDeviceFunction);
}

TEST_F(Launches, ByWhatWasPushed) {
    Dim3 grid{}, block{};
    size_t lds = 0;
    void* stream = nullptr;
    EXPECT_EQ(__hipPushCallConfiguration({3, 4, 5}, {6, 7, 8}, 9, &lds), hipSuccess);
    EXPECT_EQ(__hipPopCallConfiguration(&grid, &block, &lds, &stream), hipSuccess);
    EXPECT_TRUE(grid.x == 3 && grid.z == 5 && block.y == 7 && lds == 9 && stream == &lds);
    EXPECT_EQ(__hipPopCallConfiguration(&grid, &block, &lds, &stream), hipErrorMissingConfiguration);
    EXPECT_EQ(hipSetupArgument(&out_, 8, 0), hipErrorMissingConfiguration);
    EXPECT_EQ(hipLaunchByPtr(&host_), hipErrorMissingConfiguration);
    EXPECT_EQ(hipConfigureCall(one_, block_, 0, nullptr), hipSuccess);
    EXPECT_EQ(hipSetupArgument(nullptr, 8, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipSetupArgument(&out_, 8, 0), hipSuccess);
    EXPECT_EQ(hipSetupArgument(&x_, 8, 8), hipSuccess);
    EXPECT_EQ(hipLaunchByPtr(&host_), hipSuccess);
    expect_sums();
}

TEST_F(Launches, BetweenEvents) {
    void *start = nullptr, *stop = nullptr;
    ASSERT_EQ(hipEventCreate(&start), hipSuccess);
    ASSERT_EQ(hipEventCreate(&stop), hipSuccess);
    float ms = 0;
    EXPECT_EQ(hipExtLaunchKernel(&host_, one_, block_, arguments_, 0, nullptr, start, stop, 0), hipSuccess);
    expect_sums();
    EXPECT_EQ(hipEventElapsedTime(&ms, start, stop), hipSuccess);
    EXPECT_GT(ms, 0);
    for (const auto& [from, to] : {std::pair<void*, void*>(&ms, nullptr), {start, &ms}})
        EXPECT_EQ(hipExtLaunchKernel(&host_, one_, block_, arguments_, 0, nullptr, from, to, 0), hipErrorInvalidValue);
    EXPECT_EQ(read(out_), Words(kCount)) << "what is refused does not run";
    const AddOne kernel;
    const auto launch = [&](uint32_t items, uint32_t block, void* event) {
        return hipExtModuleLaunchKernel(kernel.function, items, 1, 1, block, 1, 1, 0, nullptr, arguments_, nullptr,
                                        start, event, 0);
    };
    EXPECT_EQ(hipExtModuleLaunchKernel(kernel.function, kCount, 1, 1, kCount, 1, 1, 0, nullptr, arguments_, nullptr,
                                       start, stop, 0),
              hipSuccess)
        << "the grid counts work-items";
    expect_sums();
    EXPECT_EQ(launch(kCount, 2 * kCount, stop), hipSuccess) << "a block has no more than there are";
    expect_sums();
    EXPECT_EQ(launch(kCount + 1, kCount, stop), hipErrorInvalidValue);
    EXPECT_EQ(launch(kCount, 0, stop), hipErrorInvalidConfiguration);
    EXPECT_EQ(launch(kCount, ~0u, stop), hipErrorInvalidValue) << "more than a block has";
    // The same as C++ names of HIP 5.
    EXPECT_EQ(_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
                  kernel.function, kCount, 1, 1, kCount, 1, 1, 0, nullptr, arguments_, nullptr, start, stop),
              hipSuccess);
    expect_sums();
    EXPECT_EQ(_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
                  kernel.function, kCount, 1, 1, kCount, 1, 1, 0, nullptr, arguments_, nullptr, start, stop, 0),
              hipSuccess);
    expect_sums();
    EXPECT_EQ(_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
                  nullptr, kCount, 1, 1, kCount, 1, 1, 0, nullptr, arguments_, nullptr, start, stop, 0),
              hipErrorInvalidHandle);
    EXPECT_EQ(hipEventDestroy(start), hipSuccess);
    EXPECT_EQ(hipEventDestroy(stop), hipSuccess);
}

TEST_F(Launches, OfModules) {
    AddOne kernel;
    const auto cooperative = [&](void* function, unsigned block) {
        return hipModuleLaunchCooperativeKernel(function, 1, 1, 1, block, 1, 1, 0, nullptr, arguments_);
    };
    EXPECT_EQ(hipModuleLaunchCooperativeKernel(kernel.function, 1, 1, 1, kCount, 1, 1, 0, nullptr, arguments_),
              hipSuccess);
    expect_sums();
    EXPECT_EQ(cooperative(kernel.function, 0), hipErrorInvalidConfiguration);
    const auto with_bytes = [&](unsigned grid_y, size_t size) {
        std::array<void*, 8> bytes{out_, x_};
        void* extra[] = {reinterpret_cast<void*>(1), bytes.data(), reinterpret_cast<void*>(2), &size,
                         reinterpret_cast<void*>(3)};
        return hipModuleLaunchKernel(kernel.function, 1, grid_y, 1, kCount, 1, 1, 0, nullptr, nullptr, extra);
    };
    EXPECT_EQ(with_bytes(1, 16), hipSuccess);
    EXPECT_EQ(with_bytes(1, 64), hipSuccess) << "what comes after the arguments is not read";
    expect_sums();
    EXPECT_EQ(with_bytes(65536, 16), hipErrorInvalidValue) << "more rows than a grid has";
    const auto with_lds = [&](unsigned lds) {
        return hipModuleLaunchKernel(kernel.function, 1, 1, 1, kCount, 1, 1, lds, nullptr, arguments_, nullptr);
    };
    EXPECT_EQ(with_lds(65536), hipSuccess);
    EXPECT_EQ(with_lds(65537), hipErrorInvalidValue) << "more local memory than a block has";
    const Dim3 too_high{1, 65536, 1};
    EXPECT_EQ(hipLaunchKernel(&host_, too_high, block_, arguments_, 0, nullptr), hipErrorInvalidConfiguration);
    EXPECT_EQ(cooperative(&kernel, kCount), hipErrorInvalidHandle) << "no function at all";
    void* const gone = kernel.function;
    EXPECT_EQ(hipModuleUnload(kernel.module), hipSuccess);
    EXPECT_EQ(hipModuleUnload(std::exchange(kernel.module, nullptr)), hipErrorNotFound) << "unloaded twice";
    EXPECT_EQ(cooperative(gone, kCount), hipErrorInvalidHandle) << "its module is unloaded";
    EXPECT_EQ(hipModuleLaunchKernel(gone, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments_, nullptr), hipErrorInvalidHandle);
    EXPECT_EQ(hipKernelNameRef(gone), nullptr);
}

TEST_F(Launches, ModulesComeFromFilesAndMemory) {
    void *module = nullptr, *function = nullptr, *address = nullptr;
    size_t bytes = 0;
    const std::string file = fmt::format("{}add_one-{}.co", testing::TempDir(), getpid());
    std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(code_.data()), std::ssize(code_));
    EXPECT_EQ(hipModuleLoad(&module, file.c_str()), hipSuccess);
    EXPECT_EQ(hipModuleGetGlobal(&address, &bytes, module, "numbers"), hipSuccess);
    EXPECT_EQ(bytes, 16u);
    EXPECT_EQ(read(address, 4), counted(1, 4));
    EXPECT_EQ(hipModuleGetGlobal(&address, &bytes, module, "letters"), hipErrorNotFound);
    EXPECT_EQ(hipModuleGetGlobal(&address, &bytes, &bytes, "numbers"), hipErrorNotFound);
    EXPECT_EQ(hipModuleGetGlobal(nullptr, nullptr, module, "numbers"), hipErrorInvalidValue);
    EXPECT_EQ(hipModuleUnload(module), hipSuccess);
    std::filesystem::remove(file);
    EXPECT_EQ(hipModuleLoad(&module, file.c_str()), hipErrorFileNotFound);
    EXPECT_EQ(hipModuleLoad(&module, ""), hipErrorInvalidValue);
    EXPECT_EQ(hipModuleLoadDataEx(&module, code_.data(), 0, nullptr, nullptr), hipSuccess);
    EXPECT_EQ(hipModuleGetFunction(&function, module, "subtract"), hipErrorNotFound);
    EXPECT_EQ(hipModuleUnload(module), hipSuccess);
    testing::internal::CaptureStderr();
    EXPECT_EQ(hipModuleLoadDataEx(&module, std::string(200, 'x').c_str(), 0, nullptr, nullptr), hipErrorInvalidImage);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("neither a code object nor an offload bundle"),
              std::string::npos);
}

TEST_F(Launches, FunctionsTellOfThemselves) {
    void* function = nullptr;
    int value = -1;
    FunctionAttributes about{};
    EXPECT_EQ(hipGetFuncBySymbol(&function, &host_), hipSuccess);
    EXPECT_EQ(std::string(hipKernelNameRef(function)), "add_one");
    EXPECT_EQ(std::string(hipKernelNameRefByPtr(&host_, nullptr)), "add_one");
    EXPECT_EQ(hipKernelNameRefByPtr(&variable_, nullptr), nullptr);
    EXPECT_EQ(hipGetFuncBySymbol(&function, &variable_), hipErrorInvalidDeviceFunction);
    EXPECT_EQ(hipFuncGetAttributes(&about, &host_), hipSuccess);
    EXPECT_EQ(about.registers, 3);
    const std::pair<int, int> attributes[] = {{0, 256}, {1, 0}, {3, 0}, {4, 3}, {8, 65536}};
    for (const auto& [attribute, expected] : attributes) {
        EXPECT_EQ(hipFuncGetAttribute(&value, attribute, function), hipSuccess);
        EXPECT_EQ(value, expected) << attribute;
    }
    EXPECT_EQ(hipFuncGetAttribute(&value, 10, function), hipErrorInvalidValue);
    EXPECT_EQ(hipFuncGetAttribute(&value, 0, &value), hipErrorInvalidDeviceFunction);
    EXPECT_EQ(hipFuncSetAttribute(&host_, 8, 65536), hipSuccess);
    EXPECT_EQ(hipFuncSetAttribute(&host_, 8, 65537), hipErrorInvalidValue);
    EXPECT_EQ(hipFuncSetAttribute(&host_, 8, -1), hipErrorInvalidValue);
    EXPECT_EQ(hipFuncSetAttribute(&host_, 9, 101), hipErrorInvalidValue) << "percent";
    EXPECT_EQ(hipFuncSetAttribute(&host_, 1, 7), hipSuccess) << "others are hints";
    EXPECT_EQ(hipFuncSetCacheConfig(&host_, 1), hipSuccess);
    EXPECT_EQ(hipFuncSetCacheConfig(&variable_, 1), hipErrorInvalidDeviceFunction);
    EXPECT_EQ(hipFuncSetSharedMemConfig(&host_, 1), hipSuccess);
    EXPECT_EQ(hipFuncSetSharedMemConfig(nullptr, 1), hipErrorInvalidDeviceFunction);
}

TEST_F(Launches, OccupancyIsTheSameByEveryName) {
    void* function = nullptr;
    ASSERT_EQ(hipGetFuncBySymbol(&function, &host_), hipSuccess);
    int expected = 0, blocks = 0, grid = 0, block = 0, grid_again = 0, block_again = 0;
    EXPECT_EQ(hipOccupancyMaxActiveBlocksPerMultiprocessor(&expected, &host_, 256, 0), hipSuccess);
    EXPECT_GT(expected, 0);
    EXPECT_EQ(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &host_, 256, 0, 0), hipSuccess);
    EXPECT_EQ(blocks, expected);
    EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0), hipSuccess);
    EXPECT_EQ(blocks, expected);
    EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function, 256, 0, 1), hipSuccess);
    EXPECT_EQ(blocks, expected);
    EXPECT_EQ(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &host_, 256, 0, 2), hipErrorInvalidValue);
    EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function, 256, 0, 2),
              hipErrorInvalidValue);
    EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, function, 256, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipOccupancyMaxPotentialBlockSize(&grid, &block, &host_, 0, 0), hipSuccess);
    EXPECT_EQ(block, 256) << "as the code object says";
    EXPECT_EQ(hipModuleOccupancyMaxPotentialBlockSize(&grid_again, &block_again, function, 0, 0), hipSuccess);
    EXPECT_TRUE(grid == grid_again && block == block_again);
    EXPECT_EQ(hipModuleOccupancyMaxPotentialBlockSizeWithFlags(&grid_again, &block_again, function, 0, 64, 0),
              hipSuccess);
    EXPECT_EQ(block_again, 64);
    EXPECT_EQ(hipModuleOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, function, 0, 0, 7), hipErrorInvalidValue);
    EXPECT_EQ(hipModuleOccupancyMaxPotentialBlockSize(nullptr, &block, function, 0, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, &block, 0, 0), hipErrorInvalidDeviceFunction);
}

TEST_F(Launches, VariablesAreCopiedByWhatStandsForThem) {
    const Words ones{9, 8};
    Words out(4);
    EXPECT_EQ(hipMemcpyFromSymbolAsync(out.data(), &variable_, 16, 0, 2, nullptr), hipSuccess);
    EXPECT_EQ(out, counted(1, 4));
    EXPECT_EQ(hipMemcpyToSymbolAsync(&variable_, ones.data(), 8, 4, 1, nullptr), hipSuccess);
    EXPECT_EQ(hipMemcpyFromSymbol_spt(out.data(), &variable_, 16, 0, 2), hipSuccess);
    EXPECT_EQ(out, (Words{1, 9, 8, 4}));
    EXPECT_EQ(hipMemcpyToSymbol_spt(&variable_, ones.data(), 4, 12, 1), hipSuccess);
    EXPECT_EQ(hipMemcpyFromSymbol(out.data(), &variable_, 4, 12, 2), hipSuccess);
    EXPECT_EQ(out[0], 9u);
    EXPECT_EQ(hipMemcpyToSymbolAsync(&variable_, ones.data(), 8, 12, 1, nullptr), hipErrorInvalidValue) << "beyond it";
    EXPECT_EQ(hipMemcpyFromSymbolAsync(out.data(), &variable_, 4, SIZE_MAX, 2, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpyToSymbol_spt(&host_, ones.data(), 4, 0, 1), hipErrorInvalidSymbol);
    EXPECT_EQ(hipMemcpyFromSymbol_spt(out.data(), &host_, 4, 0, 2), hipErrorInvalidSymbol);
}

TEST_F(Launches, NodesOfGraphsCopyPartsOfVariables) {
    const Words first{9, 8}, second{7, 6};
    Words out(4), other(4);
    void *graph = nullptr, *ready = nullptr, *to = nullptr, *from = nullptr, *none = nullptr;
    ASSERT_EQ(hipGraphCreate(&graph, 0), hipSuccess);
    ASSERT_EQ(hipGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, &variable_, first.data(), 8, 4, 1), hipSuccess);
    ASSERT_EQ(hipGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, out.data(), &variable_, 16, 0, 2), hipSuccess);
    EXPECT_EQ(hipGraphAddMemcpyNodeToSymbol(&none, graph, nullptr, 0, &variable_, first.data(), 8, 12, 1),
              hipErrorInvalidValue)
        << "beyond it";
    EXPECT_EQ(hipGraphAddMemcpyNodeToSymbol(&none, graph, nullptr, 0, &variable_, nullptr, 8, 0, 1),
              hipErrorInvalidValue);
    EXPECT_EQ(hipGraphAddMemcpyNodeFromSymbol(&none, graph, nullptr, 0, out.data(), &host_, 4, 0, 2),
              hipErrorInvalidSymbol);
    EXPECT_EQ(hipGraphAddMemcpyNodeFromSymbol(&none, graph, nullptr, 0, out.data(), &variable_, 0, 0, 2),
              hipErrorInvalidValue);
    EXPECT_EQ(none, nullptr);
    ASSERT_EQ(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0), hipSuccess);
    ASSERT_EQ(hipGraphLaunch(ready, nullptr), hipSuccess);
    EXPECT_EQ(out, (Words{1, 9, 8, 4}));

    EXPECT_EQ(hipGraphExecMemcpyNodeSetParamsToSymbol(ready, to, &variable_, second.data(), 8, 8, 1), hipSuccess);
    EXPECT_EQ(hipGraphExecMemcpyNodeSetParamsFromSymbol(ready, from, other.data(), &variable_, 16, 0, 2), hipSuccess);
    EXPECT_EQ(hipGraphExecMemcpyNodeSetParamsToSymbol(ready, to, &variable_, second.data(), 8, 8, 4),
              hipErrorInvalidValue)
        << "another direction";
    EXPECT_EQ(hipGraphExecMemcpyNodeSetParamsFromSymbol(ready, nullptr, other.data(), &variable_, 16, 0, 2),
              hipErrorInvalidValue);
    ASSERT_EQ(hipGraphLaunch(ready, nullptr), hipSuccess);
    EXPECT_EQ(other, (Words{1, 9, 7, 6})) << "of the graph that was made ready";
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);

    EXPECT_EQ(hipGraphMemcpyNodeSetParamsToSymbol(to, &variable_, second.data(), 4, 0, 1), hipSuccess);
    EXPECT_EQ(hipGraphMemcpyNodeSetParamsFromSymbol(from, other.data(), &variable_, 4, 0, 2), hipSuccess);
    EXPECT_EQ(hipGraphMemcpyNodeSetParamsToSymbol(to, nullptr, second.data(), 4, 0, 1), hipErrorInvalidSymbol);
    EXPECT_EQ(hipGraphMemcpyNodeSetParamsToSymbol(to, &variable_, &variable_, 4, 0, 3), hipErrorInvalidValue)
        << "a name is no memory";
    EXPECT_EQ(hipGraphMemcpyNodeSetParamsFromSymbol(from, other.data(), &variable_, 4, 0, 3), hipErrorInvalidValue)
        << "memory of the host";
    EXPECT_EQ(hipGraphMemcpyNodeSetParamsFromSymbol(from, other.data(), &variable_, 20, 0, 2), hipErrorInvalidValue);
    ASSERT_EQ(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0), hipSuccess);
    ASSERT_EQ(hipGraphLaunch(ready, nullptr), hipSuccess);
    EXPECT_EQ(other, (Words{7, 9, 7, 6}));
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
}

TEST_F(Launches, ManagedVariablesAreTheHostsFromTheirRegistrationOn) {
    const Words initial = counted(70, 4);
    void* pointer = nullptr;
    __hipRegisterManagedVar(binary_, &pointer, const_cast<uint32_t*>(initial.data()), "numbers", 16, 16);
    ASSERT_TRUE(pointer);
    EXPECT_EQ(static_cast<uint32_t*>(pointer)[3], 73u);
    EXPECT_EQ(hipStreamAttachMemAsync(nullptr, pointer, 0, 1), hipSuccess);
    size_t bytes = 0;
    EXPECT_EQ(hipGetSymbolSize(&bytes, &pointer), hipSuccess);
    EXPECT_EQ(bytes, 16u);
    void* none = nullptr;
    __hipRegisterManagedVar(binary_, &none, nullptr, "letters", 16, 16);
    EXPECT_EQ(none, nullptr) << "the code has none such";
    char texture = 0, surface = 0;
    __hipRegisterTexture(binary_, &texture, nullptr, const_cast<char*>("numbers"), 0, 0, 0);
    __hipRegisterSurface(binary_, &surface, nullptr, const_cast<char*>("letters"), 0, 0);
    EXPECT_EQ(hipGetSymbolSize(&bytes, &texture), hipSuccess);
    EXPECT_EQ(hipGetSymbolSize(&bytes, &surface), hipErrorInvalidSymbol);
}

TEST_F(Launches, WhatIsNoBinaryIsNotRegistered) {
    Wrapper other;
    other.magic = 1;
    EXPECT_EQ(__hipRegisterFatBinary(&other), nullptr);
    EXPECT_EQ(__hipRegisterFatBinary(nullptr), nullptr);
    __hipRegisterFunction(nullptr, &other, nullptr, "add_one", 0, nullptr, nullptr, nullptr, nullptr, nullptr);
    EXPECT_EQ(hipLaunchKernel(&other, one_, block_, arguments_, 0, nullptr), hipErrorInvalidDeviceFunction);
    __hipUnregisterFatBinary(nullptr);
    __hipUnregisterFatBinary(reinterpret_cast<void**>(&other));
}

TEST_F(Launches, StreamsOfThreadsDoTheSame) {
    Words in = counted(40), out(kCount);
    void* event = nullptr;
    ASSERT_EQ(hipEventCreate(&event), hipSuccess);
    EXPECT_EQ(hipMemcpy_spt(x_, in.data(), kCount * 4, 1), hipSuccess);
    EXPECT_EQ(hipMemcpyAsync_spt(out.data(), x_, kCount * 4, 2, nullptr), hipSuccess);
    EXPECT_EQ(out, in);
    EXPECT_EQ(hipMemset_spt(x_, 1, 4), hipSuccess);
    EXPECT_EQ(hipMemsetAsync_spt(static_cast<char*>(x_) + 4, 2, 4, nullptr), hipSuccess);
    EXPECT_EQ(read(x_, 2), (Words{0x01010101, 0x02020202}));
    EXPECT_EQ(hipEventRecord_spt(event, nullptr), hipSuccess);
    EXPECT_EQ(hipStreamWaitEvent_spt(nullptr, event, 0), hipSuccess);
    EXPECT_EQ(hipStreamQuery_spt(nullptr), hipSuccess);
    EXPECT_EQ(hipStreamSynchronize_spt(nullptr), hipSuccess);
    EXPECT_EQ(hipMemcpy_spt(nullptr, in.data(), 4, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpyAsync_spt(x_, in.data(), 4, 1, &in), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipMemset_spt(x_, 0, kCount * 4 + 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemsetAsync_spt(nullptr, 0, 4, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipEventRecord_spt(&in, nullptr), hipErrorInvalidHandle);
    EXPECT_EQ(hipStreamWaitEvent_spt(nullptr, event, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamQuery_spt(&in), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipStreamSynchronize_spt(&in), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
}

}  // namespace
}  // namespace strata::hip::library
