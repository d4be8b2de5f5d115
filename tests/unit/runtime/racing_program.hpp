#pragma once

#include "runtime/adapt/races.hpp"

#include <cstdint>
#include <doctest/doctest.h>
#include <functional>
#include <optional>
#include <random>
#include <utility>

namespace thalweg::test {

using runtime::Candidate;
using runtime::EpochRecord;
using runtime::Race;
using runtime::RaceKey;
using runtime::Races;

inline constexpr RaceKey allreduce{.kind = collective::Kind::allreduce, .root = 0, .band = 1 << 19};

/// A program of one rank that calls one collective, whose candidates take what `cost` says.
/// What is known of predictions is the same for all sizes.
struct RacingProgram {
  using Cost = std::function<std::int64_t(Candidate, std::uint64_t call)>;
  explicit RacingProgram(Cost its_cost, runtime::Candidates its_candidates = {true, false})
      : cost(std::move(its_cost)), candidates(its_candidates) {}
  void run(std::uint64_t calls) {
    for (std::uint64_t i = 0; i < calls; ++i, ++made) {
      const bool agrees = races.enter();
      std::optional<EpochRecord> record;
      if (agrees)
        record = races.record(0, now_ns - last_ns, 0, facts, [](std::int64_t ns) { return ns; });
      const RaceKey key =
          size ? runtime::key_of(allreduce.kind, allreduce.root, size(made)) : allreduce;
      Race* race = races.find(key);
      if (race == nullptr) race = races.add(key, 1000, candidates, false);
      const Candidate candidate = race->next();
      const std::int64_t ns = cost(candidate, made);
      races.count(*race, {now_ns, now_ns + ns});
      now_ns += ns;
      ++calls_of[candidate];
      if (record) {
        CHECK(races.agree(*record));
        last_ns = now_ns;
      }
    }
  }
  Cost cost;
  std::function<units::Size(std::uint64_t call)> size = nullptr; ///< null: one for all calls
  runtime::Candidates candidates;
  runtime::RaceFacts facts;
  Races races;
  [[nodiscard]] Candidate incumbent() const { return races.all().front().incumbent(); }
  std::int64_t now_ns = 0, last_ns = 0;
  std::uint64_t made = 0;
  runtime::ByCandidate<std::uint64_t> calls_of;
};

/// Costs with a spread of a tenth.
inline RacingProgram::Cost spread(runtime::ByCandidate<std::int64_t> costs_ns, std::uint64_t seed) {
  return [=, random = std::mt19937_64(seed)](Candidate candidate, std::uint64_t) mutable {
    const std::int64_t ns = costs_ns[candidate];
    return ns + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(ns / 10));
  };
}

inline RacingProgram::Cost spread(std::int64_t plan_ns, std::int64_t native_ns,
                                  std::uint64_t seed) {
  return spread({{plan_ns, native_ns, 0}}, seed);
}

} // namespace thalweg::test
