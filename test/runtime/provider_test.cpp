// A second provider through the seam that all providers use: the emulated GPU under another name, with measured time.
#include <chrono>

#include "helpers.h"
#include "strata/runtime/context_p.h"

namespace strata::runtime {
namespace {

using namespace test;
using Clock = std::chrono::steady_clock;

Clock::time_point& at(providers::EventHandle* event) { return *reinterpret_cast<Clock::time_point*>(event); }

const providers::HipApi& stopwatch() {
    static const providers::HipApi api = [] {
        providers::HipApi a = providers::emulated();
        a.provider = "stopwatch";
        a.modelled_time = false;
        a.device_count = [] { return Result<int>(1); };
        a.device_label = [](int device) { return std::to_string(device); };
        a.host_view = [](int, providers::DevicePtr) { return static_cast<void*>(nullptr); };
        a.event_create = [](int) {
            return Result<providers::EventHandle*>(reinterpret_cast<providers::EventHandle*>(new Clock::time_point));
        };
        a.event_destroy = [](providers::EventHandle* event) {
            delete &at(event);
            return Result<void>();
        };
        a.event_record = [](providers::EventHandle* event, providers::StreamHandle*) {
            at(event) = Clock::now();
            return Result<void>();
        };
        a.event_elapsed_ms = [](providers::EventHandle* start, providers::EventHandle* stop) {
            return Result<double>(std::chrono::duration<double, std::milli>(at(stop) - at(start)).count());
        };
        return a;
    }();
    return api;
}

const providers::HipApi& nobody() {
    static const providers::HipApi api = [] {
        providers::HipApi a = providers::emulated();
        a.device_count = [] { return Result<int>(make_error(ErrorKind::Device, "libnobody.so is not installed")); };
        return a;
    }();
    return api;
}

const providers::HipApi& half() {
    static const providers::HipApi api{.provider = "half"};
    return api;
}

class Providers : public Runtime {
  protected:
    static void SetUpTestSuite() {
        add_provider({"stopwatch", stopwatch});
        add_provider({"nobody", nobody});
    }
};

TEST_F(Providers, ItsDevicesAreKnownByPrefixAndLabel) {
    std::vector<std::string> names = known_devices();
    EXPECT_EQ(names.back(), "stopwatch:0");
    EXPECT_EQ(device("stopwatch").name(), "stopwatch:0");
    EXPECT_EQ(&device("stopwatch:0"), &device("stopwatch"));
    expect_error(ErrorKind::Device, "unknown device 'stopwatch:1'", [] { device("stopwatch:1"); });
    EXPECT_EQ(device().name(), "emu:gfx1100") << "the first row with a device is the default";
}

TEST_F(Providers, ATensorSumRunsThereAndItsTimeIsMeasured) {
    Settings s = settings();
    s.device = "stopwatch";
    ScopedSettings scope(s);
    Root x = on_device(counting(1 << 16));
    EXPECT_FALSE(find_buffer(x.get())->host_view());
    Root total;
    {
        GraphScope graph;
        total = Root(sum(x.get(), {0}));
    }
    auto start = Clock::now();
    EXPECT_EQ(values(realized(total.get()))[0], 65535.f * 32768.f);
    double passed = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    Stats got = stats();
    EXPECT_FALSE(got.modelled);
    EXPECT_GT(got.time_ms, 0);
    EXPECT_LT(got.time_ms, passed);
    for (const Stats::Launch& launch : got.launches) EXPECT_LE(launch.time_ms, launch.wall_ms) << launch.name;
}

TEST_F(Providers, AMissingDriverIsSaidWhereItsDeviceIsAskedFor) {
    expect_error(ErrorKind::Device, "libnobody.so is not installed", [] { device("nobody"); });
    for (const std::string& name : known_devices()) EXPECT_FALSE(name.starts_with("nobody"));
}

TEST_F(Providers, AnAliasMeansTheFirstOfItsProvidersThatHasADevice) {
    for (const providers::Alias& alias : providers::kAliases) {
        const std::string name(alias.name), full = fmt::format("{}:0", alias.prefix);
        Devices devices({{"nobody", nobody}, {alias.prefix, stopwatch}});
        EXPECT_EQ(devices.open(name).name(), full);
        EXPECT_EQ(&devices.open(name), &devices.open(full));
        EXPECT_EQ(&devices.open(name + ":0"), &devices.open(full));
        EXPECT_EQ(devices.known(), std::vector{full}) << "aliases are not listed";
        expect_error(ErrorKind::Device, fmt::format("unknown device '{}:1'; known: {}", name, full),
                     [&] { devices.open(name + ":1"); });
    }
    Devices one({{"amd", nobody}, {"cuda", stopwatch}}), both({{"amd", stopwatch}, {"cuda", stopwatch}});
    EXPECT_EQ(one.open("hip").name(), "cuda:0");
    EXPECT_EQ(both.open("hip").name(), "amd:0");
    EXPECT_EQ(both.known(), (std::vector<std::string>{"amd:0", "cuda:0"}));
    expect_error(ErrorKind::Device, "there is no device 'amd:0': libnobody.so is not installed\nknown: cuda:0",
                 [&] { one.open("amd:0"); });
}

TEST_F(Providers, AProviderThatLeavesRowsEmptyIsNotUsed) {
    expect_error(ErrorKind::Device, "the provider 'half' lacks hipGetDeviceCount",
                 [] { add_provider({"half", half}); });
    expect_error(ErrorKind::Device, "unknown device 'half:0'", [] { device("half:0"); });
}

}  // namespace
}  // namespace strata::runtime
