#pragma once

#include "planner/table.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/intercept/force.hpp"
#include "runtime/intercept/reason.hpp"

#include <memory>
#include <unordered_map>

namespace thalweg::runtime {

/// What a rank executes for a shape of call.
struct Prepared {
  Program program;
  Layout layout;
  Pipeline pipeline;
  std::uint16_t algorithm = 0; ///< 1 + index in algorithms::all()
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
  /// `units`: what the vector of `collective.size` bytes may be cut into. O(1) if asked before,
  /// else as building and expanding the skeleton.
  Choice choose(const collective::Collective& collective, std::int64_t units, const Force& force,
                std::uint64_t force_version);

private:
  struct Key {
    collective::Collective collective;
    std::int64_t units = 0;
    bool operator==(const Key& other) const;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  Choice prepare(const Key& key, const Force& force);

  const network::Network& _network;
  network::Placement _placement;
  Rank _rank;
  std::shared_ptr<const planner::Table> _table;
  std::unordered_map<Key, std::unique_ptr<Prepared>, Hash> _prepared;
  std::uint64_t _force_version = 0;
};

} // namespace thalweg::runtime
