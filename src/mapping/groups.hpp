#pragma once

#include "mapping/refine.hpp"

#include <cstdint>

namespace thalweg::mapping {

/// Exchanges whole hosts: the ranks of each stay together, and it is decided anew which host they
/// are on, among hosts with equally many slots. Pinned ranks hold theirs. Returns the start unless
/// the result costs less.
Placement exchange_groups(const Problem& problem, const HostCosts& costs, const Placement& start,
                          const RefineOptions& options);

/// Does the same by recursive bisection of hosts and groups (starts.hpp) instead of exchanges.
Placement bisect_groups(const Problem& problem, const HostCosts& costs, const Placement& start);

/// Lets Scotch decide it, whatever the result costs. The groups stay where scotch() returns
/// nothing, as where they exchange no messages.
Placement scotch_groups(const Problem& problem, const HostCosts& costs, const Placement& start);

/// Decides it by exchanging two hosts at a time, as long as that lowers the whole cost, calls of
/// collectives included, which the others don't look at.
/// @param moves ranks that evaluated exchanges move, and hosts that their calls then look at;
/// these ranks' peers count as in refine()
Placement swap_groups(const Problem& problem, const HostCosts& costs, const Placement& start,
                      std::int64_t moves);

/// Fills hosts in another order, so that those with more or fewer slots have ranks after which the
/// others follow: in the order of least cost where the moves suffice for all orders, else in what
/// changing the places of two hosts finds. Hosts of pinned ranks keep their place. Returns the
/// start unless the result costs less, or if equal slots make exchanges of groups as good.
/// @param start groups of successive ranks
/// @param moves as of swap_groups()
Placement reorder_groups(const Problem& problem, const HostCosts& costs, const Placement& start,
                         std::int64_t moves);

/// Draws which host each group goes to, in the same manner.
Placement shuffle_groups(const Problem& problem, const Placement& start, std::uint64_t seed);

} // namespace thalweg::mapping
