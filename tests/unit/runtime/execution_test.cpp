#include "algorithms/algorithm.hpp"
#include "network/network.hpp"
#include "unit/runtime/simulated_ranks.hpp"

#include <doctest/doctest.h>

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

Program own_part(std::span<const Transfer> transfers, Rank rank, Step period) {
  Sink sink;
  for (const Transfer& t : transfers)
    if (t.from == rank || t.to == rank) sink.add(t.from, t.to, t.step, t.how, t.what, t.src, t.dst);
  return {std::move(sink), rank, period};
}

void check(std::span<const Transfer> transfers, const Layout& layout, Step period, Rank ranks,
           std::mt19937& random) {
  const Vectors before = random_data(ranks, layout.total(), random);
  const Vectors expected = replay(transfers, layout, before);
  std::vector<Program> programs;
  for (Rank rank = 0; rank < ranks; ++rank)
    programs.push_back(own_part(transfers, rank, period));
  const auto run = [&](const std::vector<int>& windows, bool may_buffer) {
    Vectors data = before;
    test::run(programs, layout, data, windows, static_cast<unsigned>(random()), random() % 2 == 0,
              may_buffer);
    CHECK(data == expected);
  };
  for (const int window : {1, 2, 8})
    run(std::vector<int>(programs.size(), window), random() % 2 == 0);
  // Without buffers everybody waits longest for the others.
  run(std::vector<int>(programs.size(), 1), false);
  std::vector<int> mixed;
  for (Rank rank = 0; rank < ranks; ++rank)
    mixed.push_back(1 + static_cast<int>(random() % 3));
  run(mixed, false);
}

/// Hosts that are all alike, dealt out to sites, of which some may be empty.
network::Network random_sites(Rank hosts, std::mt19937& random) {
  network::Network net = network::even_network(hosts, units::Time(1e-3), units::Rate(1e7));
  net.sites.resize(1 + random() % 4);
  for (network::HostId host = 0; host < hosts; ++host)
    net.sites[random() % net.sites.size()].push_back(host);
  std::erase_if(net.sites, [](const auto& site) { return site.empty(); });
  return net;
}

/// Any transfers that read only what was written before: local ones, several ranges, two registers.
std::vector<Transfer> random_transfers(Rank ranks, ChunkId chunks, Sink& sink,
                                       std::mt19937& random) {
  const auto pick = [&](std::int32_t below) {
    return std::uniform_int_distribution<std::int32_t>(0, below - 1)(random);
  };
  std::map<std::pair<Rank, ChunkId>, bool> in_scratch, added;
  const int steps = 1 + pick(5);
  for (int step = 0; step < steps; ++step) {
    in_scratch.merge(added);
    for (int i = pick(3 * ranks); i > 0; --i) {
      const Rank from = pick(ranks), to = pick(ranks);
      std::vector<Range> what;
      std::vector<bool> taken(static_cast<std::size_t>(chunks));
      for (int ranges = 1 + pick(3); ranges > 0; --ranges) {
        Range range{pick(chunks), 1 + pick(3), 1 + pick(2)};
        bool fits = range.first + (range.count - 1) * range.stride < chunks;
        for (ChunkId j = 0; fits && j < range.count; ++j)
          fits = !taken[static_cast<std::size_t>(range.first + j * range.stride)];
        if (!fits) continue;
        for (ChunkId j = 0; j < range.count; ++j)
          taken[static_cast<std::size_t>(range.first + j * range.stride)] = true;
        what.push_back(range);
      }
      if (what.empty()) continue;
      Reg src = static_cast<Reg>(pick(2)), dst = static_cast<Reg>(pick(2));
      How how = static_cast<How>(pick(3));
      for (ChunkId chunk = 0; chunk < chunks; ++chunk) {
        if (!taken[static_cast<std::size_t>(chunk)]) continue;
        if (!in_scratch.contains({from, chunk})) src = 0;
        if (!in_scratch.contains({to, chunk}) && dst == 1) how = How::copy;
      }
      if (dst == 1)
        for (ChunkId chunk = 0; chunk < chunks; ++chunk)
          if (taken[static_cast<std::size_t>(chunk)]) added[{to, chunk}] = true;
      sink.add(from, to, step, how, what, src, dst);
    }
  }
  sink.sort();
  return sink.transfers();
}

} // namespace

TEST_CASE("random transfers do what the definition says, whatever completes first") {
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const auto ranks = static_cast<Rank>(1 + random() % 6);
    const auto chunks = static_cast<ChunkId>(1 + random() % 7);
    const auto segments = static_cast<std::int32_t>(1 + random() % 4);
    const auto total = static_cast<std::int64_t>(random() % 40);
    const auto period = static_cast<Step>(1 + random() % 3);
    Sink sink;
    const auto transfers = random_transfers(ranks, chunks, sink, random);
    check(transfers, Layout(total, segments, chunks), period, ranks, random);
  }
}

TEST_CASE("every algorithm's schedules") {
  std::mt19937 random(2);
  for (const algorithms::Algorithm* algorithm : algorithms::all())
    for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::allreduce})
      for (const Rank ranks : {1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17}) {
        if (!algorithm->supports(kind)) continue;
        CAPTURE(algorithm->name());
        CAPTURE(ranks);
        const network::Network network = random_sites(ranks, random);
        network::Placement placement;
        for (Rank rank = 0; rank < ranks; ++rank)
          placement.push_back(rank);
        const auto size = static_cast<units::Size>(random() % 200);
        const Rank root = kind == Kind::allreduce ? 0 : static_cast<Rank>(random() & 0xff);
        const algorithms::Problem problem{
            {.kind = kind, .ranks = ranks, .root = root % ranks, .size = size, .in_place = false},
            network,
            placement};
        algorithms::Parameters parameters;
        parameters.segment_size = random() % 2 == 0 ? 0 : 16;
        const auto skeleton = algorithm->build(problem, parameters);
        const Schedule schedule = algorithms::expand(kind, skeleton, size);
        check(schedule.transfers(), schedule.layout(problem.collective), schedule.pipeline().period,
              ranks, random);
      }
}

TEST_CASE("the expansion is in the order of all ranks") {
  Sink sink;
  for (const Step step : {0, 1, 4}) {
    sink.add(0, 1, step, How::copy, Range{0, 1, 1});
    sink.add(0, 2, step, How::copy, Range{0, 1, 1});
  }
  const Program program(std::move(sink), 0, 2);
  runtime::Expansion expansion;
  expansion.start(program, 3);
  std::vector<std::tuple<std::int64_t, std::int32_t, std::int32_t>> order;
  for (; !expansion.done(); expansion.pop())
    order.emplace_back(expansion.front().at, expansion.front().segment, expansion.front().transfer);
  CHECK(order.size() == 18);
  CHECK(std::ranges::is_sorted(
      order, {}, [](const auto& item) { return std::pair(std::get<0>(item), std::get<1>(item)); }));
  // Step 4 of segment 0 and step 0 of segment 2 meet at 4: the lower segment first.
  const std::tuple<std::int64_t, std::int32_t, std::int32_t> last_of_0{4, 0, 5},
      first_of_2{4, 2, 0};
  CHECK(std::ranges::find(order, first_of_2) == std::ranges::find(order, last_of_0) + 1);
}
