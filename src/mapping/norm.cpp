#include "mapping/norm.hpp"

#include <algorithm>
#include <cmath>

namespace thalweg::mapping {

Norm::Norm(std::size_t values, int exponent)
    : _exponent(exponent), _values(values), _change_of(values), _changed(values + 1),
      _is_changed(values) {}

double Norm::term(double value) const {
  for (int left = _exponent; left > 1; left /= 2)
    value *= value;
  return value;
}

double Norm::root(double sum) const {
  sum = std::max(0.0, sum);
  for (int left = _exponent; left > 1; left /= 2)
    sum = std::sqrt(sum);
  return sum;
}

double Norm::after(std::size_t at) const { return std::max(0.0, _values[at] + _change_of[at]); }

double Norm::changed() const {
  if (_changes == 0) return _kept;
  double terms = _terms;
  for (const std::size_t at : changed_values())
    terms += term(after(at)) - term(_values[at]);
  if (terms < least_certain * _terms) {
    terms = 0;
    for (std::size_t at = 0; at < _values.size(); ++at)
      terms += term(after(at));
  }
  return root(terms);
}

void Norm::forget() {
  for (const std::size_t at : changed_values()) {
    _change_of[at] = 0;
    _is_changed[at] = 0;
  }
  _changes = 0;
}

void Norm::keep() {
  if (_changes == 0) return;
  for (const std::size_t at : changed_values()) {
    const double before = term(_values[at]);
    _values[at] = after(at);
    _terms += term(_values[at]) - before;
  }
  _most = std::max(_most, _terms);
  _kept = root(_terms);
  forget();
}

void Norm::clear() {
  forget();
  std::ranges::fill(_values, 0.0);
  _terms = _most = _kept = 0;
}

double Norm::slope(std::size_t at) const {
  if (_kept <= 0 || _values[at] <= 0) return 0;
  return term(_values[at] / _kept) * _kept / _values[at];
}

} // namespace thalweg::mapping
