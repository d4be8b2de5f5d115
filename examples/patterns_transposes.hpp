/// Kernels whose ranks all talk to all others, or none to any: ft, is and ep.
#pragma once

#include "patterns.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

namespace patterns {

/// Random numbers as in the NAS Parallel Benchmarks: x(k+1) = 5^13 x(k) mod 2^46.
class Random {
public:
  /// Begins after so many numbers.
  explicit Random(std::uint64_t skipped) {
    for (std::uint64_t power = multiplier; skipped > 0; skipped /= 2) {
      if (skipped % 2 == 1) _x = _x * power & mask;
      power = power * power & mask;
    }
  }
  /// Returns a number from 0 to 1.
  double next() {
    _x = _x * multiplier & mask;
    return static_cast<double>(_x) / static_cast<double>(mask);
  }

private:
  static constexpr std::uint64_t multiplier = 1'220'703'125, mask = (std::uint64_t{1} << 46) - 1;
  std::uint64_t _x = 271'828'183;
};

using Complex = std::complex<double>;
using Row = std::vector<Complex>;

/// Transforms a row whose length is a power of two.
inline Row fourier(const Row& row) {
  if (row.size() == 1) return row;
  const std::size_t half = row.size() / 2;
  std::array<Row, 2> parts;
  for (std::size_t at = 0; at < row.size(); ++at)
    parts[at % 2].push_back(row[at]);
  const Row even = fourier(parts[0]), odd = fourier(parts[1]);
  Row result(row.size());
  for (std::size_t at = 0; at < half; ++at) {
    const Complex turned =
        std::polar(1.0, -std::numbers::pi * static_cast<double>(at) / static_cast<double>(half)) *
        odd[at];
    result[at] = even[at] + turned;
    result[at + half] = even[at] - turned;
  }
  return result;
}

/// A Fourier transform of a square: of its rows, a transposition, and of what were its columns.
/// A rank has consecutive rows; where they don't divide evenly the last ones have fewer.
class Transform {
public:
  explicit Transform(int side)
      : _side(side), _ranks(example::size_of_world()), _block((side + _ranks - 1) / _ranks),
        _own(rows_of(example::rank_of_world())) {
    if ((side & (side - 1)) != 0)
      throw std::invalid_argument("ft needs a --size that is a power of two");
  }

  /// Returns the sum of the absolute values.
  [[nodiscard]] Result solve(bool check) const {
    std::vector<Row> rows;
    for (int row = _own.first; row < _own.end; ++row) {
      Row values;
      for (int column = 0; column < _side; ++column)
        values.push_back(input(row, column));
      rows.push_back(fourier(values));
    }
    rows = transpose(rows);
    double total = 0;
    bool right = true;
    for (int row = _own.first; row < _own.end; ++row) {
      const Row found = fourier(rows[size_of(row - _own.first)]);
      for (const Complex& value : found)
        total += std::abs(value);
      // Every row would be slow: the first and the last of each rank have parts of all others.
      if (check && (row == _own.first || row + 1 == _own.end))
        right = right && is_right(found, row);
    }
    return {sum(total), right};
  }

private:
  static Complex input(int row, int column) {
    return {static_cast<double>((row * 37 + column * 11) % 101) / 101,
            static_cast<double>((row * 5 + column * 53) % 89) / 89};
  }
  [[nodiscard]] Range rows_of(int rank) const {
    return {std::min(_side, rank * _block), std::min(_side, (rank + 1) * _block)};
  }

  /// Gives each rank the columns that become its rows. Collective.
  [[nodiscard]] std::vector<Row> transpose(const std::vector<Row>& rows) const {
    const std::size_t square = size_of(_block * _block);
    Row out(square * size_of(_ranks)), in(out.size());
    const auto place = [&](int rank, int row, int column) {
      return square * size_of(rank) + size_of(row * _block + column);
    };
    for (int row = 0; row < _own.count(); ++row)
      for (int column = 0; column < _side; ++column)
        out[place(column / _block, row, column % _block)] = rows[size_of(row)][size_of(column)];
    const int doubles = 2 * _block * _block;
    MPI_Alltoall(out.data(), doubles, MPI_DOUBLE, in.data(), doubles, MPI_DOUBLE, MPI_COMM_WORLD);
    std::vector<Row> result;
    for (int row = 0; row < _own.count(); ++row) {
      Row values;
      for (int column = 0; column < _side; ++column)
        values.push_back(in[place(column / _block, column % _block, row)]);
      result.push_back(values);
    }
    return result;
  }

  /// Compares a row of the transposed result with the definition.
  [[nodiscard]] bool is_right(const Row& found, int second) const {
    const auto turn = [&](int a, int b) {
      return std::polar(1.0, -2 * std::numbers::pi * (a * b % _side) / _side);
    };
    Row sums(size_of(_side));
    for (int row = 0; row < _side; ++row)
      for (int column = 0; column < _side; ++column)
        sums[size_of(row)] += input(row, column) * turn(column, second);
    for (int first = 0; first < _side; ++first) {
      Complex expected = 0;
      for (int row = 0; row < _side; ++row)
        expected += sums[size_of(row)] * turn(row, first);
      if (!(std::abs(found[size_of(first)] - expected) <= 1e-9 * _side * _side)) return false;
    }
    return true;
  }

  int _side, _ranks;
  int _block; ///< most rows of a rank
  Range _own;
};

inline Kernel ft(int size) {
  return [size](bool check) { return Transform(size).solve(check); };
}

/// Counts of normally distributed pairs by the larger of the two.
using Counts = std::array<std::int64_t, 10>;

inline Counts count_pairs(Range pairs) {
  Random random(2 * static_cast<std::uint64_t>(pairs.first));
  Counts counts{};
  for (int pair = pairs.first; pair < pairs.end; ++pair) {
    const double x = 2 * random.next() - 1, y = 2 * random.next() - 1, t = x * x + y * y;
    if (t > 1 || t == 0) continue;
    const double scale = std::sqrt(-2 * std::log(t) / t);
    const double larger = std::max(std::abs(x), std::abs(y)) * scale;
    ++counts[std::min(counts.size() - 1, static_cast<std::size_t>(larger))];
  }
  return counts;
}

/// Returns how many pairs were accepted.
inline Result count_all(int pairs, bool check) {
  const Counts own =
      count_pairs(part_of(pairs, example::rank_of_world(), example::size_of_world()));
  Counts all{};
  MPI_Allreduce(own.data(), all.data(), static_cast<int>(all.size()), MPI_INT64_T, MPI_SUM,
                MPI_COMM_WORLD);
  return {static_cast<double>(std::accumulate(all.begin(), all.end(), std::int64_t{0})),
          !check || all == count_pairs({0, pairs})};
}

inline std::vector<int> random_keys(Range positions, int range) {
  Random random(static_cast<std::uint64_t>(positions.first));
  std::vector<int> keys;
  for (int at = positions.first; at < positions.end; ++at)
    keys.push_back(std::min(range - 1, static_cast<int>(random.next() * range)));
  return keys;
}

inline Kernel ep(int pairs) {
  return [pairs](bool check) { return count_all(pairs, check); };
}

/// Sorts keys, of which each rank has as many and afterwards a stretch. Returns the sum of each key
/// times its place, over the square of their number.
inline Result sort_all(int each, bool check) {
  constexpr int range = 1 << 16;
  const int ranks = example::size_of_world(), rank = example::rank_of_world();
  if (std::int64_t{each} * ranks > std::int64_t{1} << 30)
    throw std::invalid_argument("is: --size gives too many keys: at most 2^30 of all ranks");
  std::vector<int> keys = random_keys({each * rank, each * (rank + 1)}, range);
  std::ranges::sort(keys);
  const auto count = size_of(ranks);
  std::vector<int> sizes(count), all_sizes(count), coming(count), from(count), to(count);
  for (const int key : keys)
    ++sizes[size_of(static_cast<int>(std::int64_t{key} * ranks / range))];
  MPI_Allreduce(sizes.data(), all_sizes.data(), ranks, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Alltoall(sizes.data(), 1, MPI_INT, coming.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::exclusive_scan(sizes.begin(), sizes.end(), from.begin(), 0);
  std::exclusive_scan(coming.begin(), coming.end(), to.begin(), 0);
  std::vector<int> sorted(size_of(all_sizes[size_of(rank)]));
  MPI_Alltoallv(keys.data(), sizes.data(), from.data(), MPI_INT, sorted.data(), coming.data(),
                to.data(), MPI_INT, MPI_COMM_WORLD);
  std::ranges::sort(sorted);

  std::vector<int> expected = check ? random_keys({0, each * ranks}, range) : std::vector<int>();
  std::ranges::sort(expected);
  const auto first = std::accumulate(all_sizes.begin(), all_sizes.begin() + rank, std::size_t{0});
  double own = 0;
  bool right = true;
  for (std::size_t at = 0; at < sorted.size(); ++at) {
    right = right && (!check || sorted[at] == expected[first + at]);
    own += static_cast<double>(sorted[at]) * static_cast<double>(first + at);
  }
  return {sum(own) / (static_cast<double>(each) * each), right};
}

inline Kernel is(int each) {
  return [each](bool check) { return sort_all(each, check); };
}

} // namespace patterns
