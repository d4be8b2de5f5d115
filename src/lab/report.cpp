#include "lab/report.hpp"

#include "lab/clock.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace thalweg::lab {
namespace {

using nlohmann::json;

/// Returns the frames that the host's own interface dropped, received and sent.
std::uint64_t interface_drops(pid_t host) {
  std::ifstream file("/proc/" + std::to_string(host) + "/net/dev");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.find(interface_name) > colon) continue;
    std::istringstream numbers(line.substr(colon + 1));
    std::array<std::uint64_t, 12> column{};
    for (auto& value : column)
      numbers >> value;
    return column[3] + column[11]; // receive drop, transmit drop
  }
  return 0;
}

std::uint64_t retransmits(pid_t host) {
  std::ifstream file("/proc/" + std::to_string(host) + "/net/snmp");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Tcp:")) continue;
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
      words.push_back(word);
    for (std::size_t column = 0; column < names.size() && column < words.size(); ++column)
      if (names[column] == "RetransSegs") return std::stoull(words[column]);
    names = words;
  }
  return 0;
}

json square(const std::vector<std::uint64_t>& values, std::size_t size) {
  json rows = json::array();
  for (std::size_t row = 0; row < size; ++row) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row * size);
    rows.push_back(std::vector<std::uint64_t>(first, first + static_cast<std::ptrdiff_t>(size)));
  }
  return rows;
}

json lateness(const Counters& counters) {
  std::vector<double> edges;
  for (std::size_t bucket = 0; bucket < Lateness::buckets; ++bucket)
    edges.push_back(Lateness::upper_edge(bucket) * 1e-9);
  return {{"edges", edges}, {"counts", counters.lateness.counts()}};
}

json drops(const Counters& counters, const Fabric& fabric, const Scenario& scenario) {
  const auto count = [&](Fate fate) { return counters.frames[static_cast<std::size_t>(fate)]; };
  json trunks = json::object();
  for (std::size_t trunk = 0; trunk < scenario.network.trunks.size(); ++trunk)
    trunks[scenario.network.trunks[trunk].name] = fabric.trunk_drops()[trunk];
  return {{"lost", count(Fate::lost)},
          {"pair", count(Fate::dropped_by_pair)},
          {"trunk", count(Fate::dropped_by_trunk)},
          {"ingress", count(Fate::dropped_by_ingress)},
          {"trunks", trunks},
          {"refused", counters.refused}};
}

} // namespace

std::string report(const Counters& counters, const Fabric& fabric, const Scenario& scenario,
                   const std::vector<HostProcess>& hosts, OwnCost cost) {
  std::vector<std::string> names;
  std::vector<std::uint64_t> dropped, resent;
  for (const auto& host : hosts) {
    names.push_back(host.name);
    dropped.push_back(interface_drops(host.pid));
    resent.push_back(retransmits(host.pid));
  }
  const auto seconds = [](Instant value) { return static_cast<double>(value) * 1e-9; };
  const json result{{"dilation", scenario.dilation},
                    {"hosts", names},
                    {"elapsed", seconds(now() - counters.started)},
                    {"busy", seconds(counters.busy)},
                    {"frames", counters.frames[static_cast<std::size_t>(Fate::delivered)]},
                    {"strays", counters.strays},
                    {"pair_bytes", square(counters.pair_bytes, hosts.size())},
                    {"pair_frames", square(counters.pair_frames, hosts.size())},
                    {"drops", drops(counters, fabric, scenario)},
                    {"late", counters.late},
                    {"lateness", lateness(counters)},
                    {"host_drops", dropped},
                    {"retransmits", resent},
                    {"own_cost",
                     {{"awake", seconds(cost.awake)},
                      {"asleep", seconds(cost.asleep)},
                      {"write", seconds(cost.write)}}},
                    {"in_flight", fabric.in_flight()}};
  return result.dump();
}

} // namespace thalweg::lab
