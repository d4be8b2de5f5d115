/// Bounds by what data must wait for on both sides of what it crosses.
#include "bounds/view.hpp"
#include "units/index.hpp"

#include <algorithm>

namespace thalweg::bounds {
namespace {

/// With more hosts none is looked at alone.
constexpr HostId most_alone = 64;
/// A gain of the bound below this fraction is rounding.
constexpr double least_gain = 1e-9;
/// How exactly the time is found, as a fraction of it.
constexpr double precision = 1e-4;

/// A value that grows with time.
class Steps {
public:
  /// The weight of the hosts that are within some time of one of them, the best one for each time.
  /// @param time from `a` to `b`, or whatever is asked for
  template <class Time>
  Steps(const std::vector<HostId>& hosts, const std::vector<double>& weights, Time time) {
    std::vector<std::pair<double, double>> all, near; // time and value
    for (const HostId one : hosts) {
      near.clear();
      for (const HostId other : hosts)
        near.emplace_back(time(one, other), weights[index(other)]);
      std::ranges::sort(near);
      double sum = 0;
      for (const auto& [after, weight] : near)
        all.emplace_back(after, sum += weight);
    }
    std::ranges::sort(all);
    for (const auto& [after, value] : all)
      if (_steps.empty() || value > _steps.back().value) {
        if (!_steps.empty() && _steps.back().time == after) _steps.pop_back();
        _steps.push_back({after, value});
      }
  }
  /// The value is 1 from the beginning on.
  Steps() : _steps{{0, 1}} {}

  /// Returns the integral of the value from 0 to a time.
  [[nodiscard]] double until(double time) const {
    double sum = 0;
    for (std::size_t at = 0; at < _steps.size() && _steps[at].time < time; ++at)
      sum += _steps[at].value * (std::min(time, end(at)) - _steps[at].time);
    return sum;
  }
  /// Returns the integral of the value at t times the other's at time - t, over t.
  [[nodiscard]] double times(const Steps& other, double time) const {
    double sum = 0;
    for (std::size_t at = 0; at < _steps.size() && _steps[at].time < time; ++at)
      sum += _steps[at].value *
             (other.until(time - _steps[at].time) - other.until(std::max(0.0, time - end(at))));
    return sum;
  }

private:
  struct Step {
    double time, value;
  };
  [[nodiscard]] double end(std::size_t at) const {
    return at + 1 < _steps.size() ? _steps[at + 1].time : Reach::unlimited;
  }
  std::vector<Step> _steps;
};

/// Returns the least time in which one of the hosts reaches all of them, or all reach it.
double radius(const Reach& reach, const std::vector<HostId>& hosts, bool inwards) {
  double least = Reach::unlimited;
  for (const HostId one : hosts) {
    double longest = 0;
    for (const HostId other : hosts)
      longest =
          std::max(longest, inwards ? reach.distance(other, one) : reach.distance(one, other));
    least = std::min(least, longest);
  }
  return least;
}

/// What leaves a set of hosts.
struct Leaving {
  Set set;
  Window exit; ///< its rate, and the least latency to another host
  std::string name;
  double bytes;
  bool combines; ///< whether all hosts of the set contribute to each element, or only one
};

void add_leaving(const Reach& reach, const Leaving& leaving, const std::vector<double>& weights,
                 Largest& largest) {
  std::vector<HostId> inside, outside;
  double weight_inside = 0, weight_outside = 0;
  for (HostId host = 0; host < reach.size(); ++host) {
    const bool is_inside = leaving.set[index(host)] != 0;
    (is_inside ? inside : outside).push_back(host);
    (is_inside ? weight_inside : weight_outside) += weights[index(host)];
  }
  const double enough = leaving.exit.latency + leaving.bytes / leaving.exit.capacity +
                        (leaving.combines ? radius(reach, inside, true) : 0) +
                        radius(reach, outside, false);
  if (enough <= largest.time() * (1 + precision)) return;
  const Steps at_hand =
      leaving.combines ? Steps(inside, weights,
                               [&](HostId via, HostId from) { return reach.distance(from, via); })
                       : Steps();
  const Steps reached(outside, weights,
                      [&](HostId entry, HostId to) { return reach.distance(entry, to); });
  const double needed =
      leaving.bytes * (leaving.combines ? weight_inside : 1) * weight_outside * (1 - least_gain);
  const auto suffices = [&](double time) {
    return leaving.exit.capacity * at_hand.times(reached, time - leaving.exit.latency) >= needed;
  };
  double low = largest.time(), high = enough;
  if (suffices(low * (1 + precision))) return;
  while (high - low > precision * low) {
    const double middle = (low + high) / 2;
    (suffices(middle) ? high : low) = middle;
  }
  largest.raise(low,
                [&] { return reason(leaving.name, leaving.bytes, leaving.exit.capacity, low); });
}

/// Returns weights of hosts: equal ones, and ones with which all groups weigh alike.
std::vector<std::vector<double>> weights_of(const View& view) {
  const auto hosts = index(view.reach.size());
  std::vector<std::vector<double>> weights = {std::vector<double>(hosts, 1)};
  if (view.groups.base().size() < 2 || view.groups.base().size() == hosts) return weights;
  weights.emplace_back(hosts, 0);
  for (const std::vector<HostId>& group : view.groups.base())
    for (const HostId host : group)
      weights.back()[index(host)] = 1 / static_cast<double>(group.size());
  return weights;
}

} // namespace

/// Proof. Let an operation end at T. Each element gets from a host `from` of the set to a host `to`
/// outside by a chain of messages, of which one leaves the set: at some t from some `via`, where
/// what `from` contributes is at hand only if distance(from, via) ≤ t, to some `entry`, from where
/// it is in time only if t + latency(via, entry) + distance(entry, to) ≤ T. Say that it serves the
/// pair. Let a pair weigh the product of the weights of its hosts. An element that leaves at t
/// serves pairs that together weigh at most a(t) · b(T - t - l): a(t) is the largest weight of the
/// hosts of a set that are within t of one of them, b that of hosts outside, and l the least
/// latency out of the set. With the rate at which elements leave, the integral over all t must be
/// at least the weight of all pairs for each of them. Where hosts don't combine, an element has one
/// source, whose weight is 1.
///
/// What limits the rate may lie anywhere on the path. A trunk that data reaches u after leaving
/// `via` and from which `entry` is v away sees at t what left at t - u and is there at t + v. With
/// the least u and the least v of all hosts, whose sum is the latency of a pair, the integral is no
/// larger. The same holds for each of several ports and trunks that together limit the rate.
void add_covers(View& view, const std::function<double(const Set&)>& leaves, bool combines,
                Largest& largest) {
  const Reach& reach = view.reach;
  if (!reach.is_small()) return;
  const auto weights = weights_of(view);
  const auto add = [&](const Leaving& leaving) {
    if (leaving.bytes <= 0 || leaving.exit.capacity == Reach::unlimited) return;
    for (const std::vector<double>& each : weights)
      add_leaving(reach, leaving, each, largest);
  };
  for (HostId host = 0; host < reach.size() && reach.size() <= most_alone; ++host) {
    Set alone(index(reach.size()), 0);
    alone[index(host)] = 1;
    const double bytes = leaves(alone);
    const std::string name = reach.egress_of(reach.names[index(host)]) + ", " +
                             reach.path(host, std::to_string(reach.size() - 1) + " hosts");
    add({std::move(alone),
         {reach.rate_out(host), reach.nearest_out[index(host)]},
         name,
         bytes,
         combines});
  }
  if (combines && reach.is_transposed) return; // The complements of all sets are sets, too.
  for (const Set& set : view.groups.sets()) {
    const double bytes = leaves(set);
    if (bytes <= 0) continue;
    Groups::Exit exit = view.groups.exit(set);
    add({set,
         {exit.rate, view.groups.nearest_outside(set)},
         std::move(exit.name),
         bytes,
         combines});
  }
}

} // namespace thalweg::bounds
