#include "algorithms/algorithm.hpp"
#include "network/network.hpp"
#include "unit/runtime/random_schedules.hpp"
#include "unit/runtime/simulated_ranks.hpp"
#include "unit/schedule/toys.hpp"
#include "unit/share.hpp"

#include <doctest/doctest.h>
#include <set>
#include <string_view>

using namespace thalweg;
using collective::ChunkId;
using collective::Kind;
using runtime::How;
using runtime::Interval;
using runtime::Layout;
using runtime::Program;
using schedule::Range;
using schedule::Reg;
using schedule::Schedule;
using schedule::Sink;
using schedule::Step;
using schedule::Transfer;
using test::random_blocks;
using test::random_sites;
using test::random_transfers;
using test::Rank;
using test::Unit;
using Vectors = std::vector<std::vector<Unit>>;

namespace {

Vectors random_data(Rank ranks, std::int64_t units, std::mt19937& random) {
  Vectors data(static_cast<std::size_t>(ranks));
  for (auto& vector : data)
    for (std::int64_t i = 0; i < units; ++i)
      vector.push_back(random());
  return data;
}

std::vector<std::int64_t> places(const Layout& layout, std::int32_t segment,
                                 std::span<const Range> what) {
  std::vector<std::int64_t> result;
  for (const Range& range : what)
    for (ChunkId i = 0; i < range.count; ++i) {
      const Interval interval = layout.interval(segment, range.first + i * range.stride);
      for (std::int64_t at = interval.begin; at < interval.end; ++at)
        result.push_back(at);
    }
  return result;
}

/// The definition: all transfers of a step read the state before it; writes follow in their order.
Vectors replay(std::span<const Transfer> transfers, const Layout& layout, Vectors data) {
  std::map<std::tuple<Rank, Reg, std::int64_t>, Unit> state;
  for (std::size_t rank = 0; rank < data.size(); ++rank)
    for (std::size_t i = 0; i < data[rank].size(); ++i)
      state[{static_cast<Rank>(rank), Reg{0}, static_cast<std::int64_t>(i)}] = data[rank][i];
  for (std::int32_t segment = 0; segment < layout.segments(); ++segment) {
    for (std::size_t begin = 0; begin < transfers.size();) {
      std::size_t end = begin;
      const auto before = state;
      for (; end < transfers.size() && transfers[end].step == transfers[begin].step; ++end) {
        const Transfer& t = transfers[end];
        for (const auto at : places(layout, segment, t.what)) {
          const Unit incoming = before.at({t.from, t.src, at});
          Unit& present = state[{t.to, t.dst, at}];
          present = t.how == How::copy           ? incoming
                    : t.how == How::combine_left ? test::combined(incoming, present)
                                                 : test::combined(present, incoming);
        }
      }
      begin = end;
    }
  }
  for (std::size_t rank = 0; rank < data.size(); ++rank)
    for (std::size_t i = 0; i < data[rank].size(); ++i)
      data[rank][i] = state[{static_cast<Rank>(rank), Reg{0}, static_cast<std::int64_t>(i)}];
  return data;
}

/// How the data of a collective is cut.
struct Cut {
  std::vector<std::int64_t> blocks; ///< units of each
  ChunkId parts = 1;
  schedule::Pipeline pipeline;
  std::vector<std::int32_t> weights = {};

  [[nodiscard]] Layout layout() const {
    return {blocks, pipeline.segments, static_cast<ChunkId>(blocks.size()) * parts, weights};
  }
};

Program own_part(std::span<const Transfer> transfers, Rank rank, const Cut& cut) {
  Sink sink;
  for (const Transfer& t : transfers)
    if (t.from == rank || t.to == rank) sink.add(t.from, t.to, t.step, t.how, t.what, t.src, t.dst);
  return {std::move(sink), rank, cut.pipeline.period, cut.parts};
}

/// A rank's blocks, each in memory of its own or behind the one before it.
class Memory {
public:
  Memory(const Program& program, const Cut& cut, const std::vector<Unit>& whole,
         std::mt19937& random) {
    _units.reserve(2 * whole.size() + 1); // addresses must last
    const Layout all({cut.blocks, 1, static_cast<ChunkId>(cut.blocks.size())});
    places.clear(sizeof(Unit));
    std::int64_t begin = 0;
    for (const Program::Block& block : program.blocks()) {
      if (random() % 2 == 0) _units.push_back(0); // between this block and the last one
      _at.push_back(_units.size());
      const Interval interval = all.interval(0, block.id);
      _units.insert(_units.end(), whole.begin() + interval.begin, whole.begin() + interval.end);
      places.add(begin, reinterpret_cast<std::byte*>(_units.data() + _at.back()));
      sizes.push_back(interval.size());
      begin += interval.size();
    }
  }
  /// Puts the blocks back into the whole.
  void read(const Program& program, const Cut& cut, std::vector<Unit>& whole) const {
    const Layout all({cut.blocks, 1, static_cast<ChunkId>(cut.blocks.size())});
    for (std::size_t i = 0; i < _at.size(); ++i)
      std::copy_n(_units.begin() + static_cast<std::ptrdiff_t>(_at[i]), sizes[i],
                  whole.begin() + all.interval(0, program.blocks()[i].id).begin);
  }
  runtime::Places places;
  std::vector<std::int64_t> sizes;

private:
  std::vector<Unit> _units;
  std::vector<std::size_t> _at;
};

Vectors execute(const std::vector<Program>& programs, const Cut& cut, Vectors data,
                const std::vector<int>& windows, bool may_buffer, std::mt19937& random) {
  std::vector<Memory> memory;
  std::vector<test::RankPart> parts;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    memory.emplace_back(programs[rank], cut, data[rank], random);
    parts.push_back({&programs[rank],
                     programs[rank].layout(cut.pipeline, cut.weights, memory.back().sizes),
                     memory.back().places, windows[rank]});
  }
  test::run(parts, static_cast<unsigned>(random()), may_buffer);
  for (std::size_t rank = 0; rank < programs.size(); ++rank)
    memory[rank].read(programs[rank], cut, data[rank]);
  return data;
}

void check(std::span<const Transfer> transfers, const Cut& cut, Rank ranks, std::mt19937& random) {
  const Vectors before = random_data(ranks, cut.layout().total(), random);
  const Vectors expected = replay(transfers, cut.layout(), before);
  std::vector<Program> programs;
  for (Rank rank = 0; rank < ranks; ++rank)
    programs.push_back(own_part(transfers, rank, cut));
  const auto run = [&](const std::vector<int>& windows, bool may_buffer) {
    CHECK(execute(programs, cut, before, windows, may_buffer, random) == expected);
  };
  for (const int window : {1, 2, 8, 128})
    run(std::vector<int>(programs.size(), window), random() % 2 == 0);
  // Without buffers everybody waits longest for the others.
  run(std::vector<int>(programs.size(), 1), false);
  std::vector<int> mixed;
  for (Rank rank = 0; rank < ranks; ++rank)
    mixed.push_back(random() % 4 == 0 ? 100 : 1 + static_cast<int>(random() % 3));
  run(mixed, false);
}

} // namespace

TEST_CASE("random transfers do what the definition says, whatever completes first") {
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const auto ranks = static_cast<Rank>(1 + random() % 6);
    const auto blocks = static_cast<ChunkId>(1 + random() % 4);
    Cut cut;
    cut.parts = static_cast<ChunkId>(1 + random() % (blocks == 1 ? 7 : 3));
    cut.pipeline.segments = static_cast<std::int32_t>(1 + random() % 4);
    cut.pipeline.period = static_cast<Step>(1 + random() % 3);
    cut.blocks = random_blocks(blocks, 40 / blocks, random);
    Sink sink;
    const auto transfers = random_transfers(ranks, blocks * cut.parts, sink, random);
    check(transfers, cut, ranks, random);
  }
}

TEST_CASE("schedules written by hand, of blocks of any sizes") {
  std::mt19937 random(3);
  auto toys = schedule::test::all_toys();
  toys.push_back(schedule::test::dissemination_barrier(5));
  for (const auto& toy : toys)
    for (const std::int32_t segments : {1, 3}) {
      CAPTURE(toy.name);
      const Schedule schedule = to_schedule(toy);
      Cut cut;
      cut.parts = toy.chunks / toy.collective.blocks();
      cut.pipeline = {.segments = segments};
      cut.blocks = random_blocks(toy.collective.blocks(), 30, random);
      check(schedule.transfers(), cut, toy.collective.ranks, random);
    }
}

TEST_CASE("a long pipeline through windows of any widths") {
  std::mt19937 random(6);
  Sink down, up;
  for (Rank rank = 0; rank < 3; ++rank) {
    down.add(rank, rank + 1, rank, schedule::How::copy, schedule::Range{});
    up.add(rank, rank + 1, rank, schedule::How::combine_left, schedule::Range{});
  }
  for (Sink* const sink : {&down, &up}) {
    const Schedule schedule(1, {test::share_of(700, 4), 1}, std::move(*sink));
    check(schedule.transfers(), {{1400}, 1, schedule.pipeline()}, 4, random);
  }
}

namespace {

bool check_algorithm(const algorithms::Algorithm& algorithm, Kind kind, Rank ranks,
                     std::mt19937& random) {
  const network::Network network = random_sites(ranks, random);
  network::Placement placement;
  for (Rank rank = 0; rank < ranks; ++rank)
    placement.push_back(rank);
  collective::Collective collective{.kind = kind, .ranks = ranks};
  if (collective::is_rooted(kind)) collective.root = static_cast<Rank>(random() & 0xff) % ranks;
  collective.size = static_cast<units::Size>(random() % (collective.blocks() == 1 ? 200 : 20));
  const algorithms::Problem problem{collective, network, placement};
  // Some must be asked for.
  if (!algorithm.can_do(collective) || algorithm.candidates(problem).empty()) return false;
  algorithms::Parameters parameters;
  if (random() % 2 == 0) parameters.segment_size = collective.blocks() == 1 ? 16 : 5;
  const auto skeleton = algorithm.build(problem, parameters);
  const Schedule schedule = algorithms::expand(kind, skeleton, collective.size);
  Cut cut;
  cut.parts = schedule.chunks() / collective.blocks();
  cut.pipeline = schedule.pipeline();
  cut.weights.assign(schedule.weights().begin(), schedule.weights().end());
  cut.blocks.assign(static_cast<std::size_t>(collective.blocks()), collective.size);
  if (collective.blocks() > 1 && random() % 2 == 0)
    cut.blocks = random_blocks(collective.blocks(), 2 * collective.size + 1, random);
  check(schedule.transfers(), cut, ranks, random);
  return true;
}

} // namespace

TEST_CASE("every algorithm's schedules") {
  std::mt19937 random(2);
  test::Sample sample(8);
  std::set<std::string_view> tried;
  for (const algorithms::Algorithm* algorithm : algorithms::all())
    for (const collective::Kind kind : collective::kinds)
      for (const Rank ranks : {1, 2, 3, 4, 5, 7, 8, 13, 17}) {
        if (!algorithm->supports(kind) || !sample.takes_next()) continue;
        CAPTURE(algorithm->name());
        CAPTURE(collective::to_text(kind));
        CAPTURE(ranks);
        if (check_algorithm(*algorithm, kind, ranks, random)) tried.insert(algorithm->name());
      }
  for (const algorithms::Algorithm* algorithm : algorithms::all())
    if (!test::sanitized && algorithm->name() != "tree" && algorithm->name() != "listed")
      CHECK_MESSAGE(tried.contains(algorithm->name()), algorithm->name());
}

TEST_CASE("a program knows only the blocks that its rank handles") {
  const auto toy = schedule::test::hierarchical_gather(8);
  const Schedule schedule = to_schedule(toy);
  const auto blocks = [&](Rank rank) {
    std::vector<ChunkId> ids;
    const Program program = own_part(schedule.transfers(), rank, {{}, 1, {}});
    for (const auto& block : program.blocks()) {
      ids.push_back(block.id);
      CHECK(block.written == (block.id != rank));
    }
    return ids;
  };
  CHECK(blocks(3) == std::vector<ChunkId>{3});
  CHECK(blocks(1) == std::vector<ChunkId>{1, 3, 5, 7});
  // Every other one of eight becomes four adjacent ones.
  const Program program = own_part(schedule.transfers(), 1, {{}, 1, {}});
  CHECK(program.transfers().back().what.size() == 1);
  CHECK(program.transfers().back().what.front() == Range{0, 4, 1});
  const Layout layout = program.layout({}, {}, 10);
  CHECK(layout.total() == 40);
}

TEST_CASE("an execution gives its memory back") {
  constexpr std::int64_t units = 1000;
  Sink sink;
  sink.add(0, 0, 0, How::copy, Range{}, 0, 1);
  const Program program(std::move(sink), 0, 1, 1);
  const Layout layout = program.layout({.segments = 10}, {}, units);
  std::vector<Unit> data(units);
  runtime::Places places;
  places.clear(sizeof(Unit));
  places.add(0, reinterpret_cast<std::byte*>(data.data()));
  test::FakeNetwork network(1, 1);
  test::FakeTransport transport(network, 0);
  runtime::Task task;
  task.places = &places;
  task.shape = {
      .extent = sizeof(Unit), .true_lower_bound = 0, .true_extent = sizeof(Unit), .bytes = 8};
  runtime::Execution execution;
  for (int i = 0; i < 2; ++i) {
    execution.start(program, layout, task, transport);
    REQUIRE(execution.finished());
    const std::int64_t scratch = units * std::int64_t{sizeof(Unit)};
    CHECK(execution.kept() > scratch);
    execution.shrink(execution.kept());
    CHECK(execution.kept() > scratch);
    execution.shrink(scratch - 1); // which has room for the states alone
    CHECK(execution.kept() > 0);
    CHECK(execution.kept() < scratch);
    execution.shrink(0);
    CHECK(execution.kept() == 0);
  }
}

TEST_CASE("places are joined where memory is, and cut intervals where it isn't") {
  std::vector<std::byte> memory(100);
  runtime::Places places;
  places.clear(2);
  places.add(0, memory.data());
  places.add(5, memory.data() + 10); // adjacent
  places.add(7, memory.data() + 50);
  places.add(7, memory.data() + 60); // the one before has no units
  CHECK(places.address(6) == memory.data() + 12);
  CHECK(places.address(8) == memory.data() + 62);
  std::vector<Interval> intervals = {{0, 6}, {6, 9}};
  places.cut(intervals);
  CHECK(intervals == std::vector<Interval>{{0, 6}, {6, 7}, {7, 9}});
}
