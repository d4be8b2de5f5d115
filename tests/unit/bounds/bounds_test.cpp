#include "../algorithms/networks.hpp"
#include "bounds/bounds.hpp"
#include "bounds/postal.hpp"
#include "bounds/windows.hpp"
#include "reference.hpp"
#include "schedule/verify.hpp"
#include "schedules.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <stdexcept>

namespace thalweg::bounds {
namespace {

using algorithms::Algorithm;
using algorithms::testing::named_hosts;
using algorithms::testing::random_network;
using algorithms::testing::random_placement;
using algorithms::testing::two_sites;
using collective::Kind;
using collective::Rank;
using doctest::Approx;
using network::HostId;
using network::Network;
using network::Placement;
using units::Rate;
using units::Size;

using collective::kinds;
constexpr double infinity = std::numeric_limits<double>::infinity();

Placement one_each(HostId hosts) {
  Placement placement(index(hosts));
  std::iota(placement.begin(), placement.end(), 0);
  return placement;
}

double time_of(Kind kind, const Network& network, Size size, Rank root = 0) {
  return bound({{.kind = kind, .ranks = network.size(), .root = root, .size = size},
                network,
                one_each(network.size())})
      .time.value();
}

// --- Known networks

TEST_CASE("two sites: a bcast needs its root's port and the trunk between them") {
  const Network network = two_sites();
  const double size = 8 << 20, port = 12.5e6, across = 1e-2;
  const Problem problem{{.kind = Kind::bcast, .ranks = 16, .size = 8 << 20}, network, one_each(16)};
  CHECK(bound(problem).time.value() == Approx(size / port + across));
  CHECK(bound(problem).time.value() == Approx(0.68).epsilon(0.01));
  CHECK(bound(problem).reason == "egress of host0, host0 -> host1: 8MiB / 100Mbps + 10ms latency");
  CHECK(time_of(Kind::reduce, network, 8 << 20, 5) == Approx(size / port + across));
}

TEST_CASE("the bound is finite, however much faster trunks are than ports") {
  for (const double times : {1e2, 1e9, 1e11, 1e12, 1e13}) {
    CAPTURE(times);
    Network network = two_sites(2);
    for (network::Host& host : network.hosts)
      host.egress = host.ingress = Rate(1e6);
    for (network::Trunk& trunk : network.trunks)
      trunk.capacity = Rate(1e6 * times);
    // Each of the other three hosts gets a megabyte through its port.
    for (const Kind kind : {Kind::bcast, Kind::allgather, Kind::allreduce}) {
      CAPTURE(collective::to_text(kind));
      const double time = time_of(kind, network, 1'000'000);
      CHECK(time >= 1);
      CHECK(time < 10);
    }
  }
}

TEST_CASE("two sites: an allreduce needs all ports twice, but for one of the hosts") {
  const Network network = two_sites();
  const double size = 8 << 20, port = 12.5e6, nearest = 1e-4;
  const Problem problem{
      {.kind = Kind::allreduce, .ranks = 16, .size = 8 << 20}, network, one_each(16)};
  CHECK(bound(problem).time.value() == Approx(2 * 15 * size / (16 * port) + nearest));
  CHECK(bound(problem).time.value() == Approx(1.27).epsilon(0.01));
  CHECK(bound(problem).reason == "egress of all 16 hosts: 30 x 8MiB / 1.6Gbps + 100us latency");
}

TEST_CASE("a byte needs the longest of the shortest paths") {
  Network network = two_sites();
  CHECK(time_of(Kind::bcast, network, 1) == Approx(1e-2).epsilon(1e-3));
  network.latency.set(0, 1, units::Time(1)); // 0 -> 2 -> 1 is shorter
  CHECK(time_of(Kind::bcast, network, 1) == Approx(1e-2 + 1e-4).epsilon(1e-3));
  const Bound small =
      bound({{.kind = Kind::allreduce, .ranks = 16, .size = 1}, network, one_each(16)});
  CHECK(small.time.value() == Approx(1e-2 + 1e-4).epsilon(1e-3));
}

TEST_CASE("a narrow trunk limits what crosses it") {
  Network network = two_sites();
  network.trunks[0].capacity = Rate(1e6);
  const Bound found =
      bound({{.kind = Kind::bcast, .ranks = 16, .size = 8'000'000}, network, one_each(16)});
  const double across = 1e-2;
  CHECK(found.time.value() == Approx(8 + across));
  CHECK(found.reason == "trunk west->east, host0 -> host1: 8MB / 8Mbps + 10ms latency");
  CHECK(time_of(Kind::reduce, network, 8'000'000, 1) == Approx(8 + across));
  CHECK(time_of(Kind::reduce, network, 8'000'000, 0) < 1);
  CHECK(time_of(Kind::allreduce, network, 8'000'000) == Approx(8 + across));
}

TEST_CASE("what a bcast cannot get from its root its hosts must send each other") {
  // Only the root is fast. Each of 7 others receives everything, and all send 10 + 7 per second.
  Network network = network::even_network(8, units::Time(0), Rate(100));
  for (network::Host& host : network.hosts)
    host.egress = Rate(1);
  network.hosts[0].egress = Rate(10);
  CHECK(time_of(Kind::bcast, network, 1000) == Approx(7 * 1000 / 17.0));
  for (network::Host& host : network.hosts)
    std::swap(host.egress, host.ingress);
  CHECK(time_of(Kind::reduce, network, 1000) == Approx(7 * 1000 / 17.0));
}

TEST_CASE("uncertain measurements weaken the bound") {
  Network network = named_hosts(2);
  network.latency.set(0, 1, units::Time(2));
  network.bandwidth.set(0, 1, Rate(1));
  network.latency_error = network.bandwidth_error = network::Matrix<float>(2, 0.5F);
  CHECK(time_of(Kind::bcast, network, 3) == Approx(3 / 1.5 + 1));
}

TEST_CASE("nothing to move, or no network to cross, takes no time") {
  const Network network = two_sites();
  for (const Kind kind : kinds) {
    CHECK(time_of(kind, network, 0) == Approx(kind == Kind::barrier ? 1e-2 : 0));
    const Bound local = bound({{.kind = kind, .ranks = 3, .size = 1 << 20}, network, {4, 4, 4}});
    CHECK(local.time == Time());
    CHECK(local.reason == "all ranks are on host4");
  }
}

TEST_CASE("hosts without ranks neither need the data nor pass it on") {
  Network network = two_sites();
  network.latency.set(0, 1, units::Time(1));
  CHECK(bound({{.kind = Kind::bcast, .ranks = 3, .size = 1}, network, {0, 1, 0}}).time.value() ==
        Approx(1));
}

// --- Blocks

/// A problem of one rank per host.
Problem on(const Network& network, collective::Collective collective,
           const std::string& library = {}) {
  collective.ranks = network.size();
  return algorithms::make_problem(std::move(collective), network, one_each(network.size()),
                                  library);
}

TEST_CASE("two sites: a scatter's far blocks leave first") {
  const Network network = two_sites();
  const double block = 1 << 20, port = 12.5e6;
  // 15 blocks leave the root, the 7 near ones last.
  const Bound scatter = bound(on(network, {.kind = Kind::scatter, .size = 1 << 20}));
  CHECK(scatter.time.value() == Approx(15 * block / port + 1e-4));
  CHECK(scatter.reason ==
        "egress of host0, host0 -> 15 hosts: 15 x 1MiB / 100Mbps + 100us latency");
  const Bound gather = bound(on(network, {.kind = Kind::gather, .root = 3, .size = 1 << 20}));
  CHECK(gather.time.value() == Approx(15 * block / port + 1e-4));
  CHECK(gather.reason ==
        "ingress of host3, 15 hosts -> host3: 15 x 1MiB / 100Mbps + 100us latency");
  // The farthest decide if blocks are small.
  CHECK(time_of(Kind::scatter, network, 100) == Approx(8 * 100 / port + 1e-2));
}

TEST_CASE("blocks of unequal sizes count as what they are, and those on the root's host don't") {
  const Network network = two_sites(2);
  const double port = 12.5e6;
  Problem problem{{.kind = Kind::gather,
                   .ranks = 6,
                   .root = 1,
                   .size = 1000,
                   .block_sizes = {1000, 0, 2000, 500, 1500, 1000}},
                  network,
                  {0, 1, 2, 3, 1, 3}};
  // Rank 4 is on the root's host 1; hosts 0, 2 are far, host 3 is near.
  CHECK(bound(problem).time.value() == Approx(3000 / port + 1e-2));
  problem.collective.kind = Kind::scatter;
  CHECK(bound(problem).time.value() == Approx(3000 / port + 1e-2));
  problem.collective.kind = Kind::allgather;
  // Host 3 gets 4500 bytes, 3000 of them from afar; host 1 3000 from afar; host 0 and 2 3000.
  CHECK(bound(problem).time.value() == Approx(3000 / port + 1e-2));
  for (Size& size : problem.collective.block_sizes)
    size *= 10000; // Now ports matter: host 0 gets all but 10 MB.
  CHECK(bound(problem).time.value() == Approx(50e6 / port + 1e-4));
}

TEST_CASE("a reduce_scatter isn't an allgather: seven hosts' blocks for one are one partial sum") {
  // Host 7 has a slow port: it gets one block of sums, but all others' blocks.
  Network network = network::even_network(8, units::Time(0), Rate(100));
  for (network::Host& host : network.hosts)
    host.egress = host.ingress = Rate(100);
  network.hosts[7].ingress = Rate(10);
  CHECK(time_of(Kind::allgather, network, 1000) == Approx(7 * 1000 / 10.0));
  CHECK(time_of(Kind::reduce_scatter, network, 1000) == Approx(1000 / 10.0));
  std::swap(network.hosts[7].ingress, network.hosts[7].egress);
  CHECK(time_of(Kind::allgather, network, 1000) == Approx(1000 / 10.0));
  CHECK(time_of(Kind::reduce_scatter, network, 1000) == Approx(7 * 1000 / 10.0));
}

TEST_CASE("an alltoall crosses between the sites, or leaves its hosts") {
  Network network = two_sites();
  const double block = 1 << 20;
  CHECK(time_of(Kind::alltoall, network, 1 << 20) == Approx(15 * block / 12.5e6 + 1e-4));
  network.trunks[1].capacity = Rate(12.5e6);
  const Bound found = bound(on(network, {.kind = Kind::alltoall, .size = 1 << 20}));
  CHECK(found.time.value() == Approx(64 * block / 12.5e6 + 1e-2));
  CHECK(found.reason ==
        "trunk east->west, host1 and 7 more -> 8 hosts: 64 x 1MiB / 100Mbps + 10ms latency");
}

TEST_CASE("a partition's parts gossip as hosts do") {
  // Four sites, each with one uplink for all: 6 messages leave 4 sites, whatever their hosts do.
  Network network = network::even_network(16, units::Time(0), Rate(1000));
  network.sites.clear();
  for (HostId site = 0; site < 4; ++site) {
    network::Trunk trunk{"up" + std::to_string(site), {}, {}, Rate(10)};
    network.sites.emplace_back();
    for (HostId host = 0; host < 16; ++host)
      (host / 4 == site ? trunk.from : trunk.to).push_back(host);
    network.sites.back() = trunk.from;
    network.trunks.push_back(trunk);
  }
  CHECK(time_of(Kind::allreduce, network, 1000) == Approx(6 * 1000 / 40.0));
  // Three sites get each block from others.
  CHECK(time_of(Kind::allgather, network, 1000) == Approx(3 * 16000 / 40.0));
  CHECK(time_of(Kind::reduce_scatter, network, 1000) == Approx(12000 / 10.0));
  CHECK(time_of(Kind::bcast, network, 1000) == Approx(1000 / 10.0));
  CHECK(bound(on(network, {.kind = Kind::allreduce, .size = 1000})).reason ==
        "egress of 4 groups of hosts: 6 x 1KB / 320bps");
}

TEST_CASE("what crosses a trunk waits for those around it, but for the first and the last") {
  // Two sites of 5 hosts, 1 s apart within a site and 10 s between, with a trunk of 100 bytes per
  // second in each direction. A byte that has to have come from a neighbour, or to go on to one,
  // can't use the trunk in the first second, or the last; those of a host itself may, for one of 5
  // hosts.
  const HostId each = 5;
  Network network = named_hosts(2 * each);
  for (HostId a = 0; a < 2 * each; ++a)
    for (HostId b = 0; b < 2 * each; ++b)
      if (a != b) network.latency.set(a, b, units::Time(a / each == b / each ? 1 : 10));
  network.trunks = {{"there", {0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}, Rate(100)},
                    {"back", {5, 6, 7, 8, 9}, {0, 1, 2, 3, 4}, Rate(100)}};
  const double wait = 1 - 1.0 / each;
  CHECK(time_of(Kind::allreduce, network, 1000) ==
        Approx(10 + 1000 / 100.0 + 2 * wait).epsilon(1e-3));
  CHECK(time_of(Kind::bcast, network, 1000) == Approx(10 + 1000 / 100.0 + wait).epsilon(1e-3));
  CHECK(time_of(Kind::reduce, network, 1000, 7) == Approx(10 + 1000 / 100.0 + wait).epsilon(1e-3));
  CHECK(time_of(Kind::allgather, network, 1000) ==
        Approx(10 + 5 * 1000 / 100.0 + wait).epsilon(1e-3));
  CHECK(time_of(Kind::reduce_scatter, network, 1000) ==
        Approx(10 + 5 * 1000 / 100.0 + wait).epsilon(1e-3));
}

// --- In the order of the ranks

TEST_CASE("a scan's data goes from each host to those with later ranks only") {
  Network network = named_hosts(3);
  for (network::Host& host : network.hosts)
    host.egress = host.ingress = Rate(100);
  network.hosts[0].ingress = network.hosts[2].egress = Rate(1);
  for (const Kind kind : {Kind::scan, Kind::exscan}) {
    CHECK(time_of(kind, network, 1000) == Approx(1000 / 100.0));
    // With a rank before and after all others, host 0 needs the others' data.
    const Problem wrapped{{.kind = kind, .ranks = 4, .size = 1000}, network, {0, 1, 2, 0}};
    CHECK(bound(wrapped).time.value() == Approx(1000 / 1.0));
    network.latency.set(2, 0, units::Time(5));
    CHECK(time_of(kind, network, 1) < 1);
    network.latency.set(2, 0, units::Time(0));
  }
}

TEST_CASE("as many results of a scan leave a set of hosts as ranks outside follow ranks in it") {
  Network network = named_hosts(3);
  for (network::Host& host : network.hosts)
    host.egress = host.ingress = Rate(100);
  const auto of = [&](Kind kind, const Placement& placement) {
    const auto ranks = static_cast<Rank>(placement.size());
    return bound({{.kind = kind, .ranks = ranks, .size = 1000}, network, placement}).time.value();
  };
  for (const Kind kind : {Kind::scan, Kind::exscan}) {
    CHECK(of(kind, {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}) == Approx(4 * 1000 / 100.0));
    CHECK(of(kind, {0, 0, 0, 1, 1, 1, 2, 2, 2}) == Approx(1000 / 100.0));
    // Between the sites {0} and {1, 2} there is a trunk, which three results cross.
    network.trunks = {{"out", {0}, {1, 2}, Rate(10)}};
    CHECK(of(kind, {0, 1, 0, 2, 0, 1}) == Approx(3 * 1000 / 10.0));
    network.trunks.clear();
  }
}

TEST_CASE("an exscan has no use for the sum of all ranks") {
  const Network network = named_hosts(2);
  const network::MessageCost cost{.combine_per_byte = units::Time(1e-3)};
  const auto of = [&](Kind kind, const Placement& placement) {
    const auto ranks = static_cast<Rank>(placement.size());
    return bound({{.kind = kind, .ranks = ranks, .size = 1000}, network, placement, cost})
        .time.value();
  };
  CHECK(of(Kind::exscan, {0, 1}) < 1e-3);
  CHECK(of(Kind::scan, {0, 1}) == Approx(1.0 / 2));
  CHECK(of(Kind::exscan, {0, 1, 0}) == Approx(1.0 / 3));
}

TEST_CASE("a barrier takes the longest of the shortest paths") {
  Network network = two_sites();
  CHECK(time_of(Kind::barrier, network, 0) == Approx(1e-2));
  network.latency.set(3, 4, units::Time(1)); // 3 -> 0 -> 4 is shorter
  CHECK(time_of(Kind::barrier, network, 0) == Approx(1e-2 + 1e-4));
}

// --- Messages' CPU time

/// Hosts whose messages cost `send` and `receive`, and take `latency` between.
Network postal_network(HostId hosts, double latency, double send, double receive) {
  Network network = network::even_network(hosts, units::Time(latency), Rate(1e12));
  network.message_costs["test"] = {.send = units::Time(send), .receive = units::Time(receive)};
  return network;
}

/// Returns how many hosts can have heard by t: 1 + those informed by each message begun in time,
/// which takes 1 time unit of sending and `hop` until it is in place.
int postal_hosts(int time, int hop) {
  int hosts = 1;
  for (int begun = 0; begun + hop <= time; ++begun)
    hosts += postal_hosts(time - hop - begun, hop);
  return hosts;
}

TEST_CASE("the postal bound is the optimal postal tree's time where hosts are equal") {
  for (int latency = 0; latency < 6; ++latency)
    for (int receive = 0; receive < 3; ++receive)
      for (const HostId hosts : {2, 3, 5, 8, 13, 17, 40}) {
        const Network network = postal_network(hosts, latency, 1, receive);
        int time = 0;
        while (postal_hosts(time, 1 + latency + receive) < hosts)
          ++time;
        CAPTURE(latency);
        CAPTURE(receive);
        CAPTURE(hosts);
        const collective::Collective bcast{.kind = Kind::bcast, .root = hosts - 1, .size = 1};
        CHECK(bound(on(network, bcast, "test")).time.value() == Approx(time));
        CHECK(bound(on(network, bcast, "other")).time.value() == Approx(latency));
        CHECK(bound(on(network, {.kind = Kind::barrier}, "test")).time.value() >=
              Approx(time).epsilon(1e-9));
      }
}

TEST_CASE("a reduction's postal bound counts what its receivers take") {
  // The root receives from 4 one after the other; to send first takes them longer than to receive.
  const Network network = postal_network(5, 10, 1, 3);
  CHECK(bound(on(network, {.kind = Kind::bcast, .size = 1}, "test")).time.value() ==
        Approx(1 + 10 + 3 + 3 * 1));
  const Bound reduce = bound(on(network, {.kind = Kind::reduce, .size = 1}, "test"));
  CHECK(reduce.time.value() == Approx(1 + 10 + 3 + 3 * 3));
  CHECK(reduce.reason == "postal, 4 hosts -> host0: 3s per message at its receiver");
}

TEST_CASE("far hosts hear late, and the near ones of each other") {
  // Two sites of 8: the second hears after 10 ms, all of it at about that time from the first.
  Network network = two_sites();
  network.message_costs["test"] = {.send = units::Time(1e-6), .receive = units::Time(2e-6)};
  const Bound found = bound(on(network, {.kind = Kind::bcast, .size = 1}, "test"));
  // The root alone can tell all 8, one per microsecond.
  CHECK(found.time.value() == Approx(1e-2 + 1e-6 + 2e-6 + 7e-6).epsilon(1e-9));
}

/// Returns the least time in which all hosts hear the news of those with a finite time, by trying
/// all orders of messages.
/// @param cores the host of each
/// @param sends when each core can begin to send
double least_hearing(const Network& network, const Placement& cores, std::vector<double> heard,
                     std::vector<double> sends, double send, double receive) {
  double least = infinity;
  for (HostId to = 0; to < network.size(); ++to)
    for (HostId from = 0; from < network.size() && heard[index(to)] == infinity; ++from) {
      if (heard[index(from)] == infinity) continue;
      std::vector<double> then = heard, free = sends;
      std::size_t first = cores.size();
      for (std::size_t core = 0; core < cores.size(); ++core)
        if (cores[core] == from && (first == cores.size() || free[core] < free[first]))
          first = core;
      free[first] += send;
      then[index(to)] = free[first] + network.latency(from, to).value() + receive;
      for (std::size_t core = 0; core < cores.size(); ++core)
        if (cores[core] == to) free[core] = then[index(to)];
      least = std::min(least, least_hearing(network, cores, then, free, send, receive));
    }
  return least < infinity ? least : *std::ranges::max_element(heard);
}

/// Compares the bounds of a bcast and a reduce with the best of all orders of messages, if each
/// rank has a core. Returns how many times as long the bcast's best order takes.
double compare_with_all_orders(const Network& network, const Placement& placement, HostId root) {
  const network::MessageCost& cost = network.message_costs.at("test");
  const double send = cost.send.value(), receive = cost.receive.value();
  std::vector<double> heard(index(network.size()), infinity);
  heard[index(root)] = 0;
  const std::vector<double> sends(placement.size(), 0);
  const auto bound_of = [&](Kind kind) {
    const auto rank = static_cast<Rank>(std::ranges::find(placement, root) - placement.begin());
    const auto ranks = static_cast<Rank>(placement.size());
    return bound(algorithms::make_problem({.kind = kind, .ranks = ranks, .root = rank, .size = 1},
                                          network, placement, "test"));
  };
  const Bound bcast = bound_of(Kind::bcast);
  const double best = least_hearing(network, placement, heard, sends, send, receive);
  CAPTURE(bcast.reason);
  CHECK(bcast.time.value() <= best * (1 + 1e-6)); // a byte's time
  // Backwards, receivers are busy as long as senders are.
  Network backwards = network;
  for (HostId a = 0; a < network.size(); ++a)
    for (HostId b = 0; b < network.size(); ++b)
      backwards.latency.set(a, b, network.latency(b, a));
  CHECK(bound_of(Kind::reduce).time.value() <=
        least_hearing(backwards, placement, heard, sends, receive, send) * (1 + 1e-6));
  return best / bcast.time.value();
}

TEST_CASE("no order of messages is faster than the postal bound") {
  std::mt19937 random(5), cores(7);
  double closeness = 0;
  const int networks = 150;
  for (int drawn = 0; drawn < networks; ++drawn) {
    const auto hosts = static_cast<HostId>(2 + random() % 5);
    Network network = named_hosts(hosts);
    network.sites.assign(1 + random() % 3, {});
    std::vector<std::size_t> site_of;
    for (HostId host = 0; host < hosts; ++host) {
      site_of.push_back(random() % network.sites.size());
      network.sites[site_of.back()].push_back(host);
    }
    std::erase_if(network.sites, [](const auto& site) { return site.empty(); });
    const auto far = static_cast<double>(random() % 20);
    for (HostId a = 0; a < hosts; ++a)
      for (HostId b = 0; b < hosts; ++b)
        network.latency.set(a, b,
                            units::Time(static_cast<double>(random() % 4) +
                                        (site_of[index(a)] == site_of[index(b)] ? 0 : far)));
    const double send = static_cast<double>(1 + random() % 4),
                 receive = static_cast<double>(random() % 4);
    network.message_costs["test"] = {.send = units::Time(send), .receive = units::Time(receive)};
    const auto root = static_cast<HostId>(random() % index(hosts));
    CAPTURE(drawn);
    closeness += compare_with_all_orders(network, one_each(hosts), root) / networks;
    Placement several;
    for (HostId host = 0; host < hosts; ++host)
      several.insert(several.end(), 1 + cores() % 3, host);
    CAPTURE(several.size());
    compare_with_all_orders(network, several, root);
  }
  CHECK(closeness < 1.08); // Latencies that differ so much are the hard case.
}

TEST_CASE("CPU time of bytes and of combining counts") {
  Network network = network::even_network(4, units::Time(0), Rate(1e12));
  network.message_costs["test"] = {.per_byte = units::Time(1), .combine_per_byte = units::Time(2)};
  // 3 hosts receive 100 bytes each, which leave others: 600 in and out of 4.
  CHECK(bound(on(network, {.kind = Kind::bcast, .size = 100}, "test")).time.value() ==
        Approx(600 / 4.0));
  // 3 x 100 bytes are combined, at 2 per byte, on 4 hosts.
  CHECK(bound(on(network, {.kind = Kind::reduce, .size = 100}, "test")).time.value() ==
        Approx(600 / 4.0));
  network.message_costs["test"].combine_per_byte = units::Time(4);
  CHECK(bound(on(network, {.kind = Kind::reduce, .size = 100}, "test")).time.value() ==
        Approx(1200 / 4.0));
}

TEST_CASE("many hosts are bounded too") {
  const Network network = two_sites(100); // more than cuts are looked for
  const double size = 8 << 20, port = 12.5e6;
  for (const Kind kind : kinds) {
    const double time = time_of(kind, network, kind == Kind::barrier ? 0 : 8 << 20, 0);
    CAPTURE(collective::to_text(kind));
    CHECK(time >= 1e-2);
    if (kind == Kind::bcast || kind == Kind::reduce) CHECK(time >= size / port + 1e-2);
    if (kind == Kind::allreduce) CHECK(time >= 2 * 199 * size / (200 * port));
    if (kind == Kind::allgather || kind == Kind::gather) CHECK(time >= 199 * size / port);
    if (kind == Kind::alltoall) CHECK(time >= 100 * 100 * size / 125e6);
  }
}

TEST_CASE("the only limit of many hosts may be a fast trunk") {
  const Rate unlimited = Rate::infinity();
  for (const double capacity : {1e6, 1e9, 1e12}) {
    CAPTURE(capacity);
    Network network = two_sites(100);
    network.bandwidth = network::Matrix<Rate>(200, unlimited);
    for (network::Host& host : network.hosts)
      host.egress = host.ingress = unlimited;
    network.trunks.resize(1);
    network.trunks[0].capacity = Rate(capacity);
    CHECK(time_of(Kind::bcast, network, 1'000'000'000) >= 1e9 / capacity);
    CHECK(time_of(Kind::allreduce, network, 1'000'000'000) >= 1e9 / capacity);
  }
}

// --- All cuts, one by one

TEST_CASE("the least time of windows") {
  CHECK(least_time({{2, 0}}, 10) == Approx(5));
  CHECK(least_time({{2, 3}, {2, 1}}, 10) == Approx(4.5)); // 3.5 · 2 + 1.5 · 2
  CHECK(least_time({{2, 9}, {2, 1}}, 10) == Approx(6));
  CHECK(least_time({{infinity, 7}, {1, 1}}, 10) == Approx(7));
  CHECK(least_time({{infinity, 70}, {1, 1}}, 10) == Approx(11));
  CHECK(least_time({}, 10) == infinity);
}

struct CutArc {
  int from, to;
  Window window;
};

/// Returns what a pair lets pass, or infinity where one of its ports lets pass no more.
double pair_capacity(const Network& network, HostId from, HostId to) {
  const Rate port = std::min(network.hosts[index(from)].egress, network.hosts[index(to)].ingress);
  const Rate rate = network.bandwidth(from, to);
  return rate < port ? rate.value() : infinity;
}

/// Returns the largest bound of any cut between two hosts, by trying all. Nodes: per host the host,
/// its egress and its ingress; two per trunk.
double largest_cut(const Network& network, HostId source, HostId sink, double size) {
  const HostId hosts = network.size();
  network::Matrix<double> distance(index(hosts));
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = 0; b < hosts; ++b)
      distance(a, b) = network.latency(a, b).value();
  for (int round = 0; round < hosts; ++round)
    for (HostId a = 0; a < hosts; ++a)
      for (HostId b = 0; b < hosts; ++b)
        for (HostId c = 0; c < hosts; ++c)
          distance(a, b) = std::min(distance(a, b), distance(a, c) + distance(c, b));
  const auto has = [](const std::vector<HostId>& group, HostId host) {
    return std::ranges::find(group, host) != group.end();
  };

  std::vector<CutArc> arcs;
  const auto through = [&](HostId a, HostId b) {
    return distance(source, a) + (a == b ? 0 : network.latency(a, b).value()) + distance(b, sink);
  };
  for (HostId a = 0; a < hosts; ++a) {
    arcs.push_back({3 * a, 3 * a + 1, {network.hosts[index(a)].egress.value(), through(a, a)}});
    arcs.push_back({3 * a + 2, 3 * a, {network.hosts[index(a)].ingress.value(), through(a, a)}});
    for (HostId b = 0; b < hosts; ++b) {
      const bool in_trunk = std::ranges::any_of(network.trunks, [&](const network::Trunk& trunk) {
        return has(trunk.from, a) && has(trunk.to, b);
      });
      if (a == b || in_trunk) continue;
      arcs.push_back({3 * a + 1, 3 * b + 2, {pair_capacity(network, a, b), through(a, b)}});
    }
  }
  int nodes = 3 * hosts;
  for (const network::Trunk& trunk : network.trunks) {
    double begin = infinity, end = infinity; // the trunk acts where data leaves its sender
    for (const HostId a : trunk.from) {
      begin = std::min(begin, distance(source, a));
      double least = infinity, pairs = 0;
      for (const HostId b : trunk.to) {
        least = std::min(least, through(a, b));
        pairs += pair_capacity(network, a, b);
        end = std::min(end, network.latency(a, b).value() + distance(b, sink));
      }
      arcs.push_back({3 * a + 1, nodes, {pairs, least}});
    }
    for (const HostId b : trunk.to) {
      double least = infinity, pairs = 0;
      for (const HostId a : trunk.from) {
        least = std::min(least, through(a, b));
        pairs += pair_capacity(network, a, b);
      }
      arcs.push_back({nodes + 1, 3 * b + 2, {pairs, least}});
    }
    arcs.push_back({nodes, nodes + 1, {trunk.capacity.value(), begin + end}});
    nodes += 2;
  }

  double largest = 0;
  for (std::uint32_t side = 0; side < std::uint32_t{1} << nodes; ++side) {
    const auto on_source_side = [&](int node) { return (side >> node & 1) != 0; };
    if (!on_source_side(3 * source) || on_source_side(3 * sink)) continue;
    std::vector<Window> cut;
    for (const CutArc& arc : arcs)
      if (on_source_side(arc.from) && !on_source_side(arc.to)) cut.push_back(arc.window);
    largest = std::max(largest, least_time(cut, size));
  }
  return largest;
}

TEST_CASE("the bound in one direction is that of the worst of all cuts") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Network network = random_network(2 + seed % 3, seed);
    // Trunks that share a pair of hosts are bounded from several graphs: another test's matter.
    if (network.trunks.size() > 1) network.trunks.pop_back();
    for (const Size size : {Size{1}, Size{3000}, Size{100'000}}) {
      // With two ranks all data goes in one direction. Others' ports and latencies don't count
      // then.
      double expected = 0;
      for (HostId host = 1; host < network.size(); ++host)
        expected = std::max(expected, largest_cut(network, 0, host, static_cast<double>(size)));
      const Bound found = bound({{.kind = Kind::bcast, .ranks = network.size(), .size = size},
                                 network,
                                 one_each(network.size())});
      CAPTURE(found.reason);
      if (found.reason.find("hosts: ") == std::string::npos) // else all ports together say more
        CHECK(found.time.value() == Approx(expected).epsilon(1e-6));
      CHECK(found.time.value() >= expected * (1 - 1e-6));
    }
  }
}

// --- No schedule is faster

/// Sizes of blocks, some of them 0; or none for blocks of equal sizes.
std::vector<Size> random_blocks(const collective::Collective& collective, std::mt19937& random) {
  std::vector<Size> sizes;
  if (collective.blocks() == 1 || random() % 2 == 0) return sizes;
  for (collective::ChunkId block = 0; block < collective.blocks(); ++block)
    sizes.push_back(random() % 3 == 0 ? 0
                                      : static_cast<Size>(random() % 2 * collective.size) +
                                            static_cast<Size>(random() % 1000));
  return sizes;
}

/// The reference model's results.
network::MessageCost random_cost(std::mt19937& random) {
  const auto time = [&] {
    return units::Time(2e-3 * static_cast<double>(random()) / 4294967296.0);
  };
  return {.send = time(), .receive = time()};
}

/// A problem's bounds, with and without message costs, and the times they are compared with.
class Opponent {
public:
  using Model = testing::ReferenceModel;
  Opponent(const Problem& problem, Model::Places places)
      : _problem(problem), _places(std::move(places)), _costly(bound(problem)) {
    Problem free = problem;
    free.cost = network::no_cost;
    _free = bound(free);
    CHECK(_costly.time.value() >= _free.time.value() * (1 - 1e-9));
  }
  void meet(const schedule::Schedule& schedule) const {
    CAPTURE(_free.reason);
    CAPTURE(_costly.reason);
    CHECK(_free.time.value() <= Model(_problem, _places).run(schedule) * (1 + 1e-9));
    CHECK(_costly.time.value() <=
          Model(_problem, _places, _problem.cost).run(schedule) * (1 + 1e-9));
  }

private:
  const Problem& _problem;
  Model::Places _places;
  Bound _free, _costly;
};

void check_schedules(const Network& network, const Placement& placement, Rank root, Size size,
                     std::uint32_t seed, const Opponent::Model::Places& places) {
  std::mt19937 random(seed);
  for (const Kind kind : kinds) {
    Problem problem = algorithms::make_problem({.kind = kind,
                                                .ranks = static_cast<Rank>(placement.size()),
                                                .root = collective::is_rooted(kind) ? root : 0,
                                                .size = kind == Kind::barrier ? 0 : size},
                                               network, placement, "test");
    problem.collective.block_sizes = random_blocks(problem.collective, random);
    const Opponent opponent(problem, places);
    CAPTURE(seed);
    CAPTURE(size);
    CAPTURE(collective::to_text(kind));
    for (const Algorithm* algorithm : algorithms::all()) {
      if (!algorithm->supports(kind) || !algorithm->can_do(problem.collective)) continue;
      CAPTURE(algorithm->name());
      for (const Size segment : {Size{0}, 1 + size / 16})
        opponent.meet(
            algorithms::expand(kind, algorithm->build(problem, {.segment_size = segment}), size));
    }
    for (const auto& toy : testing::simple_schedules(problem.collective, random)) {
      CAPTURE(toy.name);
      const schedule::Schedule schedule = schedule::test::to_schedule(toy);
      schedule::verify(problem.collective, schedule);
      opponent.meet(schedule);
    }
  }
}

TEST_CASE("no schedule is faster than its bound") {
  std::mt19937 random(3);
  for (std::uint32_t seed = 0; seed < test::share_of(80U, 16); ++seed) {
    const auto hosts = static_cast<HostId>(2 + random() % 8);
    const auto ranks = static_cast<Rank>(1 + random() % 12);
    Network network = random_network(hosts, seed);
    network.message_costs["test"] = random_cost(random);
    check_schedules(network, random_placement(ranks, hosts, seed),
                    static_cast<Rank>(random() % index(ranks)), Size{1} << random() % 22, seed,
                    Opponent::Model::draw_places(network, seed));
  }
}

TEST_CASE("a trunk between two groups may be near some hosts and far from others") {
  std::mt19937 random(5);
  for (std::uint32_t seed = 0; seed < test::share_of(20U, 10); ++seed) {
    const auto hosts = static_cast<HostId>(2 + random() % 7);
    Network network = random_network(hosts, seed);
    network.trunks.clear();
    std::vector<double> to_trunk;
    for (HostId host = 0; host < hosts; ++host)
      to_trunk.push_back(1e-3 * static_cast<double>(random() % 20));
    network::Trunk there{"there", {}, {}, Rate(1e6)}, back{"back", {}, {}, Rate(2e6)};
    for (HostId host = 0; host < hosts; ++host)
      (host % 2 == 0 ? there.from : there.to).push_back(host);
    back.from = there.to;
    back.to = there.from;
    for (const HostId a : there.from)
      for (const HostId b : there.to) {
        network.latency.set(a, b, units::Time(to_trunk[index(a)] + to_trunk[index(b)]));
        network.latency.set(b, a, network.latency(a, b));
      }
    network.trunks = {there, back};
    check_schedules(network, one_each(hosts), static_cast<Rank>(random() % index(hosts)),
                    Size{1} << random() % 18, seed, {to_trunk, to_trunk});
  }
}

TEST_CASE("two sites: a chain and a ring come close to the bounds") {
  const Network network = two_sites();
  const Size size = 8'000'000;
  const auto ratio = [&](Kind kind, const char* name, Size segment) {
    const Problem problem{{.kind = kind, .ranks = 16, .size = size}, network, one_each(16)};
    const algorithms::Skeleton skeleton =
        algorithms::find(name).build(problem, {.segment_size = segment});
    return testing::ReferenceModel(problem, 1).run(algorithms::expand(kind, skeleton, size)) /
           bound(problem).time.value();
  };
  CHECK(ratio(Kind::bcast, "pipelined-chain", 16384) < 1.1);
  CHECK(ratio(Kind::allreduce, "pipelined-chain", 16384) < 1.2);
  CHECK(ratio(Kind::allreduce, "ring", 16 * 32768) < 1.2);
  CHECK(ratio(Kind::allreduce, "rabenseifner", 2 * 61440) < 1.3);
}

} // namespace
} // namespace thalweg::bounds
