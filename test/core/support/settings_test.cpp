#include "strata/core/support/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "strata/core/support/error.h"

namespace strata {
namespace {

/// A variable of the environment for a scope.
class Variable {
  public:
    Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
    ~Variable() { unsetenv(name_); }
    Variable(const Variable&) = delete;

  private:
    const char* name_;
};

template <class Call>
std::string error_of(ErrorKind kind, Call call) {
    try {
        call();
    } catch (const Exception& e) {
        EXPECT_EQ(e.kind(), kind);
        return e.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

TEST(Settings, EveryRowIsReadFromItsVariable) {
    visit_settings(Settings{}, [](const setting::Row& row, const auto&) {
        std::string_view word = row.accepts.choices[0];
        std::string text = word.empty() ? fmt::format("{}", std::max<uint64_t>(1, row.accepts.low)) : std::string(word);
        Variable variable(row.variable().c_str(), text.c_str());
        visit_settings(settings_of_environment(), [&](const setting::Row& other, const auto& field) {
            std::string held = fmt::format("{}", field);
            if (other.name == row.name) EXPECT_TRUE(held == text || held == "true") << row.name << " " << held;
        });
    });
}

TEST(Settings, AnEmptyVariableLeavesTheDefault) {
    Variable variable("STRATA_BEAM", "");
    EXPECT_EQ(settings_of_environment().beam, 0);
}

TEST(Settings, AnErrorNamesTheVariableAndWhatItAccepts) {
    Variable variable("STRATA_DEBUG", "8");
    EXPECT_EQ(error_of(ErrorKind::Usage, settings_of_environment),
              "STRATA_DEBUG=8: expected a whole number from 0 to 7");
}

TEST(Settings, TheEnvironmentAndConfigRefuseWithTheSameWords) {
    auto config = [](const char* name, const char* text) {
        return [=] {
            Settings s;
            set(s, name, text);
        };
    };
    for (auto [name, variable, text, kind] : {std::tuple{"target", "STRATA_TARGET", "ptx", ErrorKind::Usage},
                                              {"emu_simd", "STRATA_EMU_SIMD", "avx1024", ErrorKind::Usage},
                                              {"emu_check", "STRATA_EMU_CHECK", "2", ErrorKind::Usage},
                                              {"check", "STRATA_CHECK", "2", ErrorKind::Usage},
                                              {"emu_seed", "STRATA_EMU_SEED", "-1", ErrorKind::Usage},
                                              {"beam", "STRATA_BEAM", "1001", ErrorKind::Usage}}) {
        Variable scope(variable, text);
        std::string there = error_of(kind, settings_of_environment), here = error_of(kind, config(name, text));
        EXPECT_EQ(there, std::string(variable) + "=" + text + there.substr(there.find(": ")));
        EXPECT_EQ(here, "config(" + std::string(name) + "=" + text + ")" + there.substr(there.find(": ")));
    }
    EXPECT_EQ(error_of(ErrorKind::Usage, config("emu_simd", "sse")),
              "config(emu_simd=sse): expected widest, portable, avx2 or avx512");
    std::string unknown = error_of(ErrorKind::Usage, config("bream", "1"));
    EXPECT_TRUE(unknown.starts_with("config has no setting 'bream'; known: device, target, ")) << unknown;
}

TEST(Settings, SetKeepsTheTypeAndTheWholeRangeOfAField) {
    Settings s;
    set(s, "emu_seed", "18446744073709551615");
    set(s, "emu_check", "0");
    set(s, "cache_dir", "/a b");
    EXPECT_EQ(s.emu_seed, ~uint64_t{0});
    EXPECT_FALSE(s.emu_check);
    EXPECT_EQ(s.cache_dir, "/a b");
}

TEST(Settings, ASwitchTakesABoolForItsFirstTwoWords) {
    for (auto [text, means] : {std::pair{"0", "off"}, {"1", "report"}, {"off", "off"}, {"raise", "raise"}}) {
        Settings s;
        set(s, "check", text);
        EXPECT_EQ(s.check, means);
        Variable scope("STRATA_CHECK", text);
        EXPECT_EQ(settings_of_environment().check, means);
    }
    Settings s;
    EXPECT_EQ(error_of(ErrorKind::Usage, [&] { set(s, "check", "2"); }),
              "config(check=2): expected off, report or raise");
    EXPECT_EQ(error_of(ErrorKind::Usage, [&] { set(s, "emu_simd", "1"); }),
              "config(emu_simd=1): expected widest, portable, avx2 or avx512");
}

TEST(Settings, AScopeTellsThatItsValuesComeFromConfig) {
    Settings next = settings();
    next.beam = 77;
    EXPECT_EQ(origin_of_setting("beam"), "default");
    ScopedSettings scope(next);
    EXPECT_EQ(origin_of_setting("beam"), "config");
    EXPECT_EQ(origin_of_setting("debug"), "default");
}

}  // namespace
}  // namespace strata
