// Measurements of `strata bench emu`: launches of one code object on a Gpu of its own, and the host's own limits beside
// them.
#include <pybind11/numpy.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "bench_p.h"
#include "strata/asm/emu/gpu.h"
#include "strata/asm/isa/arch.h"
#include "strata/core/support/error.h"

namespace strata::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Buffer = py::array_t<uint8_t, py::array::c_style>;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// One copy for each host width, chosen when the library is loaded.
#if defined(__x86_64__) && defined(__linux__)
#define STRATA_HOST_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define STRATA_HOST_CLONES
#endif

constexpr size_t kStreams = 256;  ///< independent sums: enough to hide the latency of additions

STRATA_HOST_CLONES float host_sum(const float* x, size_t count) {
    float sums[kStreams] = {};
    for (size_t i = 0; i + kStreams <= count; i += kStreams)
        for (size_t j = 0; j < kStreams; ++j) sums[j] += x[i + j];
    float total = 0;
    for (float sum : sums) total += sum;
    return total;
}

constexpr size_t kChains = 192;
STRATA_HOST_CLONES float host_fma(size_t turns, float a, float b) {
    float x[kChains];
    for (size_t j = 0; j < kChains; ++j) x[j] = static_cast<float>(j);
    for (size_t i = 0; i < turns; ++i)
        for (size_t j = 0; j < kChains; ++j) x[j] = __builtin_fmaf(x[j], a, b);
    float total = 0;
    for (float v : x) total += v;
    return total;
}

template <class F>
double best_ms(int repeat, F&& run) {
    double best = 1e30;
    for (int i = 0; i < repeat; ++i) {
        auto start = Clock::now();
        run();
        best = std::min(best, ms_since(start));
    }
    return best;
}

/// {what: limit} of this host; the best of several runs each.
py::dict host_limits(const py::array_t<float, py::array::c_style>& data, int repeat) {
    const float* x = data.data();
    const auto count = static_cast<size_t>(data.size());
    double sum_ms = 0, both_ms = 0, fma_ms = 0;
    constexpr size_t kTurns = 400'000;
    volatile float sink = 0;
    {
        py::gil_scoped_release release;
        sum_ms = best_ms(repeat, [&] { sink = host_sum(x, count); });
        both_ms = best_ms(repeat, [&] {
            std::jthread other([&] { host_sum(x + count / 2, count / 2); });
            sink = host_sum(x, count / 2);
        });
        fma_ms = best_ms(repeat, [&] { sink = host_fma(kTurns, 0.999f, 0.5f); });
    }
    py::dict out;
    out["sum_ms"] = sum_ms;
    out["sum_gb_per_s"] = static_cast<double>(count) * 4e-6 / sum_ms;
    out["two_threads_sum_gb_per_s"] = static_cast<double>(count) * 4e-6 / both_ms;
    out["fma_gflop_per_s"] = 2.0 * kTurns * kChains * 1e-6 / fma_ms;
    return out;
}

std::vector<emu::DeviceAddress> place(emu::Gpu& gpu, const std::vector<Buffer>& buffers) {
    std::vector<emu::DeviceAddress> addresses;
    for (const Buffer& buffer : buffers) {
        auto bytes = static_cast<size_t>(buffer.nbytes());
        addresses.push_back(gpu.allocate(bytes).value());
        gpu.write(addresses.back(), buffer.data(), bytes).value();
    }
    return addresses;
}

/// Loads once, then launches `repeat` times: (load ms, [launch ms], wave instructions of a launch). The buffers are the
/// kernel's parameters, in order; the first holds the result afterwards.
py::tuple launches(const py::bytes& image, const std::string& arch, const std::string& kernel,
                   std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, std::vector<Buffer> buffers,
                   int threads, int repeat, bool check) {
    std::string_view bytes = image;
    emu::Gpu gpu(isa::parse_arch(arch).value());
    std::vector<emu::DeviceAddress> addresses = place(gpu, buffers);
    std::span arguments(reinterpret_cast<const uint8_t*>(addresses.data()), addresses.size() * 8);
    auto start = Clock::now();
    auto module = gpu.load({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}).value();
    const double load_ms = ms_since(start);
    emu::LaunchConfig config{.grid = grid, .block = block, .threads = threads, .timed = false};
    std::vector<lint::Finding> findings;
    config.check = check ? emu::Check::report : emu::Check::off;
    config.findings = &findings;
    std::vector<double> times;
    emu::LaunchStats stats;
    {
        py::gil_scoped_release release;
        for (int i = 0; i < repeat; ++i) {
            start = Clock::now();
            stats = gpu.launch(*module, kernel, config, arguments).value();
            times.push_back(ms_since(start));
        }
    }
    if (!findings.empty())
        user_error(ErrorKind::Internal, "strict mode finds in '{}': {}: {}", kernel, name(findings[0].kind),
                   findings[0].what);
    gpu.read(buffers[0].mutable_data(), addresses[0], static_cast<size_t>(buffers[0].nbytes())).value();
    return py::make_tuple(load_ms, times, stats.wave_instructions);
}

}  // namespace

void bind_launches(py::module_& m) {
    m.def("host_limits", &host_limits, py::arg("data"), py::arg("repeat"));
    m.def("launches", &launches, py::arg("image"), py::arg("arch"), py::arg("kernel"), py::arg("grid"),
          py::arg("block"), py::arg("buffers"), py::arg("threads") = 1, py::arg("repeat") = 1,
          py::arg("check") = false);
}

}  // namespace strata::bench
