#include "runtime/adapt/explanation.hpp"

#include "simulator/posts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::runtime {
namespace {

using observe::PairTimes;
using What = Cause::What;

/// Calls in a row, after which the ranks come as late as they do on and on.
constexpr int calls_in_a_row = 5;
/// By how much a part of the network may become better or worse at once.
constexpr double most_factor = 200;
constexpr int fit_steps = 6;
/// A change that leaves more than this unexplained explains nothing.
constexpr double most_misfit = 0.6;
/// What a change that is tried later must leave, compared with one before it.
constexpr double clearly_less = 0.85;
/// The time of simulated calls may be off the observed one by this factor.
constexpr double most_off = 1.3;
/// Changes of a message's time that are smaller than this are noise of processors.
constexpr double least_change_ns = 20'000;
/// Changes below so many times the error of the means are noise, too.
constexpr double significance = 3;
/// Where nothing was observed before, changes below so many times the clocks' error don't count.
constexpr double least_errors = 2;
constexpr std::size_t most_pairs = 6;

/// The mean times of a pair's messages of a class.
struct Means {
  double sent_ns = 0, waited_ns = 0; ///< from when either end posted them until they were complete
  double error_ns = 0; ///< of the mean wait, by how much waits differ
  bool is_known = false;
};

/// Messages by pair of hosts and class, and how long a call takes from the one before.
struct Picture {
  std::vector<Means> means;
  double period = 0; ///< seconds
};

std::vector<Means> means_of(const std::vector<PairTimes>& sums) {
  std::vector<Means> means(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const PairTimes& times = sums[i];
    if (times.receives == 0 || times.sends != times.receives) continue;
    const auto count = static_cast<double>(times.receives);
    const auto mean = [&](std::uint64_t ns) {
      return static_cast<double>(static_cast<std::int64_t>(ns)) / count;
    };
    const double wait_ns = mean(times.waited_ns);
    const double variance =
        1e6 * static_cast<double>(times.squares) / count - wait_ns * wait_ns; // of one message
    means[i] = {mean(times.done_ns - times.sent_ns), wait_ns,
                std::sqrt(std::max(0.0, variance) / count), true};
  }
  return means;
}

class Explainer {
public:
  Explainer(const Observations& seen, const std::atomic<bool>& is_cancelled)
      : _seen(seen), _is_cancelled(is_cancelled), _place(index(seen.network.size())) {
    for (std::size_t i = 0; i < seen.hosts.size(); ++i)
      _place[index(seen.hosts[i])] = i;
    const CalledShape& shape = seen.shape;
    _entry = seen.table.find(shape.key.kind, shape.key.root, shape.size);
  }

  std::optional<Explanation> run() {
    if (_entry == nullptr || _entry->native) return std::nullopt;
    _usual = picture(_seen.network);
    if (_usual.period <= 0 || !compare_observations()) return std::nullopt;
    const bool only_recovery = _seen.looks_for_recovery;
    if (_seen.unimpaired && (only_recovery || is_possible(*_seen.unimpaired)))
      try_network({}, Quantity::bandwidth, *_seen.unimpaired);
    if (!only_recovery)
      for (const std::vector<Cause>& causes : candidates())
        for (const Quantity quantity : {Quantity::bandwidth, Quantity::latency})
          if (is_meant(causes.front(), quantity)) try_causes(causes, quantity);
    if (_best.misfit > most_misfit) return std::nullopt;
    return std::move(_best);
  }

private:
  /// How the messages of a pair and class changed.
  struct Change {
    std::size_t at = 0;
    double sent_ns = 0, waited_ns = 0;
    [[nodiscard]] double size() const { return std::abs(sent_ns) + std::abs(waited_ns); }
  };

  [[nodiscard]] Picture picture(const Network& network) const {
    const collective::Collective call{.kind = _seen.shape.key.kind,
                                      .ranks =
                                          static_cast<collective::Rank>(_seen.placement.size()),
                                      .root = _seen.shape.key.root,
                                      .size = _seen.shape.size};
    algorithms::Problem problem =
        algorithms::make_problem(call, network, _seen.placement, _seen.library);
    simulator::Posts posts;
    Picture result;
    double last = 0;
    for (int i = 0; i < calls_in_a_row; ++i) {
      posts = simulator::simulate_posts(problem, _entry->skeleton, simulator::Fidelity::fast);
      const auto [first, end] = std::ranges::minmax(posts.exits);
      result.period = end.value() - last;
      last = end.value() - first.value();
      if (i + 1 == calls_in_a_row) break;
      problem.entries = posts.exits;
      for (units::Time& entry : problem.entries)
        entry = entry - first;
    }
    put(posts, result);
    return result;
  }
  void put(const simulator::Posts& posts, Picture& picture) const {
    const std::size_t hosts = _seen.hosts.size();
    picture.means.resize(hosts * hosts * PairTimes::classes);
    std::vector<double> counts(picture.means.size());
    for (const simulator::PostedMessage& message : posts.messages) {
      const std::size_t from = _place[index(_seen.placement[index(message.from)])];
      const std::size_t to = _place[index(_seen.placement[index(message.to)])];
      if (from == to) continue;
      const std::size_t at = (from * hosts + to) * PairTimes::classes +
                             static_cast<std::size_t>(message.step) % PairTimes::classes;
      Means& means = picture.means[at];
      means.sent_ns += 1e9 * (message.end - message.sent).value();
      means.waited_ns += 1e9 * (message.end - message.awaited).value();
      means.is_known = true;
      ++counts[at];
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      picture.means[i].sent_ns /= counts[i];
      picture.means[i].waited_ns /= counts[i];
    }
  }

  /// Finds what changed, and by how much calls did. Offsets of clocks are in the times before and
  /// since alike. Returns whether there is anything to explain.
  bool compare_observations() {
    const std::vector<Means> since = means_of(_seen.since);
    const bool has_before = _seen.usual_ns > 0;
    const std::vector<Means> before = has_before ? means_of(_seen.before) : _usual.means;
    const double usual_ns =
        has_before ? static_cast<double>(_seen.usual_ns) : 1e9 * _usual.period;
    _wanted = static_cast<double>(_seen.cost_ns) / usual_ns;
    _scale = usual_ns / (1e9 * _usual.period);
    const auto drift_ns = static_cast<double>(_seen.drift_ns);
    const double least_ns = std::max(
        least_change_ns,
        has_before ? drift_ns : least_errors * (static_cast<double>(_seen.error_ns) + drift_ns));
    for (std::size_t i = 0; i < since.size(); ++i) {
      if (!since[i].is_known || !before[i].is_known || !_usual.means[i].is_known) continue;
      const double noise_ns =
          std::max(least_ns, significance * (since[i].error_ns + before[i].error_ns));
      const auto significant = [&](double ns) { return std::abs(ns) < noise_ns ? 0 : ns; };
      const Change change{i, significant(since[i].sent_ns - before[i].sent_ns),
                          significant(since[i].waited_ns - before[i].waited_ns)};
      _all += change.size();
      _changes.push_back(change);
    }
    return _all > 0;
  }

  /// Returns what is left unexplained by messages as in a picture.
  [[nodiscard]] double misfit(const Picture& now) const {
    double left = 0;
    for (const Change& change : _changes)
      left += difference(change, simulated_change(now, change.at));
    return left / _all;
  }
  /// Returns the same of a recovery: of what it changes most. Where all else is as it was, the
  /// noise of other messages says nothing.
  [[nodiscard]] double misfit_of_recovery(const Picture& now) const {
    double most = 0, all = 0, left = 0;
    for (const Change& change : _changes)
      most = std::max(most, simulated_change(now, change.at).size());
    if (most < least_change_ns) return 1;
    for (const Change& change : _changes) {
      const Change expected = simulated_change(now, change.at);
      if (expected.size() < most / 4) continue;
      all += expected.size();
      left += difference(change, expected);
    }
    return left / all;
  }
  [[nodiscard]] Change simulated_change(const Picture& now, std::size_t at) const {
    const Means &was = _usual.means[at], &is = now.means[at];
    return {at, _scale * (is.sent_ns - was.sent_ns), _scale * (is.waited_ns - was.waited_ns)};
  }
  static double difference(const Change& one, const Change& other) {
    return std::abs(one.sent_ns - other.sent_ns) + std::abs(one.waited_ns - other.waited_ns);
  }
  [[nodiscard]] bool is_possible(const Network& network) const {
    const double ratio = picture(network).period / _usual.period / _wanted;
    return ratio < most_off && ratio * most_off > 1;
  }
  void try_network(std::vector<Cause> causes, Quantity quantity, const Network& network) {
    const Picture now = picture(network);
    const double left = _seen.looks_for_recovery ? misfit_of_recovery(now) : misfit(now);
    if (left >= _best.misfit * (_best.network.hosts.empty() ? 1 : clearly_less)) return;
    _best = {std::move(causes), quantity, network, left};
  }
  /// Tries as much of a change as makes the simulated calls take as long as the observed ones.
  void try_causes(std::vector<Cause> causes, Quantity quantity) {
    const bool is_slower = _wanted > 1;
    const auto network_with = [&](double factor) {
      for (Cause& cause : causes) {
        cause.factor = is_slower ? factor : 1 / factor;
        const auto [from, to] = pair_of(cause);
        cause.excess_ns = 1e9 * _seen.network.latency(from, to).value() * (cause.factor - 1);
      }
      return changed(_seen.network, causes, quantity);
    };
    const auto is_enough = [&](double factor) {
      const double ratio = picture(network_with(factor)).period / _usual.period;
      return is_slower ? ratio >= _wanted : ratio <= _wanted;
    };
    if (_is_cancelled || !is_possible_at_all(network_with(most_factor))) return;
    double low = 1, high = most_factor;
    for (int i = 0; i < fit_steps; ++i) {
      const double middle = std::sqrt(low * high);
      (is_enough(middle) ? high : low) = middle;
    }
    const Network network = network_with(std::sqrt(low * high));
    if (is_possible(network)) try_network(causes, quantity, network);
  }
  /// Whether the largest change makes enough of a difference.
  [[nodiscard]] bool is_possible_at_all(const Network& network) const {
    const double ratio = picture(network).period / _usual.period;
    return _wanted > 1 ? ratio * most_off > _wanted : ratio < _wanted * most_off;
  }
  /// What trunks and the ports of hosts have is bandwidth; the latency between sites is theirs.
  [[nodiscard]] bool is_meant(const Cause& cause, Quantity quantity) const {
    if (quantity == Quantity::bandwidth) return true;
    return cause.what == What::sites || cause.what == What::pair ||
           (cause.what == What::trunk && _seen.network.sites.empty());
  }
  /// Returns two hosts on whose path it is.
  [[nodiscard]] std::pair<HostId, HostId> pair_of(const Cause& cause) const {
    for (HostId a = 0; a < _seen.network.size(); ++a)
      for (HostId b = 0; b < _seen.network.size(); ++b)
        if (a != b && cause.covers(_seen.network, a, b)) return {a, b};
    return {0, 0};
  }

  /// Returns what may have changed; what is more likely by itself comes first.
  [[nodiscard]] std::vector<std::vector<Cause>> candidates() const {
    std::vector<std::vector<Cause>> result;
    const Network& net = _seen.network;
    for (std::int32_t i = 0; i < std::ssize(net.trunks); ++i)
      result.push_back({{.what = What::trunk, .from = i}});
    for (std::int32_t a = 0; a < std::ssize(net.sites); ++a)
      for (std::int32_t b = 0; b < std::ssize(net.sites); ++b)
        if (a != b) result.push_back({{.what = What::sites, .from = a, .to = b}});
    const auto hosts = suspicious_hosts();
    for (const HostId host : hosts)
      result.push_back({{.what = What::egress, .from = host}, {.what = What::ingress, .from = host}});
    for (const HostId host : hosts)
      for (const What what : {What::egress, What::ingress})
        result.push_back({{.what = what, .from = host}});
    for (const auto& [from, to] : suspicious_pairs())
      result.push_back({{.what = What::pair, .from = from, .to = to}});
    return result;
  }
  [[nodiscard]] std::pair<HostId, HostId> hosts_of(const Change& change) const {
    const std::size_t pair = change.at / PairTimes::classes;
    return {_seen.hosts[pair / _seen.hosts.size()], _seen.hosts[pair % _seen.hosts.size()]};
  }
  /// Returns the hosts whose messages changed most, at most 16.
  [[nodiscard]] std::vector<HostId> suspicious_hosts() const {
    constexpr std::size_t most_hosts = 16;
    std::vector<std::pair<double, HostId>> sums;
    for (const HostId host : _seen.hosts)
      sums.emplace_back(0, host);
    for (const Change& change : _changes) {
      const auto [from, to] = hosts_of(change);
      sums[_place[index(from)]].first -= change.size();
      sums[_place[index(to)]].first -= change.size();
    }
    std::ranges::sort(sums);
    std::vector<HostId> hosts;
    for (const auto& [sum, host] : sums)
      if (sum < 0 && hosts.size() < most_hosts) hosts.push_back(host);
    return hosts;
  }
  [[nodiscard]] std::vector<std::pair<HostId, HostId>> suspicious_pairs() const {
    std::vector<Change> changes = _changes;
    std::ranges::stable_sort(changes, std::ranges::greater(), &Change::size);
    std::vector<std::pair<HostId, HostId>> pairs;
    for (const Change& change : changes) {
      if (change.size() == 0 || pairs.size() == most_pairs) break;
      const auto pair = hosts_of(change);
      if (std::ranges::find(pairs, pair) == pairs.end()) pairs.push_back(pair);
    }
    return pairs;
  }

  const Observations& _seen;
  const std::atomic<bool>& _is_cancelled;
  std::vector<std::size_t> _place; ///< in Observations::hosts, by host
  const planner::Entry* _entry = nullptr;
  Picture _usual; ///< simulated on the network that is in force
  double _wanted = 1, _scale = 1, _all = 0;
  std::vector<Change> _changes;
  Explanation _best;
};

} // namespace

std::optional<Explanation> explain(const Observations& seen,
                                   const std::atomic<bool>& is_cancelled) {
  return Explainer(seen, is_cancelled).run();
}

} // namespace thalweg::runtime
