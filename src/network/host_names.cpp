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

/// Returns a folded name without its domain; empty for an address.
std::string without_domain(const std::string& name) {
  const bool is_address = name.find_first_not_of("0123456789.") == std::string::npos ||
                          name.find(':') != std::string::npos;
  return is_address ? "" : name.substr(0, name.find('.'));
}

} // namespace

Placement place(std::span<const std::string> names, const Network& network) {
  // A name as it is written wins over one with other capitals, and the full name over the short
  // one: each may belong to several hosts. A short name that does is nobody's.
  std::unordered_map<std::string, HostId> ids, exact;
  for (HostId id = 0; id < network.size(); ++id)
    if (const auto [at, is_new] =
            ids.emplace(without_domain(folded(network.hosts[index(id)].name)), id);
        !is_new)
      at->second = no_host;
  ids[""] = no_host;
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
