#include "runtime/observe/summary.hpp"

#include "runtime/observe/json_text.hpp"

namespace thalweg::runtime::observe {

std::string summary(const RunInfo& info, const Counters& counters, const Calibration& clock) {
  return "{\n  \"schema\": 1,\n  \"version\": " + quoted(THALWEG_VERSION) +
         ",\n  \"library\": " + quoted(info.library) +
         ",\n  \"library_version\": " + quoted(info.library_version) +
         ",\n  \"ranks\": " + std::to_string(info.world_size) +
         ",\n  \"dilation\": " + info.dilation + ",\n  \"window\": " + std::to_string(info.window) +
         ",\n  \"force\": " + quoted(info.force) +
         ",\n  \"everything_native\": " + quoted(info.everything_native) +
         ",\n  \"collectives\": " + counters.to_json(clock) +
         (info.nonblocking == nullptr
              ? ""
              : ",\n  \"nonblocking\": " + info.nonblocking->to_json(clock)) +
         (info.races.empty()
              ? ""
              : ",\n  \"races\": " + list(info.races, [](const auto& race) { return race; })) +
         (info.more_races.empty() ? "" : ",\n  \"more_races\": " + info.more_races) +
         (info.changes.empty()
              ? ""
              : ",\n  \"changes\": " + list(info.changes, [](const auto& each) { return each; })) +
         ",\n  \"algorithms\": " + list(info.algorithms) +
         ",\n  \"reasons\": " + list(names_of(Reason{})) + "\n}\n";
}

} // namespace thalweg::runtime::observe
