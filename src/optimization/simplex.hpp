#pragma once

#include <cstddef>
#include <vector>

namespace thalweg::optimization {

/// The packing problem: rates of columns, as large as possible together, of which each loads some
/// capacities, whose columns are found as they are needed. The revised simplex method with an
/// explicit inverse: rows² steps for each column that enters. Source: Dantzig, Wolfe: Decomposition
/// Principle for Linear Programs (column generation).
class Simplex {
public:
  /// @param rows capacities, each of 1: loads are in parts of a capacity
  explicit Simplex(std::size_t rows);

  /// What a unit of load on each capacity costs now. A column whose loads cost less than 1 is worth
  /// entering; if there is none, the rates are the best.
  [[nodiscard]] const std::vector<double>& prices() const { return _prices; }
  /// Lets a column into the solution, with what rate it can have.
  /// @param load of a unit of the column's rate, by row; not all 0
  /// @return the column's number
  std::size_t enter(const std::vector<double>& load);
  /// By column, 0 for those that are not in the solution any more.
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
