#include "strata/runtime/device.h"

#include "helpers.h"

namespace strata::runtime {
namespace {

TEST_F(Runtime, TheDefaultDeviceComesFromTheSettings) {
    EXPECT_EQ(device().name(), "emu:gfx1100");
    Settings s = settings();
    s.device = "elsewhere";
    ScopedSettings scope(s);
    expect_error(ErrorKind::Device, "unknown device 'elsewhere'", [] { device(); });
}

TEST_F(Runtime, ADeviceIsOpenedOnce) {
    Device& d = device("emu:gfx1100");
    EXPECT_EQ(&d, &device("emu:gfx1100"));
    EXPECT_EQ(&d, &device("emu"));
    EXPECT_EQ(&d, &device(d.index()));
    EXPECT_TRUE(d.time_is_modelled());
    EXPECT_EQ(d.arch(), isa::Arch::gfx1100);
    EXPECT_EQ(d.properties().arch, "gfx1100");
}

TEST_F(Runtime, EveryKnownDeviceOpens) {
    std::vector<std::string> names = known_devices();
    for (const isa::ArchInfo& arch : isa::archs())
        EXPECT_NE(std::find(names.begin(), names.end(), fmt::format("emu:{}", arch.name)), names.end());
    for (const std::string& name : names) EXPECT_EQ(device(name).name(), name);
}

TEST_F(Runtime, AnUnknownDeviceIsAnErrorThatListsTheKnownOnes) {
    for (const char* name : {"emu:gfx9000", "cuda", "emu:", "gfx1100", "emu:gfx1100 "}) {
        expect_error(ErrorKind::Device, "known: emu:gfx1100", [&] { device(name); });
        expect_error(ErrorKind::Device, fmt::format("'{}'", name), [&] { device(name); });
    }
}

TEST_F(Runtime, ADeviceThatAPrefixLacksIsAnErrorThatNamesItAndListsTheKnownOnes) {
    std::vector<std::string> prefixes;
    for (const providers::Provider& row : providers::kProviders) prefixes.emplace_back(row.prefix);
    for (const providers::Alias& row : providers::kAliases) prefixes.emplace_back(row.name);
    for (const std::string& prefix : prefixes) {
        const std::string name = prefix + ":77";
        expect_error(ErrorKind::Device, fmt::format("'{}'", name), [&] { device(name); });
        expect_error(ErrorKind::Device, "known: ", [&] { device(name); });
        expect_error(ErrorKind::Device, "emu:gfx1100", [&] { device(name); });
    }
}

}  // namespace
}  // namespace strata::runtime
