#include "optimization/simplex.hpp"

#include <algorithm>

namespace thalweg::optimization {
namespace {

constexpr double nothing = 1e-11;

} // namespace

Simplex::Simplex(std::size_t rows)
    : _rows(rows), _inverse(rows * rows, 0), _values(rows), _prices(rows, 0), _basis(rows) {
  for (std::size_t row = 0; row < rows; ++row) {
    _inverse[row * rows + row] = 1;
    // Slightly unequal capacities: no two are full at the same time, so every exchange is a gain.
    _values[row] = 1 + 1e-9 * static_cast<double>(row + 1);
    _basis[row] = slack - static_cast<std::ptrdiff_t>(row);
  }
}

std::size_t Simplex::enter(const std::vector<double>& load) {
  exchange(static_cast<std::ptrdiff_t>(_columns), load);
  free_unpriced();
  return _columns++;
}

std::vector<double> Simplex::rates() const {
  std::vector<double> rates(_columns, 0);
  for (std::size_t row = 0; row < _rows; ++row)
    if (_basis[row] >= 0)
      rates[static_cast<std::size_t>(_basis[row])] = std::max(0.0, _values[row]);
  return rates;
}

void Simplex::exchange(std::ptrdiff_t entering, const std::vector<double>& load) {
  std::vector<double> direction(_rows, 0);
  std::size_t leaving = _rows;
  for (std::size_t row = 0; row < _rows; ++row) {
    for (std::size_t i = 0; i < _rows; ++i)
      direction[row] += _inverse[row * _rows + i] * load[i];
    if (direction[row] > nothing &&
        (leaving == _rows || _values[row] * direction[leaving] < _values[leaving] * direction[row]))
      leaving = row;
  }
  if (leaving == _rows) return;
  const double pivot = direction[leaving];
  for (std::size_t i = 0; i < _rows; ++i)
    _inverse[leaving * _rows + i] /= pivot;
  _values[leaving] /= pivot;
  for (std::size_t row = 0; row < _rows; ++row) {
    const double factor = direction[row];
    if (row == leaving || factor == 0) continue;
    for (std::size_t i = 0; i < _rows; ++i)
      _inverse[row * _rows + i] -= factor * _inverse[leaving * _rows + i];
    _values[row] -= factor * _values[leaving];
  }
  _basis[leaving] = entering;
  update_prices();
}

void Simplex::update_prices() {
  std::ranges::fill(_prices, 0);
  for (std::size_t row = 0; row < _rows; ++row)
    if (_basis[row] >= 0)
      for (std::size_t i = 0; i < _rows; ++i)
        _prices[i] += _inverse[row * _rows + i];
}

/// A negative price means that less of a capacity should be used: its unused part enters.
void Simplex::free_unpriced() {
  for (std::size_t tries = 0; tries < 2 * _rows; ++tries) {
    const auto least = std::ranges::min_element(_prices);
    if (*least > -1e-9) break;
    const auto row = static_cast<std::size_t>(least - _prices.begin());
    std::vector<double> load(_rows, 0);
    load[row] = 1;
    exchange(slack - static_cast<std::ptrdiff_t>(row), load);
  }
}

} // namespace thalweg::optimization
