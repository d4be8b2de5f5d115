#pragma once

#include "network/network.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// What needn't be looked at host by host, since hosts are alike.
namespace thalweg::network {

/// What takes a number for each pair of hosts, such as a hierarchy, is made of no more hosts: it
/// would take gigabytes.
inline constexpr HostId most_hosts_in_matrices = 8192;

/// Hosts divided into classes: the pairs of hosts of two classes have one latency and one
/// bandwidth, likewise the pairs of two hosts of one class, and the hosts of a class with
/// themselves. Where all pairs are kept one by one, each host is a class.
struct HostClasses {
  std::vector<std::int32_t> of;             ///< by host
  std::vector<std::vector<HostId>> members; ///< by class, ascending; ordered by their first hosts
};

/// Without errors of measurement. O(hosts log hosts).
HostClasses host_classes(const Network& network);

/// Two hosts of each class, or its only one: among them is each kind of pair. Ascending.
std::vector<HostId> representatives(const HostClasses& classes);

/// A value, and how many ordered pairs of different hosts have it.
template <class T>
struct Counted {
  T value{};
  std::int64_t pairs = 0;
};

/// The values from each host of one group to each other host of another, each group without
/// repetitions. In no order; equal values may come apart. O(hosts of the groups, classes²,
/// exceptions); if all pairs are kept, O(pairs).
template <class T>
std::vector<Counted<T>> values_between(const HostPairs<T>& pairs, std::span<const HostId> from,
                                       std::span<const HostId> to);

/// The shares of the pairs of hosts whose two directions differ in level, of latencies and of
/// bandwidths (discretise(), hierarchy.hpp). O(classes² levels).
std::pair<double, double> asymmetric_shares(const Network& network, double base);

/// The trunks between hosts, found by what trunks hosts are behind. O(hosts in trunks) memory, and
/// what classes of such hosts have in common.
class TrunkSets {
public:
  explicit TrunkSets(const Network& network);
  /// Indices of the trunks that a flow crosses, ascending. O(1).
  [[nodiscard]] const std::vector<std::int32_t>& between(HostId from, HostId to) const {
    return _sets(class_of(from), class_of(to));
  }
  /// Hosts of one class are behind the same trunks as senders, and as receivers.
  [[nodiscard]] std::int32_t class_of(HostId host) const {
    return _class_of[static_cast<std::size_t>(host)];
  }

private:
  std::vector<std::int32_t> _class_of;     ///< by host
  Matrix<std::vector<std::int32_t>> _sets; ///< by classes
};

extern template std::vector<Counted<Time>>
values_between(const HostPairs<Time>&, std::span<const HostId>, std::span<const HostId>);
extern template std::vector<Counted<Rate>>
values_between(const HostPairs<Rate>&, std::span<const HostId>, std::span<const HostId>);

} // namespace thalweg::network
