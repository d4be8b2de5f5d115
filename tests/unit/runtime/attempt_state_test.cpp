#include "runtime/adapt/attempt_state.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <random>
#include <vector>

using namespace thalweg;
using runtime::AttemptState;
using runtime::Purpose;
using runtime::ReplanRecord;

namespace {

using Act = AttemptState::Act;
using Stage = AttemptState::Stage;
using Outcome = AttemptState::Outcome;
using RandomBits = std::mt19937_64;

constexpr std::int64_t one_second_ns = 1'000'000'000;

/// What may go wrong on a rank, in per cent of the times when it could.
struct Mishaps {
  std::uint64_t no_memory = 0, unreadable = 0, nothing_better = 0;
};

/// One rank, which does what runtime::Replanner does.
struct ReplanningRank {
  AttemptState state;
  int table = 0;         ///< in force
  int next = 0, old = 0; ///< to come, and before
  std::uint64_t opened = 0;
  std::uint64_t busy_until = 0; ///< the leader's thread, by its own calls
  bool all_is_well = true;
};

/// What was begun in a call, by all ranks.
struct OpenAgreement {
  ReplanRecord least{};
  std::size_t ranks = 0;
  std::vector<Act> acts;
};

/// Ranks that make the same calls, each at its own pace, as far as MPI allows.
class ReplanningWorld {
public:
  ReplanningWorld(std::size_t ranks, std::size_t calls, Mishaps mishaps, std::uint64_t seed)
      : _random(seed), _mishaps(mishaps), _ranks(ranks), _at(ranks), _stage(ranks), _waits(calls),
        _suspects(calls), _blocked(calls), _entered(calls), _used(calls, -1) {
    const auto share = _random() % 4;
    _improves = _random() % 4 == 0;
    const auto per_suspicion = 20 + _random() % 200;
    for (std::size_t i = 0; i < calls; ++i) {
      _waits[i] = share == 3 || _random() % 64 < share;
      _suspects[i] = _random() % per_suspicion == 0;
      _blocked[i] = _random() % 3 == 0;
      _slower.push_back(_random() % 2 == 0);
    }
  }
  bool run() {
    std::size_t idle = 0;
    while (std::ranges::any_of(_at, [&](std::size_t at) { return at < _waits.size(); })) {
      const std::size_t rank = _random() % _ranks.size();
      bool any = false;
      for (std::uint64_t burst = 1 + _random() % 40; burst > 0 && _at[rank] < _waits.size();
           --burst) {
        if (!step(rank)) break;
        any = true;
      }
      if (any)
        idle = 0;
      else if (++idle > 2000 * _ranks.size())
        return false;
    }
    return true;
  }
  [[nodiscard]] bool all_alike() const { return _alike; }
  [[nodiscard]] int tables() const { return _tables; }
  [[nodiscard]] const std::vector<ReplanningRank>& ranks() const { return _ranks; }
  [[nodiscard]] std::size_t changes() const { return _changes; }
  [[nodiscard]] std::size_t outcomes(Outcome outcome) const {
    return static_cast<std::size_t>(std::ranges::count(_outcomes, outcome));
  }
  /// Makes a rank count a call too many, as an error might.
  void disturb(std::size_t rank, std::size_t call) { _disturbed = {rank, call}; }
  [[nodiscard]] std::size_t disagreements() const { return _disagreements; }

private:
  enum class Where : std::uint8_t { outside, late, inside, leaving };

  bool fails(std::uint64_t percent) { return _random() % 100 < percent; }
  bool step(std::size_t rank) {
    ReplanningRank& it = _ranks[rank];
    const std::size_t call = _at[rank];
    switch (_stage[rank]) {
    case Where::outside: {
      if (_disturbed.first == rank && _disturbed.second == call) it.state.enter(false);
      // The races' agreements are the same on all ranks, and so are their suspicions.
      if (_suspects[call]) suspect(it, call);
      begin(rank, it.state.enter(!_blocked[call]));
      ++_entered[call];
      _stage[rank] = Where::late;
      return true;
    }
    case Where::late:
      if (it.state.is_late()) {
        if (!finish(rank)) return false;
        begin(rank, it.state.next(!_blocked[call]));
      }
      use(it, call);
      _stage[rank] = Where::inside;
      return true;
    case Where::inside:
      if (_waits[call] && _entered[call] < _ranks.size()) return false;
      _stage[rank] = Where::leaving;
      return true;
    case Where::leaving:
      if (_waits[call] && it.state.has_begun_before(0)) {
        if (!finish(rank)) return false;
        begin(rank, it.state.next(!_blocked[call]));
      }
      _stage[rank] = Where::outside;
      ++_at[rank];
      return true;
    }
    return false;
  }
  void suspect(ReplanningRank& it, std::size_t call) {
    it.state.prepare();
    it.state.expect(std::int64_t{1} << (call % 40));
    if (call % 5 == 0 && it.old != it.table) // The new plans were worse.
      it.state.go_back();
    else {
      const auto now_ns = static_cast<std::int64_t>(call / 16) * 20 * one_second_ns;
      if (!it.state.look_for_recovery(call % 3, now_ns) &&
          !(_improves && it.state.improve(call % 3, now_ns)))
        it.state.suspect(call % 3, _slower[call], now_ns, call % 2 == 0);
    }
    if (it.state.is_unconfirmed()) {
      if (call % 7 < 3) it.state.confirm(call % 7 == 0);
      if (call % 7 == 3) it.state.dismiss(static_cast<std::int64_t>(call));
    }
  }
  /// All ranks execute a call by the same table.
  void use(const ReplanningRank& it, std::size_t call) {
    if (_used[call] < 0) _used[call] = it.table;
    if (_disagreements == 0) _alike &= _used[call] == it.table;
  }
  void begin(std::size_t rank, Act act) {
    ReplanningRank& it = _ranks[rank];
    if (act == Act::nothing) return;
    if (act == Act::plan) {
      it.busy_until = it.state.calls() + _random() % 300;
      return;
    }
    if (act == Act::adopt) {
      it.old = it.table;
      it.table = it.next;
      if (rank == 0) ++_changes;
      return;
    }
    if (act == Act::go_back || act == Act::try_before) return std::swap(it.table, it.old);
    if (act == Act::collect && it.state.purpose() == Purpose::recovery) std::swap(it.table, it.old);
    ++it.opened;
    if (_agreements.size() < it.opened) _agreements.resize(it.opened);
    OpenAgreement& agreement = _agreements[it.opened - 1];
    agreement.acts.push_back(act);
    ReplanRecord own{};
    if (act == Act::agree) own = record(rank);
    for (std::size_t i = 0; i < own.size(); ++i)
      agreement.least[i] = agreement.ranks == 0 ? own[i] : std::min(own[i], agreement.least[i]);
    ++agreement.ranks;
  }
  ReplanRecord record(std::size_t rank) {
    ReplanningRank& it = _ranks[rank];
    bool is_well = true;
    std::int64_t answer = AttemptState::nothing;
    if (it.state.stage() == Stage::preparing || it.state.stage() == Stage::allocating)
      is_well = !fails(_mishaps.no_memory);
    if (it.state.stage() == Stage::checking) is_well = !fails(_mishaps.unreadable);
    if (it.state.stage() == Stage::planning && rank == 0) {
      answer = AttemptState::busy;
      if (it.state.calls() >= it.busy_until)
        answer = fails(_mishaps.nothing_better) ? AttemptState::nothing : 1000 + _tables;
    }
    const bool suits_both = it.state.calls() % 2 == 0;
    return it.state.record(rank == 0, answer, suits_both, is_well,
                           static_cast<std::uint64_t>(it.next) << 20,
                           static_cast<std::int64_t>(it.state.calls()) * 1'000'000);
  }
  /// Returns whether what is open could be waited for.
  bool finish(std::size_t rank) {
    ReplanningRank& it = _ranks[rank];
    const OpenAgreement& agreement = _agreements[it.opened - 1];
    if (agreement.ranks < _ranks.size()) return false;
    // All began the same.
    if (_disagreements == 0 && _disturbed.second == none)
      _alike &= std::ranges::all_of(agreement.acts,
                                    [&](Act act) { return act == agreement.acts.front(); });
    switch (it.state.stage()) {
    case Stage::collecting:
      it.state.collected();
      it.busy_until = it.state.calls() + _random() % 300;
      return true;
    case Stage::sharing:
      // A broadcast: the table that the leader made is named by the operation that brought it.
      it.next = static_cast<int>(it.opened);
      _tables = std::max(_tables, it.next);
      it.state.shared();
      return true;
    default: {
      const Stage before = it.state.stage();
      if (!it.state.agree(agreement.least)) ++_disagreements;
      if (rank == 0 && before != Stage::planning && it.state.outcome() != Outcome::none)
        _outcomes.push_back(it.state.outcome());
      return true;
    }
    }
  }

  static constexpr std::size_t none = ~std::size_t{0};
  RandomBits _random;
  Mishaps _mishaps;
  std::vector<ReplanningRank> _ranks;
  std::vector<std::size_t> _at;
  std::vector<Where> _stage;
  std::vector<bool> _waits, _suspects, _blocked, _slower;
  std::vector<std::size_t> _entered;
  std::vector<int> _used; ///< the table of the first rank that came there
  std::vector<OpenAgreement> _agreements;
  std::vector<Outcome> _outcomes;
  std::pair<std::size_t, std::size_t> _disturbed{none, none};
  std::size_t _disagreements = 0, _changes = 0;
  int _tables = 0;
  bool _alike = true;
  bool _improves = false; ///< plans that haven't drifted
};

/// Returns the state of a single rank that has room for what is to come.
/// @param improvement_ns what the first improvement is expected to take
AttemptState prepared(std::int64_t improvement_ns = 0) {
  AttemptState state(improvement_ns);
  state.prepare();
  REQUIRE(state.enter(true) == Act::agree);
  REQUIRE(state.agree(state.record(true, AttemptState::nothing, false, true, 0)));
  return state;
}

/// Lets a single rank go through what has begun, to which the leader has this answer. Returns the
/// calls until it has ended, or the new table holds.
/// @param improving_ns what improvements took, those before included
std::uint64_t finish(AttemptState& state, std::int64_t answer, std::int64_t improving_ns = 0) {
  const std::uint64_t begin = state.calls();
  while (state.stage() != Stage::calm) {
    REQUIRE(state.calls() < begin + 1000);
    const Act act = state.enter(true);
    if (act == Act::collect) state.collected();
    if (act == Act::share) state.shared();
    if (act == Act::agree)
      REQUIRE(state.agree(state.record(true, answer, false, true, 1, improving_ns)));
  }
  return state.calls() - begin;
}

std::uint64_t change_once(AttemptState& state, bool slower, std::int64_t second) {
  REQUIRE(state.suspect(0, slower, second * one_second_ns));
  return finish(state, 4000);
}

} // namespace

TEST_CASE("no two ranks ever execute a call by different tables, whatever goes wrong") {
  const test::Seeds seeds(600, 20);
  std::size_t changes = 0, failures = 0;
  std::uint64_t calls = 0;
  for (std::uint64_t seed = seeds.first(); seed < seeds.end(); ++seed) {
    CAPTURE(seed);
    RandomBits random(seed);
    const Mishaps mishaps{.no_memory = seed % 3 == 0 ? random() % 20 : 0,
                          .unreadable = seed % 5 == 0 ? random() % 20 : 0,
                          .nothing_better = random() % 40};
    ReplanningWorld world(1 + random() % 9, 500 + random() % 2000, mishaps, seed);
    REQUIRE(world.run());
    REQUIRE(world.all_alike());
    CHECK(world.disagreements() == 0);
    calls += world.ranks().front().state.calls();
    changes += world.changes();
    failures += world.outcomes(Outcome::no_memory) + world.outcomes(Outcome::unreadable);
  }
  CHECK(changes > seeds.count());
  CHECK(failures > seeds.count() / 20);
  seeds.print(calls, changes);
}

TEST_CASE("ranks that have come apart notice it, and keep their plans") {
  std::size_t noticed = 0;
  for (std::uint64_t seed = 0; seed < test::share_of<std::uint64_t>(100, 10); ++seed) {
    CAPTURE(seed);
    RandomBits random(seed);
    ReplanningWorld world(2 + random() % 5, 1500, {}, seed);
    world.disturb(random() % 2, 100 + random() % 500);
    world.run(); // may end with ranks that wait for each other, where one began something else
    if (world.disagreements() == 0) continue;
    ++noticed;
    for (const ReplanningRank& rank : world.ranks())
      CHECK((rank.state.stage() == Stage::off || rank.state.is_open()));
  }
  CHECK(noticed > 0);
}

TEST_CASE("plans change at most once in 20 s, and less often if they change back") {
  AttemptState state = prepared();
  CHECK(change_once(state, true, 100) < 64);
  CHECK_FALSE(state.suspect(0, true, 119 * one_second_ns));
  change_once(state, true, 120); // worse still
  CHECK_FALSE(state.suspect(0, false, 139 * one_second_ns));
  change_once(state, false, 140); // it came back: spread
  CHECK_FALSE(state.suspect(0, true, 179 * one_second_ns));
  change_once(state, true, 180);
  CHECK_FALSE(state.suspect(0, false, 259 * one_second_ns));
  change_once(state, false, 260);
}

TEST_CASE("plans for a suspicion wait until it is confirmed, and are dropped if it passes") {
  AttemptState state = prepared();
  const auto wait = [&] { // for longer than any stage but the one for a confirmation takes
    for (int i = 0; i < 100; ++i) {
      const Act act = state.enter(true);
      CHECK(act != Act::share);
      if (act == Act::collect) state.collected();
      if (act == Act::agree) REQUIRE(state.agree(state.record(true, 4000, false, true, 1)));
    }
  };
  REQUIRE(state.suspect(0, true, 100 * one_second_ns, false));
  wait();
  CHECK(state.is_unconfirmed());
  state.dismiss(103 * one_second_ns);
  CHECK_FALSE(state.is_unconfirmed());
  CHECK(state.enter(true) == Act::nothing);
  CHECK(state.stage() == Stage::calm);
  // Another suspicion must wait, but not a drift.
  CHECK_FALSE(state.suspect(0, true, 122 * one_second_ns, false));
  REQUIRE(state.suspect(0, true, 123 * one_second_ns, false));
  wait();
  state.dismiss(124 * one_second_ns);
  state.enter(true);
  CHECK_FALSE(state.suspect(0, true, 163 * one_second_ns, false));
  REQUIRE(state.suspect(0, true, 164 * one_second_ns, false));
  wait();
  state.confirm();
  CHECK(finish(state, 4000) < 8);
  CHECK(state.outcome() == Outcome::adopted);
}

TEST_CASE("after a suspicion for which nothing better is found others wait, but no drift does") {
  AttemptState state = prepared();
  REQUIRE(state.suspect(0, true, 100 * one_second_ns, false));
  while (state.stage() != Stage::calm) {
    const Act act = state.enter(true);
    if (act == Act::collect) state.collected();
    if (act == Act::agree)
      REQUIRE(state.agree(state.record(true, AttemptState::nothing, false, true, 1)));
  }
  CHECK(state.outcome() == Outcome::nothing_better);
  CHECK_FALSE(state.suspect(0, true, 119 * one_second_ns, false));
  AttemptState other = state;
  CHECK(other.suspect(0, true, 101 * one_second_ns));
  CHECK(state.suspect(0, true, 120 * one_second_ns, false));
}

TEST_CASE("plans for what comes and goes may wait until it has come again") {
  const auto planned = [](bool suits_both) {
    AttemptState state = prepared();
    REQUIRE(state.suspect(0, true, 100 * one_second_ns, false));
    CHECK(state.may_come_and_go(109 * one_second_ns)); // as long as it isn't known
    CHECK_FALSE(state.may_come_and_go(110 * one_second_ns));
    while (state.stage() != Stage::sharing) {
      const Act act = state.enter(true);
      if (act == Act::collect) state.collected();
      if (act == Act::agree) REQUIRE(state.agree(state.record(true, 4000, suits_both, true, 1)));
    }
    CHECK(state.suits_both() == suits_both);
    CHECK(state.may_come_and_go(109 * one_second_ns) == suits_both);
    return state;
  };
  CHECK(planned(false).is_unconfirmed());
  AttemptState state = planned(true);
  state.confirm(true);
  CHECK_FALSE(state.may_come_and_go(109 * one_second_ns));
  finish(state, 4000);
  CHECK(state.outcome() == Outcome::adopted);
  CHECK(state.comes_and_goes());
  CHECK_FALSE(state.look_for_recovery(0, 200 * one_second_ns)); // It will, and isn't looked for.
}

TEST_CASE("a recovery is looked for the less often the longer it hasn't come") {
  AttemptState state = prepared();
  change_once(state, true, 100);
  // Four calls cost 0.8 s more with them now, and a recovery halves what calls take.
  state.compare(100'000'000, 400'000'000, 200'000'000);
  REQUIRE(state.look_for_recovery(0, 120 * one_second_ns));
  int tried = 0;
  while (state.stage() != Stage::collecting) {
    state.enter(true);
    tried += state.tries() ? 1 : 0;
  }
  CHECK(tried == 4);
  state.collected();
  finish(state, AttemptState::nothing);
  CHECK_FALSE(state.look_for_recovery(0, 127 * one_second_ns));
  CHECK(state.look_for_recovery(0, 600 * one_second_ns));
  finish(state, AttemptState::nothing);
  CHECK_FALSE(state.look_for_recovery(0, 639 * one_second_ns));
  CHECK(state.look_for_recovery(0, 640 * one_second_ns));
}

TEST_CASE("a recovery is looked for only while plans avoid something") {
  AttemptState state = prepared();
  CHECK_FALSE(state.look_for_recovery(0, 50 * one_second_ns));
  change_once(state, true, 100);
  CHECK_FALSE(state.look_for_recovery(0, 119 * one_second_ns));
  CHECK_FALSE(state.look_for_recovery(1, 120 * one_second_ns)); // of another shape nothing is known
  std::vector<std::int64_t> seconds;
  for (std::int64_t second = 100; second < 1000; ++second)
    if (state.look_for_recovery(0, second * one_second_ns)) {
      CHECK(state.purpose() == Purpose::recovery);
      seconds.push_back(second);
      finish(state, AttemptState::nothing);
      CHECK(state.outcome() == Outcome::nothing_better);
    }
  CHECK(seconds.size() == 44);
  // In between a suspicion doesn't wait.
  change_once(state, true, 901);
  CHECK_FALSE(state.look_for_recovery(0, 920 * one_second_ns));
  REQUIRE(state.look_for_recovery(0, 921 * one_second_ns));
  finish(state, 4000);
  CHECK(state.outcome() == Outcome::adopted);
  CHECK_FALSE(state.look_for_recovery(0, 1100 * one_second_ns));
  state.go_back(); // the network hasn't recovered, after all
  CHECK(state.purpose() == Purpose::drift);
  REQUIRE(state.enter(true) == Act::go_back);
  CHECK(state.look_for_recovery(0, 1100 * one_second_ns));
}

TEST_CASE("each plan is improved once, while none avoids anything, and without hurry") {
  AttemptState state = prepared();
  CHECK_FALSE(state.improve(0, 4 * one_second_ns));
  state.expect(100'000'000);
  REQUIRE(state.improve(0, 5 * one_second_ns));
  CHECK(state.purpose() == Purpose::improvement);
  CHECK(state.enter(true) == Act::plan);
  CHECK(finish(state, 4000) > 8 * 5); // as many calls as take half a second
  CHECK(state.outcome() == Outcome::adopted);
  CHECK_FALSE(state.look_for_recovery(0, 100 * one_second_ns));
  CHECK_FALSE(state.improve(0, 100 * one_second_ns));
  REQUIRE(state.improve(1, 100 * one_second_ns));
  finish(state, AttemptState::nothing);
  CHECK(state.outcome() == Outcome::nothing_better);
  CHECK(state.suspect(0, true, 101 * one_second_ns)); // Suspicions don't wait for it.
  finish(state, 4000);
  CHECK_FALSE(state.improve(2, 200 * one_second_ns));
}

TEST_CASE("improvements take a twentieth of the time, and what drifted doesn't wait for that") {
  AttemptState state = prepared();
  REQUIRE(state.improve(0, 5 * one_second_ns));
  finish(state, 4000, 2 * one_second_ns);
  CHECK_FALSE(state.improve(1, 79 * one_second_ns)); // It may take another 2 s.
  REQUIRE(state.suspect(1, true, 79 * one_second_ns));
  finish(state, AttemptState::nothing, 2 * one_second_ns);
  REQUIRE(state.improve(1, 80 * one_second_ns));
  finish(state, 4000, 3 * one_second_ns);
  CHECK_FALSE(state.improve(2, 84 * one_second_ns)); // too soon
  REQUIRE(state.improve(2, 85 * one_second_ns));     // The last one took 1 s.
  finish(state, 4000, 13 * one_second_ns);
  CHECK_FALSE(state.improve(3, 459 * one_second_ns));
  CHECK(state.improve(3, 460 * one_second_ns));

  AttemptState many = prepared(10 * one_second_ns);
  CHECK_FALSE(many.improve(0, 199 * one_second_ns));
  CHECK(many.improve(0, 200 * one_second_ns));
}

TEST_CASE("nothing changes where the leader finds nothing better, and races block a change") {
  AttemptState state = prepared();
  REQUIRE(state.suspect(2, true, one_second_ns));
  CHECK(state.race() == 2);
  int agreements = 0;
  while (state.stage() != Stage::calm) {
    const Act act = state.enter(true);
    REQUIRE(act != Act::share);
    if (act == Act::collect) state.collected();
    if (act == Act::agree) {
      ++agreements;
      const bool ready = agreements == 4;
      REQUIRE(state.agree(
          state.record(true, ready ? AttemptState::nothing : AttemptState::busy, false, true, 0)));
    }
  }
  CHECK(state.outcome() == Outcome::nothing_better);
  AttemptState other = prepared();
  REQUIRE(other.suspect(0, true, one_second_ns));
  while (other.stage() != Stage::adopting) {
    const Act act = other.enter(false);
    if (act == Act::collect) other.collected();
    if (act == Act::share) other.shared();
    if (act == Act::agree) REQUIRE(other.agree(other.record(true, 10, false, true, 5)));
  }
  for (int i = 0; i < 20; ++i)
    CHECK(other.enter(false) == Act::nothing);
  CHECK(other.enter(true) == Act::adopt);
  other.go_back();
  CHECK(other.enter(true) == Act::go_back);
}
