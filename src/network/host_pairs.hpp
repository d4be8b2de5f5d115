#pragma once

#include "network/matrix.hpp"
#include "units/index.hpp"
#include "units/units.hpp"

#include <span>
#include <unordered_map>
#include <utility>

namespace thalweg::network {

/// Up to this number of hosts all pairs are kept one by one: blocks would save little.
inline constexpr std::size_t most_dense_hosts = 512;

/// A value for each ordered pair of hosts, including a host and itself. T is a quantity or float.
///
/// Values are kept pair by pair, or by blocks: hosts are divided into classes, the value depends on
/// the classes of the two hosts, and pairs with another value are exceptions. Readers needn't know
/// which. With k classes blocks take O(hosts + k² + exceptions) memory.
template <class T>
class HostPairs {
public:
  /// Classes of equal hosts. A class of one host has no pairs of its own: its entry on the diagonal
  /// of `values` means nothing.
  struct Blocks {
    std::vector<std::int32_t> class_of; ///< by host
    Matrix<T> values;                   ///< between different hosts, by their classes
    std::vector<T> self;                ///< between a host and itself, by class
  };
  struct Exception {
    HostId from, to;
    T value;
  };

  HostPairs() = default;
  /// Sets the same value for all pairs. O(1) memory per host if there are more than
  /// most_dense_hosts.
  explicit HostPairs(std::size_t hosts, T value = {});
  /// @throws std::invalid_argument if a class doesn't exist, or the numbers of classes differ
  explicit HostPairs(Blocks blocks, const std::vector<Exception>& exceptions = {});
  HostPairs(Matrix<T> dense) : _dense(std::move(dense)) {}

  /// Returns the number of hosts.
  [[nodiscard]] std::size_t size() const {
    return is_dense() ? _dense.size() : _blocks.class_of.size();
  }
  /// O(1).
  T operator()(HostId from, HostId to) const {
    return is_dense() ? _dense(from, to) : in_blocks(from, to);
  }
  /// Sets a value. O(1) on average. Many exceptions replace blocks by O(hosts²) memory.
  void set(HostId from, HostId to, T value);
  /// Replaces each value by change(value). O(values kept).
  template <class Change>
  void transform(Change change);

  [[nodiscard]] bool is_dense() const { return _blocks.class_of.empty(); }
  /// Keeps all pairs one by one, for direct access: O(hosts²) memory from then on.
  Matrix<T>& make_dense();
  /// Requires is_dense().
  [[nodiscard]] const Matrix<T>& dense() const { return _dense; }
  /// Requires !is_dense().
  [[nodiscard]] const Blocks& blocks() const { return _blocks; }
  /// Returns the exceptions, ascending by (from, to); none if dense.
  [[nodiscard]] std::vector<Exception> exceptions() const;
  /// Keeps blocks from now on if there are more than `dense_hosts` hosts and that takes less than
  /// half of the memory. O(hosts²) if hosts differ early in their rows, as measured ones do.
  void compact(std::size_t dense_hosts = most_dense_hosts);
  /// Returns the values between some of the hosts, which are renumbered.
  [[nodiscard]] HostPairs part(std::span<const HostId> hosts) const;
  /// Returns host -> class, numbered from 0: all pairs of different hosts of two classes have one
  /// value, and hosts of a class have one value with themselves. If dense, each host is a class.
  [[nodiscard]] std::vector<std::int32_t> classes() const;
  /// Calls visit(from, to, value) for each kept value, with a pair that has it. O(hosts) and the
  /// values kept.
  template <class Visit>
  void for_each_kept(Visit visit) const;

  /// Returns a hash of the values, independent of how they are kept. O(hosts) and the values kept.
  [[nodiscard]] std::uint64_t hash() const;
  /// Compares the values, independent of how they are kept.
  bool operator==(const HostPairs& other) const;

private:
  static std::uint64_t key(HostId from, HostId to) {
    return static_cast<std::uint64_t>(from) << 32U | static_cast<std::uint32_t>(to);
  }
  [[nodiscard]] T in_blocks(HostId from, HostId to) const {
    if (!_exceptions.empty())
      if (const auto found = _exceptions.find(key(from, to)); found != _exceptions.end())
        return found->second;
    return regular(from, to);
  }
  /// Returns the value without exceptions.
  [[nodiscard]] T regular(HostId from, HostId to) const {
    const std::int32_t a = _blocks.class_of[index(from)];
    return from == to ? _blocks.self[index(a)] : _blocks.values(a, _blocks.class_of[index(to)]);
  }
  [[nodiscard]] std::vector<std::int32_t> alike(std::size_t most_classes) const;

  Matrix<T> _dense;
  Blocks _blocks; ///< no hosts: dense
  std::unordered_map<std::uint64_t, T> _exceptions;
};

template <class T>
template <class Change>
void HostPairs<T>::transform(Change change) {
  const auto each = [&](Matrix<T>& matrix) {
    const auto size = static_cast<HostId>(matrix.size());
    for (HostId from = 0; from < size; ++from)
      for (HostId to = 0; to < size; ++to)
        matrix(from, to) = change(matrix(from, to));
  };
  each(_dense);
  each(_blocks.values);
  for (T& value : _blocks.self)
    value = change(value);
  for (auto& [pair, value] : _exceptions)
    value = change(value);
}

template <class T>
template <class Visit>
void HostPairs<T>::for_each_kept(Visit visit) const {
  const auto hosts = static_cast<HostId>(size());
  if (is_dense()) {
    for (HostId from = 0; from < hosts; ++from)
      for (HostId to = 0; to < hosts; ++to)
        visit(from, to, _dense(from, to));
    return;
  }
  const auto classes = static_cast<HostId>(_blocks.self.size());
  std::vector<HostId> first(_blocks.self.size(), no_host), second = first; // of each class
  for (HostId host = 0; host < hosts; ++host) {
    const std::size_t at = index(_blocks.class_of[index(host)]);
    if (first[at] == no_host)
      first[at] = host;
    else if (second[at] == no_host)
      second[at] = host;
  }
  for (HostId a = 0; a < classes; ++a) {
    const HostId from = first[index(a)];
    if (from == no_host) continue;
    visit(from, from, _blocks.self[index(a)]);
    for (HostId b = 0; b < classes; ++b)
      if (const HostId to = a == b ? second[index(b)] : first[index(b)]; to != no_host)
        visit(from, to, _blocks.values(a, b));
  }
  for (const Exception& each : exceptions())
    visit(each.from, each.to, each.value);
}

extern template class HostPairs<units::Time>;
extern template class HostPairs<units::Rate>;
extern template class HostPairs<float>;

} // namespace thalweg::network
