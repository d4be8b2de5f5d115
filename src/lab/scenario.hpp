#pragma once

#include "network/network.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The emulated network: what it imposes, and the switch that does it.
namespace thalweg::lab {

using network::HostId;
using units::Rate;
using units::Size;
using units::Time;

/// How much each kind of queue holds before it drops at its tail.
struct Queues {
  Size pair = 512'000;    ///< in front of a pair's rate
  Size trunk = 2'500'000; ///< in front of a trunk
  Size ingress = 512'000; ///< in front of a host
};

/// Something that changes while the lab runs. Absent values stay as they are.
struct Change {
  Time at{};                        ///< since the lab was ready
  std::vector<HostId> from{}, to{}; ///< the pairs that `latency`, `bandwidth` and `loss` are for
  std::optional<Time> latency{};
  std::optional<Rate> bandwidth{};
  std::optional<double> loss{};
  std::vector<HostId> hosts{}; ///< the hosts that `egress` and `ingress` are for
  std::optional<Rate> egress{}, ingress{};
  std::optional<std::size_t> trunk{}; ///< index of the trunk that `capacity` is for
  std::optional<Rate> capacity{};
};

/// A network to emulate. Its rates count bytes of Ethernet frames without the check sequence.
struct Scenario {
  std::string name;
  double dilation = 1;
  network::Network network;
  Queues queues;
  double loss = 0;              ///< probability of each frame to vanish
  std::uint64_t seed = 1;       ///< of the losses
  std::vector<Change> timeline; ///< ascending in `at`
};

/// Reads and validates a scenario file (docs/scenario-file.md).
/// @throws std::invalid_argument naming the file, the place in it and what to do
Scenario read_scenario(const std::filesystem::path& path);

/// A scenario in plain numbers, as one JSON object: seconds, bytes per second (null: unlimited),
/// and hosts by their position. What the programs around the switch read, so that only this module
/// parses files.
std::string describe(const Scenario& scenario);

/// The network that the switch imposes: everything takes `dilation` times as long. Queues keep
/// their bytes, so that they too last that much longer.
Scenario dilated(Scenario scenario);

} // namespace thalweg::lab
