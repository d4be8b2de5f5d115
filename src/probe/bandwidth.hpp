#pragma once

#include "probe/latencies.hpp"
#include "probe/pace.hpp"
#include "probe/prober.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <span>

namespace thalweg::probe {

/// Rates on the wall clock. Where the error is infinite, the rate is inferred.
struct Bandwidths {
  Matrix<Rate> rate;
  Matrix<float> error;
  std::size_t repeated = 0; ///< flows measured again, alone
  double disturbance = 0;   ///< median relative difference of these
  [[nodiscard]] bool measured(HostId from, HostId to) const {
    return std::isfinite(error(from, to));
  }
};

struct Capacities;

/// Measures the bandwidth of single flows with a stream of messages per flow, which grows until its
/// steady part lasts long enough compared with the round trip. Each step ends when `share` of the
/// budget is spent.
class BandwidthProbe {
public:
  BandwidthProbe(Prober& prober, const Latencies& latencies, const Sites& sites, Size eager_limit);

  /// Measures a few flows of each ordered pair of sites, one at a time; where these are unlike,
  /// the slowest again, and enough flows to reach every host.
  void sample(double share);
  /// Measures the other flows, as many at once as the widths allow. Where the flows that reach
  /// every host twice are alike, it stops after them; flows in `seen`, whose rates are known to be
  /// as inferred, count among these. Flows of the sample that were too many for a trunk are
  /// measured again.
  void measure_rest(const Widths& widths, const std::vector<Flow>& seen, double share);
  /// Measures a few of the rest again, alone. If flows turn out to have disturbed each other,
  /// measures all of the rest again, one of each ordered pair of sites at a time.
  void repeat_alone(double share);
  /// Measures again, one at a time through each trunk, the flows that together nearly filled a
  /// trunk that wasn't known when they ran. What the share leaves no time for stays as it was.
  void repeat_disturbed(const std::vector<network::Trunk>& trunks, double share);
  /// Measures these flows, one at a time, the first one in any case.
  void measure_alone(std::span<const Flow> flows, double share);
  /// Returns what was measured, and what follows for the others (flows.hpp). Where no flow between
  /// two sites got steady, the rates that some had reached count, with an infinite error.
  [[nodiscard]] Bandwidths result() const;

private:
  /// A flow being measured.
  struct Trial {
    Flow flow;
    Pace pace;
    int bursts = 0, unsteady = 0;
  };
  /// What is known of the flows of an ordered pair of sites.
  struct PairState {
    std::size_t from, to, reach; ///< `reach`: number of flows that reach every host
    std::vector<Flow> measured;
    std::size_t repeats = 0;
    bool confirmed = false; ///< a slow flow was as slow again
  };
  [[nodiscard]] PairState& pair_of(Flow flow);
  /// Measures all flows that the queue hands out.
  void run(Nanoseconds deadline);
  /// Runs one burst of every active flow. @return the flows that need no more
  std::vector<Flow> step();
  /// Measures again the slowest flow of each pair of sites whose flows are unlike, until one is
  /// confirmed: what slows a host for a moment slows a flow, and all that would be inferred from
  /// it.
  void repeat_odd(Nanoseconds deadline);
  /// @param fastest rates of hosts in their fastest flows, which a lone flow should get
  [[nodiscard]] std::optional<Flow> odd_one(const PairState& pair, const Capacities& fastest) const;
  void forget(Flow flow);
  void forget_if_unsteady(Flow flow);
  [[nodiscard]] bool knows_too_little() const;
  /// Whether these flows, which get this rate together, are too many for a joint capacity.
  using Crowded = bool (*)(const Widths::Joint& joint, std::size_t flows, Rate together);
  /// Puts back the flows whose rate was measured while they crowded a joint capacity. @return them
  std::vector<Flow> put_back(const Widths& widths, Crowded crowded);
  /// Forgets the rate of a flow, which will be measured again.
  void put_back(Flow flow);
  /// Gives a flow the rate that it had before.
  void restore(Flow flow, const Bandwidths& before);
  void restore_unmeasured(std::span<const Flow> flows, const Bandwidths& before);
  bool settle(Trial& trial, const FlowArrivals& received);
  Pace& first_pace(Flow flow);
  /// Returns how long a flow must last.
  [[nodiscard]] Nanoseconds needed_time(Flow flow) const;
  [[nodiscard]] bool alike(const PairState& pair) const;
  [[nodiscard]] bool is_narrow(const Widths::Joint& joint) const;
  void limit(const PairState& pair, std::size_t most);
  void note_missing() const;

  Prober& _prober;
  const Latencies& _latencies;
  const Sites& _sites;
  Size _eager_limit;
  FlowQueue _queue;
  SiteOf _site;
  std::vector<PairState> _pairs;
  std::map<const PairState*, Pace> _first_pace;
  Rate _fastest{};
  std::vector<Trial> _running;
  std::vector<std::vector<Flow>> _steps; ///< flows that ran at the same time
  std::vector<Flow> _rest;               ///< measured beside others
  Bandwidths _result;
  Matrix<std::size_t> _last_step; ///< by flow: the step that its rate is from
  Matrix<Rate> _unsteady;         ///< of flows that the budget left no time to finish
};

} // namespace thalweg::probe
