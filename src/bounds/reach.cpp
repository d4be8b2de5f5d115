#include "bounds/reach.hpp"

#include "units/index.hpp"

#include <algorithm>

namespace thalweg::bounds {
namespace {

network::Matrix<double> transpose(const network::Matrix<double>& matrix) {
  constexpr HostId block = 16; // Rows and columns of a block stay in the cache.
  network::Matrix<double> result(matrix.size());
  const auto size = static_cast<HostId>(matrix.size());
  for (HostId row = 0; row < size; row += block)
    for (HostId column = 0; column < size; column += block)
      for (HostId a = row; a < std::min(size, row + block); ++a)
        for (HostId b = column; b < std::min(size, column + block); ++b)
          result(b, a) = matrix(a, b);
  return result;
}

/// Dijkstra's algorithm on a dense matrix, O(hosts²). `latency(a, b)` is from the settled a to b.
template <class Latency>
Distances distances(HostId hosts, HostId source, Latency latency) {
  Distances distance(index(hosts), Reach::unlimited);
  std::vector<HostId> open(index(hosts));
  for (HostId host = 0; host < hosts; ++host)
    open[index(host)] = host;
  distance[index(source)] = 0;
  while (!open.empty()) {
    const auto nearest =
        std::ranges::min_element(open, {}, [&](HostId host) { return distance[index(host)]; });
    const HostId settled = *nearest;
    *nearest = open.back();
    open.pop_back();
    const double so_far = distance[index(settled)];
    for (const HostId host : open)
      distance[index(host)] = std::min(distance[index(host)], so_far + latency(settled, host));
  }
  return distance;
}

} // namespace

double error_of(const network::HostPairs<float>& errors, HostId from, HostId to) {
  return errors.size() == 0 ? 0 : static_cast<double>(errors(from, to));
}

Reach::Reach(const Problem& problem, const network::MessageCost& cost)
    : cpu(cost.per_byte.value() > 0 ? 1 / cost.per_byte.value() : unlimited),
      send(cost.send.value()), receive(cost.receive.value()),
      combine_per_byte(cost.combine_per_byte.value()) {
  const UsedHosts used(problem.network, problem.placement);
  add_hosts(problem, used);
  add_groups(problem.network, used.number);
  add_latencies(problem.network, used.hosts);
  for (HostId host = 0; host < size(); ++host) {
    egress[index(host)] = std::min(egress[index(host)], cores(host) * cpu);
    ingress[index(host)] = std::min(ingress[index(host)], cores(host) * cpu);
  }
  add_pairs(problem.network, used.hosts);
  find_distances();
}

void Reach::add_hosts(const Problem& problem, const UsedHosts& used) {
  for (HostId number = 0; number < used.size(); ++number) {
    const network::Host& host = problem.network.hosts[index(used.hosts[index(number)])];
    names.push_back(host.name);
    egress.push_back(host.egress.value());
    ingress.push_back(host.ingress.value());
    ranks.push_back(static_cast<std::int64_t>(used.ranks[index(number)].size()));
  }
  for (const HostId host : problem.placement)
    host_of_rank.push_back(used.number[index(host)]);
}

void Reach::add_groups(const network::Network& network, const std::vector<HostId>& number) {
  const auto in_use = [&](const std::vector<HostId>& group) {
    std::vector<HostId> mine;
    for (const HostId host : group)
      if (number[index(host)] != network::no_host) mine.push_back(number[index(host)]);
    return mine;
  };
  for (const network::Trunk& trunk : network.trunks) {
    Trunk mine{trunk.name, in_use(trunk.from), in_use(trunk.to), trunk.capacity.value()};
    if (!mine.from.empty() && !mine.to.empty()) trunks.push_back(std::move(mine));
  }
  for (const std::vector<HostId>& site : network.sites)
    if (std::vector<HostId> mine = in_use(site); !mine.empty()) sites.push_back(std::move(mine));
}

void Reach::add_latencies(const network::Network& network, const std::vector<HostId>& used) {
  latency = network::Matrix<double>(used.size());
  nearest_out.assign(used.size(), unlimited);
  nearest_in.assign(used.size(), unlimited);
  for (HostId a = 0; a < size(); ++a)
    for (HostId b = 0; b < size(); ++b) {
      if (a == b) continue;
      const HostId from = used[index(a)], to = used[index(b)];
      const double least = network.latency(from, to).value() *
                               (1 - std::min(error_of(network.latency_error, from, to), 1.0)) +
                           send + receive;
      latency(a, b) = least;
      nearest_out[index(a)] = std::min(nearest_out[index(a)], least);
      nearest_in[index(b)] = std::min(nearest_in[index(b)], least);
    }
}

void Reach::add_pairs(const network::Network& network, const std::vector<HostId>& used) {
  for (HostId a = 0; a < size(); ++a)
    for (HostId b = 0; b < size(); ++b) {
      if (a == b) continue;
      const HostId from = used[index(a)], to = used[index(b)];
      const double rate = network.bandwidth(from, to).value() *
                          (1 + error_of(network.bandwidth_error, from, to)) *
                          static_cast<double>(ranks[index(a)] * ranks[index(b)]);
      if (rate >= std::min(egress[index(a)], ingress[index(b)])) continue;
      if (pairs.size() == 0) pairs = network::Matrix<double>(used.size(), unlimited);
      pairs(a, b) = rate;
    }
}

void Reach::find_distances() {
  if (!is_small()) return;
  distance = latency;
  for (HostId via = 0; via < size(); ++via)
    for (HostId a = 0; a < size(); ++a)
      for (HostId b = 0; b < size(); ++b)
        distance(a, b) = std::min(distance(a, b), distance(a, via) + distance(via, b));
}

Reach Reach::transposed() const {
  Reach result;
  result.is_transposed = !is_transposed;
  result.names = names;
  result.egress = ingress;
  result.ingress = egress;
  result.cpu = cpu;
  result.send = receive;
  result.receive = send;
  result.combine_per_byte = combine_per_byte;
  result.latency = transpose(latency);
  result.nearest_out = nearest_in;
  result.nearest_in = nearest_out;
  for (const Trunk& trunk : trunks)
    result.trunks.push_back({trunk.name, trunk.to, trunk.from, trunk.capacity});
  result.sites = sites;
  result.host_of_rank = host_of_rank;
  result.ranks = ranks;
  result.pairs = transpose(pairs);
  result.distance = transpose(distance);
  return result;
}

double Reach::rate_out(HostId host) const {
  double sum = 0;
  for (HostId to = 0; to < size(); ++to)
    if (to != host) sum += between(host, to);
  return std::min(egress[index(host)], sum);
}

double Reach::rate_in(HostId host) const {
  double sum = 0;
  for (HostId from = 0; from < size(); ++from)
    if (from != host) sum += between(from, host);
  return std::min(ingress[index(host)], sum);
}

Distances Reach::distances_from(HostId host) const {
  if (distance.size() == 0)
    return distances(size(), host, [&](HostId a, HostId b) { return latency(a, b); });
  Distances result;
  for (HostId to = 0; to < size(); ++to)
    result.push_back(distance(host, to));
  return result;
}

Distances Reach::distances_to(HostId host) const {
  if (distance.size() == 0)
    return distances(size(), host, [&](HostId a, HostId b) { return latency(b, a); });
  Distances result;
  for (HostId from = 0; from < size(); ++from)
    result.push_back(distance(from, host));
  return result;
}

std::vector<double> Reach::block_bytes(const collective::Collective& collective) const {
  std::vector<double> bytes(index(size()));
  for (collective::Rank rank = 0; rank < collective.ranks; ++rank)
    bytes[index(host_of_rank[index(rank)])] += static_cast<double>(collective.block_size(rank));
  return bytes;
}

std::string Reach::path(HostId from, HostId to) const { return path(from, names[index(to)]); }

std::string Reach::path(HostId from, const std::string& to) const {
  return path(names[index(from)], to);
}

std::string Reach::path(const std::string& from, const std::string& to) const {
  return is_transposed ? to + " -> " + from : from + " -> " + to;
}

std::string Reach::egress_of(const std::string& hosts) const {
  return (is_transposed ? "ingress of " : "egress of ") + hosts;
}

std::string Reach::ingress_of(const std::string& hosts) const {
  return (is_transposed ? "egress of " : "ingress of ") + hosts;
}

} // namespace thalweg::bounds
