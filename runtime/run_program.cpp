#include <fmt/format.h>

#include <atomic>
#include <chrono>

#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/profiler.h"
#include "strata/runtime/run_program_p.h"

namespace strata::runtime {
namespace {

void print_launch(const Stats::Launch& l, const Program& program) {
    int debug = settings().debug;
    if (debug >= 1)
        fmt::print(stderr, "{:<24} grid {}x{}x{} block {}x{}x{} {} {:.4f} ms, {:.1f} GB/s, wall {:.2f} ms\n", l.name,
                   l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2],
                   program.device().time_is_modelled() ? "modelled" : "measured", l.time_ms,
                   l.time_ms > 0 ? static_cast<double>(l.bytes) / l.time_ms * 1e-6 : 0, l.wall_ms);
    if (debug >= 4) fmt::print(stderr, "{}\n", program.code.text);
}

/// Who profiles gets what the launch's provider knows; nobody else keeps it.
void report_to_profiler(Stats::Launch& launch, const Program& program) {
    const std::shared_ptr<void> profiler = settings().profiler;
    if (!profiler) return;
    static_cast<Profiler*>(profiler.get())->add(launch, program);
    launch.report.profile.reset();
}

}  // namespace

namespace {

std::atomic<bool> asked_for_times{false};

/// By the settings alone.
bool reports_launches(const Settings& s) { return s.debug >= 1 || s.profiler; }
bool are_times_wanted() { return asked_for_times.load(std::memory_order_relaxed) || reports_launches(settings()); }

}  // namespace

Wait wait_for(const Device& device) {
    if (device.time_is_modelled() || reports_launches(settings())) return Wait::yes;
    return asked_for_times.load(std::memory_order_relaxed) ? Wait::timed : Wait::no;
}
void ask_for_times() { asked_for_times = true; }

void run_program(const Program& program, const LaunchShape& shape, uint64_t bytes,
                 const std::function<Launched()>& launch) {
    using Clock = std::chrono::steady_clock;
    const bool timed = are_times_wanted();  // two looks at the clock take as long as all else of some launches
    const auto start = timed ? Clock::now() : Clock::time_point();
    Launched done = launch();
    const double wall_ms = timed ? std::chrono::duration<double, std::milli>(Clock::now() - start).count() : 0;
    const auto fill = [&](Stats::Launch& launched) {
        const executable::Code& code = program.code;
        launched.name = code.entry;
        launched.grid = shape.grid, launched.block = shape.block;
        launched.time_ms = done.time_ms, launched.wall_ms = wall_ms, launched.compile_ms = code.compile_ms;
        launched.bytes = bytes, launched.flops = code.flops;
        launched.report = std::move(done.report);
    };
    if (reports_launches(settings())) {
        Stats::Launch launched;
        fill(launched);
        print_launch(launched, program);
        report_to_profiler(launched, program);
        done.report = std::move(launched.report);
    }
    context().counters.add(program.device().time_is_modelled(), std::ref(fill), std::move(done.time));
}

}  // namespace strata::runtime
