// choose_schedule: a record that is known, or else the device's side of the beam search, within the limits of the
// settings. A record is run in full before it wins, and kept on disk.
#include <fmt/format.h>

#include <chrono>

#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/optimize/beam.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/search/search.h"
#include "strata/runtime/search/search_judge_p.h"
#include "strata/runtime/search/tuning_session.h"

namespace strata::runtime {
namespace {

using codegen::Scheduled, codegen::SearchResult, codegen::Stopped;

/// The schedule of a record; none: it is of no kernel like this, as of a file that somebody wrote.
std::optional<Scheduled> schedule_of(const TuningRecord& record, const codegen::Kernel& kernel,
                                     const codegen::Target& target) {
    const auto actions = codegen::parse_actions(record.schedule);
    if (!actions) return std::nullopt;
    const auto scheduled = codegen::apply_all(kernel, *actions, target);
    if (!scheduled) return std::nullopt;
    return Scheduled{*scheduled, *actions};
}

std::string_view text_of(Stopped stopped) {
    switch (stopped) {
        case Stopped::no: return "";
        case Stopped::time: return "search_seconds";
        case Stopped::candidates: return "search_candidates";
        case Stopped::interrupted: return "interrupted";
    }
    STRATA_CHECK(false, "no reason to stop a search");
}

/// True if the record's search need not go on. An interrupted one goes on; in a tuning session those that ended early
/// do.
bool is_enough(const TuningRecord& record, bool is_tuned) {
    if (record.stopped == text_of(Stopped::interrupted)) return false;
    if (record.beam && record.beam < settings().beam) return false;
    return record.stopped.empty() || !is_tuned;
}

void print(const codegen::Kernel& kernel, const SearchResult& found, double seconds) {
    if (settings().debug >= 1)
        fmt::print(stderr,
                   "search {}: {} tried, {} left out, {} rejected, {} slower, {:.2f} s{}{}, {:.4f} -> {:.4f} ms: {}\n",
                   kernel.name, found.tried, found.left_out, found.rejected, found.slower, seconds,
                   found.stopped == Stopped::no ? "" : ", ended by ", text_of(found.stopped), found.start_ms, found.ms,
                   codegen::to_string(found.best.actions));
    if (settings().debug >= 2)
        for (const std::string& why : found.rejections) fmt::print(stderr, "  rejected {}\n", why);
}

/// The judge; none where nothing that is right was computed to compare with, as under a small emu_budget.
std::unique_ptr<DeviceJudge> judge_of(Device& device, const codegen::Kernel& kernel, const Scheduled& start,
                                      std::span<const uint64_t> slots, CandidateCompiler& compiler) {
    try {
        return std::make_unique<DeviceJudge>(device, kernel, start, slots, compiler);
    } catch (const Exception& e) {
        if (settings().debug >= 1) fmt::print(stderr, "no search of {}: {}\n", kernel.name, e.what());
        return nullptr;
    }
}

/// Searches and keeps what it finds. `before`: a record of a search that ended early.
Scheduled search(Device& device, const codegen::Kernel& kernel, std::span<const uint64_t> slots, const SearchKey& key,
                 const std::optional<Scheduled>& before) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const Stream::OwnScope own(device);
    const codegen::Target target = target_of(device);
    std::vector<std::vector<codegen::Action>> known;
    if (before) known.push_back(before->actions);
    codegen::BeamSearch beam(kernel, target, known);
    const codegen::Limits usual{.candidates = settings().search_candidates,
                                .round = compiled_in_a_round(settings().beam)};
    CandidateCompiler compiler(target);
    std::unique_ptr<DeviceJudge> judge;  // gives its memory back when the search has said how long it took
    std::optional<SearchResult> run;
    const auto judge_them = [&] {
        judge = judge_of(device, kernel, beam.start(), slots, compiler);
        if (!judge) return;
        const std::chrono::duration<double> prepared = Clock::now() - start, most(settings().search_seconds);
        codegen::Limits limits = usual;
        if (most.count() > 0) limits.time = std::max(most - prepared, std::chrono::duration<double>(1e-9));
        run = beam.run(settings().beam, *judge, limits).value();
    };
    compiler.ahead(judge_them, [&] { return beam.first_round(usual); });
    if (!run) return beam.start();
    const SearchResult& found = *run;
    const std::chrono::duration<double> took = Clock::now() - start;
    print(kernel, found, took.count());
    const TuningRecord record{.kernel = kernel.name,
                              .schedule = codegen::to_string(found.best.actions),
                              .heuristic_ms = found.start_ms,
                              .best_ms = found.ms,
                              .beam = settings().beam,
                              .candidates = found.tried,
                              .rejected = found.rejected,
                              .seconds = took.count(),
                              .stopped = std::string(text_of(found.stopped))};
    keep_record(key, record);
    note({key, record, false});
    if (found.interruption) std::rethrow_exception(found.interruption);
    return found.best;
}

/// As in a search, what has too many copies or is otherwise beyond a stage after the actions is another one's place.
Scheduled random(const codegen::Kernel& kernel, const codegen::Target& target, uint64_t seed) {
    constexpr uint64_t kTried = 16;
    for (uint64_t i = 0; i < kTried; ++i) {
        Scheduled drawn = codegen::random_schedule(kernel, target, hash_mix(seed, i));
        const auto compiled = codegen::compile_kernel(drawn, target);
        if (settings().debug >= 1)
            fmt::print(stderr, "random schedule of {}: {}{}\n", kernel.name, codegen::to_string(drawn.actions),
                       compiled ? "" : ": " + compiled.error().message);
        if (compiled) return drawn;
        if (compiled.error().kind == ErrorKind::Internal) throw Exception(compiled.error());
    }
    return {kernel, {}};
}

}  // namespace

codegen::Fusion usual_fusion() { return codegen::parse_fusion(settings().fusion).value(); }

int compiled_in_a_round(int width) {
    constexpr int kOfOneKept = 3;
    return kOfOneKept * std::max(width, 1);
}

Scheduled unsearched(const codegen::Kernel& kernel, const codegen::Target& target) {
    const Settings& s = settings();
    if (s.schedule == "none") return {kernel, {}};
    if (s.schedule == "random") return random(kernel, target, s.schedule_seed);
    return codegen::heuristic(kernel, target);
}

Scheduled known_schedule(const Device& device, const codegen::Kernel& kernel) {
    const codegen::Target target = target_of(device);
    if (settings().beam)
        if (const std::optional<TuningRecord> record = find_record(search_key(device, kernel)))
            if (auto scheduled = schedule_of(*record, kernel, target)) return *std::move(scheduled);
    return unsearched(kernel, target);
}

Scheduled choose_schedule(Device& device, const codegen::Kernel& kernel, std::span<const uint64_t> slots,
                          bool is_tuned) {
    const codegen::Target target = target_of(device);
    if (settings().beam == 0) return unsearched(kernel, target);
    Settings plain = settings();  // candidates are timed, and strict mode does not report on them
    plain.check = "off";
    plain.check_races = false;
    const ScopedSettings scope(std::move(plain));
    const SearchKey key = search_key(device, kernel);
    std::optional<Scheduled> before;
    if (const std::optional<TuningRecord> record = find_record(key)) {
        before = schedule_of(*record, kernel, target);
        if (before && is_enough(*record, is_tuned)) {
            note({key, *record, true});
            return *before;
        }
    }
    return search(device, kernel, slots, key, before);
}

}  // namespace strata::runtime
