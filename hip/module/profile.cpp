#include "strata/hip/module/profile_p.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"
#include "strata/providers/emulated.h"

namespace strata::hip::library {
namespace {

struct Row {
    std::string kernel;
    uint64_t launches = 0;
    double ms = 0;
    std::map<std::string_view, double> bounds = {};  ///< milliseconds of launches that each held up
};

/// Prints when the program ends.
struct Table {
    Mutex mutex;
    std::map<std::string, Row> rows;
    ~Table() {
        std::vector<const Row*> sorted;
        double all = 0;
        for (const auto& [kernel, row] : rows) sorted.push_back(&row), all += row.ms;
        std::ranges::sort(sorted, std::greater{}, &Row::ms);
        fmt::print(stderr, "strata: kernels by modelled time\n{:>10} {:>6} {:>9} {:>11}  {:26} kernel\n", "ms", "share",
                   "launches", "us a launch", "bound");
        for (const Row* row : sorted) {
            const auto bound = std::ranges::max_element(row->bounds, {}, [](const auto& one) { return one.second; });
            fmt::print(stderr, "{:10.3f} {:5.1f}% {:9} {:11.2f}  {:26} {}\n", row->ms,
                       all > 0 ? 100 * row->ms / all : 0, row->launches,
                       1000 * row->ms / static_cast<double>(row->launches),
                       bound == row->bounds.end() ? "" : bound->first, row->kernel);
        }
    }
};
Table& table() {
    static Table all;
    return all;
}

}  // namespace

bool profiling() {
    static const bool on = [] {
        const char* const text = std::getenv("HIP_STRATA_PROFILE");
        return text && *text && *text != '0';
    }();
    return on;
}

const std::shared_ptr<const Settings>& profiled_settings() {
    static const auto* own = [] {
        auto with = std::make_shared<Settings>(settings());
        with->profiler = std::make_shared<int>();
        return new std::shared_ptr<const Settings>(std::move(with));
    }();
    return *own;
}

void add_to_profile(const Launch& launch, const LaunchReport& report) {
    std::lock_guard lock(table().mutex);
    Row& row = table().rows[launch.function->kernel.name];
    row.kernel = launch.function->kernel.name;
    ++row.launches;
    row.ms += report.modelled_ms;
    if (report.profile) row.bounds[emu::name(report.profile->estimate.bound())] += report.modelled_ms;
}

}  // namespace strata::hip::library
