#include "lab/scenario.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace thalweg::lab {
namespace {

using nlohmann::json;

json number(Rate rate) { return std::isinf(rate.value()) ? json() : json(rate.value()); }

template <class T, class Convert>
json square(const network::HostPairs<T>& matrix, Convert convert) {
  json rows = json::array();
  for (HostId from = 0; from < static_cast<HostId>(matrix.size()); ++from) {
    json row = json::array();
    for (HostId to = 0; to < static_cast<HostId>(matrix.size()); ++to)
      row.push_back(convert(matrix(from, to)));
    rows.push_back(std::move(row));
  }
  return rows;
}

json change(const Change& change) {
  json result{{"at", change.at.value()}};
  if (!change.from.empty()) result.update({{"from", change.from}, {"to", change.to}});
  if (!change.hosts.empty()) result["hosts"] = change.hosts;
  if (change.trunk) result["trunk"] = *change.trunk;
  if (change.latency) result["latency"] = change.latency->value();
  if (change.loss) result["loss"] = *change.loss;
  const auto rate = [&](const char* key, const std::optional<Rate>& value) {
    if (value) result[key] = number(*value);
  };
  rate("bandwidth", change.bandwidth);
  rate("egress", change.egress);
  rate("ingress", change.ingress);
  rate("capacity", change.capacity);
  return result;
}

} // namespace

std::string describe(const Scenario& scenario) {
  const auto& network = scenario.network;
  json hosts = json::array(), trunks = json::array(), timeline = json::array();
  for (const auto& host : network.hosts)
    hosts.push_back(
        {{"name", host.name}, {"egress", number(host.egress)}, {"ingress", number(host.ingress)}});
  for (const auto& trunk : network.trunks)
    trunks.push_back({{"name", trunk.name},
                      {"from", trunk.from},
                      {"to", trunk.to},
                      {"capacity", number(trunk.capacity)}});
  for (const auto& each : scenario.timeline)
    timeline.push_back(change(each));
  const json result{{"name", scenario.name},
                    {"dilation", scenario.dilation},
                    {"hosts", hosts},
                    {"latency", square(network.latency, [](Time time) { return time.value(); })},
                    {"bandwidth", square(network.bandwidth, number)},
                    {"trunks", trunks},
                    {"sites", network.sites},
                    {"queues",
                     {{"pair", scenario.queues.pair},
                      {"trunk", scenario.queues.trunk},
                      {"ingress", scenario.queues.ingress}}},
                    {"loss", scenario.loss},
                    {"seed", scenario.seed},
                    {"timeline", timeline}};
  return result.dump();
}

} // namespace thalweg::lab
