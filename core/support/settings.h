#pragma once
#include <memory>

#include "strata/core/support/setting_row.h"

namespace strata {

std::string default_cache_dir();  ///< the user's cache folder + /strata; empty where there is no home

/// The values that `strata.config(...)` and the STRATA_* variables set: a field for each row of settings.def, which
/// describes it. Precedence: config, then environment, then default.
struct Settings {
#define SETTING(name, type, initial, accepts, keys, meaning) type name = initial;
#include "strata/core/support/settings.def"
#undef SETTING
    /// Not a row, as no text can name it: the listener to findings while `check` is on. Of the provider's type for it.
    std::shared_ptr<void> listener = {};
    /// Nor this: the listener to all launches and what their timing model knows: a runtime::Profiler.
    std::shared_ptr<void> profiler = {};
    bool operator==(const Settings&) const = default;
};

/// Calls visit(const setting::Row&, field) for each setting, in the order of the rows.
template <class S, class Visitor>
void visit_settings(S&& settings, Visitor&& visit) {
    using namespace setting;
#define SETTING(name, type, initial, accepts, keys, meaning) \
    visit(Row{#name, accepts, Keys::keys, meaning}, settings.name);
#include "strata/core/support/settings.def"
#undef SETTING
}

/// The settings in force on this thread: of the innermost scope, else of the front end's context (interrupt.h), else
/// the environment's. Throws a Usage Exception when a variable holds something unusable.
const Settings& settings();

const Settings& environment();  ///< what the variables said when this was first asked
/// The variables' values now; environment() has read them once.
Settings settings_of_environment();

/// Sets one by name, as config does. It throws a Usage Exception that lists the names, or the accepted values, and an
/// Unsupported one for a choice that is not there yet. Bools are "0" and "1".
void set(Settings& settings, std::string_view name, std::string_view text);

/// Where the value in force on this thread comes from: "config", "environment" or "default".
std::string_view origin_of_setting(std::string_view name);

/// Overrides the settings of this thread for a scope; scopes nest.
class ScopedSettings {
  public:
    explicit ScopedSettings(Settings next);
    explicit ScopedSettings(std::shared_ptr<const Settings> next);  ///< null: they stay as they are
    ~ScopedSettings();
    ScopedSettings(const ScopedSettings&) = delete;
    ScopedSettings& operator=(const ScopedSettings&) = delete;

  private:
    std::shared_ptr<const Settings> held_;
    const Settings* previous_;
};

}  // namespace strata
