#include "adapting/world.hpp"

#include "planner/selection.hpp"
#include "runtime/adapt/diagnosis.hpp"
#include "simulator/posts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace thalweg::test {
namespace {

using collective::Rank;
using runtime::Candidate;
namespace observe = runtime::observe;
using runtime::RaceKey;

constexpr const char* library = "openmpi-4.1";
/// Rooted calls may run ahead of the slowest rank by this many.
constexpr std::size_t most_ahead = 4;
/// How much longer the first calls of a plan take, whose connections are new.
constexpr double cold_factor = 1.5;
constexpr std::size_t cold_calls = 3;

network::Placement all_hosts(const Network& network) {
  network::Placement placement(index(network.size()));
  std::iota(placement.begin(), placement.end(), 0);
  return placement;
}

algorithms::Skeleton native_of(const algorithms::Problem& problem) {
  const planner::Choice choice = planner::select(library, problem.collective);
  return algorithms::find(choice.algorithm).build(problem, choice.parameters);
}

RaceKey key_of(const collective::Collective& call) {
  return runtime::key_of(call.kind, call.root, call.size);
}

/// What a rank keeps of its communicator.
struct SimulatedRank {
  observe::ComparedClock clock;
  std::unique_ptr<runtime::Chooser> chooser;
  std::unique_ptr<runtime::Adaptation> adaptation;
  runtime::Adaptation::Turn turn;
  observe::Ticks enter = 0;
};

class World {
public:
  World(const Story& story, Mode mode, Plans table)
      : _story(story), _mode(mode), _table(std::move(table)), _random(story.seed),
        _placement(all_hosts(story.planned)), _mpi(_placement.size(), latency(), story.planning_s),
        _ranks(_placement.size()) {
    for (const collective::Collective& shape : story.shapes)
      _native.push_back(native_of(problem(story.planned, shape)));
    for (Rank rank = 0; rank < size(); ++rank)
      set_up(rank);
  }
  Run run() {
    for (_call = 0; _call < _story.calls; ++_call) {
      const Candidate candidate = begin();
      const auto& adaptation = _ranks.front().adaptation;
      _run.epochs.push_back(adaptation ? adaptation->races().epochs() : 0);
      execute(candidate);
      end();
    }
    if (_mode == Mode::follows) {
      const auto attempts = _ranks.front().adaptation->replanner()->attempts();
      _run.attempts.assign(attempts.begin(), attempts.end());
    }
    for (Rank rank = 0; rank < size(); ++rank) {
      _mpi.run_as(rank);
      if (at(rank).adaptation) at(rank).adaptation->end();
    }
    return std::move(_run);
  }

private:
  [[nodiscard]] Rank size() const { return static_cast<Rank>(_placement.size()); }
  SimulatedRank& at(Rank rank) { return _ranks[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] double latency() const {
    double most = 0;
    for (network::HostId a = 0; a < _story.planned.size(); ++a)
      for (network::HostId b = 0; b < _story.planned.size(); ++b)
        if (a != b) most = std::max(most, _story.planned.latency(a, b).value());
    return most * static_cast<double>(std::bit_width(_placement.size()));
  }
  [[nodiscard]] std::size_t turn() const {
    return _call % (_story.shapes.size() - (_call >= _story.last_ends ? 1 : 0));
  }
  [[nodiscard]] const collective::Collective& shape() const { return _story.shapes[turn()]; }
  [[nodiscard]] algorithms::Problem problem(const Network& network,
                                            const collective::Collective& shape) const {
    return algorithms::make_problem(shape, network, _placement, library);
  }
  double drawn(double most) { return std::uniform_real_distribution<double>(0, most)(_random); }

  void set_up(Rank rank) {
    const double error = rank == 0 ? 0 : _story.clock_error_s;
    const double offset = rank == 0 ? 0 : drawn(2) - 1;
    const double wrong = drawn(2 * error) - error;
    _mpi.offset_ns(rank) = static_cast<std::int64_t>(offset * 1e9);
    SimulatedRank& it = at(rank);
    it.clock.add({.at_ns = _mpi.offset_ns(rank),
                  .offset_ns = -_mpi.offset_ns(rank) + static_cast<std::int64_t>(wrong * 1e9),
                  .error_ns = static_cast<std::int64_t>(error * 1e9)});
    _mpi.run_as(rank);
    it.chooser =
        std::make_unique<runtime::Chooser>(_story.planned, library, _placement, rank, _table);
    if (_mode == Mode::stays) return;
    std::unique_ptr<runtime::Replanner> replanner;
    if (_mode == Mode::follows)
      replanner = std::make_unique<runtime::Replanner>(_story.planned, library, _placement, rank);
    it.adaptation = std::make_unique<runtime::Adaptation>(rank, std::vector<runtime::Won>(),
                                                          &it.clock, std::move(replanner));
  }

  /// Lets all ranks do what the runtime does before a call. Returns how they execute it.
  Candidate begin() {
    Candidate candidate = Candidate::plan;
    for (Rank rank = 0; rank < size(); ++rank) {
      SimulatedRank& it = at(rank);
      _mpi.run_as(rank);
      _mpi.time(rank) += drawn(_story.skew_s);
      runtime::Adaptation::Said said;
      if (it.adaptation) it.adaptation->before_call({}, *it.chooser, said);
      say(said);
      const runtime::Shape call{shape().kind, shape().root, shape().size};
      auto decision = it.chooser->choose(call, _force, 0);
      it.turn = {};
      if (it.adaptation && it.adaptation->has_candidates(decision))
        it.turn = it.adaptation->turn_of(call, decision, [] { return 1'000'000; });
      if (it.turn.counts) it.turn.take(call, *it.chooser, decision);
      const Candidate own = decision.prepared == nullptr ? Candidate::native : Candidate::plan;
      if (it.adaptation)
        it.adaptation->note(call.kind, call.root, call.size, own == Candidate::plan);
      if (rank == 0) candidate = own;
      _run.alike &= candidate == own && it.chooser->table() != nullptr &&
                    *it.chooser->table() == *_ranks.front().chooser->table();
      it.enter = runtime::observe::monotonic_ns();
    }
    if (_ranks.front().chooser->table() != _table) {
      _table = _ranks.front().chooser->table();
      _run.adopted.push_back(_call);
    }
    return candidate;
  }
  void say(const runtime::Adaptation::Said& said) {
    if (!said.of_plans.empty()) _run.said.push_back(said.of_plans);
  }

  [[nodiscard]] const Network& network_now() const {
    if (_story.flap_s > 0) {
      const double now = _run.ends_s.empty() ? 0 : _run.ends_s.back();
      return _story.changes[static_cast<std::size_t>(now / _story.flap_s) % _story.changes.size()]
          .network;
    }
    const auto next = std::ranges::find_if(
        _story.changes, [&](const Story::Change& change) { return change.call > _call; });
    return std::prev(next)->network;
  }
  /// Simulates a call from when each rank is there, and moves their times.
  void execute(Candidate candidate) {
    const std::shared_ptr<const planner::Entry> entry =
        _table->find(shape().kind, shape().root, shape().size);
    const bool is_native = candidate == Candidate::native;
    if (is_native) ++_run.native_calls;
    if (_call >= most_ahead) // A rank can't get away from the others.
      for (Rank rank = 0; rank < size(); ++rank)
        _mpi.time(rank) = std::max(_mpi.time(rank), _run.ends_s[_call - most_ahead]);
    double first = _mpi.time(0);
    for (Rank rank = 0; rank < size(); ++rank)
      first = std::min(first, _mpi.time(rank));
    _traffic.rebase(first - std::exchange(_traffic_since_s, first));
    algorithms::Problem now = problem(network_now(), shape());
    for (Rank rank = 0; rank < size(); ++rank)
      now.entries.emplace_back(_mpi.time(rank) - first);
    const simulator::Posts done = simulator::simulate_posts(
        now, is_native ? _native[turn()] : entry->skeleton, simulator::Fidelity::fast, &_traffic);
    const double slower = (1 + drawn(_story.noise)) * (is_native ? _story.native_factor : 1) *
                          (is_cold(is_native) ? cold_factor : 1);
    const auto moved = [&](Rank rank, units::Time time) {
      const double entered = now.entries[index(rank)].value();
      return first + entered + (time.value() - entered) * slower;
    };
    if (!is_native) note(done.messages, moved);
    double last = 0;
    for (Rank rank = 0; rank < size(); ++rank) {
      _mpi.time(rank) = std::max(_mpi.time(rank), moved(rank, done.exits[index(rank)]));
      last = std::max(last, _mpi.time(rank));
    }
    _run.ends_s.push_back(last);
  }
  /// Counts a call. Returns whether it is among the first ones of its plan.
  bool is_cold(bool is_native) {
    const void* const plan = is_native ? nullptr : static_cast<const void*>(_table.get());
    return ++_used[{plan, turn()}] <= cold_calls;
  }
  template <class Moved>
  void note(const std::vector<simulator::PostedMessage>& messages, const Moved& moved) {
    std::vector<runtime::observe::PairTimesLog*> logs;
    for (SimulatedRank& it : _ranks) {
      if (it.turn.race == nullptr) return;
      logs.push_back(it.adaptation->log(it.turn, shape().size));
    }
    if (logs.front() == nullptr) return;
    const auto ticks = [&](Rank rank, double time) {
      return static_cast<std::int64_t>(time * 1e9) + _mpi.offset_ns(rank);
    };
    for (const simulator::PostedMessage& each : messages)
      logs[index(each.to)]->received(each.from, each.step,
                                     ticks(each.to, moved(each.to, each.awaited)),
                                     ticks(each.to, moved(each.to, each.end)));
  }
  /// Lets all ranks do what the runtime does after a call.
  void end() {
    for (Rank rank = 0; rank < size(); ++rank) {
      SimulatedRank& it = at(rank);
      _mpi.run_as(rank);
      if (it.turn.counts)
        it.adaptation->count(it.turn, {it.enter, runtime::observe::monotonic_ns()});
      if (!it.adaptation || !it.adaptation->is_open()) continue;
      it.adaptation->left(_call + 1, shape().kind, shape().root,
                          !collective::is_rooted(shape().kind), true);
      runtime::Adaptation::Said said;
      it.adaptation->after_call({}, _call + 1, *it.chooser, said);
      say(said);
    }
  }

  const Story& _story;
  Mode _mode;
  Plans _table;
  std::mt19937_64 _random;
  network::Placement _placement;
  SimulatedMpi _mpi;
  std::vector<SimulatedRank> _ranks;
  std::vector<algorithms::Skeleton> _native; ///< by shape
  runtime::Force _force;
  std::map<std::pair<const void*, std::size_t>, std::size_t> _used; ///< calls, by table and shape
  std::size_t _call = 0;
  simulator::Traffic _traffic;
  double _traffic_since_s = 0; ///< when its times begin
  Run _run;
};

std::int64_t ns(units::Time time) { return static_cast<std::int64_t>(time.value() * 1e9); }

planner::Entry entry_for(const Network& network, const collective::Collective& shape,
                         const Network& usual) {
  planner::PlanOptions options;
  options.disabled = {"native"};
  options.library = library;
  options.threads = 1;
  const planner::Plan plan =
      planner::plan(algorithms::make_problem(shape, network, all_hosts(network), library), options);
  planner::Entry entry{
      .kind = shape.kind, .root = shape.root, .native = false, .skeleton = plan.skeleton};
  const auto problem = algorithms::make_problem(shape, usual, all_hosts(usual), library);
  entry.times = {planner::predicted_times(plan, shape.size)};
  entry.times.front().native_ns = ns(simulator::simulate(problem, native_of(problem)).time);
  return entry;
}

} // namespace

Plans plans_for(const Network& network, const Shapes& shapes, const Network& usual) {
  auto table = std::make_shared<planner::Table>();
  table->placement = all_hosts(network);
  for (const collective::Collective& shape : shapes)
    runtime::put_plan(*table, key_of(shape), entry_for(network, shape, usual));
  return table;
}

Run run(const Story& story, Mode mode, Plans plans) {
  return World(story, mode, std::move(plans)).run();
}

} // namespace thalweg::test
