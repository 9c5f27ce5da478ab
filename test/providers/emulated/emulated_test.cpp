#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "../add_one.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/core/support/settings.h"
#include "strata/providers/emulated.h"
#include "strata/providers/providers.h"

namespace strata::providers {
namespace {

class EmulatedHip : public ::testing::Test {
  protected:
    const HipApi& api = emulated();
    static constexpr int kDevice = 0;  // gfx1100 is the first row of archs.def

    StreamHandle* stream = nullptr;

    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM";
        stream = api.stream_create(kDevice).value();
    }
    void TearDown() override { (void)api.stream_destroy(stream); }
    DevicePtr filled(const std::vector<uint32_t>& values) {
        DevicePtr memory = api.malloc(kDevice, values.size() * 4).value();
        api.memcpy_to_device(kDevice, memory, values.data(), values.size() * 4).value();
        return memory;
    }
    std::vector<uint32_t> read(DevicePtr memory, size_t count) {
        std::vector<uint32_t> out(count);
        api.memcpy_to_host(kDevice, out.data(), memory, count * 4).value();
        return out;
    }
    ModuleHandle* module(std::string_view text = kAddOne) {
        isa::Bytes code = isa::assemble(text, isa::Arch::gfx1100).value();
        return api.module_load(kDevice, code).value();
    }
    static std::vector<uint8_t> arguments(std::vector<DevicePtr> pointers) {
        std::vector<uint8_t> out(pointers.size() * 8);
        if (!pointers.empty()) std::memcpy(out.data(), pointers.data(), out.size());
        return out;
    }
    /// Launches over pointers as arguments.
    Result<void> launch(FunctionHandle* f, std::array<uint32_t, 3> grid, std::vector<DevicePtr> pointers) {
        LaunchReport report;
        return api.module_launch_kernel(f, grid, {32, 1, 1}, 0, stream, arguments(pointers), {}, report);
    }
    template <class T>
    void expect_error(const Result<T>& got, ErrorKind kind, std::string_view part) {
        ASSERT_FALSE(got) << "no error; expected: " << part;
        EXPECT_EQ(got.error().kind, kind) << got.error().message;
        EXPECT_NE(got.error().message.find(part), std::string::npos) << got.error().message;
    }
};

TEST_F(EmulatedHip, EveryRowOfTheTableIsFilled) {
    EXPECT_EQ(api.provider, "emulated");
    EXPECT_TRUE(api.modelled_time);
    EXPECT_TRUE(check_complete(api));
}

TEST_F(EmulatedHip, EveryArchitectureIsADevice) {
    int count = api.device_count().value();
    ASSERT_EQ(count, static_cast<int>(isa::archs().size()));
    for (int i = 0; i < count; ++i) {
        const isa::ArchInfo& arch = isa::archs()[static_cast<size_t>(i)];
        Result<DeviceProperties> got = api.device_properties(i);
        ASSERT_TRUE(got) << got.error().message;
        DeviceProperties p = *got;
        EXPECT_EQ(p.arch, arch.name);
        EXPECT_NE(p.name.find("(emulated)"), std::string::npos) << p.name;
        EXPECT_EQ(p.warp_size, arch.wave_size);
        EXPECT_EQ(p.max_block, 1024);
        EXPECT_EQ(p.lds_per_block, 65536);
    }
}

TEST_F(EmulatedHip, AnUnknownDeviceIsAnErrorInEveryCall) {
    for (int device : {-1, 9999}) {
        expect_error(api.device_properties(device), ErrorKind::Device, "hipErrorInvalidDevice");
        expect_error(api.malloc(device, 4), ErrorKind::Device, "hipErrorInvalidDevice");
        expect_error(api.free(device, 0), ErrorKind::Device, "hipErrorInvalidDevice");
        expect_error(api.memset(device, 0, 0, 0), ErrorKind::Device, "hipErrorInvalidDevice");
        expect_error(api.module_load(device, {}), ErrorKind::Device, "hipErrorInvalidDevice");
    }
}

TEST_F(EmulatedHip, CopiesBetweenHostAndDevice) {
    std::vector<uint32_t> values(1000);
    std::iota(values.begin(), values.end(), 7u);
    DevicePtr a = filled(values), b = api.malloc(kDevice, 4000).value();
    ASSERT_TRUE(api.memcpy_on_device(kDevice, b, a, 4000));
    EXPECT_EQ(read(b, 1000), values);
    ASSERT_TRUE(api.memset(kDevice, b + 40, 0xab, 8));
    std::vector<uint32_t> got = read(b, 1000);
    EXPECT_EQ(got[9], values[9]);
    EXPECT_EQ(got[10], 0xababababu);
    EXPECT_EQ(got[11], 0xababababu);
    EXPECT_EQ(got[12], values[12]);
    EXPECT_EQ(std::memcmp(api.host_view(kDevice, a), values.data(), 4000), 0);
    EXPECT_TRUE(api.free(kDevice, a));
    EXPECT_TRUE(api.free(kDevice, b));
}

TEST_F(EmulatedHip, CopiesOutsideOfMemoryAreErrors) {
    DevicePtr memory = api.malloc(kDevice, 64).value();
    std::vector<uint8_t> host(1 << 20);
    EXPECT_FALSE(api.memcpy_to_device(kDevice, memory, host.data(), host.size()));
    EXPECT_FALSE(api.memcpy_to_host(kDevice, host.data(), memory, host.size()));
    EXPECT_FALSE(api.memset(kDevice, memory, 0, host.size()));
    EXPECT_FALSE(api.memcpy_to_host(kDevice, host.data(), 0, 4));
    EXPECT_TRUE(api.memcpy_to_host(kDevice, host.data(), memory, 64));
    EXPECT_TRUE(api.free(kDevice, memory));
    expect_error(api.free(kDevice, memory), ErrorKind::Usage, "no live allocation");
    EXPECT_FALSE(api.memcpy_to_host(kDevice, host.data(), memory, 4));
}

TEST_F(EmulatedHip, AnImpossibleAllocationIsAnError) {
    expect_error(api.malloc(kDevice, size_t{1} << 60), ErrorKind::Device, "out of device memory");
    EXPECT_TRUE(api.free(kDevice, api.malloc(kDevice, 16).value()));
}

TEST_F(EmulatedHip, LaunchesAKernelAndTellsWhatItCost) {
    std::vector<uint32_t> values(128);
    std::iota(values.begin(), values.end(), 100u);
    DevicePtr x = filled(values), out = filled(std::vector<uint32_t>(128));
    ModuleHandle* m = module();
    FunctionHandle* f = api.module_function(m, "add_one").value();
    LaunchReport report;
    ASSERT_TRUE(api.module_launch_kernel(f, {4, 1, 1}, {32, 1, 1}, 0, stream, arguments({out, x}), {}, report));
    for (uint32_t& v : values) v++;
    EXPECT_EQ(read(out, 128), values);
    EXPECT_EQ(report.wave_instructions, 4u * 10);
    EXPECT_FALSE(report.details) << "nobody asked";
    ASSERT_TRUE(launch(f, {1, 1, 1}, {out, out}));
    EXPECT_EQ(read(out, 128)[0], values[0] + 1);
    EXPECT_TRUE(api.module_unload(m));
}

TEST_F(EmulatedHip, TheReportCountsInstructionsWhereTheSettingsAskForIt) {
    Settings s = settings();
    s.emu_fidelity = true;
    ScopedSettings scope(s);
    DevicePtr x = filled(std::vector<uint32_t>(32)), out = filled(std::vector<uint32_t>(32));
    ModuleHandle* m = module();
    FunctionHandle* f = api.module_function(m, "add_one").value();
    LaunchReport report;
    ASSERT_TRUE(api.module_launch_kernel(f, {1, 1, 1}, {32, 1, 1}, 0, stream, arguments({out, x}), {}, report));
    ASSERT_TRUE(report.details);
    EXPECT_TRUE(report.details->findings.empty());
    uint64_t total = 0;
    for (const emu::InstructionUse& use : report.details->instructions) total += use.executed.value();
    EXPECT_EQ(total, report.wave_instructions);
    EXPECT_TRUE(api.module_unload(m));
}

TEST_F(EmulatedHip, StrictModeTellsTheReportAndWhoListens) {
    std::string text(kAddOne);
    const std::string_view set = "v_lshlrev_b32_e32 v1, 2, v0";
    text.replace(text.find(set), set.size(), "s_nop 0");  // v1 is an address that nobody wrote
    auto listener = std::make_shared<Report>();
    DevicePtr x = filled(std::vector<uint32_t>(32)), out = filled(std::vector<uint32_t>(32));
    ModuleHandle* m = module(text);
    FunctionHandle* f = api.module_function(m, "add_one").value();
    for (const char* check : {"off", "report", "raise", "report"}) {
        Settings s = settings();
        s.check = check;
        s.listener = listener;
        ScopedSettings scope(s);
        LaunchReport report;
        const Result<void> ran =
            api.module_launch_kernel(f, {1, 1, 1}, {32, 1, 1}, 0, stream, arguments({out, x}), {}, report);
        EXPECT_EQ(static_cast<bool>(ran), s.check != "raise");
        if (!ran) expect_error(ran, ErrorKind::Check, "kernel 'add_one': ");
        EXPECT_EQ(report.details != nullptr, s.check == "report");
        if (s.check != "report") continue;
        const std::vector<CheckFinding>& findings = report.details->findings;
        ASSERT_FALSE(findings.empty());
        EXPECT_EQ(findings[0].kernel, "add_one");
        EXPECT_EQ(findings[0].finding.kind, lint::Kind::uninitialised);
    }
    EXPECT_TRUE(api.module_unload(m));
    const std::vector<CheckFinding> all = listener->findings();  // which keep the code that they are about
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all[0].finding.count, 3u);
    EXPECT_NE(all[0].text().find("kernel 'add_one': "), std::string::npos);
    EXPECT_NE(all[0].line().find("v1"), std::string::npos);
    EXPECT_NE(to_json(all).find("\"kind\": \"uninitialised\""), std::string::npos);
}

TEST_F(EmulatedHip, EventsMeasureModelledTimeOnAStream) {
    DevicePtr x = filled(std::vector<uint32_t>(128)), out = filled(std::vector<uint32_t>(128));
    ModuleHandle* m = module();
    FunctionHandle* f = api.module_function(m, "add_one").value();
    std::array<EventHandle*, 3> events{};
    for (EventHandle*& event : events) event = api.event_create(kDevice).value();
    expect_error(api.event_elapsed_ms(events[0], events[1]), ErrorKind::Usage, "record both events");
    ASSERT_TRUE(api.event_record(events[0], stream));
    expect_error(api.event_elapsed_ms(events[0], events[1]), ErrorKind::Usage, "record both events");
    for (int i : {1, 2}) {
        ASSERT_TRUE(launch(f, {4, 1, 1}, {out, x}));
        ASSERT_TRUE(api.event_record(events[static_cast<size_t>(i)], stream));
    }
    ASSERT_TRUE(api.stream_synchronize(stream));
    double first = api.event_elapsed_ms(events[0], events[1]).value();
    EXPECT_GT(first, 0);
    EXPECT_EQ(api.event_elapsed_ms(events[1], events[2]).value(), first) << "the model is deterministic";
    EXPECT_DOUBLE_EQ(api.event_elapsed_ms(events[0], events[2]).value(), 2 * first);
    for (EventHandle* event : events) EXPECT_TRUE(api.event_destroy(event));
    EXPECT_TRUE(api.module_unload(m));
}

TEST_F(EmulatedHip, WhatIsNoCodeObjectIsNotLoaded) {
    std::vector<uint8_t> garbage(256, 0x7f);
    EXPECT_FALSE(api.module_load(kDevice, garbage));
    EXPECT_FALSE(api.module_load(kDevice, {}));
    isa::Bytes code = isa::assemble(kAddOne, isa::Arch::gfx1100).value();
    EXPECT_FALSE(api.module_load(kDevice, std::span(code).first(code.size() / 2)));
    for (int other = 1; other < api.device_count().value(); ++other)
        expect_error(api.module_load(other, code), ErrorKind::Unsupported,
                     isa::archs()[static_cast<size_t>(other)].name);
}

TEST_F(EmulatedHip, AMissingFunctionIsNamedWithThoseThereAre) {
    ModuleHandle* m = module();
    expect_error(api.module_function(m, "add_two"), ErrorKind::Launch, "no kernel 'add_two'; it has: add_one");
    EXPECT_TRUE(api.module_unload(m));
}

TEST_F(EmulatedHip, ImpossibleLaunchesAreRefusedAndRunNothing) {
    DevicePtr x = filled(std::vector<uint32_t>(32, 5)), out = filled(std::vector<uint32_t>(32, 9));
    ModuleHandle* m = module();
    FunctionHandle* f = api.module_function(m, "add_one").value();
    auto refused = [&](std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, uint32_t lds,
                       std::vector<DevicePtr> pointers, std::string_view why) {
        LaunchReport report;
        expect_error(api.module_launch_kernel(f, grid, block, lds, stream, arguments(pointers), {}, report),
                     ErrorKind::Launch, why);
    };
    refused({1, 1, 1}, {512, 1, 1}, 0, {out, x}, "256");
    refused({1, 1, 1}, {0, 1, 1}, 0, {out, x}, "add_one");
    refused({0, 1, 1}, {32, 1, 1}, 0, {out, x}, "add_one");
    refused({1, 1, 1}, {32, 1, 1}, 1 << 20, {out, x}, "add_one");
    refused({1, 1, 1}, {32, 1, 1}, 0, {out}, "add_one");
    EXPECT_EQ(read(out, 32), std::vector<uint32_t>(32, 9));
    EXPECT_TRUE(api.module_unload(m));
}

TEST_F(EmulatedHip, AFaultIsAnErrorAndTheDeviceLivesOn) {
    DevicePtr x = filled(std::vector<uint32_t>(32, 5)), out = filled(std::vector<uint32_t>(32));
    ModuleHandle* m = module();
    FunctionHandle* f = api.module_function(m, "add_one").value();
    Result<void> fault = launch(f, {1 << 16, 1, 1}, {out, x});
    expect_error(fault, ErrorKind::MemoryFault, "add_one");
    EXPECT_NE(fault.error().message.find("global_load_b32"), std::string::npos) << fault.error().message;
    ASSERT_TRUE(launch(f, {1, 1, 1}, {out, x}));
    EXPECT_EQ(read(out, 32), std::vector<uint32_t>(32, 6));
    EXPECT_TRUE(api.module_unload(m));
}

TEST_F(EmulatedHip, AFunctionLivesAsLongAsItsModuleHoweverManyThereAre) {
    ModuleHandle* m = module();
    FunctionHandle* first = api.module_function(m, "add_one").value();
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(api.module_function(m, "add_one"));
    DevicePtr x = filled(std::vector<uint32_t>(32, 1)), out = filled(std::vector<uint32_t>(32));
    ASSERT_TRUE(launch(first, {1, 1, 1}, {out, x}));
    EXPECT_EQ(read(out, 32), std::vector<uint32_t>(32, 2));
    EXPECT_TRUE(api.module_unload(m));
}

}  // namespace
}  // namespace strata::providers
