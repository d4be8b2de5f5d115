#pragma once

#include "planner/table.hpp"
#include "runtime/choose/force.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/observe/reason.hpp"

#include <memory>
#include <unordered_map>

namespace thalweg::runtime {

/// What a rank executes for a shape of call.
struct Prepared {
  Program program;
  Pipeline pipeline;
  std::vector<std::int32_t> weights; ///< as schedule::Layout's
  std::uint16_t algorithm = 0;       ///< 1 + index in algorithms::all()
};

/// What the decision about a call depends on: the same on all ranks.
struct Shape {
  collective::Kind kind{};
  Rank root = 0;               ///< 0 where there is none
  units::Size size = 0;        ///< as Collective::size
  bool sizes_are_known = true; ///< to all ranks, those of all blocks
  bool operator==(const Shape&) const = default;
};

/// Decides for one communicator and one of its ranks how a call is executed. The decision depends
/// only on what all ranks share. Not thread-safe, as collectives on one communicator aren't.
class Chooser {
public:
  /// `table` may be null: then only what is forced is planned. `network` must outlive it.
  Chooser(const network::Network& network, network::Placement placement, Rank rank,
          std::shared_ptr<const planner::Table> table);

  struct Choice {
    const Prepared* prepared =
        nullptr; ///< null: native, because of `reason`; valid until the next call
    Reason reason = Reason::planned;
  };
  /// O(1) if asked before, else as building and expanding the skeleton, for all ranks if sizes
  /// aren't known.
  Choice choose(const Shape& shape, const Force& force, std::uint64_t force_version);

private:
  struct Hash {
    std::size_t operator()(const Shape& shape) const;
  };
  struct Decision {
    std::unique_ptr<Prepared> prepared;
    Reason reason;
  };
  [[nodiscard]] Decision decide(const Shape& shape, const Force& force) const;
  [[nodiscard]] Decision expand(const Shape& shape, const algorithms::Skeleton& skeleton) const;

  const network::Network& _network;
  network::Placement _placement;
  Rank _rank;
  std::shared_ptr<const planner::Table> _table;
  std::unordered_map<Shape, Decision, Hash> _decisions;
  std::uint64_t _force_version = 0;
};

} // namespace thalweg::runtime
