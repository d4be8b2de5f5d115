#pragma once

#include "probe/evidence.hpp"

#include <map>

namespace thalweg::probe {

/// Finds the trunks that explain why flows at the same time got less than alone.
class TrunkSearch {
public:
  TrunkSearch(Evidence& evidence, const Latencies& latencies, const Sites& sites)
      : _evidence(evidence), _latencies(latencies), _sites(sites), _site(sites) {}

  /// Runs crowds as long as there is time. @return how many
  std::size_t watch(const std::vector<std::vector<Flow>>& crowds);
  /// Adds the trunks between groups of sites that crowds suggest (partitions.hpp): those that
  /// filled several crowds, and those that a crowd or two of their own confirm.
  void suppose();
  /// Finds trunks that explain all that has been observed, as far as time allows.
  void explain();
  /// Lets some hosts, ascending, send to all others at the same time, or receive from them, if that
  /// should get clearly more than has ever been seen, and explains the result.
  void challenge(const std::vector<HostId>& hosts, bool out);
  /// Drops each trunk that the others limit to hardly more than its own capacity, or than its
  /// flows got in a crowd.
  void drop_implied();
  /// Returns a trunk with its name: "sites 0, 1 to site 2". Trunks between parts of the same sites
  /// have the same name (make_names_unique).
  [[nodiscard]] network::Trunk trunk_of(const FilledTrunk& trunk) const;

private:
  [[nodiscard]] bool is_as_supposed(FilledTrunk& trunk, std::size_t& tests);
  [[nodiscard]] std::vector<Flow> enough_flows(const FilledTrunk& trunk, std::size_t shift) const;
  void explain(const Observation& seen);
  void widen_refuted();
  void add_trunk(const Observation& part);
  [[nodiscard]] std::vector<Flow> unexplained(const Observation& seen) const;
  [[nodiscard]] Observation with_accomplices(const Observation& seen,
                                             const std::vector<Flow>& suspects) const;
  [[nodiscard]] bool is_short(const Observation& seen) const;
  [[nodiscard]] bool is_crossed(const std::vector<Flow>& flows) const;
  [[nodiscard]] Observation by_itself(const Observation& part);
  [[nodiscard]] bool is_link(const Observation& part);
  [[nodiscard]] std::string name(const std::vector<HostId>& hosts) const;

  Evidence& _evidence;
  const Latencies& _latencies;
  const Sites& _sites;
  SiteOf _site;
  /// Tests of suppositions, by their ends.
  std::map<std::pair<std::vector<HostId>, std::vector<HostId>>, std::size_t> _tests;
  std::size_t _wrong = 0; ///< suppositions that tests refuted
};

/// Numbers trunks whose names are the same, from the second on: "part of site 0 to part of site 0
/// (2)".
void make_names_unique(std::vector<network::Trunk>& trunks);

} // namespace thalweg::probe
