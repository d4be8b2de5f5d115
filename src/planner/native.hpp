#pragma once

#include "planner/judge.hpp"
#include "planner/native_algorithm.hpp"

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace thalweg::planner {

/// Predicts what the MPI library's own collectives take: what its selection rules choose, simulated
/// as candidates are, times how much the library was measured to differ from that.
///
/// Network::native_times are of all hosts, one rank each, in their order, and root 0. There the
/// prediction is the measured time. Measured over predicted is a factor, interpolated log-log
/// between sizes and constant beyond them, that is carried over to other sizes, placements and
/// roots; if the library was measured with the same algorithm at some sizes, from these alone. A
/// collective that wasn't measured takes the geometric mean of the others' factors at its size;
/// with nothing measured the factor is 1.
class NativeModel {
public:
  /// The network and the options must outlive it. It judges as judge() does with them; where
  /// nothing is simulated as candidates are in the end: from all messages.
  NativeModel(const network::Network& network, const PlanOptions& options, const Limits& limits)
      : _network(network), _options(options), _limits(limits) {
    _limits.memo = nullptr; // Phases have placements of their own.
    _limits.confirms = best_judge(options) == "estimate";
  }

  /// Costs a simulation or two, and one for each measured time that it relies on for the first
  /// time. Several threads may call it.
  [[nodiscard]] Native predict(const Problem& problem);

private:
  /// A measured time over what is predicted of it by the rules.
  struct Point {
    double factor = 1;
    std::string algorithm;
  };
  struct Factor {
    double value = 1;
    double octaves = 0; ///< to the nearest size that was measured
    double spread = 0;  ///< logarithm of the ratio to the factor of the nearer measured size
  };
  using Kind = collective::Kind;

  /// A phase of an algorithm that has messages: the problem of its ranks, and how they solve it.
  struct Part {
    Problem problem;
    Skeleton skeleton;
  };
  /// What the rules of a release choose.
  struct Chosen {
    std::string name;
    std::vector<Part> parts;
    Time estimate{};
  };

  /// @param of_best gets the parts of what is chosen, unless it is null
  [[nodiscard]] Native simulate(const Problem& problem, std::vector<Part>* of_best = nullptr) const;
  void scale(Native& native, const Problem& problem);
  [[nodiscard]] std::vector<Part> parts(const Problem& problem,
                                        const NativeAlgorithm& algorithm) const;
  [[nodiscard]] Time estimate(const std::vector<Part>& parts) const;
  /// @param give_up the time after which it may be infinite
  [[nodiscard]] Time time(const std::vector<Part>& parts, Time give_up) const;
  /// Returns Native::in_a_row by the rules alone.
  [[nodiscard]] Time in_a_row(const std::vector<Part>& parts) const;
  /// Returns what `algorithm` differs by, or if it wasn't measured any; nothing if the collective
  /// wasn't.
  [[nodiscard]] std::optional<Factor> factor(Kind kind, Size size,
                                             const std::string& algorithm = {});
  [[nodiscard]] const std::map<Size, Point>& points(Kind kind);
  [[nodiscard]] std::map<Size, Point> find_points(Kind kind) const;
  [[nodiscard]] bool is_as_measured(const Problem& problem) const;

  const network::Network& _network;
  const PlanOptions& _options;
  Limits _limits;
  /// The points of one kind, computed when they are asked for. A mutex, not std::call_once, under
  /// which exceptions such as Cancelled aren't safe everywhere.
  struct Measured {
    std::mutex mutex;
    std::optional<std::map<Size, Point>> points;
  };
  std::array<Measured, collective::kind_count> _measured; ///< by kind
};

} // namespace thalweg::planner
