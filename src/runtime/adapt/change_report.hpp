#pragma once

#include "runtime/adapt/attempt_state.hpp"
#include "runtime/adapt/diagnosis.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thalweg::runtime {

/// An attempt to adapt a communicator's plans, as its leader tells it.
struct Attempt {
  RaceKey key;
  SizeRange sizes;                   ///< of its calls until then
  std::uint64_t call = 0, epoch = 0; ///< at which it was noticed: of the shape, and of the races
  std::uint64_t adopted = 0;         ///< the communicator's blocking call from which on plans hold
  std::int64_t usual_ns = 0, cost_ns = 0;
  std::int64_t after_ns = 0; ///< with the new plan, at the first look
  AttemptState::Outcome outcome{};
  bool was_worse = false; ///< so that the plans before came back
  Purpose purpose = Purpose::drift;
  bool found_recovered = false; ///< the network is as it was, whether or not that was looked for
  std::vector<Cause> causes;
  Quantity quantity{};
  std::vector<PlanChange> changes;

  /// Whether a recovery was looked for, or found.
  [[nodiscard]] bool is_recovery() const { return purpose == Purpose::recovery || found_recovered; }
};

/// Returns the attempts of a communicator, each as a JSON object: docs/events-file.md describes it.
/// @param network whose hosts and trunks the causes name
/// @param ranks of the communicator, @param leader its first rank's number in COMM_WORLD
/// @param communicator a number that no other one of this process has
std::vector<std::string> reports(std::span<const Attempt> attempts, const Network& network,
                                 collective::Rank ranks, int leader, std::uint32_t communicator);

} // namespace thalweg::runtime
