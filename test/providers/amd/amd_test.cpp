// The provider for AMD's cards against Strata's own libamdhip64 (hip/), whose devices are emulated.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "../add_one.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/providers/providers.h"

namespace strata::providers {
namespace {

class Amd : public ::testing::Test {
  protected:
    const HipApi& api = amd();
    static constexpr int kDevice = 0, kCdna2 = 3;  // gfx1100 and gfx90a: the rows of archs.def
    StreamHandle* stream = nullptr;

    /// A library that the process has goes before all others.
    static void SetUpTestSuite() {
        ASSERT_TRUE(dlopen(STRATA_HIP_FOLDER "/libamdhip64.so.7", RTLD_LAZY | RTLD_LOCAL)) << dlerror();
    }
    void SetUp() override { stream = api.stream_create(kDevice).value(); }
    void TearDown() override { (void)api.stream_destroy(stream); }

    DevicePtr filled(const std::vector<uint32_t>& values) {
        const DevicePtr memory = api.malloc(kDevice, values.size() * 4).value();
        api.memcpy_to_device(kDevice, memory, values.data(), values.size() * 4).value();
        return memory;
    }
    std::vector<uint32_t> read(DevicePtr memory, size_t count) {
        std::vector<uint32_t> out(count);
        api.memcpy_to_host(kDevice, out.data(), memory, count * 4).value();
        return out;
    }
    ModuleHandle* module(int device = kDevice) {
        return api.module_load(device, isa::assemble(kAddOne, isa::Arch::gfx1100).value()).value();
    }
    Result<void> launch(FunctionHandle* f, uint32_t blocks, uint32_t threads, std::vector<DevicePtr> pointers) {
        std::vector<uint8_t> arguments(pointers.size() * 8);
        std::memcpy(arguments.data(), pointers.data(), arguments.size());
        LaunchReport report;
        return api.module_launch_kernel(f, {blocks, 1, 1}, {threads, 1, 1}, 0, stream, arguments, {}, report);
    }
    template <class T>
    void expect_error(const Result<T>& got, ErrorKind kind, std::string_view part) {
        ASSERT_FALSE(got) << "no error; expected: " << part;
        EXPECT_EQ(got.error().kind, kind) << got.error().message;
        EXPECT_NE(got.error().message.find(part), std::string::npos) << got.error().message;
    }
};

TEST_F(Amd, EveryRowOfTheTableIsFilled) {
    EXPECT_TRUE(check_complete(api));
    EXPECT_FALSE(api.modelled_time);
    EXPECT_EQ(api.malloc_repeated, nullptr);
    EXPECT_TRUE(api.may_have_devices()) << "it has them";
}

TEST_F(Amd, DevicesSayWhatTheyAre) {
    ASSERT_EQ(api.device_count().value(), emulated().device_count().value());
    const DeviceProperties card = api.device_properties(kDevice).value();
    EXPECT_EQ(card.name, "7900xtx (emulated)");
    EXPECT_EQ(card.arch, "gfx1100");
    EXPECT_EQ(card.warp_size, 32);
    EXPECT_EQ(card.max_block, 1024);
    EXPECT_EQ(card.lds_per_block, 65536);
    EXPECT_EQ(card.max_grid, (std::array<uint32_t, 3>{0x7fffffff, 65535, 65535}));
    EXPECT_EQ(card.units, 96);
    EXPECT_EQ(card.memory_bytes, emulated().device_properties(kDevice).value().memory_bytes) << "24 GiB, or the host's";
    EXPECT_TRUE(card.driver.starts_with("HIP ")) << card.driver;
    const DeviceProperties cdna2 = api.device_properties(kCdna2).value();
    EXPECT_EQ(cdna2.arch, "gfx90a") << "the library says gfx90a:sramecc+:xnack-";
    EXPECT_EQ(cdna2.warp_size, 64);
}

TEST_F(Amd, AnUnknownDeviceIsAnErrorInEveryCall) {
    for (const int device : {-1, 99}) {
        expect_error(api.device_properties(device), ErrorKind::Device, "hipErrorInvalidDevice");
        expect_error(api.malloc(device, 4), ErrorKind::Device, "hipErrorInvalidDevice");
        expect_error(api.free(device, 0), ErrorKind::Device, "hipErrorInvalidDevice");
        expect_error(api.memset(device, 0, 0, 0), ErrorKind::Device, "hipErrorInvalidDevice");
        expect_error(api.module_load(device, {}), ErrorKind::Device, "hipErrorInvalidDevice");
        expect_error(api.stream_create(device), ErrorKind::Device, "hipErrorInvalidDevice");
    }
}

TEST_F(Amd, CopiesBetweenHostAndDevice) {
    std::vector<uint32_t> values(1000);
    std::iota(values.begin(), values.end(), 7u);
    const DevicePtr a = filled(values), b = api.malloc(kDevice, 4000).value();
    ASSERT_TRUE(api.memcpy_on_device(kDevice, b, a, 4000));
    EXPECT_EQ(read(b, 1000), values);
    ASSERT_TRUE(api.memset(kDevice, b + 40, 0xab, 8));
    const std::vector<uint32_t> got = read(b, 1000);
    EXPECT_EQ(got[9], values[9]);
    EXPECT_EQ(got[10], 0xababababu);
    EXPECT_EQ(got[12], values[12]);
    EXPECT_EQ(api.host_view(kDevice, a), nullptr);
    EXPECT_TRUE(api.free(kDevice, a));
    EXPECT_TRUE(api.free(kDevice, b));
    EXPECT_GE(api.pooled_bytes(kDevice), 8000u);
}

TEST_F(Amd, CopiesOutsideOfMemoryAreErrorsWithTheirCall) {
    const DevicePtr memory = api.malloc(kDevice, 64).value();
    std::vector<uint8_t> host(1 << 20);
    expect_error(api.memcpy_to_device(kDevice, memory, host.data(), host.size()), ErrorKind::Usage,
                 "hipErrorInvalidValue: invalid argument (hipMemcpyHtoD)");
    expect_error(api.memcpy_to_host(kDevice, host.data(), memory, host.size()), ErrorKind::Usage, "hipMemcpyDtoH");
    EXPECT_TRUE(api.free(kDevice, memory));
}

TEST_F(Amd, MoreMemoryThanThereIsNamesBytesAskedFreeAndHeld) {
    const DevicePtr block = api.malloc(kDevice, 1 << 20).value();
    ASSERT_TRUE(api.free(kDevice, block));
    EXPECT_GT(api.pooled_bytes(kDevice), 0u);
    const Result<DevicePtr> got = api.malloc(kDevice, 25ull << 30);
    expect_error(got, ErrorKind::Device, "amd:0 is out of memory: 26843545600 bytes asked for, ");
    const std::string all = fmt::format(" of {} free, ", api.device_properties(kDevice).value().memory_bytes);
    EXPECT_NE(got.error().message.find(all), std::string::npos) << got.error().message;
    EXPECT_EQ(api.pooled_bytes(kDevice), 0u) << "what was kept went back before it was asked again";
}

TEST_F(Amd, AKernelRunsAndItsTimeIsThatBetweenTheEvents) {
    ModuleHandle* m = module();
    FunctionHandle* f = api.module_function(m, "add_one").value();
    const DevicePtr x = filled(std::vector<uint32_t>(64, 41)), out = filled(std::vector<uint32_t>(64));
    EventHandle *start = api.event_create(kDevice).value(), *stop = api.event_create(kDevice).value();
    ASSERT_TRUE(api.event_record(start, stream));
    ASSERT_TRUE(launch(f, 2, 32, {out, x}));
    ASSERT_TRUE(api.event_record(stop, stream));
    ASSERT_TRUE(api.stream_synchronize(stream));
    EXPECT_EQ(read(out, 64), std::vector<uint32_t>(64, 42));
    const double ms = api.event_elapsed_ms(start, stop).value();
    EXPECT_GT(ms, 0.0005);
    EXPECT_LT(ms, 0.1);
    EventHandle* never = api.event_create(kDevice).value();
    expect_error(api.event_elapsed_ms(start, never), ErrorKind::Usage, "hipErrorInvalidHandle");
    for (EventHandle* event : {start, stop, never}) EXPECT_TRUE(api.event_destroy(event));
    EXPECT_TRUE(api.module_unload(m));
}

TEST_F(Amd, AThreadNeedsNoDeviceOfItsOwn) {
    ModuleHandle* m = module();
    FunctionHandle* f = api.module_function(m, "add_one").value();
    const DevicePtr x = filled(std::vector<uint32_t>(32, 1)), out = filled(std::vector<uint32_t>(32));
    std::thread([&] {
        const DevicePtr other = api.malloc(1, 64).value();  // the device of this thread is another one now
        EXPECT_TRUE(launch(f, 1, 32, {out, x}));
        EXPECT_TRUE(api.free(1, other));
    }).join();
    EXPECT_EQ(read(out, 32), std::vector<uint32_t>(32, 2));
    EXPECT_TRUE(api.module_unload(m));
}

TEST_F(Amd, RefusedLaunchesNameKernelGridAndBlock) {
    ModuleHandle* m = module();
    FunctionHandle* f = api.module_function(m, "add_one").value();
    const DevicePtr x = filled(std::vector<uint32_t>(32, 1)), out = filled(std::vector<uint32_t>(32, 9));
    expect_error(
        launch(f, 1, 512, {out, x}), ErrorKind::Launch,
        "hipErrorInvalidValue: invalid argument (hipModuleLaunchKernel of 'add_one', grid 1x1x1, block 512x1x1)");
    expect_error(launch(f, 0, 32, {out, x}), ErrorKind::Launch, "grid 0x1x1");
    EXPECT_EQ(read(out, 32), std::vector<uint32_t>(32, 9));
    ASSERT_TRUE(launch(f, 1, 32, {out, x})) << "the device lives on";
    EXPECT_TRUE(api.module_unload(m));
}

TEST_F(Amd, WhatAModuleDoesNotHaveIsNamed) {
    ModuleHandle* m = module();
    expect_error(api.module_function(m, "add_two"), ErrorKind::Usage,
                 "hipErrorNotFound: named symbol not found (hipModuleGetFunction of 'add_two')");
    expect_error(api.module_global(m, "table"), ErrorKind::Usage, "hipModuleGetGlobal of 'table'");
    EXPECT_TRUE(api.module_unload(m));
}

TEST_F(Amd, CodeForAnotherArchAndNoCodeAreRefused) {
    const isa::Bytes code = isa::assemble(kAddOne, isa::Arch::gfx1100).value();
    expect_error(api.module_load(kCdna2, code), ErrorKind::Unsupported, "hipErrorNoBinaryForGpu");
    const std::vector<uint8_t> none(256, 7);
    expect_error(api.module_load(kDevice, none), ErrorKind::Device, "hipErrorInvalidImage");
}

TEST_F(Amd, AFaultLosesTheContextAndSaysHowToFindThePlace) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto fault = [&] {
        FunctionHandle* f = api.module_function(module(), "add_one").value();
        const DevicePtr x = filled(std::vector<uint32_t>(32, 5)), out = filled(std::vector<uint32_t>(32));
        if (!launch(f, 1 << 16, 32, {out, x})) exit(1);  // as on a card, the launch itself says nothing
        const Result<void> waited = api.stream_synchronize(stream);
        if (waited || waited.error().kind != ErrorKind::MemoryFault) exit(2);
        fprintf(stderr, "%s\n", waited.error().message.c_str());
        if (api.memset(kDevice, x, 0, 4)) exit(3);  // nothing works any more
        _exit(0);
    };
    EXPECT_EXIT(fault(), testing::ExitedWithCode(0),
                "global_load_b32.*hipErrorIllegalAddress: an illegal memory access was encountered .hipSetDevice.: the "
                "context of amd:0 is lost, and with it all memory there; start the process again. The last kernel was "
                "'add_one'. strata run --device emu:gfx1100");
}

}  // namespace
}  // namespace strata::providers
