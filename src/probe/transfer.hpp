#pragma once

#include "probe/coordinator.hpp"
#include "probe/prober.hpp"

namespace thalweg::probe {

/// Lets the ranks of live hosts send.
class LiveProber : public Prober {
public:
  /// @param distances time of a message from rank 0 to each host; bursts start at the same time
  /// if they are known
  explicit LiveProber(Coordinator& coordinator, std::vector<Nanoseconds> distances = {})
      : _coordinator(coordinator), _distances(std::move(distances)) {}

  [[nodiscard]] HostId hosts() const override { return _coordinator.hosts(); }
  [[nodiscard]] double dilation() const override { return _coordinator.options.dilation; }
  /// @throws Failure naming the hosts that didn't answer
  std::vector<FlowArrivals> transfer(std::span<const Burst> bursts,
                                     const std::string& what) override;
  [[nodiscard]] Nanoseconds clock() const override { return _coordinator.clock(); }
  [[nodiscard]] Nanoseconds deadline(double share) const override {
    return _coordinator.deadline(share);
  }
  void progress(const std::string& phase, std::size_t done, std::size_t total) override {
    _coordinator.report.progress(phase, done, total);
  }
  void note(const std::string& text) override { _coordinator.report.note(text); }

private:
  /// Returns how long it takes until all ranks with an order have it.
  [[nodiscard]] Nanoseconds lead(std::span<const Assignment> assignments) const;

  Coordinator& _coordinator;
  std::vector<Nanoseconds> _distances;
};

/// Carries out one rank's part.
Words transfer(const Channel& channel, const Words& order);

} // namespace thalweg::probe
