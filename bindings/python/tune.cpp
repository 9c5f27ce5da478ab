#include "tune_p.h"

#include <algorithm>

#include "front_end_p.h"
#include "strata/runtime/search/search.h"
#include "strata/runtime/search/tuning_session.h"

// Tensor.tune, and what `strata tune` is made of.
namespace strata::python {
namespace {

using runtime::TuningSession, runtime::SearchKey, runtime::Searched, runtime::TuningRecord;

struct TuneReport {
    std::vector<Searched> kernels;
};

std::string report_text(const TuneReport& report) {
    if (report.kernels.empty()) return "<TuneReport: no kernel was left to compute>";
    size_t width = 6;
    for (const Searched& s : report.kernels) width = std::max(width, s.record.kernel.size());
    std::string out = fmt::format("{:<{}}  {:>12}  {:>9}  {:>10}  {:>7}  schedule\n", "kernel", width, "heuristic ms",
                                  "best ms", "candidates", "seconds");
    double heuristic = 0, best = 0;
    for (const Searched& s : report.kernels) {
        const TuningRecord& w = s.record;
        heuristic += w.heuristic_ms, best += w.best_ms;
        const std::string end = w.stopped.empty() ? "" : fmt::format("  (ended by {})", w.stopped);
        out += fmt::format("{:<{}}  {:>12.4f}  {:>9.4f}  {:>10}  {:>7.2f}  {}{}{}\n", w.kernel, width, w.heuristic_ms,
                           w.best_ms, w.candidates, w.seconds, w.schedule.empty() ? "as it is" : w.schedule,
                           s.known ? "  (known)" : "", end);
    }
    return out + fmt::format("{} kernel{}: {:.4f} -> {:.4f} ms ({:.2f} times as fast)", report.kernels.size(),
                             report.kernels.size() == 1 ? "" : "s", heuristic, best, best > 0 ? heuristic / best : 1);
}

// A record as Python has it, for files.

template <class K, class Visitor>
void visit_key(K& key, Visitor&& visit) {
    visit("arch", key.arch), visit("target", key.target), visit("compiler", key.compiler), visit("model", key.model);
    visit("rules", key.rules), visit("structure", key.structure);
}
template <class W, class Visitor>
void visit_record(W& record, Visitor&& visit) {
    visit("kernel", record.kernel), visit("schedule", record.schedule), visit("heuristic_ms", record.heuristic_ms);
    visit("best_ms", record.best_ms), visit("beam", record.beam), visit("candidates", record.candidates);
    visit("rejected", record.rejected), visit("seconds", record.seconds), visit("stopped", record.stopped);
}

py::dict to_dict(const Searched& searched) {
    py::dict out;
    const auto put = [&](const char* name, const auto& field) { out[name] = field; };
    visit_record(searched.record, put);
    visit_key(searched.key, put);
    return out;
}

std::string import_dict(const py::dict& entry) {
    SearchKey key;
    TuningRecord record;
    std::string missing;
    const auto take = [&](const char* name, auto& field) {
        try {
            field = entry[name].template cast<std::remove_reference_t<decltype(field)>>();
        } catch (const std::exception&) {  // not there, or of another type
            missing = name;
        }
    };
    visit_key(key, take);
    visit_record(record, take);
    if (!missing.empty()) return fmt::format("its '{}' is missing or no value of that name", missing);
    return runtime::import_record(key, record);
}

TuneReport tune(Tensor& tensor, std::optional<double> seconds, std::optional<int64_t> candidates,
                std::optional<int64_t> beam) {
    return computing([&] {
        Settings how = settings();
        if (how.beam == 0) how.beam = 2;
        if (beam) set(how, "beam", fmt::format("{}", *beam));
        if (how.beam == 0) user_error(ErrorKind::Usage, "[tune] beam=0 is no search; 1 is the narrowest");
        if (seconds) set(how, "search_seconds", fmt::format("{}", *seconds));
        if (candidates) set(how, "search_candidates", fmt::format("{}", *candidates));
        const ScopedSettings scope(std::move(how));
        const TuningSession session(TuningSession::Of::this_thread);
        tensor.realize();
        return TuneReport{session.searches()};
    });
}

constexpr const char* kTune =
    "Computes the value, and searches the schedules of its kernels, within limits for each kernel. Tuning records are "
    "kept in the cache, where config(beam=1), or as wide as this search was, finds them without a search.\n\nseconds, "
    "candidates, beam: as the settings search_seconds, search_candidates and beam; None: the settings' values, a beam "
    "of 2 where they search nothing.\nReturns a TuneReport: print it. No kernel is slower than without a search. An "
    "earlier search that ended early goes on.\nCtrl-C keeps the best schedule of the kernel that is searched.";

void bind_tune_report(py::module_& m) {
    py::class_<Searched>(m, "TunedKernel", "A kernel whose schedule was searched.")
        .def_property_readonly(
            "name", [](const Searched& s) { return s.record.kernel; }, "The kernel.")
        .def_property_readonly(
            "heuristic_ms", [](const Searched& s) { return s.record.heuristic_ms; },
            "Milliseconds with the schedule that is chosen without a search.")
        .def_property_readonly(
            "best_ms", [](const Searched& s) { return s.record.best_ms; }, "Milliseconds with the best schedule.")
        .def_property_readonly(
            "candidates", [](const Searched& s) { return s.record.candidates; }, "Schedules that were tried.")
        .def_property_readonly(
            "rejected", [](const Searched& s) { return s.record.rejected; },
            "Those that did not compile, faulted, did not end or were wrong.")
        .def_property_readonly(
            "seconds", [](const Searched& s) { return s.record.seconds; }, "Seconds that the search took here.")
        .def_property_readonly(
            "schedule", [](const Searched& s) { return s.record.schedule; },
            "Actions of the best one; empty: the kernel as it is.")
        .def_property_readonly(
            "stopped", [](const Searched& s) { return s.record.stopped; },
            "The reason why the search ended early: search_seconds, search_candidates, interrupted; or empty.")
        .def_readonly("known", &Searched::known, "Whether an earlier search found it.")
        .def("__repr__", [](const Searched& s) {
            return fmt::format("<TunedKernel {}: {:.4f} -> {:.4f} ms, {}>", s.record.kernel, s.record.heuristic_ms,
                               s.record.best_ms, s.record.schedule);
        });
    py::class_<TuneReport>(m, "TuneReport", "The results of a search: print it.")
        .def_readonly("kernels", &TuneReport::kernels, "Each kernel once.")
        .def(
            "_records", [](const TuneReport& r) -> As<"list[dict[str, Any]]"> {
                py::list out;
                for (const Searched& s : r.kernels) out.append(to_dict(s));
                return py::object(out);
            })
        .def("__repr__", &report_text);
}

}  // namespace

void bind_tune(py::module_& m) {
    bind_tune_report(m);
    py::class_<TuningSession>(m, "_TuningSession")
        .def(py::init([] { return std::make_unique<TuningSession>(TuningSession::Of::all_threads); }))
        .def("report", [](const TuningSession& r) { return TuneReport{r.searches()}; });
    m.def("_import_record", [](As<"dict[str, Any]"> entry) { return import_dict(entry.cast<py::dict>()); });
    auto tensor = py::reinterpret_borrow<py::class_<Tensor>>(m.attr("Tensor"));
    tensor.def("tune", &tune, py::arg("seconds") = py::none(), py::arg("candidates") = py::none(),
               py::arg("beam") = py::none(), kTune);
}

}  // namespace strata::python
