#pragma once

#include "probe/evidence.hpp"

#include <functional>

namespace thalweg::probe {

/// A trunk that would explain what crowds got.
struct Supposition {
  FilledTrunk trunk;      ///< its capacity is the most that its flows got in any crowd
  std::size_t crowds = 0; ///< that filled it
  /// Pairs of sites nearly all of whose flows alone filled it in a crowd.
  std::size_t site_pairs = 0;
  bool is_joint = false; ///< whether flows between several pairs filled it in a crowd
  bool is_even = false;  ///< whether none of a pair's flows in a crowd got what it gets alone
};

/// Takes a supposition. @return whether to go on to the next one
using Judge = std::function<bool(Supposition)>;

/// Supposes trunks whose flows got less than expected even in the crowd in which they got most,
/// each of which explains what those before leave: first trunks from some sites to all others,
/// then trunks from one site to one other. Some sites are single ones, or those on one side of a
/// link that would follow if latencies were those of a tree. Other links may explain the same. It
/// ends when the judge wants no more, or when the evidence has no time left; what the judge adds to
/// the evidence doesn't count. O(flows of all crowds) for each of the O(sites) parts, and for all
/// pairs of sites together; and, for each supposition, the predictions of the crowds with flows in
/// it.
void suppose_trunks(const Evidence& evidence, const Sites& sites, const Latencies& latencies,
                    const Judge& judge);

/// Whether a flow got what it gets alone though it should have shared a capacity with the others,
/// of which one got much less though its round trip is no longer: TCP favours short ones.
bool any_is_free(const Evidence& evidence, const Latencies& latencies, const Observation& seen,
                 Rate capacity);

/// Returns one flow of each host at the end with fewer hosts, to or from hosts of all sites at the
/// other end in turn, as long as what leads from site to site isn't full by what crowds got: if the
/// flows share no capacity but those, they get most.
/// @param shift other flows for each
std::vector<Flow> flows_through(const Evidence& evidence, const FilledTrunk& trunk,
                                const Sites& sites, std::size_t shift);

} // namespace thalweg::probe
