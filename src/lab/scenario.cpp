#include "lab/scenario.hpp"

#include "network/file.hpp"
#include "network/parse.hpp"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string_view>

namespace thalweg::lab {
namespace {

using nlohmann::json;
constexpr int schema = 1;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw std::invalid_argument(where + ": " + what);
}

const json& object(const json& value, const std::string& where,
                   std::initializer_list<std::string_view> keys) {
  if (!value.is_object()) fail(where, "must be an object {...}");
  for (const auto& [key, unused] : value.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      std::string known;
      for (const auto& each : keys)
        known += (known.empty() ? "" : ", ") + std::string(each);
      fail(where, "unknown key \"" + key + "\"; known are " + known);
    }
  return value;
}

/// Reads a quantity from text with a unit, parsed by `parse`.
template <class Parse>
auto quantity(const json& value, const std::string& where, Parse parse) {
  if (!value.is_string())
    fail(where, "must be text with a unit, such as \"10ms\", \"512KB\" or \"100Mbps\"");
  try {
    return parse(value.get<std::string>());
  } catch (const std::invalid_argument& error) {
    fail(where, error.what());
  }
}

double probability(const json& value, const std::string& where) {
  if (!value.is_number() || value.get<double>() < 0 || value.get<double>() >= 1)
    fail(where, "must be a probability, at least 0 and below 1");
  return value.get<double>();
}

double dilation(const json& value, const std::string& where) {
  if (!value.is_number() || !(value.get<double>() >= 1) || value.get<double>() > largest_dilation)
    fail(where, "must be a number between 1 and " + std::to_string(largest_dilation));
  return value.get<double>();
}

Queues queues(const json& value, const std::string& where) {
  Queues result;
  object(value, where, {"pair", "trunk", "ingress"});
  for (const auto& [key, size] : value.items()) {
    auto& queue = key == "pair" ? result.pair : key == "trunk" ? result.trunk : result.ingress;
    queue = quantity(size, where + "." + key, units::parse_size);
    if (queue <= 0) fail(where + "." + key, "must be above zero");
  }
  return result;
}

/// Reads a list of host names, or "all".
std::vector<HostId> hosts(const json& value, const std::string& where,
                          const network::Network& network) {
  std::vector<HostId> result;
  if (value.is_string() && value.get<std::string>() == "all") {
    result.resize(network.hosts.size());
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  if (!value.is_array()) fail(where, "must be a list of host names, or \"all\"");
  for (const auto& name : value) {
    const auto host = name.is_string() ? network.find(name.get<std::string>()) : network::no_host;
    if (host == network::no_host) fail(where, "no host of the network is named " + name.dump());
    result.push_back(host);
  }
  return result;
}

std::size_t trunk(const json& value, const std::string& where, const network::Network& network) {
  for (std::size_t index = 0; index < network.trunks.size(); ++index)
    if (value == network.trunks[index].name) return index;
  fail(where, "no trunk of the network is named " + value.dump());
}

Change change(const json& value, const std::string& where, const network::Network& network) {
  object(value, where,
         {"at", "from", "to", "latency", "bandwidth", "loss", "hosts", "egress", "ingress", "trunk",
          "capacity"});
  const auto has = [&](const char* key) { return value.contains(key); };
  const auto rate = [&](const char* key) {
    return quantity(value[key], where + "." + key, units::parse_rate);
  };
  if (!has("at")) fail(where, "lacks \"at\", the time of the change");
  if (!has("latency") && !has("bandwidth") && !has("loss") && !has("egress") && !has("ingress") &&
      !has("capacity"))
    fail(where, "changes nothing");
  if (has("from") != has("to") ||
      (has("latency") || has("bandwidth") || has("loss")) != has("from"))
    fail(where, "latency, bandwidth and loss go with \"from\" and \"to\"");
  if ((has("egress") || has("ingress")) != has("hosts"))
    fail(where, "egress and ingress go with \"hosts\"");
  if (has("capacity") != has("trunk")) fail(where, "capacity goes with \"trunk\"");
  Change result;
  result.at = quantity(value["at"], where + ".at", units::parse_time);
  if (has("from")) {
    result.from = hosts(value["from"], where + ".from", network);
    result.to = hosts(value["to"], where + ".to", network);
  }
  if (has("latency"))
    result.latency = quantity(value["latency"], where + ".latency", units::parse_time);
  if (has("bandwidth")) result.bandwidth = rate("bandwidth");
  if (has("loss")) result.loss = probability(value["loss"], where + ".loss");
  if (has("hosts")) result.hosts = hosts(value["hosts"], where + ".hosts", network);
  if (has("egress")) result.egress = rate("egress");
  if (has("ingress")) result.ingress = rate("ingress");
  if (has("trunk")) {
    result.trunk = trunk(value["trunk"], where + ".trunk", network);
    result.capacity = rate("capacity");
  }
  return result;
}

Scenario parse(const json& document, const std::string& where) {
  object(document, where,
         {"schema", "name", "description", "dilation", "network", "queues", "loss", "seed",
          "timeline", "tcp"});
  if (!document.contains("schema") || document["schema"] != schema)
    fail(where, "\"schema\" must be " + std::to_string(schema));
  if (!document.contains("network")) fail(where, "lacks \"network\", the network to emulate");
  Scenario result;
  result.network = network::from_json(document["network"].dump(), where + ": network");
  if (result.network.size() < 2) fail(where + ": network", "a lab needs at least two hosts");
  if (document.contains("name") && document["name"].is_string())
    result.name = document["name"].get<std::string>();
  if (document.contains("dilation"))
    result.dilation = dilation(document["dilation"], where + ": dilation");
  if (document.contains("queues")) result.queues = queues(document["queues"], where + ": queues");
  if (document.contains("loss")) result.loss = probability(document["loss"], where + ": loss");
  if (document.contains("seed")) {
    if (!document["seed"].is_number_unsigned())
      fail(where + ": seed", "must be a whole number of at least zero");
    result.seed = document["seed"].get<std::uint64_t>();
  }
  if (document.contains("timeline")) {
    if (!document["timeline"].is_array()) fail(where + ": timeline", "must be a list of changes");
    std::size_t index = 0;
    for (const auto& entry : document["timeline"])
      result.timeline.push_back(
          change(entry, where + ": timeline[" + std::to_string(index++) + "]", result.network));
  }
  std::stable_sort(result.timeline.begin(), result.timeline.end(),
                   [](const Change& a, const Change& b) { return a.at < b.at; });
  return result;
}

} // namespace

Scenario read_scenario(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) fail(path.string(), "cannot be read");
  json document;
  try {
    document = network::parse_json(file);
  } catch (const std::invalid_argument& error) {
    fail(path.string(), error.what());
  }
  return parse(document, path.string());
}

Scenario dilated(Scenario scenario) {
  const double d = scenario.dilation;
  auto& network = scenario.network;
  for (auto& host : network.hosts) {
    host.egress = host.egress / d;
    host.ingress = host.ingress / d;
  }
  for (auto& trunk : network.trunks)
    trunk.capacity = trunk.capacity / d;
  network.latency.transform([d](Time latency) { return latency * d; });
  network.bandwidth.transform([d](Rate rate) { return rate / d; });
  for (auto& change : scenario.timeline) {
    change.at = change.at * d;
    if (change.latency) change.latency = *change.latency * d;
    for (auto* rate : {&change.bandwidth, &change.egress, &change.ingress, &change.capacity})
      if (*rate) *rate = **rate / d;
  }
  return scenario;
}

} // namespace thalweg::lab
