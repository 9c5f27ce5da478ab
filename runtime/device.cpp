#include "strata/runtime/device.h"

#include <fmt/ranges.h>

#include <mutex>

#include "strata/core/support/settings.h"

namespace strata::runtime {
namespace {

std::mutex devices_mutex;
std::vector<std::unique_ptr<Device>>& devices() {
    static auto* all = new std::vector<std::unique_ptr<Device>>;
    return *all;
}

/// The emulator's ordinal of "emu:<arch>".
Result<int> emulated_ordinal(std::string_view name) {
    Result<isa::Arch> arch = isa::parse_arch(name.starts_with("emu:") ? name.substr(4) : "");
    if (!arch)
        return make_error(ErrorKind::Device, "unknown device '{}'; known: {}", name, fmt::join(known_devices(), ", "));
    auto ordinal = static_cast<int>(*arch);
    if (auto properties = hip::emulated().device_properties(ordinal); !properties) return properties.error();
    return ordinal;
}

}  // namespace

Device::Device(std::string name, uint16_t index, isa::Arch arch, const hip::HipApi& api, int ordinal)
    : name_(std::move(name)), index_(index), arch_(arch), api_(&api), ordinal_(ordinal) {}

std::vector<std::string> known_devices() {
    std::vector<std::string> names;
    for (size_t i = 0; i < isa::archs().size(); i++)
        if (hip::emulated().device_properties(static_cast<int>(i)))
            names.push_back(fmt::format("emu:{}", isa::archs()[i].name));
    return names;
}

Device& device(std::string_view name) {
    std::string wanted(name.empty() ? std::string_view(settings().device) : name);
    if (wanted.empty() || wanted == "emu") wanted = "emu:gfx1100";
    std::lock_guard lock(devices_mutex);
    for (auto& d : devices())
        if (d->name() == wanted) return *d;
    int ordinal = emulated_ordinal(wanted).value();
    auto index = static_cast<uint16_t>(devices().size());
    devices().push_back(std::make_unique<Device>(wanted, index, isa::archs()[static_cast<size_t>(ordinal)].arch,
                                                 hip::emulated(), ordinal));
    return *devices().back();
}

Device& device(uint16_t index) {
    std::lock_guard lock(devices_mutex);
    STRATA_CHECK(index < devices().size(), "device {} was never opened", index);
    return *devices()[index];
}

}  // namespace strata::runtime
