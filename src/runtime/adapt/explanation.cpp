#include "runtime/adapt/explanation.hpp"

#include "runtime/adapt/call_row.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

namespace thalweg::runtime {
namespace {

using observe::PairTimes;
using What = Cause::What;

/// By how much a part of the network may become worse, or better, at once, and by which steps that
/// is then told more exactly: at first, and for the parts that explain most.
constexpr std::array<double, 3> first_factors = {2, 8, 32};
constexpr std::array<double, 2> first_steps = {2, 1.41};
constexpr std::array<double, 4> last_steps = {1.41, 1.19, 1.09, 1.04};
/// How many calls are simulated at first, how many parts are then tried in all, and of how many
/// hosts each port by itself.
constexpr std::size_t few_calls = 6, most_finalists = 8, most_ports = 3;
/// A change that leaves more than this unexplained explains nothing.
constexpr double most_misfit = 0.6;
/// How much of the misfit of a change the ones tried later may leave at most to be preferred to it.
constexpr double clearly_less = 0.85;
/// Differences of a message's wait that are smaller than this are noise of processors.
constexpr double least_difference = 20e-6;
constexpr std::size_t most_hosts = 16, most_pairs = 6;

/// How long messages are waited for, in seconds, by pair of hosts and class; negative: not known.
using Waits = std::vector<double>;

/// The result of simulating calls.
struct Picture {
  Waits sums;              ///< of the waits
  std::vector<int> counts; ///< of the messages
  double period = 0;       ///< seconds from the end of the call before to the end of a call
};
/// Greater than any misfit.
constexpr double no_limit = std::numeric_limits<double>::infinity();

Waits observed(const std::vector<PairTimes>& sums) {
  Waits waits;
  for (const PairTimes& each : sums)
    waits.push_back(each.receives == 0 ? -1
                                       : static_cast<double>(each.waited_ns) * 1e-9 /
                                             static_cast<double>(each.receives));
  return waits;
}

class Explainer {
public:
  Explainer(const Observations& seen, const std::atomic<bool>& is_cancelled)
      : _seen(seen), _is_cancelled(is_cancelled), _place(index(seen.network.size())),
        _row(seen, is_cancelled), _waits(observed(seen.since)) {
    for (std::size_t i = 0; i < seen.hosts.size(); ++i)
      _place[index(seen.hosts[i])] = i;
  }

  std::optional<Explanation> run() {
    if (_row.empty()) return std::nullopt;
    _usual = picture(_seen.network, _row.size());
    for (std::size_t at = 0; at < _waits.size(); ++at)
      if (_waits[at] >= 0 && _usual.counts[at] > 0) _compared.push_back(at);
    const double usual_ns =
        _seen.usual_ns > 0 ? static_cast<double>(_seen.usual_ns) : 1e9 * _usual.period;
    _is_slower = static_cast<double>(_seen.cost_ns) > usual_ns;
    _unexplained = difference(_usual);
    if (_usual.period <= 0 || _unexplained <= 0) return std::nullopt;
    if (_seen.unimpaired)
      try_network({}, Quantity::bandwidth, *_seen.unimpaired,
                  misfit(*_seen.unimpaired, _row.size(), _best.misfit));
    if (_seen.purpose != Purpose::recovery) try_suspects();
    if (_best.misfit > most_misfit) return std::nullopt;
    return std::move(_best);
  }

private:
  /// Simulates the latest calls: the more, the more the ranks come as late as they do on and on.
  /// @param goes_on asked after each of those that count
  template <class GoesOn>
  [[nodiscard]] Picture picture(const Network& network, std::size_t most,
                                const GoesOn& goes_on) const {
    Picture result{Waits(_waits.size()), std::vector<int>(_waits.size())};
    double calls = 0;
    _row.simulate(network, most, [&](const simulator::Posts& posts, double seconds) {
      result.period += seconds;
      ++calls;
      for (const simulator::PostedMessage& message : posts.messages) {
        const std::size_t at = place(message);
        if (at == none) continue;
        result.sums[at] += (message.end - message.awaited).value();
        ++result.counts[at];
      }
      return goes_on(result);
    });
    result.period /= std::max(1.0, calls);
    return result;
  }
  [[nodiscard]] Picture picture(const Network& network, std::size_t most) const {
    return picture(network, most, [](const Picture&) { return true; });
  }
  /// Returns where a message is counted, if it is between hosts.
  [[nodiscard]] std::size_t place(const simulator::PostedMessage& message) const {
    const std::size_t from = _place[index(_seen.placement[index(message.from)])];
    const std::size_t to = _place[index(_seen.placement[index(message.to)])];
    if (from == to) return none;
    return (from * _seen.hosts.size() + to) * PairTimes::classes +
           static_cast<std::size_t>(message.step) % PairTimes::classes;
  }
  /// Returns by how much the waits of a class of messages differ from those in a picture.
  [[nodiscard]] double difference(const Picture& picture, std::size_t at) const {
    if (_waits[at] < 0 || picture.counts[at] == 0) return 0;
    const double seconds = std::abs(_waits[at] - picture.sums[at] / picture.counts[at]);
    return seconds < least_difference ? 0 : seconds;
  }
  [[nodiscard]] double difference(const Picture& picture) const {
    double sum = 0;
    for (const std::size_t at : _compared)
      sum += difference(picture, at);
    return sum;
  }
  /// Returns the least that the difference can be when all calls have been simulated: waits that
  /// are too long already don't become shorter. The same calls have as many messages on any
  /// network.
  [[nodiscard]] double least_of(const Picture& begun, const std::vector<int>& counts) const {
    double sum = 0;
    for (const std::size_t at : _compared) {
      if (counts[at] == 0) continue;
      const double excess = begun.sums[at] / counts[at] - _waits[at];
      if (excess >= least_difference) sum += excess;
    }
    return sum;
  }
  /// A part of the network, and by how much it may have changed.
  struct Suspect {
    std::vector<Cause> causes;
    std::vector<double> latency_ns; ///< of a path through each of them, as it usually is
    Quantity quantity{};
    double factor = 1, misfit = 1;
    std::vector<double> tried = {}; ///< factors, with as many calls
  };
  /// @param calls that are simulated: few, or the whole row
  /// @param most from which on the misfit is of no interest: then it may be infinite instead
  [[nodiscard]] double misfit(const Network& network, std::size_t calls, double most) const {
    const bool are_few = calls < _row.size();
    const double whole = std::max(are_few ? _unexplained_in_few : _unexplained, least_difference);
    const std::vector<int>& counts = (are_few ? _usual_in_few : _usual).counts;
    bool is_of_interest = true;
    const Picture found = picture(network, calls, [&](const Picture& begun) {
      is_of_interest = least_of(begun, counts) / whole < most;
      return is_of_interest;
    });
    return is_of_interest ? difference(found) / whole : no_limit;
  }
  void try_network(std::vector<Cause> causes, Quantity quantity, Network network, double left) {
    if (left >= _best.misfit * (_best.network.hosts.empty() ? 1 : clearly_less)) return;
    _best = {std::move(causes), quantity, std::move(network), left};
  }
  /// Tries each part of the network with few calls, and those that explain most with more.
  void try_suspects() {
    _usual_in_few = few_calls < _row.size() ? picture(_seen.network, few_calls) : _usual;
    _unexplained_in_few = difference(_usual_in_few);
    std::vector<Suspect> all;
    for (const std::vector<Cause>& causes : parts())
      add_suspects(all, causes);
    for (const HostId host : suspected_ports(all))
      for (const What what : {What::egress, What::ingress})
        add_suspects(all, {{.what = what, .from = host}});
    for (const auto& [from, to] : suspicious_pairs())
      add_suspects(all, {{.what = What::pair, .from = from, .to = to}});
    // What is more likely by itself stays first among the finalists.
    for (Suspect& suspect : best_of(std::move(all), most_finalists)) {
      if (_is_cancelled) return;
      if (few_calls < _row.size()) {
        suspect.misfit = misfit(network_with(suspect, suspect.factor), _row.size(), no_limit);
        suspect.tried = {suspect.factor};
      }
      refine(suspect, last_steps, _row.size());
      Network network = network_with(suspect, suspect.factor);
      try_network(std::move(suspect.causes), suspect.quantity, std::move(network), suspect.misfit);
    }
  }
  void add_suspects(std::vector<Suspect>& all, const std::vector<Cause>& causes) const {
    std::vector<double> latency_ns;
    for (const Cause& cause : causes) {
      const auto [from, to] = cause.on(_seen.network).first_pair();
      latency_ns.push_back(1e9 * _seen.network.latency(from, to).value());
    }
    for (const Quantity quantity : {Quantity::bandwidth, Quantity::latency}) {
      if (!is_meant(causes.front(), quantity) || _is_cancelled) continue;
      Suspect& suspect = all.emplace_back(Suspect{causes, latency_ns, quantity});
      // A factor of 1 explains nothing, if there is something to explain.
      if (_unexplained_in_few > 0) suspect.tried = {1};
      for (const double factor : first_factors)
        improve(suspect, _is_slower ? factor : 1 / factor, few_calls);
      refine(suspect, first_steps, few_calls);
    }
  }
  void refine(Suspect& suspect, std::span<const double> steps, std::size_t calls) const {
    for (const double step : steps)
      for (const double factor : {suspect.factor * step, suspect.factor / step})
        improve(suspect, factor, calls);
  }
  void improve(Suspect& suspect, double factor, std::size_t calls) const {
    if (std::ranges::find(suspect.tried, factor) != suspect.tried.end()) return;
    suspect.tried.push_back(factor);
    const double left = misfit(network_with(suspect, factor), calls, suspect.misfit);
    if (left >= suspect.misfit) return;
    suspect.misfit = left;
    suspect.factor = factor;
  }
  /// Returns the `most` that explain most, in their order.
  [[nodiscard]] static std::vector<Suspect> best_of(std::vector<Suspect> all, std::size_t most) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t at) { return all[at].misfit; });
    order.resize(std::min(most, order.size()));
    std::ranges::sort(order);
    std::vector<Suspect> best;
    for (const std::size_t at : order)
      best.push_back(std::move(all[at]));
    return best;
  }
  /// Returns the hosts whose ports, both together, explain most.
  [[nodiscard]] static std::vector<HostId> suspected_ports(std::vector<Suspect> all) {
    std::erase_if(
        all, [](const Suspect& suspect) { return suspect.causes.front().what != What::egress; });
    std::vector<HostId> hosts;
    for (const Suspect& port : best_of(std::move(all), most_ports))
      hosts.push_back(port.causes.front().from);
    return hosts;
  }
  /// Returns the network after a change by a factor, which the causes then have.
  Network network_with(Suspect& suspect, double factor) const {
    for (std::size_t i = 0; i < suspect.causes.size(); ++i) {
      suspect.causes[i].factor = factor;
      suspect.causes[i].excess_ns = suspect.latency_ns[i] * (factor - 1);
    }
    return changed(_seen.network, suspect.causes, suspect.quantity);
  }
  /// What trunks and the ports of hosts have is bandwidth; the latency between sites is theirs.
  [[nodiscard]] bool is_meant(const Cause& cause, Quantity quantity) const {
    if (quantity == Quantity::bandwidth) return true;
    return cause.what == What::sites || cause.what == What::pair ||
           (cause.what == What::trunk && _seen.network.sites.empty());
  }

  /// Returns what may have changed; what is more likely by itself comes first. Through trunks and
  /// between sites there are messages that take another time, as through the hosts.
  [[nodiscard]] std::vector<std::vector<Cause>> parts() const {
    std::vector<std::vector<Cause>> result;
    const Network& net = _seen.network;
    const std::vector<std::size_t> different = differences();
    const auto add = [&](const Cause& cause) {
      const network::Change change = cause.on(net);
      const auto is_within = [&](std::size_t at) {
        const auto [from, to] = hosts_of(at);
        return change.covers(from, to);
      };
      if (std::ranges::any_of(different, is_within)) result.push_back({cause});
    };
    for (std::int32_t i = 0; i < std::ssize(net.trunks); ++i)
      add({.what = What::trunk, .from = i});
    for (std::int32_t a = 0; a < std::ssize(net.sites); ++a)
      for (std::int32_t b = 0; b < std::ssize(net.sites); ++b)
        if (a != b) add({.what = What::sites, .from = a, .to = b});
    for (const HostId host : suspicious_hosts())
      result.push_back(
          {{.what = What::egress, .from = host}, {.what = What::ingress, .from = host}});
    return result;
  }
  /// Returns where messages are counted that take another time than usual.
  [[nodiscard]] std::vector<std::size_t> differences() const {
    std::vector<std::size_t> result;
    for (std::size_t at = 0; at < _waits.size(); ++at)
      if (difference(_usual, at) > 0) result.push_back(at);
    return result;
  }
  [[nodiscard]] std::pair<HostId, HostId> hosts_of(std::size_t at) const {
    const std::size_t pair = at / PairTimes::classes;
    return {_seen.hosts[pair / _seen.hosts.size()], _seen.hosts[pair % _seen.hosts.size()]};
  }
  /// Returns the hosts whose messages changed most.
  [[nodiscard]] std::vector<HostId> suspicious_hosts() const {
    std::vector<std::pair<double, HostId>> sums;
    for (const HostId host : _seen.hosts)
      sums.emplace_back(0, host);
    for (std::size_t at = 0; at < _waits.size(); ++at) {
      const auto [from, to] = hosts_of(at);
      for (const HostId host : {from, to})
        sums[_place[index(host)]].first -= difference(_usual, at);
    }
    std::ranges::sort(sums);
    std::vector<HostId> hosts;
    for (const auto& [sum, host] : sums)
      if (sum < 0 && hosts.size() < most_hosts) hosts.push_back(host);
    return hosts;
  }
  [[nodiscard]] std::vector<std::pair<HostId, HostId>> suspicious_pairs() const {
    std::vector<std::size_t> order = differences();
    std::ranges::stable_sort(order, std::greater(),
                             [&](std::size_t at) { return difference(_usual, at); });
    std::vector<std::pair<HostId, HostId>> pairs;
    for (const std::size_t at : order) {
      if (pairs.size() == most_pairs) break;
      if (std::ranges::find(pairs, hosts_of(at)) == pairs.end()) pairs.push_back(hosts_of(at));
    }
    return pairs;
  }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  const Observations& _seen;
  const std::atomic<bool>& _is_cancelled;
  std::vector<std::size_t> _place; ///< in Observations::hosts, by host
  CallRow _row;
  Waits _waits;            ///< observed
  Picture _usual;          ///< simulated on the network that is in force
  double _unexplained = 0; ///< of these, seconds, if nothing changed
  Picture _usual_in_few;
  double _unexplained_in_few = 0;
  std::vector<std::size_t> _compared; ///< where waits are both observed and simulated
  bool _is_slower = true;             ///< calls are than before
  Explanation _best;
};

} // namespace

std::optional<Explanation> explain(const Observations& seen,
                                   const std::atomic<bool>& is_cancelled) {
  return Explainer(seen, is_cancelled).run();
}

} // namespace thalweg::runtime
