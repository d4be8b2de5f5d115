#pragma once

#include "network/network.hpp"
#include "network/node.hpp"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The parts of a network file that have values for pairs of hosts.
namespace thalweg::network {

/// The hosts by their names. The hosts must outlive it.
class Names {
public:
  explicit Names(const std::vector<Host>& hosts) {
    for (const Host& host : hosts) {
      _ids.emplace(host.name, static_cast<HostId>(_names.size()));
      _names.emplace_back(host.name);
    }
  }
  [[nodiscard]] std::size_t size() const { return _names.size(); }
  [[nodiscard]] HostId read(const Node& node) const {
    const std::string name = node.text();
    if (const auto found = _ids.find(name); found != _ids.end()) return found->second;
    node.fail_name(name, "a host of this network", _names);
  }

private:
  std::vector<std::string_view> _names;
  std::unordered_map<std::string_view, HostId> _ids;
};

/// Reads the latencies, and their errors if there are any, of a network whose hosts have been read.
/// @throws std::invalid_argument naming the place and the remedy
void read_latency(const Node& section, const Names& names, Network& network);
/// The same for bandwidths.
void read_bandwidth(const Node& section, const Names& names, Network& network);

} // namespace thalweg::network
