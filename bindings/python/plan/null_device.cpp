// A device that does nothing, and times of the host over it: part of `strata bench plan`.
#include <atomic>
#include <chrono>

#include "plan/plan_p.h"
#include "strata/runtime/device.h"

namespace strata::python {
namespace {

using providers::HipApi;

/// Calls that succeed without an effect.
template <class Call>
struct Nothing;
template <class Value, class... Arguments>
struct Nothing<Result<Value> (*)(Arguments...)> {
    static Result<Value> call(Arguments...) {
        if constexpr (std::is_void_v<Value>)
            return {};
        else
            return Value{};
    }
};

Result<int> one_device() { return 1; }
Result<providers::DeviceProperties> properties(int) {
    return providers::DeviceProperties{.name = "null",
                                       .arch = "gfx1100",
                                       .warp_size = 32,
                                       .max_block = 1024,
                                       .lds_per_block = 65536,
                                       .max_grid = {1u << 30, 65535, 65535},
                                       .units = 1,
                                       .memory_bytes = size_t{1} << 30};
}
Result<providers::DevicePtr> memory(int, size_t bytes) {
    static std::atomic<uint64_t> next{1 << 20};
    return next.fetch_add((bytes + 255) / 256 * 256);
}

const HipApi& null_device() {
    static const HipApi api = [] {
        HipApi out{.provider = "null"};
#define HIP(entry, result, name, parameters) out.name = Nothing<decltype(out.name)>::call;
#include "strata/providers/hip_api.def"
#undef HIP
        out.device_count = one_device, out.device_properties = properties, out.malloc = memory;
        out.device_label = [](int) { return std::string("gfx1100"); };
        out.host_view = [](int, providers::DevicePtr) -> void* { return nullptr; };
        out.stream_over = [](int, uint64_t) -> Result<providers::StreamHandle*> { return nullptr; };
        out.stream_raw = [](providers::StreamHandle*) { return uint64_t{0}; };
        out.pooled_bytes = [](int) { return size_t{0}; };
        out.may_have_devices = [] { return false; };
        return out;
    }();
    return api;
}

template <class Body>
double microseconds(int repeat, const Body& body) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeat; ++i) body();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / repeat;
}

}  // namespace

void bind_null_device(py::module_& m) {
    m.def("_add_null_device", [] {
        static const bool once = (runtime::add_provider({"null", null_device}), true);
        (void)once;
    });
}

std::pair<double, double> times_of(const plan::Plan& of, int repeat) {
    std::vector<plan::TensorView> views;
    std::vector<providers::DevicePtr> data;
    for (const plan::Operand& operand : of.operands()) {
        data.push_back((uint64_t{1} << 30) + (data.size() << 24));
        views.push_back({data.back(), operand.bytes, operand.dtype, operand.shape, operand.strides});
    }
    const double run = microseconds(repeat, [&] { of.run(1 << 20, of.workspace(), views); });
    return {run, microseconds(repeat, [&] { of.launch(1 << 20, data); })};
}

}  // namespace strata::python
