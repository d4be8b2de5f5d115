#pragma once

#include "collective/collective.hpp"
#include "runtime/mpi/unit_shape.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::runtime {

/// Moves units between ranks and within one. Messages of an ordered pair of ranks arrive in the
/// order in which both post them. Addresses are those of unit 0 of what is moved.
class Transport {
public:
  using Token = std::int64_t; ///< names a posted message

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual void send(Token token, collective::Rank to, const std::byte* data,
                    std::int64_t units) = 0;
  virtual void receive(Token token, collective::Rank from, std::byte* data, std::int64_t units) = 0;
  /// Waits until posted messages are complete and returns them, at least one; valid until the next
  /// call.
  virtual std::span<const Token> wait() = 0;
  virtual void copy(const std::byte* from, std::byte* to, std::int64_t units) = 0;
  /// right := left ∘ right, unit by unit.
  virtual void combine(const std::byte* left, std::byte* right, std::int64_t units) = 0;
};

} // namespace thalweg::runtime
