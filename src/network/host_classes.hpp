#pragma once

#include "network/network.hpp"

#include <algorithm>
#include <cstddef>
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

/// The trunks between hosts, by classes of hosts behind the same trunks. Pairs of classes that no
/// trunk joins take nothing. Memory: O(hosts in trunks), and the common trunks of each pair of
/// classes; time: these times their logarithm.
class TrunkSets {
public:
  explicit TrunkSets(const Network& network);
  /// Returns the indices of the trunks that a flow crosses, ascending. O(log(classes that the
  /// sender reaches through trunks)).
  [[nodiscard]] std::span<const std::int32_t> between(HostId from, HostId to) const {
    const std::span<const std::int32_t> all = _receivers;
    const std::size_t begin = _rows[index(class_of(from))], end = _rows[index(class_of(from)) + 1];
    const auto row = all.subspan(begin, end - begin);
    const auto found = std::ranges::lower_bound(row, class_of(to));
    if (found == row.end() || *found != class_of(to)) return {};
    const std::size_t pair = begin + index(found - row.begin());
    return std::span(_trunks).subspan(_begins[pair], _begins[pair + 1] - _begins[pair]);
  }
  /// Returns the host's class: hosts of one class are behind the same trunks as senders, and as
  /// receivers.
  [[nodiscard]] std::int32_t class_of(HostId host) const {
    return _class_of[static_cast<std::size_t>(host)];
  }

private:
  std::vector<std::int32_t> _class_of; ///< by host
  /// Where the pairs of a sending class begin in _receivers and _begins; the last one is the end.
  std::vector<std::size_t> _rows;
  std::vector<std::int32_t> _receivers; ///< receiving classes by pair, ascending within a row
  std::vector<std::size_t> _begins;     ///< of each pair's part of _trunks; the last one is the end
  std::vector<std::int32_t> _trunks;
};

extern template std::vector<Counted<Time>>
values_between(const HostPairs<Time>&, std::span<const HostId>, std::span<const HostId>);
extern template std::vector<Counted<Rate>>
values_between(const HostPairs<Rate>&, std::span<const HostId>, std::span<const HostId>);

} // namespace thalweg::network
