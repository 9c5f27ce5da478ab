// The provider of NVIDIA's driver over the library of fake_cuda.cpp: what it asks for and how it answers errors.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "fake_cuda.h"
#include "strata/providers/providers.h"

namespace strata::providers {
namespace {

class NvidiaTest : public testing::Test {
  protected:
    // Loaded first, the library is what the name libcuda.so.1 means in this process.
    static FakeCuda& fake() {
        static void* const library = dlopen(STRATA_FAKE_CUDA, RTLD_NOW | RTLD_GLOBAL);
        if (!library) throw std::runtime_error(dlerror());
        static const auto state = reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "strata_fake_cuda"));
        return *state();
    }

    /// The device is open by then: what a test has fail is what the test asks for.
    void SetUp() override {
        fake().fails.clear(), fake().variables.clear();
        nvidia().stream_destroy(nvidia().stream_create(0).value()).value();
    }

    /// A launch on a stream of its own, waited for.
    static Result<void> launch(std::span<const uint8_t> arguments, uint32_t dynamic_lds = 0) {
        const HipApi& api = nvidia();
        const std::vector<uint8_t> image(64);
        STRATA_TRY(ModuleHandle * module, api.module_load(0, image));
        STRATA_TRY(FunctionHandle * function, api.module_function(module, "scale"));
        STRATA_TRY(StreamHandle * stream, api.stream_create(0));
        LaunchReport report;
        Result<void> done =
            api.module_launch_kernel(function, {3, 2, 1}, {64, 4, 1}, dynamic_lds, stream, arguments, {}, report);
        if (done) done = api.stream_synchronize(stream);
        STRATA_TRY_VOID(api.stream_destroy(stream));
        STRATA_TRY_VOID(api.module_unload(module));
        return done;
    }
};

TEST_F(NvidiaTest, DevicesSayWhatTheyAre) {
    (void)fake();
    EXPECT_EQ(nvidia().device_count().value(), 2);
    const DeviceProperties p = nvidia().device_properties(1).value();
    EXPECT_EQ(p.name, "Fake H200");
    EXPECT_EQ(p.arch, "sm_90");
    EXPECT_EQ(p.warp_size, 32);
    EXPECT_EQ(p.max_block, 1024);
    EXPECT_EQ(p.lds_per_block, 49152);
    EXPECT_EQ(p.max_grid, (std::array<uint32_t, 3>{0x7fffffff, 65535, 65535}));
    EXPECT_EQ(p.units, 132);
    EXPECT_EQ(p.memory_bytes, fake().memory);
    EXPECT_EQ(p.driver, "CUDA 13.0");
    EXPECT_EQ(nvidia().device_label(1), "1");
    EXPECT_FALSE(nvidia().device_properties(2));
}

TEST_F(NvidiaTest, MemoryIsCopiedInAndOut) {
    (void)fake();
    const HipApi& api = nvidia();
    const std::vector<int> in{1, 2, 3};
    std::vector<int> out(3);
    const DevicePtr a = api.malloc(0, 12).value(), b = api.malloc(0, 12).value();
    api.memcpy_to_device(0, a, in.data(), 12).value();
    api.memcpy_on_device(0, b, a, 12).value();
    api.memset(0, b + 8, 0xff, 4).value();
    api.memcpy_to_host(0, out.data(), b, 12).value();
    EXPECT_EQ(out, (std::vector<int>{1, 2, -1}));
    EXPECT_EQ(api.host_view(0, a), nullptr);
    const size_t pooled = api.pooled_bytes(0);
    api.free(0, a).value();
    api.free(0, b).value();
    EXPECT_EQ(api.pooled_bytes(0), pooled + 1024) << "small blocks are kept";
}

/// True if the last copy to the host went to memory that the driver gave out.
bool was_read_to_pinned_memory(const FakeCuda& fake) {
    return std::ranges::any_of(fake.pinned, [&](const auto& p) {
        return fake.read_to >= p.first && fake.read_to < static_cast<char*>(p.first) + p.second;
    });
}

TEST_F(NvidiaTest, SmallResultsAreReadByWayOfPinnedMemoryLargeOnesAreNot) {
    const HipApi& api = nvidia();
    const struct {
        size_t bytes;
        unsigned threads;
    } sizes[] = {{1, 32}, {3, 32}, {4, 32}, {134, 160}, {4096, 1024}, {4097, 0}};
    for (const auto [bytes, threads] : sizes) {
        fake().read_threads = 0;
        const int copies = fake().calls["cuMemcpyDtoH"];
        std::vector<uint8_t> in(bytes), out(bytes);
        for (size_t i = 0; i < bytes; ++i) in[i] = static_cast<uint8_t>(i * 7 + 1);
        const DevicePtr memory = api.malloc(0, bytes).value();
        api.memcpy_to_device(0, memory, in.data(), bytes).value();
        api.memcpy_to_host(0, out.data(), memory, bytes).value();
        EXPECT_EQ(out, in);
        EXPECT_EQ(was_read_to_pinned_memory(fake()), bytes <= 4096) << bytes;
        EXPECT_EQ(fake().read_threads, threads) << bytes;
        EXPECT_EQ(fake().calls["cuMemcpyDtoH"], copies + (bytes > 4096)) << bytes;
        api.free(0, memory).value();
    }
}

TEST_F(NvidiaTest, ADeviceWhoseKernelDoesNotReadRightHasTheDriverCopy) {
    const HipApi& api = nvidia();
    const int devices = std::exchange(fake().devices, 3);
    fake().reads_wrong = true;
    const int in = 5;
    int out = 0;
    const DevicePtr memory = api.malloc(2, 4).value();
    api.memcpy_to_device(2, memory, &in, 4).value();
    const int copies = fake().calls["cuMemcpyDtoH"];
    api.memcpy_to_host(2, &out, memory, 4).value();
    fake().reads_wrong = false, fake().devices = devices;
    EXPECT_EQ(out, 5);
    EXPECT_EQ(fake().calls["cuMemcpyDtoH"], copies + 1);
}

TEST_F(NvidiaTest, ResultsThatTakeLongAreWaitedForByTheDriver) {
    const HipApi& api = nvidia();
    const int in = 5;
    int out = 0;
    const DevicePtr memory = api.malloc(0, 4).value();
    api.memcpy_to_device(0, memory, &in, 4).value();
    fake().reads_late = true;
    const int waits = fake().calls["cuStreamSynchronize"];
    api.memcpy_to_host(0, &out, memory, 4).value();
    EXPECT_EQ(out, 5);
    EXPECT_EQ(fake().calls["cuStreamSynchronize"], waits + 1);
    fake().fails["cuStreamSynchronize"] = {700, 1};
    const Result<void> lost = api.memcpy_to_host(0, &out, memory, 4);
    fake().reads_late = false;
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().kind, ErrorKind::MemoryFault);
    api.memcpy_to_host(0, &out, memory, 4).value();
    api.free(0, memory).value();
}

TEST_F(NvidiaTest, WithoutACompilerOfPtxTheDriverCopiesSmallResults) {
    const HipApi& api = nvidia();
    const int in = 6;
    int out = 0;
    const int devices = std::exchange(fake().devices, 6);
    fake().fails["cuModuleLoadData"] = {221, 1};  // CUDA_ERROR_JIT_COMPILER_NOT_FOUND
    const DevicePtr memory = api.malloc(5, 4).value();
    fake().devices = devices;
    api.memcpy_to_device(5, memory, &in, 4).value();
    const int copies = fake().calls["cuMemcpyDtoH"];
    api.memcpy_to_host(5, &out, memory, 4).value();
    EXPECT_EQ(out, 6);
    EXPECT_EQ(fake().calls["cuMemcpyDtoH"], copies + 1);
    EXPECT_TRUE(was_read_to_pinned_memory(fake()));
    api.free(5, memory).value();
}

TEST_F(NvidiaTest, WhoReadsWhileAnotherDoesNeitherWaitsNorMixesBytes) {
    const HipApi& api = nvidia();
    const int first = 1, second = 2;
    const DevicePtr a = api.malloc(0, 4).value(), b = api.malloc(0, 4).value();
    api.memcpy_to_device(0, a, &first, 4).value();
    api.memcpy_to_device(0, b, &second, 4).value();
    int mine = 0, others = 0;
    fake().while_reading = [&] {
        std::thread([&] {
            api.memcpy_to_host(0, &others, b, 4).value();
            EXPECT_FALSE(was_read_to_pinned_memory(fake()));
        }).join();
    };
    api.memcpy_to_host(0, &mine, a, 4).value();
    EXPECT_EQ(mine, 1);
    EXPECT_EQ(others, 2);
    api.free(0, a).value();
    api.free(0, b).value();
}

TEST_F(NvidiaTest, ArgumentsArriveAsTheyAreLaidOut) {
    const std::vector<uint8_t> arguments{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0};
    launch(arguments).value();
    EXPECT_EQ(fake().function, "scale");
    EXPECT_EQ(fake().arguments, std::string(arguments.begin(), arguments.end()));
    EXPECT_EQ(fake().grid, (std::array<unsigned, 3>{3, 2, 1}));
    EXPECT_EQ(fake().block, (std::array<unsigned, 3>{64, 4, 1}));
}

TEST_F(NvidiaTest, SharedMemoryBeyondWhatEveryLaunchHasIsAskedFor) {
    fake().shared_asked = 0;
    launch({}, 48 << 10).value();
    EXPECT_EQ(fake().shared_asked, 0);
    launch({}, 100 << 10).value();
    EXPECT_EQ(fake().shared_asked, 100 << 10);
    EXPECT_EQ(fake().shared, 100u << 10);
    const Result<void> more = launch({}, 1 << 20);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().kind, ErrorKind::Launch);
    EXPECT_NE(more.error().message.find("1048576 bytes of shared memory"), std::string::npos);
}

TEST_F(NvidiaTest, ALaunchThatIsRefusedSaysWhichLimitItIsBeyond) {
    const HipApi& api = nvidia();
    fake().fails["cuLaunchKernel"] = {1, 3};
    const std::vector<uint8_t> image(64);
    ModuleHandle* const module = api.module_load(0, image).value();
    FunctionHandle* const function = api.module_function(module, "scale").value();
    StreamHandle* const stream = api.stream_create(0).value();
    LaunchReport report;
    const auto refused = [&](std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block) {
        return api.module_launch_kernel(function, grid, block, 0, stream, image, {}, report).error().message;
    };
    EXPECT_EQ(refused({1, 70000, 1}, {64, 1, 1}), "kernel 'scale': the grid's size 1 is 70000 and can be 65535");
    EXPECT_EQ(refused({1, 1, 1}, {64, 17, 1}),
              "kernel 'scale': a block of 1088 threads, and it was compiled for at most 1024");
    EXPECT_TRUE(refused({1, 1, 1}, {64, 1, 1}).starts_with("kernel 'scale': CUDA error 1"));
    EXPECT_TRUE(api.stream_destroy(stream));
    EXPECT_TRUE(api.module_unload(module));
}

TEST_F(NvidiaTest, TheDriverIsNotAskedAgainForASmallBlockThatWasFreed) {
    const HipApi& api = nvidia();
    const DevicePtr first = api.malloc(0, 2000).value();
    api.free(0, first).value();
    const int allocations = fake().calls["cuMemAllocAsync"], frees = fake().calls["cuMemFreeAsync"];
    EXPECT_EQ(api.malloc(0, 2048).value(), first);
    api.free(0, first).value();
    EXPECT_EQ(fake().calls["cuMemAllocAsync"], allocations);
    EXPECT_EQ(fake().calls["cuMemFreeAsync"], frees);
    const DevicePtr large = api.malloc(0, 1 << 20).value();
    api.free(0, large).value();
    EXPECT_EQ(fake().calls["cuMemFreeAsync"], frees + 1) << "large ones are the driver's";
}

TEST_F(NvidiaTest, OutOfMemoryThePoolIsTrimmedAndAskedOnceMore) {
    fake().fails["cuMemAllocAsync"] = {2, 1};
    const int trims = fake().calls["cuMemPoolTrimTo"];
    const Result<DevicePtr> memory = nvidia().malloc(0, 100000);
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_EQ(fake().calls["cuMemPoolTrimTo"], trims + 1);
    nvidia().free(0, *memory).value();

    nvidia().free(0, nvidia().malloc(0, 100).value()).value();
    const size_t pooled = nvidia().pooled_bytes(0);
    ASSERT_GT(pooled, 3072u) << "what the driver holds, and a small block";
    fake().fails["cuMemAllocAsync"] = {2, 2};
    const int frees = fake().calls["cuMemFreeAsync"];
    const Result<DevicePtr> none = nvidia().malloc(0, 123456);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::Device);
    const std::string gave_back = "gave back " + std::to_string(pooled);
    for (const char* part : {"CUDA_ERROR_OUT_OF_MEMORY", "123456 bytes", "1000 are free", gave_back.c_str()})
        EXPECT_NE(none.error().message.find(part), std::string::npos) << part << " in " << none.error().message;
    EXPECT_GT(fake().calls["cuMemFreeAsync"], frees);
    EXPECT_EQ(nvidia().pooled_bytes(0), 3072u) << "nothing small is kept";
}

TEST_F(NvidiaTest, ErrorsCarryCudasNameAndWords) {
    fake().fails["cuModuleLoadData"] = {999, 1};
    const Result<void> done = launch({});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "CUDA_ERROR_UNKNOWN: unknown error (cuModuleLoadData)");
    EXPECT_EQ(done.error().kind, ErrorKind::Device);
}

TEST_F(NvidiaTest, AnIllegalAddressSaysThatTheContextIsLost) {
    fake().fails["cuStreamSynchronize"] = {700, 1};
    const Result<void> done = launch({});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::MemoryFault);
    for (const char* part :
         {"CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access", "context is lost", "emulated device"})
        EXPECT_NE(done.error().message.find(part), std::string::npos) << done.error().message;
}

TEST_F(NvidiaTest, AnIndexOutsideOfItsAxisIsReportedOnce) {
    const uint64_t index_seven_of_axis_two = uint64_t{0xb1d0} << 48 | uint64_t{2} << 42 | 7;
    fake().variables["__strata_wrong_index"] = index_seven_of_axis_two;
    const Result<void> done = launch({});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::MemoryFault);
    EXPECT_EQ(done.error().message, "kernel 'scale': index 7 is outside of axis 2");
    EXPECT_EQ(fake().variables["__strata_wrong_index"], 0u);
    EXPECT_TRUE(launch({}));
}

TEST_F(NvidiaTest, AWrongIndexIsReadWhenTheHostWaits) {
    const HipApi& api = nvidia();
    const std::vector<uint8_t> image(64);
    fake().variables["__strata_wrong_index"] = 0;
    ModuleHandle* module = api.module_load(0, image).value();
    FunctionHandle* function = api.module_function(module, "scale").value();
    StreamHandle* stream = api.stream_create(0).value();
    GraphHandle* graph = api.graph_create(0).value();
    api.graph_add_kernel(graph, function, {1, 1, 1}, {64, 1, 1}, 0, {}).value();
    const DevicePtr memory = api.malloc(0, 8).value();
    uint64_t read = 0;
    const auto launch_twice = [&] {
        LaunchReport report;
        for (int i = 0; i < 2; ++i) {
            fake().variables["__strata_wrong_index"] = uint64_t{0xb1d0} << 48 | 5;
            EXPECT_TRUE(api.module_launch_kernel(function, {1, 1, 1}, {64, 1, 1}, 0, stream, {}, {}, report));
        }
    };
    launch_twice();
    EXPECT_FALSE(api.stream_synchronize(stream));
    EXPECT_TRUE(api.stream_synchronize(stream));
    launch_twice();
    EXPECT_FALSE(api.memcpy_to_host(0, &read, memory, sizeof read));
    fake().variables["__strata_wrong_index"] = uint64_t{0xb1d0} << 48 | 5;
    EXPECT_TRUE(api.graph_launch(graph, stream));
    const Result<void> done = api.stream_synchronize(stream);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "kernel 'scale': index 5 is outside of axis 0");
    EXPECT_TRUE(api.memcpy_to_host(0, &read, memory, sizeof read));
    api.free(0, memory).value(), api.graph_destroy(graph).value();
    api.stream_destroy(stream).value(), api.module_unload(module).value();
}

}  // namespace
}  // namespace strata::providers
