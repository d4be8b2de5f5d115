#include "runtime/choose/settings.hpp"
#include "unit/temporary_folder.hpp"

#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace thalweg::runtime {
namespace {

/// Sets a variable of the environment as long as it lives.
class Variable {
public:
  Variable(const char* name, const char* value) : _name(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(_name); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

private:
  const char* _name;
};

TEST_CASE("switches are on or off, and anything else is remarked on") {
  for (const char* const value : {"1", "on", "yes", "true"}) {
    const Variable race("THALWEG_RACE", value);
    CHECK(Settings::from_environment().race);
  }
  for (const char* const value : {"", "0", "off", "no", "false"}) {
    const Variable race("THALWEG_RACE", value);
    const Settings settings = Settings::from_environment();
    CHECK_FALSE(settings.race);
    CHECK(settings.remarks.empty());
  }
  const Variable race("THALWEG_RACE", "of");
  const Settings settings = Settings::from_environment();
  CHECK_FALSE(settings.race);
  REQUIRE(settings.remarks.size() == 1);
  CHECK(settings.remarks.front().starts_with("THALWEG_RACE: 'of': expected "));
}

TEST_CASE("plans that don't race can't follow the network, and that is remarked on") {
  const Variable adapt("THALWEG_ADAPT", "1");
  Settings settings = Settings::from_environment();
  CHECK_FALSE(settings.adapt);
  REQUIRE(settings.remarks.size() == 1);
  CHECK(settings.remarks.front().starts_with("THALWEG_ADAPT: "));
  const Variable race("THALWEG_RACE", "1");
  settings = Settings::from_environment();
  CHECK(settings.adapt);
  CHECK(settings.remarks.empty());
}

TEST_CASE("a wrong size of events keeps the usual ones, of a run record too") {
  const Variable record("THALWEG_RECORD", "folder");
  CHECK(Settings::from_environment().events_folder().empty());
  const Variable wrong("THALWEG_EVENTS", "many");
  const Settings settings = Settings::from_environment();
  CHECK(settings.events == std::size_t{4} << 20U);
  CHECK(settings.events_folder() == "folder");
  REQUIRE(settings.remarks.size() == 1);
  CHECK(settings.remarks.front().find("the usual 4 MiB are kept") != std::string::npos);
}

TEST_CASE("relative paths lead from where they were held, and others stay") {
  const std::filesystem::path before = std::filesystem::current_path();
  const testing::TemporaryFolder folder;
  Settings settings;
  settings.record = "run";
  settings.summary = "../summary.json";
  settings.hold_paths();
  CHECK(settings.record == before / "run");
  CHECK(settings.summary == before / "../summary.json");
  CHECK(settings.trace.empty());
  std::filesystem::current_path(folder.path);
  settings.hold_paths();
  std::filesystem::current_path(before);
  CHECK(settings.record == before / "run");
}

TEST_CASE("ranks wait for a number of seconds that fits into nanoseconds") {
  CHECK(seconds_of_patience() == usual_patience_s);
  for (const auto& [text, seconds] : {std::pair("2", 2.0), {"1e-9", 1e-9}, {"0", 0.0}}) {
    const Variable timeout("THALWEG_SETUP_TIMEOUT", text);
    CHECK(seconds_of_patience() == seconds);
  }
  const Variable timeout("THALWEG_SETUP_TIMEOUT", "1e300");
  CHECK(seconds_of_patience() == 1e6);
  for (const char* const text : {"30s", "abc", "inf", "nan", "-1", " 3"}) {
    const Variable wrong("THALWEG_SETUP_TIMEOUT", text);
    CHECK_THROWS_AS(static_cast<void>(seconds_of_patience()), std::invalid_argument);
    const Settings settings = Settings::from_environment();
    REQUIRE(settings.remarks.size() == 1);
    CHECK(settings.remarks.front().find(text) != std::string::npos);
  }
}

} // namespace
} // namespace thalweg::runtime
