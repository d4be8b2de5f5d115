#include "network/host_classes.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace thalweg::network {
namespace {

/// Numbers keys in the order of their first appearance.
template <class Key>
class Numbers {
public:
  std::int32_t of(const Key& key) {
    return _known.try_emplace(key, static_cast<std::int32_t>(_known.size())).first->second;
  }
  [[nodiscard]] std::size_t size() const { return _known.size(); }

private:
  std::map<Key, std::int32_t> _known;
};

/// Returns how many hosts of a group are of each class.
std::vector<std::int64_t> count(std::span<const HostId> group,
                                const std::vector<std::int32_t>& class_of, std::size_t classes) {
  std::vector<std::int64_t> counts(classes);
  for (const HostId host : group)
    ++counts[index(class_of[index(host)])];
  return counts;
}

/// Returns the ends of trunks that each host is behind, ascending: twice the trunk's index, and one
/// more where it receives.
std::vector<std::vector<std::int32_t>> trunk_ends(const Network& network) {
  std::vector<std::vector<std::int32_t>> ends(network.hosts.size());
  for (std::size_t trunk = 0; trunk < network.trunks.size(); ++trunk) {
    const auto number = static_cast<std::int32_t>(2 * trunk);
    for (const HostId host : network.trunks[trunk].from)
      ends[index(host)].push_back(number);
    for (const HostId host : network.trunks[trunk].to)
      ends[index(host)].push_back(number + 1);
  }
  return ends;
}

} // namespace

HostClasses host_classes(const Network& network) {
  const auto latency = network.latency.classes(), bandwidth = network.bandwidth.classes();
  HostClasses classes;
  Numbers<std::pair<std::int32_t, std::int32_t>> numbers;
  for (HostId host = 0; host < network.size(); ++host) {
    const std::int32_t own = numbers.of({latency[index(host)], bandwidth[index(host)]});
    classes.of.push_back(own);
    classes.members.resize(numbers.size());
    classes.members[index(own)].push_back(host);
  }
  return classes;
}

std::vector<HostId> representatives(const HostClasses& classes) {
  std::vector<HostId> hosts;
  for (const auto& members : classes.members)
    hosts.insert(hosts.end(), members.begin(), members.begin() + (members.size() > 1 ? 2 : 1));
  std::ranges::sort(hosts);
  return hosts;
}

template <class T>
std::vector<Counted<T>> values_between(const HostPairs<T>& pairs, std::span<const HostId> from,
                                       std::span<const HostId> to) {
  std::vector<Counted<T>> values;
  if (pairs.is_dense()) {
    for (const HostId a : from)
      for (const HostId b : to)
        if (a != b) values.push_back({pairs(a, b), 1});
    return values;
  }
  const auto& [class_of, between, self] = pairs.blocks();
  std::vector<HostId> in_from(from.begin(), from.end()), in_to(to.begin(), to.end()), in_both;
  std::ranges::sort(in_from);
  std::ranges::sort(in_to);
  std::ranges::set_intersection(in_from, in_to, std::back_inserter(in_both));
  const auto sending = count(from, class_of, self.size()),
             receiving = count(to, class_of, self.size());
  const auto both = count(in_both, class_of, self.size());
  for (HostId a = 0; std::cmp_less(a, self.size()); ++a) {
    if (sending[index(a)] == 0) continue;
    for (HostId b = 0; std::cmp_less(b, self.size()); ++b)
      if (const std::int64_t number =
              sending[index(a)] * receiving[index(b)] - (a == b ? both[index(a)] : 0);
          number > 0)
        values.push_back({between(a, b), number});
  }
  for (const auto& [a, b, value] : pairs.exceptions())
    if (a != b && std::ranges::binary_search(in_from, a) && std::ranges::binary_search(in_to, b)) {
      values.push_back({between(class_of[index(a)], class_of[index(b)]), -1});
      values.push_back({value, 1});
    }
  return values;
}

Time median(std::vector<Counted<Time>> values) {
  std::int64_t pairs = 0;
  for (const auto& each : values)
    pairs += each.pairs;
  if (pairs == std::ssize(values) &&
      std::ranges::all_of(values, [](const auto& each) { return each.pairs == 1; })) {
    const auto middle = values.begin() + pairs / 2;
    std::ranges::nth_element(values, middle, {}, &Counted<Time>::value);
    return middle->value;
  }
  // Exceptions are taken off again from the regular value that they stand beside.
  std::ranges::sort(values, {}, &Counted<Time>::value);
  std::int64_t below = 0;
  for (std::size_t at = 0; at < values.size(); ++at) {
    below += values[at].pairs;
    const bool is_last = at + 1 == values.size() || values[at + 1].value != values[at].value;
    if (is_last && below > pairs / 2) return values[at].value;
  }
  return values.back().value;
}

TrunkSets::TrunkSets(const Network& network) : _class_of(network.hosts.size()) {
  const auto ends = trunk_ends(network);
  Numbers<std::vector<std::int32_t>> numbers;
  std::vector<std::size_t> first; // host of each class
  for (std::size_t host = 0; host < ends.size(); ++host) {
    _class_of[host] = numbers.of(ends[host]);
    if (numbers.size() > first.size()) first.push_back(host);
  }
  std::vector<std::vector<std::int32_t>> receivers(network.trunks.size()); // classes by trunk
  for (std::size_t own = 0; own < first.size(); ++own)
    for (const std::int32_t end : ends[first[own]])
      if (end % 2 != 0) receivers[index(end / 2)].push_back(static_cast<std::int32_t>(own));
  std::vector<std::pair<std::int32_t, std::int32_t>> row; // receiving classes and trunks
  for (const std::size_t host : first) {
    row.clear();
    for (const std::int32_t end : ends[host])
      if (end % 2 == 0)
        for (const std::int32_t to : receivers[index(end / 2)])
          row.emplace_back(to, end / 2);
    std::ranges::sort(row);
    _rows.push_back(_receivers.size());
    for (const auto& [to, trunk] : row) {
      if (_receivers.size() == _rows.back() || _receivers.back() != to) {
        _receivers.push_back(to);
        _begins.push_back(_trunks.size());
      }
      _trunks.push_back(trunk);
    }
  }
  _rows.push_back(_receivers.size());
  _begins.push_back(_trunks.size());
}

template std::vector<Counted<Time>> values_between(const HostPairs<Time>&, std::span<const HostId>,
                                                   std::span<const HostId>);
template std::vector<Counted<Rate>> values_between(const HostPairs<Rate>&, std::span<const HostId>,
                                                   std::span<const HostId>);

} // namespace thalweg::network
