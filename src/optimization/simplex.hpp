#pragma once

#include <cstddef>
#include <vector>

namespace thalweg::optimization {

/// Solves the packing problem: finds rates of columns with the largest sum, where each column loads
/// some capacities and columns are generated when needed. The revised simplex method with an
/// explicit inverse: rows² steps for each column that enters. Source: Dantzig, Wolfe: Decomposition
/// Principle for Linear Programs (column generation).
class Simplex {
public:
  /// @param rows number of capacities, each of 1: loads are fractions of a capacity
  explicit Simplex(std::size_t rows);

  /// Returns the current price of a unit of load on each capacity. A column whose loads cost less
  /// than 1 is worth entering; if there is none, the rates are optimal.
  [[nodiscard]] const std::vector<double>& prices() const { return _prices; }
  /// Adds a column to the solution, at the largest possible rate.
  /// @param load by row, for a unit of the column's rate; not all 0
  /// @return the column's number
  std::size_t enter(const std::vector<double>& load);
  /// Returns the rates by column, 0 for columns that have left the solution.
  [[nodiscard]] std::vector<double> rates() const;

private:
  void exchange(std::ptrdiff_t entering, const std::vector<double>& load);
  void update_prices();
  void free_unpriced();

  static constexpr std::ptrdiff_t slack = -1; ///< the unused part of row r is column -1 - r
  std::size_t _rows, _columns = 0;
  std::vector<double> _inverse, _values, _prices; ///< of the basis
  std::vector<std::ptrdiff_t> _basis;             ///< by row
};

} // namespace thalweg::optimization
