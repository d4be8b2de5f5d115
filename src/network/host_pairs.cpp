#include "network/host_pairs.hpp"

#include "units/mix.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::network {
namespace {

/// The memory of an exception, relative to a pair that is kept one by one.
constexpr std::size_t exception_weight = 8;
/// The least mean number of hosts per class at which blocks are tried.
constexpr std::size_t least_per_class = 2;

double as_double(float value) { return double{value}; }
template <class Q>
double as_double(Q quantity) {
  return quantity.value();
}

template <class T>
std::uint64_t hash_of(T value) {
  return mix(std::bit_cast<std::uint64_t>(as_double(value) + 0.0)); // -0.0 equals 0.0
}
std::uint64_t row_factor(std::size_t host) { return mix(2 * host); }
std::uint64_t column_factor(std::size_t host) { return mix(2 * host + 1); }

} // namespace

template <class T>
HostPairs<T>::HostPairs(std::size_t hosts, T value) {
  if (hosts <= most_dense_hosts)
    _dense = Matrix<T>(hosts, value);
  else
    _blocks = {std::vector<std::int32_t>(hosts, 0), Matrix<T>(1, value), {value}};
}

template <class T>
HostPairs<T>::HostPairs(Blocks blocks, const std::vector<Exception>& exceptions)
    : _blocks(std::move(blocks)) {
  const std::size_t classes = _blocks.self.size();
  if (_blocks.values.size() != classes)
    throw std::invalid_argument("there are values between " +
                                std::to_string(_blocks.values.size()) + " classes of hosts, and " +
                                std::to_string(classes) + " of hosts with themselves");
  for (const std::int32_t each : _blocks.class_of)
    if (each < 0 || index(each) >= classes)
      throw std::invalid_argument("a host is of class " + std::to_string(each) + ": there are " +
                                  std::to_string(classes));
  for (const Exception& each : exceptions)
    set(each.from, each.to, each.value);
}

template <class T>
void HostPairs<T>::set(HostId from, HostId to, T value) {
  if (is_dense()) {
    _dense(from, to) = value;
  } else if (regular(from, to) == value) {
    _exceptions.erase(key(from, to));
  } else {
    _exceptions[key(from, to)] = value;
    if (_exceptions.size() > size() * size() / exception_weight) make_dense();
  }
}

template <class T>
Matrix<T>& HostPairs<T>::make_dense() {
  if (is_dense()) return _dense;
  const auto hosts = static_cast<HostId>(size());
  _dense = Matrix<T>(size());
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to)
      _dense(from, to) = regular(from, to);
  for (const auto& [pair, value] : _exceptions)
    _dense(static_cast<HostId>(pair >> 32U), static_cast<HostId>(pair & 0xffffffffU)) = value;
  _blocks = {};
  _exceptions.clear();
  return _dense;
}

template <class T>
std::vector<typename HostPairs<T>::Exception> HostPairs<T>::exceptions() const {
  std::vector<Exception> result;
  for (const auto& [pair, value] : _exceptions)
    result.push_back(
        {static_cast<HostId>(pair >> 32U), static_cast<HostId>(pair & 0xffffffffU), value});
  std::ranges::sort(result, {}, [](const Exception& each) { return key(each.from, each.to); });
  return result;
}

/// Returns the class of each host of a dense matrix: exchanging two hosts of a class changes
/// nothing. Empty if there are more classes.
template <class T>
std::vector<std::int32_t> HostPairs<T>::alike(std::size_t most_classes) const {
  const auto hosts = static_cast<HostId>(size());
  const auto are_alike = [&](HostId a, HostId b) {
    if (_dense(a, a) != _dense(b, b) || _dense(a, b) != _dense(b, a)) return false;
    for (HostId other = 0; other < hosts; ++other)
      if (other != a && other != b && _dense(a, other) != _dense(b, other)) return false;
    for (HostId other = 0; other < hosts; ++other)
      if (other != a && other != b && _dense(other, a) != _dense(other, b)) return false;
    return true;
  };
  std::vector<HostId> firsts;
  std::vector<std::int32_t> class_of;
  for (HostId host = 0; host < hosts; ++host) {
    const auto found =
        std::ranges::find_if(firsts, [&](HostId first) { return are_alike(first, host); });
    class_of.push_back(static_cast<std::int32_t>(found - firsts.begin()));
    if (found == firsts.end()) firsts.push_back(host);
    if (firsts.size() > most_classes) return {};
  }
  return class_of;
}

template <class T>
void HostPairs<T>::compact(std::size_t dense_hosts) {
  if (!is_dense() || size() <= dense_hosts) return;
  std::vector<std::int32_t> class_of = alike(size() / least_per_class);
  if (class_of.empty()) return;
  const std::size_t classes = index(*std::ranges::max_element(class_of)) + 1;
  // Entries that represent no pair must be valid values too.
  Blocks blocks{std::move(class_of), Matrix<T>(classes, _dense(0, 0)), std::vector<T>(classes)};
  for_each_kept([&](HostId from, HostId to, T value) {
    const std::int32_t a = blocks.class_of[index(from)], b = blocks.class_of[index(to)];
    if (from == to)
      blocks.self[index(a)] = value;
    else
      blocks.values(a, b) = value;
  });
  _blocks = std::move(blocks);
  _dense = {};
}

template <class T>
HostPairs<T> HostPairs<T>::part(std::span<const HostId> hosts) const {
  if (is_dense()) {
    Matrix<T> values(hosts.size());
    for (std::size_t from = 0; from < hosts.size(); ++from)
      for (std::size_t to = 0; to < hosts.size(); ++to)
        values(static_cast<HostId>(from), static_cast<HostId>(to)) = _dense(hosts[from], hosts[to]);
    return values;
  }
  HostPairs result;
  result._blocks = {{}, _blocks.values, _blocks.self};
  std::unordered_map<HostId, HostId> numbers;
  for (const HostId host : hosts) {
    numbers.emplace(host, static_cast<HostId>(numbers.size()));
    result._blocks.class_of.push_back(_blocks.class_of[index(host)]);
  }
  for (const auto& [from, to, value] : exceptions())
    if (numbers.contains(from) && numbers.contains(to))
      result.set(numbers.at(from), numbers.at(to), value);
  return result;
}

template <class T>
std::vector<std::int32_t> HostPairs<T>::classes() const {
  std::vector<std::int32_t> result(size());
  std::int32_t next = 0;
  if (is_dense()) {
    for (std::int32_t& each : result)
      each = next++;
    return result;
  }
  result = _blocks.class_of;
  next = static_cast<std::int32_t>(_blocks.self.size());
  for (const Exception& each : exceptions())
    for (const HostId host : {each.from, each.to})
      if (std::int32_t& own = result[index(host)]; own < std::ssize(_blocks.self)) own = next++;
  return result;
}

/// Returns the sum over all pairs of the value's hash, times a factor of the row and one of the
/// column, so that a block's part is a product of sums.
template <class T>
std::uint64_t HostPairs<T>::hash() const {
  std::uint64_t sum = 0;
  if (is_dense()) {
    for_each_kept([&](HostId from, HostId to, T value) {
      sum += hash_of(value) * row_factor(index(from)) * column_factor(index(to));
    });
    return sum;
  }
  const std::size_t classes = _blocks.self.size();
  std::vector<std::uint64_t> rows(classes), columns(classes), diagonal(classes);
  for (std::size_t host = 0; host < size(); ++host) {
    const std::size_t at = index(_blocks.class_of[host]);
    rows[at] += row_factor(host);
    columns[at] += column_factor(host);
    diagonal[at] += row_factor(host) * column_factor(host);
  }
  for (std::size_t a = 0; a < classes; ++a) {
    for (std::size_t b = 0; b < classes; ++b)
      sum += hash_of(_blocks.values(static_cast<HostId>(a), static_cast<HostId>(b))) *
             (rows[a] * columns[b] - (a == b ? diagonal[a] : 0));
    sum += hash_of(_blocks.self[a]) * diagonal[a];
  }
  for (const auto& [from, to, value] : exceptions())
    sum += (hash_of(value) - hash_of(regular(from, to))) * row_factor(index(from)) *
           column_factor(index(to));
  return sum;
}

template <class T>
bool HostPairs<T>::operator==(const HostPairs& other) const {
  if (size() != other.size()) return false;
  if (is_dense() && other.is_dense()) return _dense == other._dense;
  // Hosts of the same class in both are interchangeable.
  const std::vector<std::int32_t> here = classes(), there = other.classes();
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> known;
  std::vector<std::vector<HostId>> members;
  for (std::size_t host = 0; host < size(); ++host) {
    const auto [at, is_new] = known.try_emplace({here[host], there[host]}, members.size());
    if (is_new) members.emplace_back();
    if (members[at->second].size() < 2) members[at->second].push_back(static_cast<HostId>(host));
  }
  const auto same = [&](HostId from, HostId to) { return (*this)(from, to) == other(from, to); };
  for (const auto& from : members) {
    if (!same(from.front(), from.front())) return false;
    for (const auto& to : members)
      if (const HostId last = &from == &to ? to.back() : to.front();
          last != from.front() && !same(from.front(), last))
        return false;
  }
  return true;
}

template class HostPairs<units::Time>;
template class HostPairs<units::Rate>;
template class HostPairs<float>;

} // namespace thalweg::network
