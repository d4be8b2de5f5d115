#pragma once

#include "probe/flows.hpp"

#include <span>
#include <string>

namespace thalweg::probe {

/// The time that rank 0 needs for an order to one rank and its reply.
inline constexpr Nanoseconds ordering = 30'000;

/// A stream of at most `count` messages of `size` bytes from one host to another.
struct Burst {
  std::int64_t from = 0, to = 0, count = 0;
  Size size = 0;
  /// How long the sender sends, on the wall clock, if it hasn't sent all messages before; 0: no
  /// limit.
  Nanoseconds limit = 0;
};

/// What the search for rates and shared capacities asks for: live hosts carry it out
/// (transfer.hpp), or, in tests, a simulated network.
class Prober {
public:
  Prober() = default;
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;
  virtual ~Prober() = default;

  [[nodiscard]] virtual HostId hosts() const = 0;
  /// Returns how much slower the network is than its un-dilated time.
  [[nodiscard]] virtual double dilation() const = 0;
  /// Runs all bursts at the same time. Any host may take part in several.
  /// @param what "measuring bandwidth", for errors
  /// @return the arrivals by burst, on one clock
  virtual std::vector<FlowArrivals> transfer(std::span<const Burst> bursts,
                                             const std::string& what) = 0;
  /// Returns the clock for deadlines.
  [[nodiscard]] virtual Nanoseconds clock() const = 0;
  /// Returns when this share of the time budget is spent.
  [[nodiscard]] virtual Nanoseconds deadline(double share) const = 0;
  /// Reports that `done` of `total` steps of a phase are over.
  virtual void progress(const std::string& phase, std::size_t done, std::size_t total) = 0;
  /// Reports one sentence about what was found or not done.
  virtual void note(const std::string& text) = 0;
};

} // namespace thalweg::probe
