/// thalweg-bench-trunks: how well the probe finds the trunks of drawn networks, whose answers are
/// simulated. topologies.hpp draws them; simulated_prober.hpp says what is simulated.

#include "bench/cuts.hpp"
#include "probe/outline.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace thalweg::probe::simulated {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* usage =
    "usage: thalweg-bench-trunks SEED BUDGET\n"
    "Probes the network drawn from the seed, within so many seconds of the network's time. Prints\n"
    "what it found against the truth, as JSON.\n";

/// Returns the network as a file would say it: what the probe knows after its latencies.
network::Network known(const Topology& truth) {
  network::Network net;
  for (HostId h = 0; h < truth.hosts(); ++h)
    net.hosts.emplace_back().name = "host" + std::to_string(h);
  net.latency = network::HostPairs<Time>(truth.latency);
  net.bandwidth = network::HostPairs<Rate>(truth.rate);
  net.sites = find_sites(truth.latency);
  return net;
}

/// Returns when the probe would know latencies and the costs of messages.
Time rates_begin(const Topology& truth, Time budget) {
  const auto phases = outline(known(truth), budget);
  return phases[0].time + phases[1].time;
}

double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

Json report(unsigned seed, Time budget) {
  const auto truth = Drawing(seed).draw();
  const Conditions conditions{.budget = budget, .begin = rates_begin(truth, budget)};
  const auto probed = run(truth, seed, conditions);
  const auto judgement = judge(truth, probed, seed);
  Json spent = Json::object();
  for (const auto& [what, time] : probed.spent)
    spent[what] = seconds(time);
  Json trunks = Json::array(), links = Json::array();
  for (const auto& trunk : probed.rates.trunks)
    trunks.push_back({trunk.name, trunk.capacity.value()});
  for (const auto& link : truth.links)
    links.push_back({link.name, link.capacity.value()});
  double farthest = 0;
  for (HostId a = 0; a < truth.hosts(); ++a)
    for (HostId b = 0; b < truth.hosts(); ++b)
      if (a != b)
        farthest = std::max(farthest, (truth.latency(a, b) + truth.latency(b, a)).value());
  return {{"network", truth.name},     {"seed", seed},
          {"hosts", truth.hosts()},    {"sites", probed.sites.size()},
          {"round_trip", farthest},    {"cuts", judgement.cuts},
          {"right", judgement.right},  {"least", judgement.least},
          {"most", judgement.most},    {"begin", conditions.begin.value()},
          {"end", probed.end.value()}, {"spent", spent},
          {"shared", truth.shared},    {"links", links},
          {"trunks", trunks}};
}

int main_of(int argc, char** argv) {
  if (argc != 3) throw std::invalid_argument("two arguments are needed");
  const auto seed = static_cast<unsigned>(std::stoul(argv[1]));
  const double budget = std::stod(argv[2]);
  if (!(budget > 0)) throw std::invalid_argument("the budget must be above 0");
  std::printf("%s\n", report(seed, Time(budget)).dump().c_str());
  return 0;
}

} // namespace
} // namespace thalweg::probe::simulated

int main(int argc, char** argv) {
  try {
    return thalweg::probe::simulated::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thalweg-bench-trunks: %s\n%s", error.what(),
                 thalweg::probe::simulated::usage);
    return 2;
  }
}
