#include "planner/native.hpp"

#include "simulator/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace thalweg::planner {

namespace {

using collective::Kind;

/// Relative uncertainties: at what was measured; for each doubling or halving of the size from
/// there, up to so many; for another placement, root or form.
constexpr double at_measured = 0.02, per_octave = 0.01, most_octaves = 3, elsewhere = 0.02;
/// Measured sizes whose factors differ a lot say little of what is between them; but a plan that is
/// several times faster is better all the same.
constexpr double most_uncertain = 0.5;
/// The uncertainty where only other collectives were measured, and where nothing was.
constexpr double by_others = 0.08, by_rules_alone = 0.1;

double octaves(Size from, Size to) {
  return std::log2(static_cast<double>(std::max<Size>(to, 1)) /
                   static_cast<double>(std::max<Size>(from, 1)));
}

std::vector<Kind> measured_kinds(const network::Network& network, const std::string& library) {
  std::vector<Kind> kinds;
  for (const Kind kind : collective::kinds)
    if (std::ranges::any_of(network.native_times, [&](const network::NativeTime& native) {
          return native.library == library && native.collective == collective::to_text(kind);
        }))
      kinds.push_back(kind);
  return kinds;
}

} // namespace

Native NativeModel::predict(const Problem& problem) {
  std::vector<Part> parts;
  Native native = simulate(problem, &parts);
  // Ranks that run ahead in a phase are held up by the others.
  if (!collective::synchronizes(problem.collective.kind)) native.in_a_row = in_a_row(parts);
  const Time by_rules = native.time;
  scale(native, problem);
  if (by_rules > Time(0)) native.in_a_row = native.in_a_row * (native.time / by_rules);
  return native;
}

/// Multiplies the time by what the library was measured to differ from its rules.
void NativeModel::scale(Native& native, const Problem& problem) {
  const Kind kind = problem.collective.kind;
  if (const auto own = factor(kind, problem.collective.size, native.algorithm)) {
    native.time = native.time * own->value;
    native.uncertainty = std::min(at_measured + per_octave * std::min(own->octaves, most_octaves) +
                                      own->spread + (is_as_measured(problem) ? 0 : elsewhere),
                                  most_uncertain);
    native.measured = is_as_measured(problem) && own->octaves == 0;
    return;
  }
  double sum = 0;
  const std::vector<Kind> others = measured_kinds(_network, _options.library);
  for (const Kind other : others)
    sum += std::log(factor(other, problem.collective.size)->value);
  if (!others.empty())
    native.time = native.time * std::exp(sum / static_cast<double>(others.size()));
  native.uncertainty = others.empty() ? by_rules_alone : by_others;
}

/// Begins with the shortest estimate, so that the others are given up sooner.
Native NativeModel::simulate(const Problem& problem, std::vector<Part>* of_best) const {
  std::vector<Chosen> chosen;
  const std::vector<NativeAlgorithm> algorithms = native_algorithms(problem, _options.library);
  for (const NativeAlgorithm& algorithm : algorithms) {
    Chosen& each = chosen.emplace_back();
    each.name = to_text(algorithm);
    each.parts = parts(problem, algorithm);
    if (algorithms.size() > 1) each.estimate = estimate(each.parts);
  }
  std::ranges::stable_sort(chosen, {}, &Chosen::estimate);
  Native best;
  for (Chosen& each : chosen) {
    const Time found = time(each.parts, best.algorithm.empty() ? Time::infinity() : best.time);
    if (!best.algorithm.empty() && !(found < best.time)) continue;
    best.algorithm = each.name;
    best.time = found;
    if (of_best != nullptr) *of_best = std::move(each.parts);
  }
  return best;
}

/// Phases follow each other, and the leaders of the hosts take part in all of them.
Time NativeModel::in_a_row(const std::vector<Part>& parts) const {
  Time sum{};
  for (const Part& part : parts) {
    const Time each = judge_in_a_row(part.problem, part.skeleton, _limits);
    if (!(each > Time(0))) return Time(0);
    sum = sum + each;
  }
  return sum;
}

std::vector<NativeModel::Part> NativeModel::parts(const Problem& problem,
                                                  const NativeAlgorithm& algorithm) const {
  std::vector<Part> parts;
  for (const Phase& phase : algorithm.phases) {
    if (phase.collective.ranks < 2) continue;
    Problem part = problem;
    part.collective = phase.collective;
    part.placement = phase.placement;
    // Ranks enter the first phase of all only as they enter the call.
    if (phase.level != Level::all || !parts.empty()) part.entries.clear();
    if (phase.level != Level::all) part.cache = nullptr;
    Skeleton skeleton = algorithms::make_skeleton(algorithms::find(phase.choice.algorithm), part,
                                                  phase.choice.parameters);
    parts.push_back({std::move(part), std::move(skeleton)});
  }
  return parts;
}

Time NativeModel::estimate(const std::vector<Part>& parts) const {
  Time sum{};
  for (const Part& part : parts)
    sum = sum + simulator::estimate(part.problem, part.skeleton, estimation(_options, _limits));
  return sum;
}

Time NativeModel::time(const std::vector<Part>& parts, Time give_up) const {
  Time sum{};
  for (const Part& part : parts) {
    sum = sum + judge(part.problem, part.skeleton, _options, _limits, give_up - sum);
    if (sum > give_up) break;
  }
  return sum;
}

std::optional<NativeModel::Factor> NativeModel::factor(Kind kind, Size size,
                                                       const std::string& algorithm) {
  std::map<Size, double> factors;
  for (const auto& [measured, point] : points(kind))
    if (point.algorithm == algorithm) factors.emplace(measured, point.factor);
  if (factors.empty())
    for (const auto& [measured, point] : points(kind))
      factors.emplace(measured, point.factor);
  if (factors.empty()) return std::nullopt;
  const auto above = factors.lower_bound(size);
  if (above == factors.begin()) return Factor{above->second, octaves(size, above->first)};
  const auto below = std::prev(above);
  if (above == factors.end()) return Factor{below->second, octaves(below->first, size)};
  if (above->first == size) return Factor{above->second, 0};
  const double whole = octaves(below->first, above->first), part = octaves(below->first, size);
  const double ratio = above->second / below->second, nearer = std::min(part, whole - part);
  return Factor{below->second * std::pow(ratio, part / whole), nearer,
                std::abs(std::log(ratio)) * nearer / whole};
}

const std::map<Size, NativeModel::Point>& NativeModel::points(Kind kind) {
  Measured& measured = _measured[static_cast<std::size_t>(kind)];
  const std::lock_guard lock(measured.mutex);
  if (!measured.points) measured.points = find_points(kind);
  return *measured.points;
}

std::map<Size, NativeModel::Point> NativeModel::find_points(Kind kind) const {
  std::map<Size, Point> points;
  network::Placement placement(_network.hosts.size());
  std::iota(placement.begin(), placement.end(), 0);
  for (const network::NativeTime& native : _network.native_times) {
    if (native.library != _options.library || native.collective != collective::to_text(kind))
      continue;
    const Native simulated = simulate(
        algorithms::make_problem({.kind = kind, .ranks = _network.size(), .size = native.size},
                                 _network, placement, _options.library));
    const double factor = simulated.time.value() > 0 ? native.time / simulated.time : 1;
    points.emplace(native.size, Point{factor, simulated.algorithm});
  }
  return points;
}

bool NativeModel::is_as_measured(const Problem& problem) const {
  if (problem.collective.root != 0 || problem.collective.in_place ||
      !problem.collective.block_sizes.empty() || problem.placement.size() != _network.hosts.size())
    return false;
  for (std::size_t rank = 0; rank < problem.placement.size(); ++rank)
    if (problem.placement[rank] != static_cast<network::HostId>(rank)) return false;
  return true;
}

} // namespace thalweg::planner
