#include "probe/measurement.hpp"

#include "probe/bandwidth.hpp"
#include "probe/collectives.hpp"
#include "probe/costs.hpp"
#include "probe/latency.hpp"
#include "probe/outline.hpp"
#include "probe/rates.hpp"
#include "probe/sites.hpp"
#include "probe/transfer.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <map>
#include <utility>

namespace thalweg::probe {
namespace {

/// Bytes of a ping besides its content: Ethernet 14, IP 20, TCP 32, MPI about 30.
constexpr double header_bytes = 96;

std::string timestamp() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const auto length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

Matrix<Time> as_times(const Matrix<Estimate>& estimates) {
  Matrix<Time> times(estimates.size());
  const auto hosts = static_cast<HostId>(estimates.size());
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to)
      times(from, to) = Time(estimates(from, to).value);
  return times;
}

HostId nearest(const Latencies& latencies, HostId hosts) {
  HostId best = 1;
  for (HostId host = 2; host < hosts; ++host)
    if (latencies.round_trip(0, host) < latencies.round_trip(0, best)) best = host;
  return best;
}

/// Returns the time of a message from rank 0 to each host.
std::vector<Nanoseconds> distances(const Latencies& latencies, HostId hosts) {
  std::vector<Nanoseconds> result;
  for (HostId host = 0; host < hosts; ++host)
    result.push_back(static_cast<Nanoseconds>(latencies.one_way(0, host).value));
  return result;
}

Nanoseconds farthest(const Latencies& latencies, HostId hosts) {
  Nanoseconds longest = 0;
  for (HostId host = 1; host < hosts; ++host)
    longest = std::max(longest, latencies.round_trip(0, host));
  return longest;
}

/// What is usual between two sites, in nanoseconds; without a latency if they never met.
struct UsualLatency {
  double latency = 0, library = 0;
};
/// By site of the sender and of the receiver.
using UsualLatencies = Matrix<UsualLatency>;

/// Returns the medians of the pairs that met, by their sites.
UsualLatencies usual_latencies(const Latencies& latencies, const SiteOf& site, std::size_t sites) {
  const auto hosts = static_cast<HostId>(site.hosts());
  std::map<SitePair, std::vector<double>> seen, library;
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      if (latencies.one_way(from, to).value == 0) continue;
      const auto ends = site(Flow{from, to});
      seen[ends].push_back(latencies.one_way(from, to).value);
      library[ends].push_back(latencies.library(from, to));
    }
  UsualLatencies usual(sites);
  for (auto& [ends, values] : seen)
    usual(static_cast<HostId>(ends.first), static_cast<HostId>(ends.second)) = {
        median(std::move(values)), median(std::move(library[ends]))};
  return usual;
}

/// Returns what is usual where the latency is longest. O(sites²).
UsualLatency longest_of(const UsualLatencies& usual) {
  const auto sites = static_cast<HostId>(usual.size());
  UsualLatency longest;
  for (HostId from = 0; from < sites; ++from)
    for (HostId to = 0; to < sites; ++to)
      if (usual(from, to).latency > longest.latency) longest = usual(from, to);
  return longest;
}

/// Returns what to expect between two sites that never met: the shortest path over a third one; no
/// latency if there is none. O(sites).
UsualLatency detour(const UsualLatencies& usual, HostId from, HostId to) {
  const auto sites = static_cast<HostId>(usual.size());
  UsualLatency best;
  for (HostId over = 0; over < sites; ++over) {
    const auto &there = usual(from, over), &on = usual(over, to);
    if (there.latency == 0 || on.latency == 0) continue;
    const double latency = there.latency + on.latency;
    if (best.latency == 0 || latency < best.latency) best = {latency, there.library};
  }
  return best;
}

/// Gives pairs that never met the median of the same sites; the error stays infinite. Sites that
/// never met get a detour, or, without any, the longest of all that is known.
/// O(hosts² log hosts + sites³).
void infer_latency(Latencies& latencies, const Sites& sites) {
  const SiteOf site(sites);
  const auto hosts = static_cast<HostId>(site.hosts());
  const auto met = usual_latencies(latencies, site, sites.size());
  const auto longest = longest_of(met);
  auto all = met;
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      auto& value = latencies.one_way(from, to).value;
      if (from == to || value != 0) continue;
      const auto s = static_cast<HostId>(site(from)), t = static_cast<HostId>(site(to));
      auto& usual = all(s, t);
      if (usual.latency == 0) usual = detour(met, s, t);
      if (usual.latency == 0) usual = longest;
      value = usual.latency;
      latencies.library(from, to) = usual.library;
    }
}

/// Sets the network's own latency of a pair: the measured one minus the library's work at both ends
/// and the transfer time of the message's bits. At least a tenth of the measured one, in case the
/// costs are overestimated.
void set_latency(Network& network, const Coordinator& coordinator, const Latencies& latencies,
                 Flow pair) {
  const auto [from, to] = pair;
  const auto [seen, error] = latencies.one_way(from, to);
  const Time library = coordinator.undilated(latencies.library(from, to));
  const Time wire((header_bytes + ping_size) / network.bandwidth(from, to).value());
  const Time one_way = coordinator.undilated(seen);
  const Time latency = std::max(one_way - library - wire, one_way * 0.1);
  network.latency.set(from, to, latency);
  network.latency_error.set(from, to, static_cast<float>(error * (one_way / latency)));
}

void set_latency(Network& network, const Coordinator& coordinator, const Latencies& latencies) {
  const auto hosts = network.size();
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to)
      if (from != to) set_latency(network, coordinator, latencies, {from, to});
}

/// Gives ranks of one host an unlimited rate through memory, which isn't measured.
void set_diagonal(Network& network) {
  for (HostId host = 0; host < network.size(); ++host) {
    network.latency.set(host, host, Time(1e-6));
    network.bandwidth.set(host, host, Rate(5e9));
  }
}

Network blank(const Coordinator& coordinator) {
  const auto hosts = static_cast<std::size_t>(coordinator.hosts());
  Network network;
  for (int host = 0; host < coordinator.hosts(); ++host) {
    network.hosts.emplace_back();
    network.hosts.back().name = coordinator.name(host);
  }
  network.latency = network::HostPairs<Time>(Matrix<Time>(hosts));
  network.bandwidth = network::HostPairs<Rate>(Matrix<Rate>(hosts));
  network.latency_error = network.bandwidth_error =
      network::HostPairs<float>(Matrix<float>(hosts, 0));
  network.measured_at = timestamp();
  network.measured_with = "thalweg probe, " THALWEG_LIBRARY;
  set_diagonal(network);
  return network;
}

/// Gives the network's hosts the names that they call themselves, which may be spelled otherwise.
/// @throws OtherHosts if the network is not of the coordinator's hosts in their order
void take_names(const Coordinator& coordinator, Network& base) {
  const auto& names = coordinator.names();
  const auto& options = coordinator.options;
  std::string wrong = wrong_host(names, options.hosts, base);
  if (!wrong.empty()) {
    // Who wants pairs gives a file for the probe only, of which the user knows nothing.
    if (options.pairs.empty())
      wrong = "the hosts are not those of " + options.base + " in its order (" + wrong +
              "); probe them without --base";
    throw OtherHosts(wrong, names);
  }
  for (std::size_t rank = 0; rank < names.size(); ++rank)
    base.hosts[rank].name = names[rank];
}

/// Adds the latencies that a network has, on the wall clock, to the measured ones.
void complete(Latencies& latencies, const Coordinator& coordinator, const Network& base) {
  for (HostId from = 0; from < base.size(); ++from)
    for (HostId to = 0; to < base.size(); ++to)
      if (auto& value = latencies.one_way(from, to).value; from != to && value == 0)
        value = static_cast<double>(coordinator.dilated(base.latency(from, to)));
}

} // namespace

Network measure(Coordinator& coordinator, bool shared_clock) {
  Network network = blank(coordinator);
  const auto hosts = network.size();
  if (hosts == 1) return network.sites = {{0}}, network;

  auto latencies = measure_latency(coordinator, shared_clock, latency_ends);
  network.clock = latencies.shared_clock ? network::Clock::shared : network::Clock::none;
  network.sites = find_sites(as_times(latencies.one_way));
  infer_latency(latencies, network.sites);
  coordinator.report.note("sites found: " + std::to_string(network.sites.size()));
  const auto peer = nearest(latencies, hosts);
  const auto seen = static_cast<double>(latencies.round_trip(0, peer));
  const double library = latencies.library(0, peer) + latencies.library(peer, 0);
  const auto costs =
      measure_costs(coordinator, peer, static_cast<Nanoseconds>(std::max(seen - library, 0.0) / 2));
  network.message_costs[THALWEG_LIBRARY] = costs;
  LiveProber prober(coordinator, distances(latencies, hosts));
  const auto rates = measure_rates(prober, latencies, network.sites, costs.eager_limit);
  set_rates(network, rates, coordinator.options.dilation);
  const auto& bandwidths = rates.bandwidths;
  network.disturbance = {
      static_cast<std::int32_t>(std::max(latencies.repeated, bandwidths.repeated)),
      latencies.disturbance, bandwidths.disturbance};
  set_latency(network, coordinator, latencies);
  const Time spent = coordinator.spent();
  if (!latencies.shared_clock) align_clocks(coordinator); // they have drifted since the latencies
  network.native_times = measure_collectives(coordinator, farthest(latencies, hosts));
  coordinator.report.note("time taken: " + units::to_text(spent) + " by the network, " +
                          units::to_text(coordinator.spent() - spent) +
                          " by the MPI library's collectives");
  return network;
}

Network add_library(Coordinator& coordinator, bool shared_clock, Network base) {
  take_names(coordinator, base);
  if (base.size() == 1) return base;
  if (!shared_clock) align_clocks(coordinator);
  HostId peer = 1;
  Time longest{};
  for (HostId host = 1; host < base.size(); ++host) {
    if (base.latency(0, host) < base.latency(0, peer)) peer = host;
    longest = std::max(longest, base.latency(0, host));
  }
  base.message_costs[THALWEG_LIBRARY] =
      measure_costs(coordinator, peer, coordinator.dilated(base.latency(0, peer)));
  std::erase_if(base.native_times,
                [](const auto& native) { return native.library == THALWEG_LIBRARY; });
  for (auto& native : measure_collectives(coordinator, 2 * coordinator.dilated(longest)))
    base.native_times.push_back(std::move(native));
  return base;
}

Network measure_pairs(Coordinator& coordinator, bool shared_clock, Network base) {
  take_names(coordinator, base);
  const auto& pairs = coordinator.options.pairs;
  std::vector<Pair> meetings;
  for (const auto [from, to] : pairs) {
    if (std::max(from, to) >= base.size())
      throw Failure("pair " + std::to_string(from) + "-" + std::to_string(to) + ": there are " +
                    std::to_string(base.size()) + " hosts, from 0 on");
    meetings.push_back({from, to});
  }
  auto latencies = measure_latency(coordinator, shared_clock, rounds_of(meetings), latency_ends);
  const auto measured = latencies.one_way;
  complete(latencies, coordinator, base);
  const auto known = base.message_costs.find(THALWEG_LIBRARY);
  const Size eager_limit =
      (known != base.message_costs.end() ? known->second : network::MessageCost{}).eager_limit;
  const Sites sites = base.sites.empty() ? find_sites(as_times(latencies.one_way)) : base.sites;
  LiveProber prober(coordinator, distances(latencies, base.size()));
  BandwidthProbe probe(prober, latencies, sites, eager_limit);
  probe.measure_alone(pairs, disturbed_end);
  const auto bandwidths = probe.result();
  for (auto* error : {&base.latency_error, &base.bandwidth_error})
    if (error->size() == 0)
      *error = network::HostPairs<float>(Matrix<float>(static_cast<std::size_t>(base.size()), 0));
  for (const auto pair : pairs) {
    const auto [from, to] = pair;
    base.bandwidth_error.set(from, to, bandwidths.error(from, to));
    if (bandwidths.measured(from, to))
      base.bandwidth.set(from, to, coordinator.undilated(bandwidths.rate(from, to)));
    for (const Flow each : {pair, Flow{to, from}}) {
      if (measured(each.from, each.to).value != 0)
        set_latency(base, coordinator, latencies, each);
      else
        base.latency_error.set(each.from, each.to, std::numeric_limits<float>::infinity());
    }
  }
  base.measured_at = timestamp();
  return base;
}

} // namespace thalweg::probe
