/// thalweg-bench-simgrid: what a schedule takes by SimGrid, which is a judge that knows nothing of
/// our simulator's network. simgrid_replay.hpp says what is modelled and what isn't.
///
/// SimGrid shares what flows have in common max-min fairly, weighted by the inverse of their
/// latencies, as TCP does; with `equal` not weighted, as our `fluid` simulator. It adds no factors,
/// no TCP window and no traffic of acknowledgements. The latency is spent by the replay, after the
/// bytes: SimGrid would spend it before them, for each message anew, while messages of a connection
/// follow each other without a gap. SimGrid's links keep it, for weights.

#include "network/file.hpp"
#include "schedule_file.hpp"
#include "simgrid_replay.hpp"
#include "simulator/simulator.hpp"

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

namespace thalweg::bench {
namespace {

namespace s4u = simgrid::s4u;

constexpr const char* usage =
    "usage: thalweg-bench-simgrid PLATFORM NETWORK SCHEDULE LIBRARY weighted|equal\n"
    "Replays a schedule file on a platform that `thalweg export` made of the network file, rank r\n"
    "on its host r, with the message costs of an MPI library. Flows get shares weighted by the\n"
    "inverse of their latencies, or equal ones. Prints the seconds that it takes, and the number\n"
    "of messages.\n";
constexpr int window = simulator::SimulationOptions{}.window;

struct Arguments {
  std::string platform, network, schedule, library, shares;
};

Arguments parse(int argc, char** argv) {
  if (argc != 6) throw std::invalid_argument("five arguments are needed");
  Arguments arguments{argv[1], argv[2], argv[3], argv[4], argv[5]};
  if (arguments.shares != "weighted" && arguments.shares != "equal")
    throw std::invalid_argument("shares are weighted or equal, not \"" + arguments.shares + '"');
  return arguments;
}

/// SimGrid's model of the network without what it adds for real ones.
void configure(bool weighted) {
  s4u::Engine::set_config("network/model", std::string("CM02"));
  s4u::Engine::set_config("network/TCP-gamma", 0.0);
  s4u::Engine::set_config("network/crosstraffic", false);
  s4u::Engine::set_config("network/weight-S", 0.0);
  s4u::Engine::set_config("network/bandwidth-factor", 1.0);
  // A flow's weight is its unscaled latency's, if there is any at all to be waited for.
  s4u::Engine::set_config("network/latency-factor", weighted ? 1e-9 : 0.0);
  s4u::Engine::set_config("surf/precision", 1e-9);
  s4u::Engine::set_config("contexts/stack-size", 64); // KiB
}

std::vector<s4u::Host*> hosts_of(const s4u::Engine& engine, const network::Network& network,
                                 collective::Rank ranks) {
  if (ranks > network.size())
    throw std::invalid_argument("the schedule has " + std::to_string(ranks) +
                                " ranks, the network " + std::to_string(network.size()) + " hosts");
  std::vector<s4u::Host*> hosts;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank)
    hosts.push_back(engine.host_by_name(network.hosts[rank].name));
  return hosts;
}

void judge(const Arguments& arguments) {
  const network::Network network = network::read(arguments.network);
  const ScheduleFile file = read_schedule(arguments.schedule);
  const network::MessageCost cost = network::message_cost(network, arguments.library);

  const s4u::Engine engine("thalweg-bench-simgrid");
  configure(arguments.shares == "weighted");
  engine.load_platform(arguments.platform);
  const simulator::Workload workload(file.collective, file.schedule, simulator::Sizes::exact,
                                     cost.eager_limit);
  Replay replay(workload, network, cost, window, hosts_of(engine, network, file.collective.ranks));
  const double time = replay.run(engine);
  std::printf("%.9g %zu\n", time, static_cast<std::size_t>(workload.messages));
}

} // namespace
} // namespace thalweg::bench

int main(int argc, char** argv) {
  using namespace thalweg::bench;
  try {
    judge(parse(argc, argv));
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "thalweg-bench-simgrid: %s\n%s", error.what(), usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thalweg-bench-simgrid: %s\n", error.what());
    return 1;
  }
}
