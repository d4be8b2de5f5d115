#pragma once

#include "probe/latencies.hpp"
#include "probe/prober.hpp"
#include "simulator/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

/// A network that answers a probe's questions as live hosts would.
namespace thalweg::probe::simulated {

/// A capacity that the flows of any pairs share.
struct Link {
  std::string name;
  network::Matrix<char> carries;
  Rate capacity;
};

/// The truth about a network. Host capacities are those of many flows; `rate` is that of one flow
/// as far as its own path limits it.
struct Topology {
  std::string name;
  network::Matrix<Time> latency;
  network::Matrix<Rate> rate;
  std::vector<Rate> egress, ingress;
  std::vector<Link> links;
  bool shared = false; ///< whether it was drawn with links that several hosts fill

  [[nodiscard]] HostId hosts() const { return static_cast<HostId>(egress.size()); }
};

/// Returns the flows' rates: max-min fair.
inline std::vector<Rate> shares(const Topology& truth, std::span<const Flow> flows,
                                std::span<const Rate> limits) {
  using simulator::MaxMin;
  using simulator::PortId;
  const auto hosts = static_cast<PortId>(truth.hosts());
  std::vector<double> capacities;
  for (const auto* rates : {&truth.egress, &truth.ingress})
    for (Rate rate : *rates)
      capacities.push_back(rate.value());
  for (const auto& link : truth.links)
    capacities.push_back(link.capacity.value());
  std::vector<std::vector<PortId>> paths;
  for (auto [from, to] : flows) {
    auto& path = paths.emplace_back(std::vector<PortId>{from, hosts + to});
    for (std::size_t l = 0; l < truth.links.size(); ++l)
      if (truth.links[l].carries(from, to) != 0)
        path.push_back(static_cast<PortId>(2 * static_cast<std::size_t>(hosts) + l));
  }
  MaxMin sharing(capacities, flows.size());
  for (std::size_t f = 0; f < flows.size(); ++f)
    sharing.add(static_cast<MaxMin::FlowId>(f), limits[f].value(), paths[f]);
  sharing.solve();
  std::vector<Rate> rates;
  for (std::size_t f = 0; f < flows.size(); ++f)
    rates.emplace_back(sharing.rate(static_cast<MaxMin::FlowId>(f)));
  return rates;
}

/// Moves bytes by max-min fair shares, a few percent off each time, on a clock of its own.
class SimulatedProber : public Prober {
public:
  /// @param noise standard deviation of a flow's rate, relative
  /// @param begin what of the budget is spent already
  SimulatedProber(const Topology& truth, Time budget, double noise, unsigned seed, Time begin = {})
      : _truth(truth), _budget(budget), _noise(noise), _random(seed),
        _clock(static_cast<Nanoseconds>(begin.value() * 1e9)) {}

  [[nodiscard]] HostId hosts() const override { return _truth.hosts(); }
  [[nodiscard]] double dilation() const override { return 1; }
  std::vector<FlowArrivals> transfer(std::span<const Burst> bursts,
                                     const std::string& what) override;
  [[nodiscard]] Nanoseconds clock() const override { return _clock; }
  [[nodiscard]] Nanoseconds deadline(double share) const override {
    return static_cast<Nanoseconds>(_budget.value() * share * 1e9);
  }
  void progress(const std::string& /*phase*/, std::size_t /*done*/,
                std::size_t /*total*/) override {}
  void note(const std::string& text) override { notes.push_back(text); }

  std::map<std::string, Nanoseconds> spent; ///< by what for
  /// The fraction of flows that something outside the network slows to a fifth to four fifths.
  double stray = 0;
  /// Whether a flow whose acknowledgements wait in the queue of a link that several flows fill gets
  /// less: down to a fifth.
  bool crossed = false;
  /// Whether TCP shares ports and links as unfairly as it may between round trips of different
  /// length: a flow whose round trip is longer than another's gets less than its share, down to a
  /// fifth.
  bool unfair = false;
  std::size_t runs = 0;
  std::vector<std::string> notes;

private:
  struct Stream {
    double bytes = 0, done = 0; ///< to send, sent
    Nanoseconds begin = 0, stop = 0, latency = 0;
    bool running = true;
  };
  [[nodiscard]] Rate noisy(Rate rate) {
    return rate * std::max(0.5, 1 + std::normal_distribution<>(0, _noise)(_random));
  }
  void slow_crossed(const Topology& truth, std::span<const Flow> flows, std::span<Rate> limits);
  void slow_far(const Topology& truth, std::span<const Flow> flows, std::span<Rate> limits);
  static void arrive(const Stream& stream, double rate, Nanoseconds now, double before,
                     FlowArrivals& received);

  const Topology& _truth;
  Time _budget;
  double _noise;
  std::mt19937 _random;
  Nanoseconds _clock;
};

/// Records the messages whose last byte is sent at a rate that holds from `now` on.
inline void SimulatedProber::arrive(const Stream& stream, double rate, Nanoseconds now,
                                    double before, FlowArrivals& received) {
  const auto size = static_cast<double>(received.message);
  while ((static_cast<double>(received.arrivals.size()) + 1) * size <= stream.done + 1e-3) {
    const double last = (static_cast<double>(received.arrivals.size()) + 1) * size;
    received.arrivals.push_back(now + static_cast<Nanoseconds>((last - before) / rate * 1e9) +
                                stream.latency);
  }
}

inline void SimulatedProber::slow_crossed(const Topology& truth, std::span<const Flow> flows,
                                          std::span<Rate> limits) {
  const auto rates = shares(truth, flows, limits);
  std::vector<bool> slow(flows.size());
  for (const auto& link : truth.links) {
    Rate carried(0);
    int count = 0;
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (link.carries(flows[f].from, flows[f].to) != 0) carried += rates[f], ++count;
    if (count < 2 || carried < link.capacity * 0.99) continue;
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (link.carries(flows[f].to, flows[f].from) != 0) slow[f] = true;
  }
  for (std::size_t f = 0; f < flows.size(); ++f)
    if (slow[f]) limits[f] = rates[f] * std::uniform_real_distribution<>(0.2, 1)(_random);
}

inline void SimulatedProber::slow_far(const Topology& truth, std::span<const Flow> flows,
                                      std::span<Rate> limits) {
  constexpr double longer = 1.5, nearly = 0.95;
  const auto rates = shares(truth, flows, limits);
  const auto trip = [&](Flow flow) {
    return truth.latency(flow.from, flow.to) + truth.latency(flow.to, flow.from);
  };
  for (std::size_t f = 0; f < flows.size(); ++f)
    for (std::size_t g = 0; g < flows.size(); ++g) {
      const bool meet = flows[f].from == flows[g].from || flows[f].to == flows[g].to;
      const bool share = std::ranges::any_of(truth.links, [&](const Link& link) {
        return link.carries(flows[f].from, flows[f].to) != 0 &&
               link.carries(flows[g].from, flows[g].to) != 0;
      });
      if (!(meet || share) || rates[f] >= limits[f] * nearly ||
          trip(flows[f]) < trip(flows[g]) * longer)
        continue;
      limits[f] = rates[f] * std::uniform_real_distribution<>(0.2, 1)(_random);
      break;
    }
}

inline std::vector<FlowArrivals> SimulatedProber::transfer(std::span<const Burst> bursts,
                                                           const std::string& what) {
  std::vector<FlowArrivals> received(bursts.size());
  std::vector<Stream> streams;
  std::vector<Flow> flows;
  std::vector<Rate> limits;
  const auto start = _clock;
  Nanoseconds now = start, farthest = 0;
  Topology truth = _truth; // its capacities vary from run to run, too
  for (auto& link : truth.links)
    link.capacity = noisy(link.capacity);
  for (std::size_t b = 0; b < bursts.size(); ++b) {
    const auto from = static_cast<HostId>(bursts[b].from), to = static_cast<HostId>(bursts[b].to);
    const auto latency = static_cast<Nanoseconds>(_truth.latency(from, to).value() * 1e9);
    received[b].message = bursts[b].size;
    streams.push_back(
        {static_cast<double>(bursts[b].count * bursts[b].size), 0, start,
         bursts[b].limit > 0 ? start + bursts[b].limit : std::numeric_limits<Nanoseconds>::max(),
         latency, true});
    flows.push_back({from, to});
    limits.push_back(noisy(_truth.rate(from, to)));
    if (stray > 0 && std::bernoulli_distribution(stray)(_random))
      limits.back() = limits.back() * std::uniform_real_distribution<>(0.2, 0.8)(_random);
    farthest = std::max(farthest, latency);
  }
  if (crossed) slow_crossed(truth, flows, limits);
  if (unfair) slow_far(truth, flows, limits);
  std::vector<std::size_t> open(bursts.size());
  for (std::size_t b = 0; b < open.size(); ++b)
    open[b] = b;
  while (!open.empty()) {
    std::vector<Flow> running;
    std::vector<Rate> allowed;
    for (auto b : open)
      running.push_back(flows[b]), allowed.push_back(limits[b]);
    const auto rates = shares(truth, running, allowed);
    double next = std::numeric_limits<double>::infinity(); // seconds
    for (std::size_t k = 0; k < open.size(); ++k) {
      const auto& stream = streams[open[k]];
      next = std::min({next, (stream.bytes - stream.done) / rates[k].value(),
                       static_cast<double>(stream.stop - now) * 1e-9});
    }
    for (std::size_t k = 0; k < open.size(); ++k) {
      auto& stream = streams[open[k]];
      const double before = stream.done;
      stream.done += next * rates[k].value();
      arrive(stream, rates[k].value(), now, before, received[open[k]]);
    }
    now += static_cast<Nanoseconds>(std::ceil(next * 1e9));
    std::erase_if(open, [&](std::size_t b) {
      return streams[b].done >= streams[b].bytes - 1e-3 || now >= streams[b].stop;
    });
  }
  constexpr Nanoseconds ordering = 30'000; // for an order to a rank and its reply
  _clock = now + 2 * farthest + ordering * static_cast<Nanoseconds>(2 * bursts.size());
  spent[what] += _clock - start;
  ++runs;
  return received;
}

/// Returns what a probe would know about latencies.
inline Latencies latencies_of(const Topology& truth) {
  Latencies result;
  const auto hosts = static_cast<std::size_t>(truth.hosts());
  result.one_way = network::Matrix<Estimate>(hosts);
  result.library = network::Matrix<double>(hosts);
  for (HostId a = 0; a < truth.hosts(); ++a)
    for (HostId b = 0; b < truth.hosts(); ++b)
      if (a != b) result.one_way(a, b) = {truth.latency(a, b).value() * 1e9, 0.01};
  return result;
}

} // namespace thalweg::probe::simulated
