#include "runtime/adapt/explanation.hpp"
#include "simulator/posts.hpp"
#include "unit/share.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <random>

using namespace thalweg;
using collective::Kind;
using network::HostId;
using network::Network;
using runtime::Cause;
using runtime::Quantity;
using runtime::observe::PairTimes;
using What = Cause::What;

namespace {

/// Two sites of four hosts, with a trunk in each direction that carries two flows.
Network two_sites() {
  Network net = network::even_network(8, units::Time(1e-4), units::Rate(1e7));
  net.sites = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    net.trunks.push_back({.name = from == 0 ? "east" : "west",
                          .from = net.sites[index(from)],
                          .to = net.sites[index(to)],
                          .capacity = units::Rate(2e7)});
    for (const HostId a : net.sites[index(from)])
      for (const HostId b : net.sites[index(to)])
        net.latency.set(a, b, units::Time(5e-3));
  }
  return net;
}

/// Calls of a program on a network that may have changed.
class CallingProgram {
public:
  CallingProgram(Kind kind, units::Size size, std::uint64_t seed) : _random(seed) {
    _seen.network = two_sites();
    for (HostId host = 0; host < _seen.network.size(); ++host) {
      _seen.hosts.push_back(host);
      _seen.placement.push_back(host);
    }
    planner::PlanOptions options;
    options.disabled = {"native"};
    options.threads = 1;
    const std::vector kinds = {kind};
    _seen.table = planner::make_table(_seen.network, _seen.placement, kinds, options, 1 << 20);
    _seen.shape = {.key = runtime::key_of(kind, 0, size), .size = size, .calls = 100};
    _seen.usual_ns = call(_seen.network);
  }
  /// Whether calls take clearly longer or less after a change.
  bool change(const Network& net) {
    _seen.cost_ns = call(net);
    return 5 * _seen.cost_ns > 7 * _seen.usual_ns || 7 * _seen.cost_ns < 5 * _seen.usual_ns;
  }
  runtime::Observations& seen() { return _seen; }

private:
  /// Lets the ranks call it some times; each message takes up to 2 % longer, and ranks come up to
  /// 0.1 ms late. Returns what a call takes.
  std::int64_t call(const Network& net) {
    constexpr int calls = 20, first = 4;
    const collective::Collective collective{
        .kind = _seen.shape.key.kind,
        .ranks = static_cast<collective::Rank>(_seen.placement.size()),
        .root = 0,
        .size = _seen.shape.size};
    const std::shared_ptr<const planner::Entry> entry =
        _seen.table.find(collective.kind, 0, _seen.shape.size);
    auto problem = algorithms::make_problem(collective, net, _seen.placement, "");
    _seen.since.assign(_seen.hosts.size() * _seen.hosts.size() * PairTimes::classes, {});
    double now = 1000, began = now, ended = now;
    for (int i = 0; i < calls; ++i) {
      const auto posts =
          simulator::simulate_posts(problem, entry->skeleton, simulator::Fidelity::fluid);
      if (i == first) began = ended;
      ended = now + std::ranges::max(posts.exits).value();
      if (i >= first) add(posts);
      const units::Time earliest = std::ranges::min(posts.exits);
      problem.entries.clear();
      for (const units::Time exit : posts.exits)
        problem.entries.push_back(exit - earliest + units::Time(drawn(1e-4)));
      now += earliest.value();
    }
    return static_cast<std::int64_t>(1e9 * (ended - began) / (calls - first));
  }
  void add(const simulator::Posts& posts) {
    for (const simulator::PostedMessage& message : posts.messages) {
      PairTimes& times =
          _seen.since[(index(message.from) * 8 + index(message.to)) * PairTimes::classes +
                      static_cast<std::size_t>(message.step) % PairTimes::classes];
      const double waited = (message.end - message.awaited).value() * (1 + drawn(0.02));
      ++times.receives;
      times.waited_ns += static_cast<std::uint64_t>(waited * 1e9);
    }
  }
  double drawn(double most) { return std::uniform_real_distribution<double>(0, most)(_random); }

  runtime::Observations _seen;
  std::mt19937_64 _random;
};

const std::atomic<bool> go_on{false};

/// Explanations have one thread, and ThreadSanitizer makes them take minutes.
#ifdef __SANITIZE_THREAD__
constexpr bool skips_explanations = true;
#else
constexpr bool skips_explanations = false;
#endif

Cause with_excess(Cause cause, double ns) {
  cause.excess_ns = ns;
  return cause;
}

} // namespace

TEST_CASE("what changed is mostly explained, and seldom wrongly" *
          doctest::skip(skips_explanations)) {
  struct Planted {
    Cause cause;
    Quantity quantity;
  };
  std::size_t tried = 0, right = 0, wrong = 0;
  test::Sample sample(8);
  for (const Kind kind : {Kind::bcast, Kind::allreduce}) {
    std::vector<Planted> all = {
        {{.what = What::trunk, .from = 0, .factor = 8}, Quantity::bandwidth},
        {{.what = What::trunk, .from = 1, .factor = 8}, Quantity::bandwidth},
        {with_excess({.what = What::sites, .from = 0, .to = 1}, 3e7), Quantity::latency},
        {with_excess({.what = What::sites, .from = 1, .to = 0}, 3e7), Quantity::latency}};
    for (HostId host = 0; host < 8; ++host)
      for (const What what : {What::egress, What::ingress})
        all.push_back({{.what = what, .from = host, .factor = 8}, Quantity::bandwidth});
    for (const Planted& planted : all) {
      if (!sample.takes_next()) continue;
      CallingProgram program(kind, 100'000, tried + 1);
      const Network truth =
          runtime::changed(program.seen().network, std::vector{planted.cause}, planted.quantity);
      if (!program.change(truth)) continue; // The plan doesn't depend on it.
      ++tried;
      const auto found = runtime::explain(program.seen(), go_on);
      if (!found) continue;
      const bool is_right = std::ranges::any_of(found->causes, [&](const Cause& cause) {
        return cause.what == planted.cause.what && cause.from == planted.cause.from &&
               cause.to == planted.cause.to && found->quantity == planted.quantity;
      });
      // What the plan's only message through a port tells may be said of either end.
      const bool is_near = std::ranges::any_of(found->causes, [&](const Cause& cause) {
        return cause.what == What::pair || cause.what == What::egress ||
               cause.what == What::ingress;
      });
      right += is_right ? 1 : 0;
      wrong += is_right || (is_near && planted.cause.what != What::trunk) ? 0 : 1;
    }
  }
  CHECK(tried >= test::share_of(10, 8));
  if (test::sanitized) return; // Any share of a few may be right.
  CHECK(2 * right >= tried);
  CHECK(10 * wrong <= tried);
}

TEST_CASE("nothing is explained where nothing changed" * doctest::skip(skips_explanations)) {
  CallingProgram program(Kind::allreduce, 100'000, 3);
  program.change(program.seen().network);
  CHECK_FALSE(runtime::explain(program.seen(), go_on));
  // Calls that take longer with messages that take as long as before aren't the network's.
  program.seen().cost_ns *= 3;
  CHECK_FALSE(runtime::explain(program.seen(), go_on));
}
