#include "network/host_names.hpp"

#include "units/index.hpp"

#include <unordered_map>

namespace thalweg::network {
namespace {

/// Returns a name as it is compared: DNS takes capitals for small letters.
std::string folded(std::string name) {
  for (char& letter : name)
    if ('A' <= letter && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return name;
}

std::string without_domain(const std::string& name) { return name.substr(0, name.find('.')); }

} // namespace

Placement place(std::span<const std::string> names, const Network& network) {
  // A name as it is written wins over one with other capitals, and the full name over the short
  // one: each may belong to several hosts.
  std::unordered_map<std::string, HostId> ids, exact;
  for (HostId id = 0; id < network.size(); ++id)
    ids.emplace(without_domain(folded(network.hosts[index(id)].name)), id);
  for (HostId id = 0; id < network.size(); ++id) {
    ids[folded(network.hosts[index(id)].name)] = id;
    exact[network.hosts[index(id)].name] = id;
  }
  Placement placement;
  for (const std::string& name : names) {
    if (const auto as_written = exact.find(name); as_written != exact.end()) {
      placement.push_back(as_written->second);
      continue;
    }
    auto found = ids.find(folded(name));
    if (found == ids.end()) found = ids.find(without_domain(folded(name)));
    placement.push_back(found != ids.end() ? found->second : no_host);
  }
  return placement;
}

} // namespace thalweg::network
