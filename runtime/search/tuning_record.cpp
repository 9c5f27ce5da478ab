// Tuning records of searches as text, on disk, and from elsewhere.
#include "strata/runtime/search/tuning_record.h"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <chrono>

#include "strata/codegen/driver/compile.h"
#include "strata/codegen/driver/route.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/program.h"

namespace strata::runtime {
namespace {

constexpr int kSearchVersion = 5;  // part of the key: older records were judged by other rules
constexpr std::string_view kState = "state of all tuning records";

std::string rules() { return content_hash(fmt::format("{}\n{}", kSearchVersion, codegen::action_rules())); }

template <class Number>
Number number(std::string_view text) {
    Number value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Calls visit(name, field) for what stands after the schedule, a line each.
template <class W, class Visitor>
void visit_fields(W& record, Visitor&& visit) {
    visit("kernel", record.kernel);
    visit("heuristic_ms", record.heuristic_ms);
    visit("best_ms", record.best_ms);
    visit("beam", record.beam);
    visit("candidates", record.candidates);
    visit("rejected", record.rejected);
    visit("seconds", record.seconds);
    visit("stopped", record.stopped);
}

void read_field(std::string_view text, std::string& field) { field = text; }
template <class Number>
void read_field(std::string_view text, Number& field) {
    field = number<Number>(text);
}

std::atomic<uint64_t> generation{0};

void change_state() {
    ++generation;
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    DiskCache::of_settings().put(CacheKind::schedules, kState, fmt::format("{:x}", now));
}

}  // namespace

std::string SearchKey::text() const {
    return fmt::format("schedule {} {}\n{}\n{}\nrules {}\nkernel {}", arch, target, compiler, model, rules, structure);
}

std::string compiler_version(const codegen::Target& target) {
    if (target.route != codegen::Route::hip) return "strata " STRATA_VERSION;
    if (target.arch.is_amd()) return "clang 19";
    const std::string identity = codegen::compiler_identity(target);  // "nvrtc 13.0 of ... bytes"
    return identity.substr(0, identity.find(" of "));
}

std::string model_of(const Device& device) {
    if (device.time_is_modelled() && !settings().emu_model.empty())
        return fmt::format("{} (emulated)", settings().emu_model);
    const providers::DeviceProperties is = device.properties();
    return is.driver.empty() ? is.name : fmt::format("{}, {}", is.name, is.driver);
}

SearchKey search_key(const Device& device, const codegen::Kernel& kernel) {
    return search_key(device, content_hash(tree(kernel.sink)));
}

SearchKey search_key(const Device& device, std::string structure) {
    const codegen::Target target = target_of(device);
    return {.arch = std::string(device.arch().name()),
            .target = std::string(codegen::name(target.route)),
            .compiler = compiler_version(target),
            .model = model_of(device),
            .rules = rules(),
            .structure = std::move(structure)};
}

std::string TuningRecord::to_text() const {
    std::string out = schedule + "\n";
    visit_fields(*this, [&](const char* name, const auto& field) { out += fmt::format("{} {}\n", name, field); });
    return out;
}

TuningRecord TuningRecord::of_text(std::string_view text) {
    TuningRecord record;
    const auto next_line = [&] {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        return line;
    };
    record.schedule = next_line();
    while (!text.empty()) {
        const std::string_view line = next_line();
        const std::string_view name = line.substr(0, line.find(' '));
        const std::string_view value = line.substr(std::min(line.size(), name.size() + 1));
        visit_fields(record, [&](std::string_view known, auto& field) {
            if (name == known) read_field(value, field);
        });
    }
    return record;
}

std::optional<TuningRecord> find_record(const SearchKey& key) {
    const std::optional<std::string> text = DiskCache::of_settings().get(CacheKind::schedules, key.text());
    if (!text) return std::nullopt;
    return TuningRecord::of_text(*text);
}

void keep_record(const SearchKey& key, const TuningRecord& record) {
    const std::optional<TuningRecord> before = find_record(key);
    DiskCache::of_settings().put(CacheKind::schedules, key.text(), record.to_text());
    if (before && before->schedule != record.schedule) change_state();
}

std::string import_record(const SearchKey& key, const TuningRecord& record) {
    const auto route = codegen::parse_route(key.target);
    if (!route) return fmt::format("its target '{}' is not known", key.target);
    const auto chip = codegen::Chip::parse(key.arch);
    if (!chip) return fmt::format("its arch '{}' is not known", key.arch);
    if (const std::string here = compiler_version(codegen::target_of(*chip, *route)); key.compiler != here)
        return fmt::format("it was found with {}, this is {}", key.compiler, here);
    if (key.rules != rules()) return "it was found by a Strata whose search has other schedule actions or rules";
    if (auto actions = codegen::parse_actions(record.schedule); !actions) return actions.error().message;
    const std::optional<TuningRecord> here = find_record(key);
    if (here && here->best_ms > 0 && here->best_ms <= record.best_ms)
        return fmt::format("the one here is as fast: {:.4f} ms", here->best_ms);
    keep_record(key, record);
    if (!here) change_state();
    return {};
}

uint64_t records_generation() { return generation; }

std::string records_state() {
    return DiskCache::of_settings().get(CacheKind::schedules, kState).value_or(std::string());
}

}  // namespace strata::runtime
