#include "strata/runtime/device.h"

#include <fmt/ranges.h>

#include <memory>

#include "strata/core/support/settings.h"

namespace strata::runtime {
namespace {

std::mutex devices_mutex;
std::vector<std::unique_ptr<Device>>& devices() {
    static auto* all = new std::vector<std::unique_ptr<Device>>;
    return *all;
}
std::vector<hip::Provider>& providers() {
    static auto* all = new std::vector<hip::Provider>(std::begin(hip::kProviders), std::end(hip::kProviders));
    return *all;
}

std::string full_name(const hip::Provider& provider, int ordinal) {
    return fmt::format("{}:{}", provider.prefix, provider.api().device_label(ordinal));
}

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const hip::Provider& provider : providers()) {
        Result<int> count = provider.api().device_count();
        for (int i = 0; count && i < *count; i++)
            if (provider.api().device_properties(i)) out.push_back(full_name(provider, i));
    }
    return out;
}

std::string default_name() {
    for (const hip::Provider& provider : providers())
        if (Result<int> count = provider.api().device_count(); count && *count > 0) return full_name(provider, 0);
    user_error(ErrorKind::Device, "there is no device");
}

/// The provider and ordinal of a name in full, or of a prefix alone.
struct Place {
    const hip::Provider* provider;
    int ordinal;
};
Result<Place> find(std::string_view name) {
    for (const hip::Provider& provider : providers()) {
        if (name.substr(0, name.find(':')) != provider.prefix) continue;
        STRATA_TRY(int count, provider.api().device_count());
        for (int i = 0; i < count; i++)
            if (name == provider.prefix || name == full_name(provider, i)) return Place{&provider, i};
    }
    return make_error(ErrorKind::Device, "unknown device '{}'; known: {}", name, fmt::join(names(), ", "));
}

Device* opened(std::string_view name) {
    for (auto& d : devices())
        if (d->name() == name) return d.get();
    return nullptr;
}

}  // namespace

Device::Device(std::string name, uint16_t index, isa::Arch arch, const hip::HipApi& api, int ordinal)
    : name_(std::move(name)), index_(index), arch_(arch), api_(&api), ordinal_(ordinal) {}

Device::~Device() {
    if (stop_) (void)api_->event_destroy(stop_);
    if (start_) (void)api_->event_destroy(start_);
    if (stream_) (void)api_->stream_destroy(stream_);
}

Result<double> Device::timed(const std::function<Result<void>(hip::StreamHandle*)>& enqueue) {
    std::lock_guard lock(timing_mutex_);
    if (!stream_) {
        STRATA_TRY(stream_, api_->stream_create(ordinal_));
    }
    if (!start_) {
        STRATA_TRY(start_, api_->event_create(ordinal_));
    }
    if (!stop_) {
        STRATA_TRY(stop_, api_->event_create(ordinal_));
    }
    STRATA_TRY_VOID(api_->event_record(start_, stream_));
    STRATA_TRY_VOID(enqueue(stream_));
    STRATA_TRY_VOID(api_->event_record(stop_, stream_));
    STRATA_TRY_VOID(api_->stream_synchronize(stream_));
    return api_->event_elapsed_ms(start_, stop_);
}

std::vector<std::string> known_devices() {
    std::lock_guard lock(devices_mutex);
    return names();
}

Device& device(std::string_view name) {
    std::lock_guard lock(devices_mutex);
    std::string wanted(name.empty() ? std::string_view(settings().device) : name);
    if (wanted.empty()) wanted = default_name();
    if (Device* found = opened(wanted)) return *found;
    Place place = find(wanted).value();
    std::string full = full_name(*place.provider, place.ordinal);
    if (Device* found = opened(full)) return *found;
    const hip::HipApi& api = place.provider->api();
    isa::Arch arch = isa::parse_arch(api.device_properties(place.ordinal).value().arch).value();
    auto index = static_cast<uint16_t>(devices().size());
    devices().push_back(std::make_unique<Device>(full, index, arch, api, place.ordinal));
    return *devices().back();
}

Device& device(uint16_t index) {
    std::lock_guard lock(devices_mutex);
    STRATA_CHECK(index < devices().size(), "device {} was never opened", index);
    return *devices()[index];
}

void add_provider(hip::Provider provider) {
    hip::check_complete(provider.api()).value();
    std::lock_guard lock(devices_mutex);
    providers().push_back(provider);
}

}  // namespace strata::runtime
