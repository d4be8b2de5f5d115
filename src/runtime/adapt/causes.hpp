#pragma once

#include "network/network.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// What of a network has changed, concluded from how messages between hosts compare with what was
/// expected of them. Pure functions.
namespace thalweg::runtime {

using network::HostId;
using network::Network;

/// How the messages from one host to another compare with what was expected.
struct PairChange {
  HostId from = 0, to = 0;
  double factor = 1;    ///< how many times as long they take
  double excess_ns = 0; ///< how much longer
};

/// What changed: all messages through it take another time, alike.
struct Cause {
  enum class What : std::uint8_t { trunk, sites, egress, ingress, pair };
  What what = What::pair;
  /// The hosts of a pair; a port's host is the first. Trunk and sites have numbers.
  std::int32_t from = 0, to = 0;
  double factor = 1, excess_ns = 0; ///< the medians of those that changed

  [[nodiscard]] bool covers(const Network& network, HostId from_host, HostId to_host) const;
};

enum class Quantity : std::uint8_t { bandwidth, latency };

/// Messages that take less than 1.25 times as long as expected, or more than 0.8 times, fit.
inline constexpr double least_change = 1.25;
/// More causes than this don't explain anything.
inline constexpr std::size_t most_causes = 4;

/// Returns the smallest set of causes, found greedily, that explains the strongest changes in the
/// direction that prevails: those of at least the square root of the strongest one. Weaker ones may
/// be their consequences, and are left for the next time.
///
/// A trunk, two sites or a port are a cause if at least two pairs through them were observed, three
/// quarters of these changed, one of them strongly, and no two of those by more than 16 times as
/// much as the other. What explains most comes first, and trunks before sites before ports where
/// they explain the same. A single pair stands for its host's port where nothing else through that
/// port is known to be as before: for the sender's, where both may be, since plans that relieve the
/// sender's port relieve the pair. Empty if nothing changed, or if more than most_causes are
/// needed. O(causes × pairs).
std::vector<Cause> find_causes(const Network& network, std::span<const PairChange> pairs);

/// Returns the network after the change of a quantity of all pairs that the causes cover. With the
/// bandwidth of a port or a trunk its capacity changes, too.
Network changed(const Network& network, std::span<const Cause> causes, Quantity quantity);

/// Returns the median; of an even number of values, the larger one of the middle two. At least one.
double median(std::vector<double> values);

/// Returns "trunk east-west", "the egress of a3", "from a3 to b0".
std::string to_text(const Network& network, const Cause& cause);

} // namespace thalweg::runtime
