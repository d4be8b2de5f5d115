#include "runtime/adapt/races.hpp"
#include "runtime/adapt/report.hpp"
#include "unit/runtime/racing_program.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <limits>
#include <optional>
#include <random>

using namespace thalweg;
using collective::Kind;
using runtime::Candidate;
using runtime::EpochRecord;
using runtime::Race;
using runtime::RaceKey;
using runtime::Races;
using test::allreduce;
using test::RacingProgram;
using test::spread;

namespace {

using Random = std::mt19937_64;

/// Which candidates a shape of call has: with the plan, a second one, or both.
runtime::Candidates candidates_of(const RaceKey& key) {
  return {key.band % 4 != 3, key.band % 4 >= 2};
}

/// A call of all ranks.
struct Call {
  std::optional<RaceKey> key; ///< none: not raced
  bool waits = false;         ///< nobody leaves before all have entered
};

/// One rank, which does what runtime::Epochs does.
class SimulatedRank {
public:
  explicit SimulatedRank(collective::Rank rank) : _rank(rank) {}
  Races races;
  [[nodiscard]] bool is_open() const { return _begun != 0; }
  [[nodiscard]] std::uint64_t opened() const { return _opened; }
  /// Whether an agreement must be ended before anything else in this call.
  [[nodiscard]] bool is_late() const {
    return is_open() && races.calls() >= _begun + races.patience(false);
  }
  [[nodiscard]] bool is_due() const {
    return is_open() && races.calls() >= _begun + races.patience(true);
  }
  /// Counts the call; returns its record if it begins to agree.
  std::optional<EpochRecord> enter(Random& random) {
    if (is_open()) {
      races.enter_agreeing();
      return std::nullopt;
    }
    if (!races.enter()) return std::nullopt;
    _begun = races.calls();
    ++_opened;
    // What a rank observes has nothing to do with what others do.
    const auto any = [&] { return static_cast<std::int64_t>(random() % 1'000'000); };
    return races.record(_rank, any(), any() / 100,
                        {.predicted_plan_ns = any(),
                         .predicted_native_ns = any() / 16,
                         .clock_error_ns = any() / 1000},
                        [](std::int64_t ticks) { return ticks; });
  }
  bool agree(const EpochRecord& all) {
    _begun = 0;
    return races.agree(all);
  }

private:
  collective::Rank _rank;
  std::uint64_t _begun = 0, _opened = 0;
};

EpochRecord minimum(EpochRecord one, const EpochRecord& other) {
  for (std::size_t i = 0; i < one.size(); ++i)
    one[i] = std::min(one[i], other[i]);
  return one;
}

/// Ranks that call the same collectives, each at its own pace, as far as MPI allows.
class World {
public:
  World(std::size_t ranks, std::vector<Call> calls, std::uint64_t seed)
      : _calls(std::move(calls)), _random(seed), _entered(_calls.size()), _at(ranks), _stage(ranks),
        _chosen(_calls.size()) {
    for (std::size_t rank = 0; rank < ranks; ++rank)
      _ranks.emplace_back(static_cast<collective::Rank>(rank));
  }
  /// Runs to the end. Returns whether it came there.
  bool run() {
    std::size_t left = _ranks.size();
    std::vector<std::size_t> order(_ranks.size());
    std::size_t idle = 0;
    std::size_t rank = 0, burst = 0;
    while (left > 0) {
      if (burst == 0) { // Some ranks run ahead, or stand still for a while.
        rank = _random() % _ranks.size();
        burst = 1 + _random() % 40;
      }
      --burst;
      if (_at[rank] < _calls.size() && step(rank)) {
        idle = 0;
        if (_at[rank] == _calls.size()) --left;
        continue;
      }
      burst = 0;
      if (++idle < 200 * _ranks.size()) continue;
      bool any = false; // to be sure: all in turn
      for (std::size_t each = 0; each < _ranks.size(); ++each)
        if (_at[each] < _calls.size() && step(each)) {
          any = true;
          if (_at[each] == _calls.size()) --left;
        }
      if (!any && left > 0) return false;
      idle = 0;
    }
    return true;
  }
  [[nodiscard]] bool all_alike() const { return _alike; }
  [[nodiscard]] std::uint64_t calls_of(Candidate candidate) const { return _calls_of[candidate]; }
  std::vector<SimulatedRank>& ranks() { return _ranks; }
  /// Makes a rank's view differ, as an error might.
  void disturb(std::size_t rank, std::size_t call) { _disturbed = {rank, call}; }
  [[nodiscard]] int disagreements() const { return _disagreements; }

private:
  enum class Stage : std::uint8_t { outside, late, inside, leaving };

  bool step(std::size_t rank) {
    SimulatedRank& it = _ranks[rank];
    const Call& call = _calls[_at[rank]];
    switch (_stage[rank]) {
    case Stage::outside:
      if (const auto record = it.enter(_random)) deposit(it.opened(), *record);
      ++_entered[_at[rank]];
      _stage[rank] = Stage::late;
      return true;
    case Stage::late:
      if (it.is_late() && !finish(it)) return false;
      execute(rank, call);
      _stage[rank] = Stage::inside;
      return true;
    case Stage::inside:
      if (call.waits && _entered[_at[rank]] < _ranks.size()) return false;
      _stage[rank] = Stage::leaving;
      return true;
    case Stage::leaving:
      if (call.waits && it.is_due() && !finish(it)) return false;
      _stage[rank] = Stage::outside;
      ++_at[rank];
      return true;
    }
    return false;
  }
  void execute(std::size_t rank, const Call& call) {
    if (!call.key) return;
    Races& races = _ranks[rank].races;
    Race* race = races.find(*call.key);
    if (race == nullptr) race = races.add(*call.key, 1000, candidates_of(*call.key), true);
    if (race == nullptr) return;
    const std::size_t at = _at[rank];
    const Candidate candidate = race->next();
    if (_disturbed.first == rank && _disturbed.second == at)
      races.count(*race, {}); // counts one too many
    else if (!_chosen[at])
      _chosen[at] = candidate;
    else if (!_disagreements && _disturbed.second > at)
      _alike &= *_chosen[at] == candidate;
    if (rank == 0) ++_calls_of[candidate];
    const auto begin = static_cast<std::int64_t>(at * 1'000'000 + _random() % 1000);
    const std::int64_t typical = candidate == Candidate::plan ? 100'000 : _other_ns[candidate];
    races.count(*race, {begin, begin + typical + static_cast<std::int64_t>(_random() % 50'000)});
    if (_random() % 64 == 0)
      _other_ns[_random() % 2 == 0 ? Candidate::native : Candidate::second] =
          20'000 + static_cast<std::int64_t>(_random() % 200'000);
  }
  void deposit(std::uint64_t agreement, const EpochRecord& record) {
    if (_agreements.size() < agreement) _agreements.resize(agreement);
    auto& [all, count] = _agreements[agreement - 1];
    all = count == 0 ? record : minimum(all, record);
    ++count;
  }
  bool finish(SimulatedRank& it) {
    const auto& [all, count] = _agreements[it.opened() - 1];
    if (count < _ranks.size()) return false;
    if (!it.agree(all)) ++_disagreements;
    return true;
  }

  std::vector<Call> _calls;
  Random _random;
  std::vector<std::size_t> _entered; ///< by call
  std::vector<std::size_t> _at;      ///< the call, by rank
  std::vector<Stage> _stage;         ///< by rank
  std::vector<std::optional<Candidate>> _chosen;
  std::vector<SimulatedRank> _ranks;
  std::vector<std::pair<EpochRecord, std::size_t>> _agreements;
  runtime::ByCandidate<std::int64_t> _other_ns{{0, 50'000, 70'000}};
  runtime::ByCandidate<std::uint64_t> _calls_of;
  int _disagreements = 0;
  bool _alike = true;
  std::pair<std::size_t, std::size_t> _disturbed{std::numeric_limits<std::size_t>::max(),
                                                 std::numeric_limits<std::size_t>::max()};
};

/// @param phase calls after which other shapes come
std::vector<Call> random_calls(Random& random, std::size_t count, std::size_t most_shapes = 40,
                               std::size_t phase = std::numeric_limits<std::size_t>::max()) {
  const std::size_t shapes = 1 + random() % most_shapes;
  const auto share = random() % 4; // of calls that wait for all: none, a few, or most
  std::vector<Call> calls;
  std::size_t shape = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 8 == 0) shape = i / phase * 16 + random() % shapes;
    const Kind kind = collective::kinds[shape % collective::kind_count];
    const bool may_wait =
        kind == Kind::allreduce || kind == Kind::barrier || kind == Kind::alltoall;
    Call call;
    if (random() % 16 != 0)
      call.key = {.kind = kind, .root = 0, .band = static_cast<units::Size>(shape)};
    call.waits = share == 3 ? may_wait : random() % 64 < share;
    calls.push_back(call);
  }
  return calls;
}

} // namespace

TEST_CASE("no two ranks execute a call differently, and nothing hangs") {
  const test::Seeds seeds(400, 10);
  std::uint64_t native = 0, second = 0, epochs = 0, calls = 0;
  for (std::uint64_t seed = seeds.first(); seed < seeds.end(); ++seed) {
    CAPTURE(seed);
    Random random(seed);
    World world(2 + random() % 8, random_calls(random, 100 + random() % 600), seed);
    REQUIRE(world.run());
    REQUIRE(world.all_alike());
    CHECK(world.disagreements() == 0);
    native += world.calls_of(Candidate::native);
    second += world.calls_of(Candidate::second);
    epochs += world.ranks().front().races.epochs();
    calls += world.ranks().front().races.calls();
  }
  CHECK(native > 5 * seeds.count());
  CHECK(second > seeds.count());
  CHECK(epochs > seeds.count());
  seeds.print(calls, epochs);
}

TEST_CASE("shapes that come late race in the place of others that don't come any more") {
  for (std::uint64_t seed = 0; seed < test::share_of<std::uint64_t>(40, 4); ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::vector<Call> calls = random_calls(random, 12000, 16, 1500);
    World world(2 + random() % 4, calls, seed);
    REQUIRE(world.run());
    CHECK(world.all_alike());
    CHECK(world.disagreements() == 0);
    const Races& races = world.ranks().front().races;
    const auto last = std::ranges::find_if(calls.rbegin(), calls.rend(),
                                           [](const Call& call) { return call.key.has_value(); });
    CHECK(std::ranges::find(races.all(), *last->key, &Race::key) != races.all().end());
    CHECK(races.all().size() <= Races::most_races);
  }
}

TEST_CASE("a race that was replaced begins with what it ended with, and is reported") {
  const auto key_of = [](std::size_t shape) {
    return RaceKey{.kind = Kind::bcast, .root = static_cast<collective::Rank>(shape)};
  };
  constexpr std::size_t most = Races::most_races;
  Races races({{key_of(0), Candidate::native}});
  const auto call = [&](std::size_t shape, bool may_replace = true) {
    if (races.enter())
      races.agree(races.record(0, 1000, 0, {}, [](std::int64_t ns) { return ns; }));
    Race* race = races.find(key_of(shape));
    if (race == nullptr) race = races.add(key_of(shape), 1000, {true, false}, may_replace);
    if (race != nullptr) races.count(*race, {0, 1000});
    return race;
  };
  for (std::size_t shape = 0; shape < most; ++shape)
    REQUIRE(call(shape) != nullptr);
  CHECK(call(most) == nullptr); // All of them have just come.
  for (int i = 0; i < 2000; ++i)
    call(1);
  CHECK(call(most, false) == nullptr);
  CHECK(call(most)->incumbent() == Candidate::plan);
  CHECK(std::ranges::find(races.all(), key_of(0), &Race::key) == races.all().end());
  CHECK(std::ranges::find(races.all(), key_of(1), &Race::key) != races.all().end());
  CHECK(call(0)->incumbent() == Candidate::native); // in the place of another one
  CHECK(races.replaced().empty());                  // None of them had a verdict.
}

TEST_CASE("ranks whose states differ notice it, and all return to the plan") {
  int noticed = 0;
  for (std::uint64_t seed = 0; seed < test::share_of<std::uint64_t>(100, 5); ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<Call> calls(400, {.key = allreduce, .waits = true});
    World world(3, std::move(calls), seed);
    world.disturb(1, 10 + random() % 200);
    REQUIRE(world.run());
    if (world.disagreements() == 0) continue;
    CHECK(world.disagreements() == 3);
    ++noticed;
    for (SimulatedRank& rank : world.ranks()) {
      CHECK(rank.races.find(allreduce)->next() == Candidate::plan);
      CHECK(rank.races.find(allreduce)->incumbent() == Candidate::plan);
    }
  }
  CHECK(noticed > 0);
}

TEST_CASE("native wins within 50 calls where the plan is slower") {
  RacingProgram program(spread(2'000'000, 1'000'000, 1));
  program.facts.predicted_native_ns = 500'000; // a network file that is too fast
  program.run(50);
  CHECK(program.races.all().front().incumbent() == Candidate::native);
  program.run(10'000);
  CHECK(program.races.all().front().incumbent() == Candidate::native);
  CHECK(program.calls_of[Candidate::native] > 9'900);
}

TEST_CASE("a plan drifts whose calls mostly take less, since some stall for seconds") {
  for (const std::int64_t stall_ns : {10'000'000L, 2'000'000'000L}) {
    CAPTURE(stall_ns);
    RacingProgram program([&](Candidate candidate, std::uint64_t call) -> std::int64_t {
      if (candidate == Candidate::native) return 100'000'000;
      if (call < 1'000) return 10'000'000;
      return call % 40 == 0 ? stall_ns : 9'000'000;
    });
    program.facts.predicted_native_ns = 100'000'000;
    program.run(1'000);
    CHECK_FALSE(program.races.drifted());
    bool drifted = false;
    for (int call = 0; call < 1'000 && !drifted; ++call) {
      program.run(1);
      drifted = program.races.drifted().has_value();
    }
    CHECK(drifted == (stall_ns > 1'000'000'000));
  }
}

TEST_CASE("a plan is compared with what the one before took at its latest looks, the most of it") {
  const auto is_worse = [](std::int64_t most_before_ms, std::int64_t after_ms) {
    bool is_new = false;
    RacingProgram program([&](Candidate candidate, std::uint64_t call) -> std::int64_t {
      if (candidate == Candidate::native) return 100'000'000;
      // Half a second of each: a look or two.
      const std::int64_t before_ms = call / 50 % 2 == 0 ? 10 : most_before_ms;
      return 1'000'000 * (is_new ? after_ms : before_ms);
    });
    program.facts.predicted_native_ns = 100'000'000;
    program.run(1'000);
    program.races.restart(true);
    is_new = true;
    program.run(200);
    return program.races.all().front().has_worse_plan();
  };
  CHECK(is_worse(10, 11));
  CHECK_FALSE(is_worse(10, 10));
  CHECK_FALSE(is_worse(12, 12)); // whichever the last look met
  CHECK(is_worse(12, 13));
}

/// Native needs to be 3 % faster only, which by chance it may seem to be; a plan 5 %.
TEST_CASE("candidates that take the same seldom replace each other") {
  int replaced = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RacingProgram program(spread(1'000'000, 1'000'000, seed));
    program.run(5'000);
    if (program.races.all().front().incumbent() != Candidate::plan) ++replaced;
  }
  CHECK(replaced <= 20);
}

TEST_CASE("the plan stays where it is faster, equal, or not faster beyond the spread") {
  for (const std::int64_t native_ns : {1'000'000, 1'020'000, 1'500'000, 20'000'000}) {
    CAPTURE(native_ns);
    RacingProgram program(spread(1'000'000, native_ns, 2));
    program.facts.predicted_native_ns = native_ns;
    program.run(20'000);
    CHECK(program.races.all().front().incumbent() == Candidate::plan);
    // A fiftieth, and what the spread adds.
    CHECK(program.races.all().front().lost_ns() <= program.now_ns / 50);
    CHECK(program.races.epochs() < 100);
  }
}

TEST_CASE("a challenger that is unexpectedly slow costs one trial before it is affordable") {
  RacingProgram program(spread(1'000'000, 50'000'000, 3));
  program.facts.predicted_native_ns = 900'000; // wrong
  program.run(1000);
  CHECK(program.calls_of[Candidate::native] == 3);
}

TEST_CASE("a plan that becomes slow in the middle of a run loses, and returns when it recovers") {
  Random random(4);
  const auto cost = [&](Candidate candidate, std::uint64_t call) -> std::int64_t {
    const bool bad = call >= 5000 && call < 10'000;
    const std::int64_t ns = candidate == Candidate::plan && bad ? 8'000'000 : 1'000'000;
    const std::int64_t native_ns = 2'000'000;
    return (candidate == Candidate::plan ? ns : native_ns) +
           static_cast<std::int64_t>(random() % 50'000);
  };
  RacingProgram program(cost);
  program.facts.predicted_native_ns = 2'000'000;
  program.run(5000);
  CHECK(program.races.all().front().incumbent() == Candidate::plan);
  program.run(5000);
  CHECK(program.races.all().front().incumbent() == Candidate::native);
  program.run(50'000);
  CHECK(program.races.all().front().incumbent() == Candidate::plan);
}

TEST_CASE("a call's cost is the shortest time of a rank, or that from the root's entry to the last "
          "exit") {
  Race race({.kind = Kind::bcast, .root = 1, .band = 4}, 1, {true, false}, Candidate::plan, true);
  CHECK(race.by_clocks());
  std::array<runtime::Share, Race::most_shares> all{}, own{};
  // Rank 0 enters early and leaves late; rank 1 is the root. A call begins each 1000 ns.
  std::array<Race, 2> both{race, race};
  for (std::int64_t call = 0; call < 8; ++call) {
    both[0].count({call * 1000, call * 1000 + 700});
    both[1].count({call * 1000 + 300, call * 1000 + 350});
  }
  const auto same = [](std::int64_t ns) { return ns; };
  CHECK(both[0].shares(0, all, same) == 6);
  both[1].shares(1, own, same);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = {std::min(all[i].first, own[i].first), std::min(all[i].second, own[i].second)};
  both[0].agree(all, {.clock_error_ns = 10, .between_permille = both[1].between_permille()});
  CHECK(both[0].cost_ns(Candidate::plan) == 400);
  CHECK(both[0].next() == Candidate::native);

  Race unclear = both[1];
  unclear.agree(all, {.clock_error_ns = 100, .between_permille = both[1].between_permille()});
  CHECK(unclear.next() == Candidate::plan); // A clock's error of 100 ns is too much.
}

TEST_CASE(
    "where calls follow each other, one costs what it takes on the rank that is the bottleneck, "
    "by no other's clock") {
  for (const Kind kind : {Kind::gather, Kind::alltoall}) {
    Race race({.kind = kind, .root = 1, .band = 4}, 1, {true, false}, Candidate::plan, true);
    std::array<Race, 2> both{race, race};
    // Rank 0 sends and runs ahead; the root takes 500 ns for a call, of which 50 are outside it.
    for (std::int64_t call = 0; call < 8; ++call) {
      both[0].count({call * 100, call * 100 + 99});
      both[1].count({7'000'000 + call * 500, 7'000'000 + call * 500 + 450});
    }
    CHECK(both[0].between_permille() == 10);
    CHECK(both[1].between_permille() == 100);
    std::array<runtime::Share, Race::most_shares> all{}, own{};
    const auto same = [](std::int64_t ns) { return ns; };
    both[0].shares(0, all, same);
    both[1].shares(1, own, same);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = {std::min(all[i].first, own[i].first), std::min(all[i].second, own[i].second)};
    both[0].agree(all, {.clock_error_ns = 1'000'000, .between_permille = 100});
    CHECK(both[0].cost_ns(Candidate::plan) == 500);
    CHECK(both[0].next() == Candidate::native);
  }
}

TEST_CASE(
    "a race by clocks ends where its calls don't follow each other any more and clocks aren't "
    "good enough") {
  Race race({.kind = Kind::bcast, .root = 0, .band = 4}, 1, {true, false}, Candidate::plan, true);
  std::int64_t now_ns = 0;
  const auto call = [&](std::uint64_t calls, std::int64_t between_ns) {
    for (std::uint64_t i = 0; i < calls; ++i, now_ns += 1000 + between_ns)
      race.count({now_ns, now_ns + 1000});
    std::array<runtime::Share, Race::most_shares> all{};
    race.shares(0, all, [](std::int64_t ns) { return ns; });
    race.agree(all, {.clock_error_ns = 5000, .between_permille = race.between_permille()});
  };
  call(16, 100);
  CHECK(race.next() == Candidate::native); // a trial
  call(3, 100);
  CHECK(race.next() == Candidate::native); // a round
  call(16, 1000);
  CHECK(race.is_idle());
  CHECK(race.incumbent() == Candidate::plan);
  CHECK(race.verdicts().empty());
}

TEST_CASE("races that another one won before begin with it; text about them that is wrong is left "
          "out") {
  const auto raced = runtime::parse_raced("allreduce:0:524300,bcast:x:3,alltoall:0:-9,,nothing:0:1,"
                                          "bcast:3,bcast:0:20:second,bcast:0:19:third,scan:0:1:");
  REQUIRE(raced.size() == 3);
  CHECK(raced[0].race == allreduce);
  CHECK(raced[0].winner == Candidate::native);
  CHECK(raced[1].winner == Candidate::second);
  const RaceKey bcast{.kind = Kind::bcast, .root = 0, .band = 20};
  CHECK(raced[1].race == bcast);
  CHECK(Races(raced).add(allreduce, 1, {true, true}, false)->next() == Candidate::native);
  CHECK(Races(raced).add(bcast, 1, {true, true}, false)->next() == Candidate::second);
  CHECK(Races(raced).add(bcast, 1, {true, false}, false)->next() == Candidate::plan);
  CHECK(Races().add(allreduce, 1, {true, true}, false)->next() == Candidate::plan);
  CHECK(Races().add(allreduce, 1, {false, true}, false)->next() == Candidate::native);
}

TEST_CASE("a report is of races with a verdict") {
  RacingProgram program(spread(2'000'000, 1'000'000, 5));
  program.run(10);
  CHECK(reports(program.races, nullptr, 4, 0).empty());
  program.run(100);
  const auto all = reports(program.races, nullptr, 4, 0);
  REQUIRE(all.size() == 1);
  CHECK(all.front().find("\"winner\": \"native\"") != std::string::npos);
  CHECK(all.front().find("\"began\": \"plan\"") != std::string::npos);
  CHECK(all.front().find("\"collective\": \"allreduce\"") != std::string::npos);
  CHECK(all.front().find("\"second\"") == std::string::npos);
}

TEST_CASE("races that aren't reported one by one are counted by what they ended with") {
  // Each shape's calls come until it has a verdict, and then no more.
  Races races;
  std::int64_t now_ns = 0;
  const auto call = [&](std::size_t shape) {
    if (races.enter())
      races.agree(races.record(0, 1'000'000, 0, {}, [](std::int64_t ns) { return ns; }));
    const RaceKey key{.kind = Kind::allreduce, .root = 0, .band = static_cast<units::Size>(shape)};
    Race* race = races.find(key);
    if (race == nullptr) race = races.add(key, 1000, {true, false}, true);
    if (race == nullptr) return;
    const bool native_is_better = shape % 3 == 0;
    const bool is_quick = (race->next() == Candidate::native) == native_is_better;
    const std::int64_t ns = is_quick ? 1'000'000 : 2'000'000;
    races.count(*race, {now_ns, now_ns + ns});
    now_ns += ns;
  };
  constexpr std::size_t shapes = 500;
  for (std::size_t shape = 0; shape < shapes; ++shape)
    for (int i = 0; i < 2000; ++i)
      call(shape);
  const auto all = reports(races, nullptr, 4, 0);
  const auto more = runtime::more_races(races, all.size());
  CHECK(all.size() < shapes);
  CHECK(more[Candidate::plan] > 0);
  CHECK(more[Candidate::native] > 0);
  std::size_t decided = more[Candidate::plan] + more[Candidate::native];
  for (const std::vector<Race>* const those : {&races.replaced(), &races.all()})
    decided += static_cast<std::size_t>(
        std::ranges::count_if(*those, [](const Race& race) { return !race.verdicts().empty(); }));
  CHECK(decided > all.size());
  const auto none = runtime::more_races(races, 0);
  CHECK(none[Candidate::plan] + none[Candidate::native] == decided);
  CHECK(runtime::as_json(more).starts_with("{\"plan\": "));
  CHECK(runtime::as_json(runtime::ByCandidate<std::uint64_t>{}).empty());
}
