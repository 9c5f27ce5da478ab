#include "strata/core/support/settings.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "strata/core/support/error.h"
#include "strata/core/support/interrupt.h"

namespace strata {
namespace {

using setting::Accepts, setting::Row;

thread_local const Settings* scoped = nullptr;

const char* value_of(const Row& row) {
    const char* text = std::getenv(row.variable().c_str());
    return text && *text ? text : nullptr;
}

/// "a, b or c".
std::string listed(const std::vector<std::string_view>& words, std::string_view last = " or ") {
    std::string out;
    for (size_t i = 0; i < words.size(); ++i)
        out += fmt::format("{}{}", i == 0 ? "" : i + 1 == words.size() ? last : ", ", words[i]);
    return out;
}

// From text to a field; `given` names the value in errors: "STRATA_BEAM=x".

template <std::integral Int>
void assign(const Accepts& accepts, std::string_view given, std::string_view text, Int& field) {
    uint64_t value = 0, high = std::min<uint64_t>(accepts.high, std::numeric_limits<Int>::max());
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size() || value < accepts.low || value > high)
        user_error(ErrorKind::Usage, "{}: expected a whole number from {} to {}", given, accepts.low, high);
    field = static_cast<Int>(value);
}

void assign(const Accepts& accepts, std::string_view given, std::string_view text, double& field) {
    double value = 0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool fits = value >= static_cast<double>(accepts.low) && value <= static_cast<double>(accepts.high);
    if (status != std::errc{} || end != text.data() + text.size() || !fits)
        user_error(ErrorKind::Usage, "{}: expected a number from {} to {}", given, accepts.low, accepts.high);
    field = value;
}

void assign(const Accepts& accepts, std::string_view given, std::string_view text, std::string& field) {
    if (accepts.is_switch && (text == "0" || text == "1")) text = accepts.choices[text == "1"];
    std::vector<std::string_view> known;
    for (std::string_view word : accepts.choices)
        if (!word.empty()) known.push_back(word);
    if (!known.empty() && std::find(known.begin(), known.end(), text) == known.end())
        user_error(ErrorKind::Usage, "{}: expected {}", given, listed(known));
    field = text;
}

/// Insertions, deletions and changes of a character that make one word of the other.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 0; i < a.size(); ++i) {
        size_t diagonal = row[0]++;
        for (size_t j = 0; j < b.size(); ++j) {
            size_t best = std::min({row[j] + 1, row[j + 1] + 1, diagonal + (a[i] != b[j])});
            diagonal = std::exchange(row[j + 1], best);
        }
    }
    return row.back();
}

/// A variable that is no setting's would be left alone without a word. Those of the test programs are theirs.
void warn_of_unknown_variables() {
    const Settings none;
    for (char** variable = environ; *variable; ++variable) {
        std::string_view name(*variable, std::string_view(*variable).find('='));
        if (!name.starts_with("STRATA_") || name.starts_with("STRATA_FUZZ_")) continue;
        std::string nearest;
        size_t least = name.size() / 3;
        visit_settings(none, [&](const Row& row, const auto&) {
            size_t apart = distance(row.variable(), name);
            if (apart < least) least = apart, nearest = row.variable();
        });
        if (nearest == name) continue;
        fmt::print(stderr, "strata: {} is not a setting; {}\n", name,
                   nearest.empty() ? "`strata info` lists them" : "did you mean " + nearest + "?");
    }
}

std::string text_of(const Settings& settings, std::string_view name) {
    std::string out;
    visit_settings(settings, [&](const Row& row, const auto& field) {
        if (row.name == name) out = fmt::format("{}", field);
    });
    return out;
}

}  // namespace

std::string setting::Row::variable() const {
    std::string out = "STRATA_" + std::string(name);
    for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return out;
}

std::string default_cache_dir() {
    if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg == '/') return std::string(xdg) + "/strata";
    if (const char* home = std::getenv("HOME"); home && *home == '/') return std::string(home) + "/.cache/strata";
    passwd entry{}, *found = nullptr;
    std::array<char, 4096> text{};
    if (getpwuid_r(geteuid(), &entry, text.data(), text.size(), &found) == 0 && found && *found->pw_dir == '/')
        return std::string(found->pw_dir) + "/.cache/strata";
    return {};
}

Settings settings_of_environment() {
    Settings out;
    visit_settings(out, [](const Row& row, auto& field) {
        if (const char* text = value_of(row))
            assign(row.accepts, fmt::format("{}={}", row.variable(), text), text, field);
    });
    return out;
}

const Settings& environment() {
    static const Settings read = [] {
        warn_of_unknown_variables();
        return settings_of_environment();
    }();
    return read;
}

const Settings& settings() {
    if (scoped) return *scoped;
    if (const FrontEnd* asked = front_end())
        if (const Settings* of_context = asked->settings()) return *of_context;
    return environment();
}

void set(Settings& settings, std::string_view name, std::string_view text) {
    bool found = false;
    std::vector<std::string_view> known;
    visit_settings(settings, [&](const Row& row, auto& field) {
        known.push_back(row.name);
        if (row.name != name) return;
        found = true;
        assign(row.accepts, fmt::format("config({}={})", name, text), text, field);
    });
    if (!found) user_error(ErrorKind::Usage, "config has no setting '{}'; known: {}", name, listed(known, ", "));
}

std::string_view origin_of_setting(std::string_view name) {
    if (text_of(settings(), name) != text_of(environment(), name)) return "config";
    bool given = false;
    visit_settings(environment(), [&](const Row& row, const auto&) { given |= row.name == name && value_of(row); });
    return given ? "environment" : "default";
}

ScopedSettings::ScopedSettings(Settings next) : ScopedSettings(std::make_shared<const Settings>(std::move(next))) {}
ScopedSettings::ScopedSettings(std::shared_ptr<const Settings> next) : held_(std::move(next)), previous_(scoped) {
    if (held_) scoped = held_.get();
}
ScopedSettings::~ScopedSettings() { scoped = previous_; }

}  // namespace strata
