#include "strata/runtime/device.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/pending_time.h"
#include "strata/runtime/stream.h"

namespace strata::runtime {
namespace {

using Providers = std::span<const providers::Provider>;

std::string full_name(const providers::Provider& provider, int ordinal) {
    const std::string label = provider.api().device_label(ordinal);
    return label.empty() ? std::string(provider.prefix) : fmt::format("{}:{}", provider.prefix, label);
}

bool may_have_devices(const providers::Provider& provider) {
    const auto may = provider.api().may_have_devices;
    return !may || may();
}

/// True if `name` is the prefix, or an alias of it.
bool stands_for(std::string_view name, std::string_view prefix) {
    return name == prefix || std::ranges::any_of(providers::kAliases, [&](const providers::Alias& alias) {
               return alias.name == name && alias.prefix == prefix;
           });
}

/// The devices of a prefix or an alias: those of its first provider that has any; else why there is none.
struct Offer {
    const providers::Provider* provider = nullptr;
    int count = 0;
    std::string why = {};
};
Offer offer_of(Providers providers, std::string_view prefix) {
    Offer none;
    // Who may have devices comes first: a library that finds none takes time to load, and some end the process where
    // there is no card.
    std::vector<const providers::Provider*> in_turn, unlikely;
    for (const providers::Provider& provider : providers)
        if (stands_for(prefix, provider.prefix)) (may_have_devices(provider) ? in_turn : unlikely).push_back(&provider);
    in_turn.insert(in_turn.end(), unlikely.begin(), unlikely.end());
    for (const providers::Provider* provider : in_turn) {
        Result<int> count = provider->api().device_count();
        if (count && *count > 0) return {provider, *count};
        const std::string why = count ? fmt::format("the provider '{}' has no device", provider->api().provider)
                                      : std::move(count.error().message);
        none.why += (none.why.empty() ? "" : "\n") + why;
    }
    return none;
}

/// Prefixes in the order of their first rows.
std::vector<std::string_view> prefixes(Providers providers) {
    std::vector<std::string_view> out;
    for (const providers::Provider& provider : providers)
        if (std::ranges::find(out, provider.prefix) == out.end()) out.push_back(provider.prefix);
    return out;
}

/// Those that may have devices, or were asked for one.
std::vector<providers::Provider> likely(Providers providers) {
    std::vector<providers::Provider> out;
    for (const providers::Provider& provider : providers)
        if (may_have_devices(provider)) out.push_back(provider);
    return out;
}

std::vector<std::string> names(Providers providers) {
    std::vector<std::string> out;
    for (const std::string_view prefix : prefixes(providers)) {
        const Offer offer = offer_of(providers, prefix);
        for (int i = 0; i < offer.count; ++i)
            if (offer.provider->api().device_properties(i)) out.push_back(full_name(*offer.provider, i));
    }
    return out;
}

std::string default_name(Providers providers) {
    for (const std::string_view prefix : prefixes(providers))
        if (const Offer offer = offer_of(providers, prefix); offer.provider) return full_name(*offer.provider, 0);
    user_error(ErrorKind::Device, "there is no device");
}

/// The provider and ordinal of a name in full, or of a prefix or an alias alone, which means its first device.
struct Place {
    const providers::Provider* provider;
    int ordinal;
};
Result<Place> find(Providers providers, std::string_view name) {
    const size_t colon = name.find(':');
    const std::string_view prefix = name.substr(0, colon);
    const Offer offer = offer_of(providers, prefix);
    for (int i = 0; i < offer.count; ++i)
        if (colon == name.npos || name.substr(colon + 1) == offer.provider->api().device_label(i))
            return Place{offer.provider, i};
    const std::vector<std::string> known = names(likely(providers));
    if (!offer.why.empty())
        return make_error(ErrorKind::Device, "there is no device '{}': {}\nknown: {}", name, offer.why,
                          fmt::join(known, ", "));
    return make_error(ErrorKind::Device, "unknown device '{}'; known: {}", name, fmt::join(known, ", "));
}

/// The chip whose code a device runs.
codegen::Chip chip_of(std::string_view device, const providers::DeviceProperties& properties) {
    Result<codegen::Chip> arch = codegen::Chip::parse(properties.arch);
    if (arch) return *arch;
    user_error(ErrorKind::Device, "{} is a {} ({}), for which Strata makes no code yet: {}", device, properties.arch,
               properties.name, arch.error().message);
}

}  // namespace

Device::Device(std::string name, uint16_t index, codegen::Chip arch, const providers::HipApi& api, int ordinal)
    : name_(std::move(name)), index_(index), arch_(arch), api_(&api), ordinal_(ordinal) {}

Device::~Device() {
    waited_for_.reset();
    for (providers::EventHandle* event : events_) (void)api_->event_destroy(event);
    if (stream_) (void)api_->stream_destroy(stream_);
}

Result<double> Device::timed(const Enqueue& enqueue) {
    StoppableLock lock(timing_mutex_);
    STRATA_TRY(providers::StreamHandle * stream, stream_of_thread());
    if (!waited_for_) waited_for_.reset(new PendingTime(*this));
    STRATA_TRY_VOID(between_events(*waited_for_, stream, enqueue));
    STRATA_TRY_VOID(api_->stream_synchronize(stream));
    return api_->event_elapsed_ms(waited_for_->start_, waited_for_->stop_);
}

Result<void> Device::started(const Enqueue& enqueue) {
    StoppableLock lock(timing_mutex_);
    STRATA_TRY(providers::StreamHandle * stream, stream_of_thread());
    return enqueue(stream);
}

Result<std::unique_ptr<PendingTime>> Device::started_timed(const Enqueue& enqueue) {
    StoppableLock lock(timing_mutex_);
    STRATA_TRY(providers::StreamHandle * stream, stream_of_thread());
    std::unique_ptr<PendingTime> time(new PendingTime(*this));
    STRATA_TRY_VOID(between_events(*time, stream, enqueue));
    return time;
}

Result<void> Device::between_events(PendingTime& time, providers::StreamHandle* stream, const Enqueue& enqueue) {
    if (!time.start_) {
        STRATA_TRY(time.start_, take_event());
    }
    if (!time.stop_) {
        STRATA_TRY(time.stop_, take_event());
    }
    STRATA_TRY_VOID(api_->event_record(time.start_, stream));
    STRATA_TRY_VOID(enqueue(stream));
    return api_->event_record(time.stop_, stream);
}

Result<providers::EventHandle*> Device::take_event() {
    const std::lock_guard lock(events_mutex_);
    if (events_.empty()) return api_->event_create(ordinal_);
    providers::EventHandle* const event = events_.back();
    events_.pop_back();
    return event;
}

PendingTime::~PendingTime() {
    const std::lock_guard lock(device_.events_mutex_);
    for (providers::EventHandle* event : {start_, stop_})
        if (event) device_.events_.push_back(event);
}

double PendingTime::ms() const {
    device_.api().event_synchronize(stop_).value();
    return device_.api().event_elapsed_ms(start_, stop_).value();
}

Result<providers::StreamHandle*> Device::own_stream() {
    StoppableLock lock(timing_mutex_);
    STRATA_TRY_VOID(open_stream());
    return stream_;
}

Result<providers::StreamHandle*> Device::stream_of_thread() {
    if (had_streams())
        if (const std::shared_ptr<Stream> chosen = Stream::current(*this)) return chosen->handle();
    STRATA_TRY_VOID(open_stream());
    return stream_;
}

Result<void> Device::open_stream() {
    if (stream_) return {};
    STRATA_TRY(stream_, api_->stream_create(ordinal_));
    return {};
}

std::vector<std::string> known_devices() { return context().devices.known(); }
Device& device(std::string_view name) {
    return context().devices.open(name.empty() ? std::string_view(settings().device) : name);
}
Device& device(uint16_t index) { return context().devices.at(index); }
void add_provider(providers::Provider provider) { context().devices.add_provider(provider); }

Devices::Devices(std::vector<providers::Provider> providers) : providers_(std::move(providers)) {}

std::vector<std::string> Devices::known() {
    std::lock_guard lock(mutex_);
    return names(likely(providers_));
}

size_t Devices::pooled_bytes() {
    std::lock_guard lock(mutex_);
    size_t bytes = 0;
    for (const auto& d : all_) bytes += d->api().pooled_bytes(d->ordinal());
    return bytes;
}

Device* Devices::opened(std::string_view name) {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

Device& Devices::open(std::string_view name) {
    std::lock_guard lock(mutex_);
    std::string wanted = name.empty() ? default_name(likely(providers_)) : std::string(name);
    if (Device* found = opened(wanted)) return *found;
    Place place = find(providers_, wanted).value();
    std::string full = full_name(*place.provider, place.ordinal);
    if (Device* found = opened(full)) return *(by_name_[wanted] = found);
    const providers::HipApi& api = place.provider->api();
    const codegen::Chip arch = chip_of(full, api.device_properties(place.ordinal).value());
    auto index = static_cast<uint16_t>(all_.size());
    all_.push_back(std::make_unique<Device>(full, index, arch, api, place.ordinal));
    return *(by_name_[full] = by_name_[wanted] = all_.back().get());
}

Device& Devices::at(uint16_t index) {
    std::lock_guard lock(mutex_);
    STRATA_CHECK(index < all_.size(), "device {} was never opened", index);
    return *all_[index];
}

void Devices::add_provider(providers::Provider provider) {
    providers::check_complete(provider.api()).value();
    std::lock_guard lock(mutex_);
    providers_.push_back(provider);
}

}  // namespace strata::runtime
