// context: a device with settings, memory and streams of its own.
#include "guard_p.h"
#include "strata/runtime/device.h"

namespace strata::c {
namespace {

std::shared_ptr<const Settings> settings_of(const strata_options& options) {
    Settings out = options.flags & STRATA_OPTIONS_ENVIRONMENT ? settings_of_environment() : Settings{};
    if (options.cache_dir) {
        out.cache_dir = options.cache_dir;
        if (out.cache_dir.empty()) out.no_cache = true;
    }
    return std::make_shared<const Settings>(std::move(out));
}

void copy(const State& state, const strata_stream* stream, providers::CopyKind kind, uint64_t to, uint64_t from,
          uint64_t bytes) {
    if (bytes == 0) return;
    if (to == 0 || from == 0) plan_error(Status::argument, to == 0 ? "to" : "from", {1, 0}, "an address is 0");
    const std::shared_ptr<runtime::Stream>& on = stream ? stream->stream : state.stream;
    state.device->api().memcpy_async(on->handle(), kind, to, from, bytes).value();
    on->synchronize();
}

}  // namespace

State::~State() {
    for (const auto& [address, bytes] : memory) (void)device->api().free(device->ordinal(), address);
}

extern "C" {

strata_status strata_open(uint32_t abi, const strata_options* options, const char* device, strata_context** context) {
    return guarded(nullptr, [&] {
        needed(context, "context") = nullptr;
        if (abi < 1 || abi > STRATA_ABI)
            plan_error(Status::version, "abi", {STRATA_ABI, abi}, "the library serves the versions 1 to {}, not {}",
                       STRATA_ABI, abi);
        strata_options given{sizeof(strata_options)};
        if (options) given = struct_of(options, "options");
        if (given.flags & ~uint32_t{STRATA_OPTIONS_ENVIRONMENT})
            plan_error(Status::argument, "options", {STRATA_OPTIONS_ENVIRONMENT, given.flags},
                       "there is no such flag of options");
        auto state = std::make_shared<State>();
        state->settings = settings_of(given), state->log = given.log, state->user = given.user;
        const ScopedSettings scope(state->settings);
        state->device = &runtime::device(device ? device : "");
        state->arch = state->device->arch().name();
        state->stream = runtime::Stream::create(*state->device);
        *context = new strata_context{std::move(state)};
    });
}

void strata_close(strata_context* context) { delete context; }

const char* strata_arch(const strata_context* context) { return context ? context->state->arch.c_str() : ""; }

strata_status strata_count(const strata_context* context, strata_counters* counters) {
    return guarded(nullptr, [&] {
        const State& s = *needed(context, "context").state;
        give(counters, {0, 0, s.launches, s.compilations, s.allocations, s.live_bytes}, "counters");
    });
}

strata_status strata_alloc(strata_context* context, uint64_t bytes, uint64_t* address) {
    return guarded(context ? context->state.get() : nullptr, [&] {
        State& s = *needed(context, "context").state;
        needed(address, "address") = 0;
        auto made = s.device->api().malloc(s.device->ordinal(), std::max<uint64_t>(bytes, 1));
        if (!made)
            plan_error(Status::memory, "bytes", {bytes, 0}, "the device gives no {} bytes: {}", bytes,
                       made.error().message);
        const std::lock_guard lock(s.mutex);
        s.memory[*made] = bytes;
        ++s.allocations, s.live_bytes += bytes;
        *address = *made;
    });
}

strata_status strata_free(strata_context* context, uint64_t address) {
    return guarded(context ? context->state.get() : nullptr, [&] {
        State& s = *needed(context, "context").state;
        if (address == 0) return;
        {
            const std::lock_guard lock(s.mutex);
            const auto found = s.memory.find(address);
            if (found == s.memory.end())
                plan_error(Status::argument, "address", {}, "{:#x} is no memory of this context", address);
            s.live_bytes -= found->second;
            s.memory.erase(found);
        }
        s.device->api().free(s.device->ordinal(), address).value();
    });
}

strata_status strata_upload(strata_context* context, strata_stream* stream, uint64_t to, const void* from,
                            uint64_t bytes) {
    return guarded(context ? context->state.get() : nullptr, [&] {
        copy(*needed(context, "context").state, stream, providers::CopyKind::to_device, to,
             reinterpret_cast<uint64_t>(from), bytes);
    });
}

strata_status strata_download(strata_context* context, strata_stream* stream, void* to, uint64_t from, uint64_t bytes) {
    return guarded(context ? context->state.get() : nullptr, [&] {
        copy(*needed(context, "context").state, stream, providers::CopyKind::to_host, reinterpret_cast<uint64_t>(to),
             from, bytes);
    });
}

strata_status strata_stream_create(strata_context* context, strata_stream** stream) {
    return guarded(context ? context->state.get() : nullptr, [&] {
        const std::shared_ptr<State>& state = needed(context, "context").state;
        needed(stream, "stream") = nullptr;
        *stream = new strata_stream{state, runtime::Stream::create(*state->device)};
    });
}

strata_status strata_stream_wrap(strata_context* context, void* native, strata_stream** stream) {
    return guarded(context ? context->state.get() : nullptr, [&] {
        const std::shared_ptr<State>& state = needed(context, "context").state;
        needed(stream, "stream") = nullptr;
        *stream = new strata_stream{state, runtime::Stream::over(*state->device, reinterpret_cast<uint64_t>(native))};
    });
}

strata_status strata_synchronize(strata_context* context, strata_stream* stream) {
    return guarded(context ? context->state.get() : nullptr, [&] {
        const State& s = *needed(context, "context").state;
        (stream ? stream->stream : s.stream)->synchronize();
    });
}

void strata_stream_destroy(strata_stream* stream) { delete stream; }
}

}  // namespace strata::c
