#pragma once

#include "network/network.hpp"
#include "schedule/schedule.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

/// What tests of the executor make at random.
namespace thalweg::test {

using collective::ChunkId;
using collective::Rank;
using schedule::How;
using schedule::Range;
using schedule::Reg;
using schedule::Sink;
using schedule::Transfer;

/// Returns random block sizes, or equal ones.
inline std::vector<std::int64_t> random_blocks(ChunkId count, std::int64_t below,
                                               std::mt19937& random) {
  const bool equal = random() % 2 == 0;
  std::vector<std::int64_t> sizes;
  for (ChunkId i = 0; i < count; ++i)
    sizes.push_back(equal && i > 0 ? sizes.front() : static_cast<std::int64_t>(random()) % below);
  return sizes;
}

/// Hosts that are all alike, dealt out to sites, of which some may be empty.
inline network::Network random_sites(Rank hosts, std::mt19937& random) {
  network::Network net = network::even_network(hosts, units::Time(1e-3), units::Rate(1e7));
  net.sites.resize(1 + random() % 4);
  for (network::HostId host = 0; host < hosts; ++host)
    net.sites[random() % net.sites.size()].push_back(host);
  std::erase_if(net.sites, [](const auto& site) { return site.empty(); });
  return net;
}

/// Any transfers that read only what was written before: local ones, several ranges, two registers.
inline std::vector<Transfer> random_transfers(Rank ranks, ChunkId chunks, Sink& sink,
                                              std::mt19937& random) {
  const auto pick = [&](std::int32_t below) {
    return std::uniform_int_distribution<std::int32_t>(0, below - 1)(random);
  };
  std::map<std::pair<Rank, ChunkId>, bool> in_scratch, added;
  const int steps = 1 + pick(5);
  for (int step = 0; step < steps; ++step) {
    in_scratch.merge(added);
    for (int i = pick(3 * ranks); i > 0; --i) {
      const Rank from = pick(ranks), to = pick(ranks);
      std::vector<Range> what;
      std::vector<bool> taken(static_cast<std::size_t>(chunks));
      for (int ranges = 1 + pick(3); ranges > 0; --ranges) {
        Range range{pick(static_cast<std::int32_t>(chunks)), 1 + pick(3), 1 + pick(2)};
        bool fits = range.first + (range.count - 1) * range.stride < chunks;
        for (ChunkId j = 0; fits && j < range.count; ++j)
          fits = !taken[static_cast<std::size_t>(range.first + j * range.stride)];
        if (!fits) continue;
        for (ChunkId j = 0; j < range.count; ++j)
          taken[static_cast<std::size_t>(range.first + j * range.stride)] = true;
        what.push_back(range);
      }
      if (what.empty()) continue;
      Reg src = static_cast<Reg>(pick(2)), dst = static_cast<Reg>(pick(2));
      How how = static_cast<How>(pick(3));
      for (ChunkId chunk = 0; chunk < chunks; ++chunk) {
        if (!taken[static_cast<std::size_t>(chunk)]) continue;
        if (!in_scratch.contains({from, chunk})) src = 0;
        if (!in_scratch.contains({to, chunk}) && dst == 1) how = How::copy;
      }
      if (dst == 1)
        for (ChunkId chunk = 0; chunk < chunks; ++chunk)
          if (taken[static_cast<std::size_t>(chunk)]) added[{to, chunk}] = true;
      sink.add(from, to, step, how, what, src, dst);
    }
  }
  sink.sort();
  return sink.transfers();
}

} // namespace thalweg::test
