#pragma once

#include "network/network.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// Computations by classes of equal hosts instead of host by host.
namespace thalweg::network {

/// The most hosts for results with a number for each pair, such as a hierarchy; more would take
/// gigabytes.
inline constexpr HostId most_hosts_in_matrices = 8192;

/// Hosts divided into classes: all pairs of hosts of two classes have one latency and one
/// bandwidth, and so have the pairs of two hosts of one class, and the hosts of a class with
/// themselves. If all pairs are kept one by one, each host is a class.
struct HostClasses {
  std::vector<std::int32_t> of;             ///< by host
  std::vector<std::vector<HostId>> members; ///< by class, ascending; ordered by their first hosts
};

/// Returns the classes without regard to errors of measurement. O(hosts log hosts).
HostClasses host_classes(const Network& network);

/// Returns two hosts of each class, or its only one, which have pairs of every kind. Ascending.
std::vector<HostId> representatives(const HostClasses& classes);

/// A value, and the number of ordered pairs of different hosts that have it.
template <class T>
struct Counted {
  T value{};
  std::int64_t pairs = 0;
};

/// Returns the values from each host of one group to each other host of another; neither group has
/// duplicates. Unordered; equal values may be separate. O(hosts of the groups, classes²,
/// exceptions); if all pairs are kept, O(pairs).
template <class T>
std::vector<Counted<T>> values_between(const HostPairs<T>& pairs, std::span<const HostId> from,
                                       std::span<const HostId> to);

/// Returns the median of at least one pair, of an even number the upper one. O(values), or O(values
/// log values) if some stand for several pairs.
Time median(std::vector<Counted<Time>> values);

/// The trunks between hosts, by classes of hosts behind the same trunks. Time and memory:
/// O(hosts in trunks), pairs of classes, and the common trunks of each pair.
class TrunkSets {
public:
  explicit TrunkSets(const Network& network);
  /// Returns the indices of the trunks that a flow crosses, ascending. O(1).
  [[nodiscard]] const std::vector<std::int32_t>& between(HostId from, HostId to) const {
    return _sets(class_of(from), class_of(to));
  }
  /// Returns the host's class: hosts of one class are behind the same trunks as senders, and as
  /// receivers.
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
