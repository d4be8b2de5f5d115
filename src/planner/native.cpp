#include "planner/native.hpp"

#include <cmath>
#include <map>

namespace thalweg::planner {

namespace {

constexpr units::Size farthest = 4;

bool is_one_rank_per_host(const algorithms::Problem& problem) {
  if (problem.placement.size() != problem.network.hosts.size()) return false;
  for (std::size_t rank = 0; rank < problem.placement.size(); ++rank)
    if (problem.placement[rank] != static_cast<network::HostId>(rank)) return false;
  return true;
}

} // namespace

std::optional<units::Time> native_time(const algorithms::Problem& problem,
                                       const std::string& library) {
  if (!is_one_rank_per_host(problem)) return std::nullopt;
  std::map<units::Size, units::Time> measured;
  for (const network::NativeTime& native : problem.network.native_times)
    if (native.library == library && native.size > 0 && native.time.value() > 0 &&
        native.collective == collective::to_text(problem.collective.kind))
      measured.emplace(native.size, native.time);
  if (measured.size() < 2) return std::nullopt;

  const units::Size size = problem.collective.size;
  const auto above = measured.lower_bound(size);
  if (above == measured.begin()) {
    if (size < above->first / farthest) return std::nullopt;
    return above->second;
  }
  const auto below = std::prev(above);
  if (above == measured.end()) {
    if (size > below->first * farthest) return std::nullopt;
    return below->second * (static_cast<double>(size) / static_cast<double>(below->first));
  }
  const double part =
      std::log(static_cast<double>(size) / static_cast<double>(below->first)) /
      std::log(static_cast<double>(above->first) / static_cast<double>(below->first));
  return below->second * std::pow(above->second / below->second, part);
}

} // namespace thalweg::planner
