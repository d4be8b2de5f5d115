/// thalweg-bench-executor: the cost of the executor itself, in runtime and simulators.
///
/// One rank's part of a schedule runs on a transport without cost: it moves nothing, and posted
/// messages are complete at the next wait, all of them or one at a time. The simulators' cost is
/// their whole work for a message, or for a random tree.

#include "network/network.hpp"
#include "runtime/execute/execution.hpp"
#include "simulator/monte_carlo.hpp"
#include "simulator/simulator.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <time.h>
#include <vector>

namespace thalweg::bench {
namespace {

using algorithms::Parameters;
using algorithms::Problem;
using collective::Kind;
using collective::Rank;

/// A schedule to execute or simulate.
struct Case {
  const char* name;
  const char* algorithm;
  Kind kind;
  Rank ranks;
  units::Size size;
  Parameters parameters;
};

std::vector<Case> cases() {
  const auto segments = [](units::Size size) { return Parameters{.segment_size = size}; };
  const auto at_once = [](std::int32_t window) {
    return Parameters{.degree = window, .window = window};
  };
  return {{"chain-4096-segments", "pipelined-chain", Kind::bcast, 16, 32768, segments(8)},
          {"ring-allgather", "ring", Kind::allgather, 128, 8, {}},
          {"alltoall-window-8", "linear", Kind::alltoall, 128, 8, at_once(8)},
          {"alltoall-window-128", "linear", Kind::alltoall, 128, 8, at_once(128)},
          {"scan-500-segments", "binary-scan", Kind::scan, 32, 4000, segments(8)},
          {"rabenseifner", "rabenseifner", Kind::allreduce, 128, 8192, {}},
          {"recursive-doubling", "recursive-doubling", Kind::allreduce, 128, 64, {}}};
}

class FreeTransport final : public runtime::Transport {
public:
  explicit FreeTransport(bool all_at_once) : _all_at_once(all_at_once) {}
  void send(Token token, Rank, const std::byte*, std::int64_t) override {
    _posted.push_back(token);
  }
  void receive(Token token, Rank, std::byte*, std::int64_t) override { _posted.push_back(token); }
  std::span<const Token> wait() override {
    _completed.clear();
    if (_all_at_once || _posted.size() - static_cast<std::size_t>(_first) == 1) {
      _completed.assign(_posted.begin() + _first, _posted.end());
      _posted.clear();
      _first = 0;
    } else {
      _completed.push_back(_posted[static_cast<std::size_t>(_first++)]);
    }
    return _completed;
  }
  void copy(const std::byte*, std::byte*, std::int64_t) override {}
  void combine(const std::byte*, std::byte*, std::int64_t) override {}

private:
  bool _all_at_once;
  std::vector<Token> _posted, _completed;
  std::ptrdiff_t _first = 0; ///< of those in _posted that aren't complete
};

/// Returns the CPU time of this process, in which time for others on its core doesn't count.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Returns the least time of `repetitions` calls.
template <class Call>
double least_seconds(int repetitions, const Call& call) {
  double least = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    const double begin = cpu_seconds();
    call();
    least = std::min(least, cpu_seconds() - begin);
  }
  return least;
}

struct Setting {
  explicit Setting(const Case& of)
      : network(network::even_network(of.ranks, units::Time(1e-3), units::Rate(1e9))),
        problem{{.kind = of.kind, .ranks = of.ranks, .size = of.size}, network, {}} {
    for (network::Host& host : network.hosts)
      host.egress = host.ingress = units::Rate(1e9);
    for (Rank rank = 0; rank < of.ranks; ++rank)
      problem.placement.push_back(rank);
    skeleton = algorithms::make_skeleton(algorithms::find(of.algorithm), problem, of.parameters);
  }
  network::Network network;
  Problem problem;
  algorithms::Skeleton skeleton;
};

/// Returns nanoseconds per transfer of a rank in the middle.
double execution(const Case& of, const Setting& setting, bool all_at_once) {
  schedule::Sink sink;
  const Rank rank = of.ranks / 2;
  algorithms::find(of.algorithm).emit(of.kind, setting.skeleton, rank, sink);
  const auto pipeline = setting.skeleton.pipeline(of.size);
  const schedule::ChunkId parts = setting.skeleton.chunks / setting.problem.collective.blocks();
  const std::size_t transfers =
      sink.transfers().size() * static_cast<std::size_t>(pipeline.segments);
  const runtime::Program program(std::move(sink), rank, pipeline.period, parts);
  const runtime::Layout layout = program.layout(pipeline, setting.skeleton.weights, of.size);
  std::vector<std::byte> memory(static_cast<std::size_t>(layout.total()));
  runtime::Places places;
  places.clear(1);
  places.add(0, memory.data());
  FreeTransport transport(all_at_once);
  runtime::Task task;
  task.places = &places;
  task.window = pipeline.window_within(0);
  runtime::Execution execution;
  const int calls = static_cast<int>(1 + 20000 / transfers);
  const double least = least_seconds(20, [&] {
    for (int i = 0; i < calls; ++i)
      execution.run(program, layout, task, transport);
  });
  return least / calls / static_cast<double>(transfers) * 1e9;
}

/// Returns nanoseconds per message.
double simulation(const Setting& setting, simulator::Fidelity fidelity) {
  const simulator::SimulationOptions options{.fidelity = fidelity};
  std::int64_t messages = 0;
  const double least = least_seconds(fidelity == simulator::Fidelity::fast ? 9 : 3, [&] {
    messages = simulator::simulate(setting.problem, setting.skeleton, options).messages;
  });
  return least / static_cast<double>(messages) * 1e9;
}

/// Returns nanoseconds per random tree.
double trees(Kind kind, Rank ranks) {
  const Setting setting({"", "binomial", kind, ranks, 1000, {}});
  const std::int64_t count = 200000 / ranks;
  const double least = least_seconds(5, [&] {
    simulator::monte_carlo(setting.problem,
                           {.generator = simulator::Generator::recursive, .count = count}, {});
  });
  return least / static_cast<double>(count) * 1e9;
}

void print(const std::string& name, double nanoseconds) {
  std::printf("%s %.1f\n", name.c_str(), nanoseconds);
  std::fflush(stdout);
}

void measure() {
  for (const Case& each : cases()) {
    const Setting setting(each);
    const std::string name = each.name;
    print("execute/" + name + "/all", execution(each, setting, true));
    print("execute/" + name + "/single", execution(each, setting, false));
    print("fast/" + name, simulation(setting, simulator::Fidelity::fast));
    if (each.kind != Kind::alltoall) // whose flows all meet, which is fluid's cost and not ours
      print("fluid/" + name, simulation(setting, simulator::Fidelity::fluid));
  }
  for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::scatter, Kind::gather})
    for (const Rank ranks : {16, 64})
      print("tree/" + std::string(collective::to_text(kind)) + "-" + std::to_string(ranks),
            trees(kind, ranks));
}

} // namespace
} // namespace thalweg::bench

int main() {
  thalweg::bench::measure();
  return 0;
}
