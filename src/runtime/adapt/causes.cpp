#include "runtime/adapt/causes.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <cmath>

namespace thalweg::runtime {
namespace {

using What = Cause::What;

/// What messages queue behind delays them by different amounts.
constexpr double most_spread = 16;
/// A network may become this many times better or worse at once.
constexpr double most_factor = 1000;

bool has(std::span<const HostId> hosts, HostId host) {
  return std::ranges::find(hosts, host) != hosts.end();
}

/// A pair with the strength of its change in the direction that prevails: above 1.
struct Strength {
  const PairChange* pair = nullptr;
  double strength = 1;
  bool explained = false;
};

/// The changes in one direction, and what is concluded from them.
class Search {
public:
  Search(const Network& network, std::span<const PairChange> pairs) : _network(network) {
    const int sign = prevailing(pairs);
    double most = 1;
    for (const PairChange& pair : pairs) {
      const double strength = sign > 0 ? pair.factor : 1 / pair.factor;
      _pairs.push_back({&pair, strength});
      most = std::max(most, strength);
    }
    _threshold = std::max(least_change, std::sqrt(most));
  }

  std::vector<Cause> run() {
    const std::vector<Cause> shared = shared_causes();
    while (is_left() && _found.size() <= most_causes) {
      const Cause* best = nullptr;
      std::size_t most = 0;
      for (const Cause& cause : shared)
        if (const std::size_t explained = explains(cause); explained > most) {
          best = &cause;
          most = explained;
        }
      if (best == nullptr) break;
      take(*best);
    }
    for (Strength& each : _pairs)
      if (is_unexplained(each) && _found.size() <= most_causes) take(alone(*each.pair));
    if (_found.size() > most_causes) _found.clear();
    return std::move(_found);
  }

private:
  /// Returns 1 if most takes longer, -1 if it takes less time.
  static int prevailing(std::span<const PairChange> pairs) {
    double slower = 0, faster = 0;
    for (const PairChange& pair : pairs) {
      if (pair.factor >= least_change) slower += std::log(pair.factor);
      if (pair.factor <= 1 / least_change) faster -= std::log(pair.factor);
    }
    return slower >= faster ? 1 : -1;
  }
  [[nodiscard]] bool is_unexplained(const Strength& each) const {
    return !each.explained && each.strength >= _threshold;
  }
  [[nodiscard]] bool is_left() const {
    return std::ranges::any_of(_pairs, [&](const Strength& each) { return is_unexplained(each); });
  }
  [[nodiscard]] std::vector<Cause> shared_causes() const {
    std::vector<Cause> causes;
    for (std::int32_t i = 0; i < std::ssize(_network.trunks); ++i)
      causes.push_back({.what = What::trunk, .from = i});
    const auto sites = static_cast<std::int32_t>(_network.sites.size());
    for (std::int32_t a = 0; a < sites; ++a)
      for (std::int32_t b = 0; b < sites; ++b)
        if (a != b) causes.push_back({.what = What::sites, .from = a, .to = b});
    for (const What what : {What::egress, What::ingress})
      for (const Strength& each : _pairs)
        if (is_unexplained(each))
          causes.push_back(
              {.what = what, .from = what == What::egress ? each.pair->from : each.pair->to});
    return causes;
  }
  [[nodiscard]] bool covers(const Cause& cause, const Strength& each) const {
    return cause.covers(_network, each.pair->from, each.pair->to);
  }
  /// Returns how many changes a cause explains; 0 if it isn't one.
  [[nodiscard]] std::size_t explains(const Cause& cause) const {
    std::size_t inside = 0, off = 0, strong = 0;
    double least = most_factor, most = 1;
    for (const Strength& each : _pairs) {
      if (each.explained || !covers(cause, each)) continue;
      ++inside;
      if (each.strength < least_change) continue;
      ++off;
      if (each.strength >= _threshold) ++strong;
      least = std::min(least, each.strength);
      most = std::max(most, each.strength);
    }
    const bool is_cause = off >= 2 && strong > 0 && 4 * off >= 3 * inside;
    return is_cause && most <= most_spread * least ? off : 0;
  }
  /// Returns the cause for a pair that nothing else explains.
  [[nodiscard]] Cause alone(const PairChange& pair) const {
    const Cause egress{.what = What::egress, .from = pair.from};
    const Cause ingress{.what = What::ingress, .from = pair.to};
    const bool may_be_egress = !is_contradicted(egress), may_be_ingress = !is_contradicted(ingress);
    if (may_be_egress != may_be_ingress) return may_be_egress ? egress : ingress;
    if (may_be_ingress && has_found(What::egress, pair.to)) return ingress;
    if (may_be_egress) return egress;
    return {.what = What::pair, .from = pair.from, .to = pair.to};
  }
  [[nodiscard]] bool is_contradicted(const Cause& cause) const {
    return std::ranges::any_of(_pairs, [&](const Strength& each) {
      return each.strength < _threshold && covers(cause, each);
    });
  }
  [[nodiscard]] bool has_found(What what, HostId host) const {
    return std::ranges::any_of(
        _found, [&](const Cause& cause) { return cause.what == what && cause.from == host; });
  }
  void take(Cause cause) {
    std::vector<double> factors, excesses;
    for (Strength& each : _pairs) {
      if (!covers(cause, each)) continue;
      if (is_unexplained(each)) {
        factors.push_back(each.pair->factor);
        excesses.push_back(each.pair->excess_ns);
      }
      each.explained = true;
    }
    cause.factor = std::clamp(median(factors), 1 / most_factor, most_factor);
    cause.excess_ns = median(excesses);
    _found.push_back(cause);
  }

  const Network& _network;
  std::vector<Strength> _pairs;
  double _threshold = least_change;
  std::vector<Cause> _found;
};

} // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool Cause::covers(const Network& network, HostId from_host, HostId to_host) const {
  switch (what) {
  case What::trunk: {
    const network::Trunk& trunk = network.trunks[index(from)];
    return has(trunk.from, from_host) && has(trunk.to, to_host);
  }
  case What::sites:
    return has(network.sites[index(from)], from_host) && has(network.sites[index(to)], to_host);
  case What::egress:
    return from_host == from && to_host != from;
  case What::ingress:
    return to_host == from && from_host != from;
  case What::pair:
    return from_host == from && to_host == to;
  }
  return false;
}

std::vector<Cause> find_causes(const Network& network, std::span<const PairChange> pairs) {
  return Search(network, pairs).run();
}

namespace {

void change_pair(Network& network, HostId a, HostId b, const Cause& cause, Quantity quantity) {
  if (quantity == Quantity::bandwidth) {
    const units::Rate rate = network.bandwidth(a, b);
    network.bandwidth.set(a, b, units::Rate(rate.value() / cause.factor));
  } else {
    // A path doesn't become shorter than a hundredth.
    const double before = network.latency(a, b).value();
    network.latency.set(a, b, units::Time(std::max(before / 100, before + cause.excess_ns * 1e-9)));
  }
}

void change_capacity(Network& network, const Cause& cause) {
  const auto scale = [&](units::Rate& rate) { rate = units::Rate(rate.value() / cause.factor); };
  if (cause.what == What::trunk) scale(network.trunks[index(cause.from)].capacity);
  if (cause.what == What::egress) scale(network.hosts[index(cause.from)].egress);
  if (cause.what == What::ingress) scale(network.hosts[index(cause.from)].ingress);
  if (cause.what != What::sites) return;
  for (network::Trunk& trunk : network.trunks)
    if (cause.covers(network, trunk.from.front(), trunk.to.front())) scale(trunk.capacity);
}

} // namespace

Network changed(const Network& network, std::span<const Cause> causes, Quantity quantity) {
  Network result = network;
  for (const Cause& cause : causes) {
    for (HostId a = 0; a < network.size(); ++a)
      for (HostId b = 0; b < network.size(); ++b)
        if (a != b && cause.covers(network, a, b)) change_pair(result, a, b, cause, quantity);
    if (quantity == Quantity::bandwidth) change_capacity(result, cause);
  }
  return result;
}

std::string to_text(const Network& network, const Cause& cause) {
  const auto host = [&](std::int32_t id) { return network.hosts[index(id)].name; };
  switch (cause.what) {
  case What::trunk:
    return "trunk " + network.trunks[index(cause.from)].name;
  case What::sites:
    return "from the site of " + host(network.sites[index(cause.from)].front()) + " to that of " +
           host(network.sites[index(cause.to)].front());
  case What::egress:
    return "the egress of " + host(cause.from);
  case What::ingress:
    return "the ingress of " + host(cause.from);
  case What::pair:
    return "from " + host(cause.from) + " to " + host(cause.to);
  }
  return {};
}

} // namespace thalweg::runtime
