#pragma once

#include "network/network.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The emulated network: its description, and the switch that imposes it.
namespace thalweg::lab {

using network::HostId;
using units::Rate;
using units::Size;
using units::Time;

/// How many bytes each kind of queue holds before it drops new frames.
struct Queues {
  Size pair = 512'000;    ///< in front of a pair's rate
  Size trunk = 2'500'000; ///< in front of a trunk
  Size ingress = 512'000; ///< in front of a host
};

/// A change while the lab runs. Absent values stay as they are.
struct Change {
  Time at{};                        ///< since the lab was ready
  std::vector<HostId> from{}, to{}; ///< the pairs that `latency`, `bandwidth` and `loss` apply to
  std::optional<Time> latency{};
  std::optional<Rate> bandwidth{};
  std::optional<double> loss{};
  std::vector<HostId> hosts{}; ///< the hosts that `egress` and `ingress` apply to
  std::optional<Rate> egress{}, ingress{};
  std::optional<std::size_t> trunk{}; ///< index of the trunk that `capacity` applies to
  std::optional<Rate> capacity{};
};

inline constexpr int largest_dilation = 1000;

/// A network to emulate. Its rates count bytes of Ethernet frames without the check sequence.
struct Scenario {
  std::string name;
  double dilation = 1;
  network::Network network;
  Queues queues;
  double loss = 0;              ///< probability that a frame vanishes
  std::uint64_t seed = 1;       ///< for the losses
  std::vector<Change> timeline; ///< ascending in `at`
};

/// Reads and validates a scenario file (docs/scenario-file.md).
/// @throws std::invalid_argument naming the file, the place in it and the remedy
Scenario read_scenario(const std::filesystem::path& path);

/// Returns a scenario in plain numbers, as one JSON object: seconds, bytes per second (null:
/// unlimited), and hosts by their position. The programs around the switch read this, so that only
/// this module parses files.
std::string describe(const Scenario& scenario);

/// Returns the network that the switch imposes, in which everything takes `dilation` times as long.
/// Queues keep their bytes, and so last that much longer too.
Scenario dilated(Scenario scenario);

} // namespace thalweg::lab
