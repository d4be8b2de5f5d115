#include "runtime/choose/settings.hpp"

#include "runtime/choose/force.hpp"
#include "runtime/choose/plan_copy.hpp"
#include "units/units.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <sys/random.h>
#include <unistd.h>

namespace thalweg::runtime {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_any(std::string_view value, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, value) != words.end();
}

bool says_off(std::string_view value) { return is_any(value, {"0", "off", "no", "false"}); }

/// Whether a variable switches something on. What is neither on nor off becomes a remark.
bool is_on(const char* name, std::vector<std::string>& remarks) {
  const std::string value = variable(name);
  if (is_any(value, {"1", "on", "yes", "true"})) return true;
  if (!value.empty() && !says_off(value))
    remarks.push_back(std::string(name) + ": '" + value +
                      "': expected 1 or on, 0 or off; it counts as off");
  return false;
}

/// Returns a path that leads to the same place from any working folder.
std::string absolute(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  const std::unique_ptr<char, decltype(&std::free)> folder(getcwd(nullptr, 0), &std::free);
  return folder == nullptr ? path : std::string(folder.get()) + "/" + path;
}

} // namespace

bool is_switched_off() { return says_off(variable("THALWEG")); }

std::string read_file(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw std::invalid_argument("can't open it");
  std::string content;
  char buffer[1 << 16];
  for (std::size_t size = 0; (size = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
    content.append(buffer, size);
  const bool good = std::ferror(file) == 0;
  std::fclose(file);
  if (!good || content.empty()) throw std::invalid_argument("can't read it, or it is empty");
  return content;
}

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

double seconds_of_patience() {
  const std::string text = variable("THALWEG_SETUP_TIMEOUT");
  if (text.empty()) return usual_patience_s;
  const auto seconds = parse_number(text);
  if (!seconds || *seconds < 0)
    throw std::invalid_argument("THALWEG_SETUP_TIMEOUT: '" + text +
                                "': expected a number of seconds, without a unit; it counts as 30");
  constexpr double most_s = 1e6; // in nanoseconds it is still a whole number of 64 bits
  return std::min(*seconds, most_s);
}

std::string about_plan(const std::string& path, const std::string& why) {
  return "plan '" + path + "' (THALWEG_PLAN): " + why;
}

namespace {

std::string read_plan_file(const std::string& path) {
  try {
    return read_file(path);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(about_plan(path, error.what()));
  }
}

/// Bytes of events that each rank keeps for a trace, and where THALWEG_EVENTS is wrong.
constexpr std::size_t usual_events = std::size_t{4} << 20;

std::size_t parse_events(const std::string& text) {
  if (text == "all") return std::numeric_limits<std::size_t>::max();
  try {
    const units::Size size = units::parse_size(text);
    if (size > 0) return static_cast<std::size_t>(size);
  } catch (const std::invalid_argument&) { // said below
  }
  throw std::invalid_argument(
      "THALWEG_EVENTS: '" + text +
      "': expected a size such as 64MB, or 'all'; the usual 4 MiB are kept");
}

/// Returns a number that no other run is likely to have.
std::uint64_t new_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = static_cast<std::uint64_t>(std::time(nullptr)) << 24U ^
             static_cast<std::uint64_t>(getpid());
  return number;
}

int parse_window(const std::string& text) {
  int window = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), window);
  if (error != std::errc() || end != text.data() + text.size() || window < 1)
    throw std::invalid_argument("THALWEG_WINDOW: '" + text +
                                "': expected a whole number of at least 1");
  return window;
}

} // namespace

Settings Settings::from_environment() {
  Settings settings;
  settings.force = variable("THALWEG_FORCE");
  settings.trace = variable("THALWEG_TRACE");
  settings.record = variable("THALWEG_RECORD");
  settings.summary = variable("THALWEG_SUMMARY");
  settings.assume_hosts = variable("THALWEG_ASSUME_HOSTS");
  settings.raced = variable("THALWEG_RACED");
  settings.run = new_number();
  const auto remark_on_error = [&](const auto& read) {
    try {
      read();
    } catch (const std::invalid_argument& error) {
      settings.remarks.emplace_back(error.what());
    }
  };
  const std::string events = variable("THALWEG_EVENTS");
  if (!events.empty() || !settings.trace.empty()) settings.events = usual_events;
  remark_on_error([&] {
    if (!events.empty()) settings.events = parse_events(events);
  });
  const std::string plan = variable("THALWEG_PLAN"), window = variable("THALWEG_WINDOW");
  settings.plan_path = plan;
  const auto on = [&](const char* name) { return is_on(name, settings.remarks); };
  settings.reproducible = on("THALWEG_REPRODUCIBLE");
  settings.verbose = on("THALWEG_VERBOSE");
  settings.nonblocking = on("THALWEG_NONBLOCKING");
  settings.one_host = on("THALWEG_ONE_HOST");
  settings.race = on("THALWEG_RACE");
  settings.adapt = on("THALWEG_ADAPT");
  if (settings.adapt && !settings.race) {
    settings.remarks.emplace_back("THALWEG_ADAPT: plans stay as they are: only plans that race "
                                  "follow the network; set THALWEG_RACE=1");
    settings.adapt = false;
  }
  remark_on_error(seconds_of_patience);
#if defined(THALWEG_SIMULATED)
  if (settings.adapt)
    settings.remarks.emplace_back("THALWEG_ADAPT: a simulated network is planned for once");
  settings.adapt = false; // a thread would plan, beside the one that simulates
#endif
  settings.planned = !plan.empty() || !settings.force.empty() || settings.reproducible;
  try {
    if (!plan.empty()) settings.plan = read_plan_file(plan);
    settings.plan_seal = seal_of(settings.plan);
    settings.force = with_files(settings.force, settings.remarks);
    if (!window.empty()) settings.window = parse_window(window);
  } catch (const std::invalid_argument& error) {
    settings.problem = error.what();
  }
  return settings;
}

void Settings::hold_paths() {
  for (std::string* path : {&trace, &record, &summary})
    *path = absolute(*path);
}

std::string Settings::to_bytes() const {
  std::string bytes;
  const std::string numbers =
      std::to_string(window) + " " + std::to_string(events) + " " + std::to_string(run) + " " +
      (planned ? "p" : "") + (reproducible ? "r" : "") + (verbose ? "v" : "") +
      (nonblocking ? "n" : "") + (one_host ? "h" : "") + (race ? "c" : "") + (adapt ? "a" : "");
  for (const std::string* field : {&plan_path, &plan_seal, &force, &trace, &record, &summary,
                                   &assume_hosts, &raced, &problem, &numbers}) {
    const std::uint64_t size = field->size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes += *field;
  }
  return bytes;
}

Settings Settings::from_bytes(const std::string& bytes) {
  Settings settings;
  std::string numbers;
  std::size_t at = 0;
  for (std::string* field :
       {&settings.plan_path, &settings.plan_seal, &settings.force, &settings.trace,
        &settings.record, &settings.summary, &settings.assume_hosts, &settings.raced,
        &settings.problem, &numbers}) {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    at += sizeof size;
    *field = bytes.substr(at, size);
    at += size;
  }
  const auto has = [&](char flag) { return numbers.find(flag) != std::string::npos; };
  settings.planned = has('p');
  settings.reproducible = has('r');
  settings.verbose = has('v');
  settings.nonblocking = has('n');
  settings.one_host = has('h');
  settings.race = has('c');
  settings.adapt = has('a');
  std::istringstream(numbers) >> settings.window >> settings.events >> settings.run;
  return settings;
}

} // namespace thalweg::runtime
