#pragma once

#include "network/network.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

/// Nested groups of hosts by closeness. Source: Gong, He, Zhong: Network Performance Aware MPI
/// Collective Communication Operations in the Cloud ("CMPI"), sections 4.1 and 4.2;
/// docs/decisions/0012-hierarchy.md says how its ambiguous places are read.
namespace thalweg::network {

/// A level for each pair: the better the link, the lower. Zero on the diagonal.
using Levels = Matrix<std::int32_t>;

/// How levels grow with a value x, given the least value of different hosts and the base k.
enum class Scale : std::uint8_t {
  linear,      ///< floor(x / (k least)), as in section 3.2 of the paper
  logarithmic, ///< floor(log_k(x / least)): each level is worse than the one below by a factor k
};

constexpr auto names_of(Scale /*scale*/) {
  return std::to_array<std::string_view>({"linear", "logarithmic"});
}
/// @throws std::invalid_argument naming both
Scale parse_scale(std::string_view text);

/// Returns the level of each value; zeros have level 0, and levels end at 2^30. `base` at least
/// 1.01. O(hosts²).
Levels discretise(const HostPairs<Time>& values, double base, Scale scale = Scale::linear);
/// Does the same for rates: the highest has level 0.
Levels discretise(const HostPairs<Rate>& values, double base, Scale scale = Scale::linear);
/// Returns the network performance matrix M: transfer times of `size` bytes, discretised.
Levels performance(const Network& network, Size size, double base, Scale scale = Scale::linear);

/// Returns the share of pairs of hosts whose two directions have different levels; 0 if there are
/// no pairs.
double asymmetric_share(const Levels& levels);
/// Returns these shares for a network's latencies and bandwidths, of any number of hosts.
/// O(classes² levels).
std::pair<double, double> asymmetric_shares(const Network& network, double base,
                                            Scale scale = Scale::linear);

/// How groups are made more equal in size.
enum class Adjust : std::uint8_t {
  close,   ///< a member moves only to where it is close to all
  printed, ///< as the paper prints it: the largest group gives to the smallest, near or far
};

constexpr auto names_of(Adjust /*adjust*/) {
  return std::to_array<std::string_view>({"close", "printed"});
}
/// @throws std::invalid_argument naming both
Adjust parse_adjust(std::string_view text);

struct HierarchyOptions {
  Size size = 1'000'000;      ///< bytes of the messages of M
  double base = 4;            ///< k, at least 1.01
  std::int32_t most_span = 1; ///< T_span: how many hosts the groups of a level may differ by
  Adjust adjust = Adjust::close;
  Scale scale = Scale::linear;
};

using HostGroup = std::vector<HostId>; ///< ascending

/// One level: groups that together contain all hosts.
struct Grouping {
  std::int32_t boundary =
      0; ///< b: no link inside a group has a higher level in M, in either direction
  std::vector<HostGroup> groups; ///< by their first host
  bool operator==(const Grouping&) const = default;
};

/// Groups of a level are unions of groups of the level below. The lowest level has one group per
/// host, the highest a single group.
class Hierarchy {
public:
  /// Keeps groups that the network declares whole, as groups of some level. Without such groups
  /// each level has at most half as many groups as the one below. O(hosts² · levels).
  /// @throws std::invalid_argument if base < 1.01 or most_span < 0
  explicit Hierarchy(const Network& network, const HierarchyOptions& options = {});

  [[nodiscard]] const std::vector<Grouping>& levels() const { return _levels; }
  /// Returns the level of the lowest common group: 0 for a host and itself.
  [[nodiscard]] std::int32_t distance(HostId a, HostId b) const;
  /// Returns the index of the host's group in a level.
  [[nodiscard]] std::size_t group_of(std::size_t level, HostId host) const {
    return _group_of[level][static_cast<std::size_t>(host)];
  }

private:
  std::vector<Grouping> _levels;
  std::vector<std::vector<std::size_t>> _group_of; ///< by level and host
};

/// Returns the class of each group of each level, by level and group: the class of the links
/// between the groups below it. A class that the network declares for exactly these hosts counts;
/// otherwise the median latency of the links whose ends are at the level's distance decides: up to
/// 0.2 ms a cluster, up to 1 ms a LAN, above a WAN. A WAN is light if these links are alike: none
/// has more than twice the latency of another. Inside a group with a declared class a WAN has the
/// declared kind, and nothing is above the declared class; no group is below one that it contains.
/// Source: Park et al.: HLOT, section 3.3.
std::vector<std::vector<NetworkClass>> group_classes(const Hierarchy& hierarchy,
                                                     const Network& network);

/// Returns the class of each level: the highest of its groups.
std::vector<NetworkClass> classes(const Hierarchy& hierarchy, const Network& network);

} // namespace thalweg::network
