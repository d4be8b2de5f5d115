#pragma once

#include "probe/crowd.hpp"
#include "probe/rate_model.hpp"

#include <optional>

/// What flows that ran at the same time have shown, and the capacities that explain it.
namespace thalweg::probe {

/// A trunk that flows filled, or are supposed to have filled. Its ends are disjoint.
struct FilledTrunk : Ends {
  Rate capacity;
  std::vector<Flow> crowd;  ///< flows that filled it
  std::int32_t senders = 0; ///< hosts that must send to fill it; 0: not known
};

/// Flows that ran at the same time.
struct Observation {
  std::vector<Flow> flows;
  std::vector<Rate> each; ///< by flow

  [[nodiscard]] Rate total() const;
};

Rate sum(std::span<const Rate> rates);

/// Returns what the flows of a trunk got together.
Rate carried(const FilledTrunk& trunk, const Observation& seen);

/// Runs crowds, keeps what they showed, and predicts others by it.
class Evidence {
public:
  /// @param deadline after which no more crowds should run
  Evidence(const Crowds& crowds, RateModel model, Nanoseconds deadline)
      : _crowds(crowds), _model(std::move(model)), _deadline(deadline) {}

  [[nodiscard]] bool has_time() const { return _crowds.prober().clock() < _deadline; }
  /// Runs a crowd.
  Observation run(const std::vector<Flow>& flows);
  /// Runs disjoint crowds at the same time. @return by crowd
  std::vector<Observation> run(const std::vector<std::vector<Flow>>& crowds);
  /// Returns the rates of flows at the same time by all trunks that are known.
  [[nodiscard]] std::vector<Rate> predict(std::span<const Flow> flows) const;
  /// Returns the rates of flows at the same time.
  /// @param limits the rate of each flow by itself
  /// @param more a capacity besides the trunks that are known
  [[nodiscard]] std::vector<Rate> predict(std::span<const Flow> flows, std::span<const Rate> limits,
                                          Shared more) const;
  /// Returns the rate of flows together by all trunks but one.
  [[nodiscard]] Rate predict_without(std::span<const Flow> flows, std::size_t trunk) const;

  [[nodiscard]] const Crowds& crowds() const { return _crowds; }
  [[nodiscard]] const RateModel& model() const { return _model; }
  [[nodiscard]] const std::vector<Observation>& observations() const { return _observations; }
  std::vector<FilledTrunk> trunks;

private:
  /// Returns the capacities of the trunks that carry any of the flows.
  /// @param without index of a trunk that is left out
  [[nodiscard]] std::vector<Shared> shared(std::span<const Flow> flows,
                                           std::optional<std::size_t> without = {}) const;

  const Crowds& _crowds;
  RateModel _model;
  Nanoseconds _deadline;
  std::vector<Observation> _observations;
};

} // namespace thalweg::probe
