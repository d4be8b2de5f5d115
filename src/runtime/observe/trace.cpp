#include "runtime/observe/trace.hpp"

#include "units/whole_file.hpp"

#include <cstdio>

namespace thalweg::runtime::observe {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

template <class Strings>
std::string list(const Strings& strings) {
  std::string result;
  for (const auto& text : strings)
    result += (result.empty() ? "" : ", ") + quoted(std::string(text));
  return "[" + result + "]";
}

} // namespace

std::string summary(const RunInfo& info, const Counters& counters, const Calibration& clock) {
  return "{\n  \"schema\": 1,\n  \"version\": " + quoted(THALWEG_VERSION) +
         ",\n  \"library\": " + quoted(info.library) +
         ",\n  \"library_version\": " + quoted(info.library_version) +
         ",\n  \"ranks\": " + std::to_string(info.world_size) +
         ",\n  \"window\": " + std::to_string(info.window) +
         ",\n  \"force\": " + quoted(info.force) +
         ",\n  \"everything_native\": " + quoted(info.everything_native) +
         ",\n  \"collectives\": " + counters.to_json(clock) +
         (info.nonblocking == nullptr
              ? ""
              : ",\n  \"nonblocking\": " + info.nonblocking->to_json(clock)) +
         ",\n  \"algorithms\": " + list(info.algorithms) +
         ",\n  \"reasons\": " + list(names_of(Reason{})) + "\n}\n";
}

std::string write_trace(const std::string& folder, const RunInfo& info, Recorder& recorder,
                        const Counters& counters) {
  const std::string events = folder + "/rank-" + std::to_string(info.world_rank) + ".events";
  std::string problem = units::make_folder(folder);
  if (problem.empty()) problem = recorder.write(events, info.world_rank, info.world_size);
  if (!problem.empty() || info.world_rank != 0) return problem;
  return units::write_whole(folder + "/summary.json", summary(info, counters, recorder.clock()));
}

} // namespace thalweg::runtime::observe
