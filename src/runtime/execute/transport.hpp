#pragma once

#include "collective/collective.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::runtime {

/// How units (bytes, or elements of a reduction) lie in memory: unit i begins at base + i × extent
/// and occupies `true_extent` bytes from `true_lower_bound`, as MPI defines them.
struct UnitShape {
  std::int64_t extent = 1;
  std::int64_t true_lower_bound = 0;
  std::int64_t true_extent = 1;
  std::int64_t bytes = 1; ///< of data in one unit

  /// Bytes from the first to the last that `units` units occupy.
  [[nodiscard]] std::int64_t span(std::int64_t units) const {
    return units == 0 ? 0 : (units - 1) * extent + true_extent;
  }
};

/// Moves units between ranks and within one. Messages of an ordered pair of ranks arrive in the
/// order in which both post them. Addresses are those of unit 0 of what is moved.
class Transport {
public:
  using Token = std::int64_t; ///< names a posted message

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// Starts a message; `synchronous`: it isn't complete before the receiver has posted its receive.
  virtual void send(Token token, collective::Rank to, const std::byte* data, std::int64_t units,
                    bool synchronous) = 0;
  virtual void receive(Token token, collective::Rank from, std::byte* data, std::int64_t units) = 0;
  /// Waits until posted messages are complete and returns them, at least one; valid until the next
  /// call.
  virtual std::span<const Token> wait() = 0;
  virtual void copy(const std::byte* from, std::byte* to, std::int64_t units) = 0;
  /// right := left ∘ right, unit by unit.
  virtual void combine(const std::byte* left, std::byte* right, std::int64_t units) = 0;
};

} // namespace thalweg::runtime
