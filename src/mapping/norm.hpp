#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace thalweg::mapping {

/// The p-norm of many values that aren't negative: the p-th root of the sum of their p-th powers.
/// It follows changes of some of them without being computed anew, and tells what it would be after
/// a change that isn't kept.
class Norm {
public:
  /// @param exponent p, a power of two
  Norm(std::size_t values, int exponent);

  /// Adds to a value, for now.
  void add(std::size_t at, double value) {
    if (value == 0) return;
    _changed[_changes] = at;
    _changes += _is_changed[at] == 0 ? 1 : 0;
    _is_changed[at] = 1;
    _change_of[at] += value;
  }
  /// Returns the norm with all that was added since the last forget() or keep(). O(values that
  /// changed); O(values) where hardly anything is left of a sum.
  [[nodiscard]] double changed() const;
  void forget();
  /// Keeps what was added. O(values that changed).
  void keep();
  /// Sets all values to zero.
  void clear();

  /// Returns the norm of what is kept.
  [[nodiscard]] double kept() const { return _kept; }
  /// Returns the derivative of the norm with respect to a value: 0 where all values are.
  [[nodiscard]] double slope(std::size_t at) const;
  /// Whether the sum has lost so much that what is left may be rounding errors, so that all values
  /// should be computed anew.
  [[nodiscard]] bool is_uncertain() const { return _terms < least_certain * _most; }

private:
  /// What is left of a sum after more than the rest of it has gone is mostly rounding errors.
  static constexpr double least_certain = 1e-4;

  [[nodiscard]] double term(double value) const;
  [[nodiscard]] double root(double sum) const;
  [[nodiscard]] double after(std::size_t at) const;
  [[nodiscard]] std::span<const std::size_t> changed_values() const {
    return std::span(_changed).first(_changes);
  }

  int _exponent;
  double _terms = 0, _most = 0; ///< the sum of powers, and its greatest since all was computed
  double _kept = 0;             ///< the root of the sum
  std::vector<double> _values, _change_of;
  std::size_t _changes = 0;
  std::vector<std::size_t> _changed; ///< the first `_changes` of it; one place more than values
  std::vector<char> _is_changed;     ///< whether it is among them
};

} // namespace thalweg::mapping
