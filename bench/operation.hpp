#pragma once

#include "units/units.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace thalweg::bench {

/// A collective on MPI_COMM_WORLD with data whose result is known in advance.
class TimedCollective {
public:
  virtual ~TimedCollective() = default;
  /// Fills the buffers for a repetition, and the result with what it must not be.
  virtual void fill(std::uint64_t repetition) = 0;
  /// The MPI call itself.
  virtual void run() = 0;
  /// Whether this rank's result is that of fill(repetition).
  [[nodiscard]] virtual bool correct(std::uint64_t repetition) const = 0;
};

/// @param size bytes, as Cell::size
std::unique_ptr<TimedCollective> make_operation(const std::string& collective, units::Size size,
                                                int root);

} // namespace thalweg::bench
