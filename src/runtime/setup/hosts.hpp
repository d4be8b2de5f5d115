#pragma once

#include "network/network.hpp"

#include <string>
#include <vector>

namespace thalweg::runtime {

/// The host of each rank, by its name: found in the network with or without its domain; no_host
/// where it isn't in there.
network::Placement place(const std::vector<std::string>& names, const network::Network& network);

/// A network of the distinct names, in the order of their first appearance, all alike: for forced
/// algorithms without a plan.
network::Network assumed_network(const std::vector<std::string>& names);

/// For `ranks` ranks, the names in `list` ("a,b,c") in turn.
std::vector<std::string> assumed_names(const std::string& list, int ranks);

} // namespace thalweg::runtime
