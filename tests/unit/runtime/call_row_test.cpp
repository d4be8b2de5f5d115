#include "runtime/adapt/call_row.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <atomic>
#include <doctest/doctest.h>
#include <numeric>

using namespace thalweg;
using collective::Kind;
using runtime::CalledShape;
using runtime::CallRow;
using runtime::CallSeconds;
using runtime::key_of;
using runtime::RowedCall;

namespace {

const std::atomic<bool> goes_on{false};
constexpr units::Size bcast_bytes = 65536;
constexpr units::Size few_bytes = 64; ///< bytes

/// Eight hosts, on which a program calls broadcasts and whatever else `between` says.
struct BroadcastRow {
  explicit BroadcastRow(const std::vector<RowedCall>& between) {
    seen.network = network::even_network(8, units::Time(1e-3), units::Rate(1e7));
    seen.placement.resize(8);
    std::iota(seen.placement.begin(), seen.placement.end(), 0);
    seen.hosts = seen.placement;
    seen.library = "mpich-4.0";
    seen.shape = {key_of(Kind::bcast, 0, bcast_bytes), bcast_bytes, 100};
    const auto problem = algorithms::make_problem(seen.collective_of(seen.shape.key, bcast_bytes),
                                                  seen.network, seen.placement, seen.library);
    chain = algorithms::find("pipelined-chain").build(problem, {});
    isolated = simulator::simulate(problem, chain).time.value();
    seen.table.placement = seen.placement;
    seen.table.entries = {
        {.kind = Kind::bcast, .root = 0, .min_size = 1, .native = false, .skeleton = chain}};
    for (int i = 0; i < 12; ++i) {
      seen.row.insert(seen.row.end(), between.begin(), between.end());
      seen.row.push_back({seen.shape.key, bcast_bytes, true});
    }
  }
  [[nodiscard]] CallSeconds take() const {
    return CallRow(seen, goes_on).seconds_with(chain, seen.network);
  }

  runtime::Observations seen;
  algorithms::Skeleton chain;
  double isolated = 0; ///< seconds of a broadcast by itself
};

RowedCall native_call(Kind kind, units::Size bytes) {
  return {key_of(kind, 0, bytes), bytes, false};
}

} // namespace

TEST_CASE("in a row a broadcast begins before the last one has ended") {
  const BroadcastRow program({});
  const CallSeconds seconds = program.take();
  CHECK(seconds.call < 0.9 * program.isolated);
  CHECK(seconds.all == doctest::Approx(seconds.of_shape));
  CHECK(CallRow(program.seen, goes_on).size() == 12);
}

TEST_CASE("a native call that its root waits for keeps it from running ahead") {
  for (const Kind kind : {Kind::gather, Kind::barrier, Kind::allreduce, Kind::alltoall}) {
    CAPTURE(to_text(kind));
    const BroadcastRow program({native_call(kind, kind == Kind::barrier ? 0 : few_bytes)});
    const CallSeconds seconds = program.take();
    CHECK(seconds.call > 0.9 * program.isolated);
    CHECK(seconds.call < 1.5 * program.isolated);
    CHECK(seconds.all > seconds.of_shape);
    CHECK(CallRow(program.seen, goes_on).size() == 12);
  }
}

TEST_CASE("every native call can be simulated, an empty or a large one, too") {
  for (std::size_t kind = 0; kind < collective::kind_count; ++kind)
    for (const units::Size bytes : {units::Size{0}, units::Size{1}, units::Size{1} << 30}) {
      CAPTURE(to_text(static_cast<Kind>(kind)));
      CAPTURE(bytes);
      const BroadcastRow program({native_call(static_cast<Kind>(kind), bytes)});
      CHECK(program.take().call > 0.5 * program.isolated / 8);
    }
}

TEST_CASE("a planned call counts, however many native ones follow it") {
  BroadcastRow program({});
  program.seen.row.erase(program.seen.row.begin() + 1, program.seen.row.end());
  program.seen.row.insert(program.seen.row.end(), 20, native_call(Kind::barrier, 0));
  const CallSeconds seconds = program.take();
  CHECK(seconds.of_shape == doctest::Approx(program.isolated));
  CHECK(seconds.all > seconds.of_shape);
}

TEST_CASE("calls of which the table has no plan any more are native") {
  BroadcastRow program({{key_of(Kind::gather, 0, few_bytes), few_bytes, true}});
  CHECK(CallRow(program.seen, goes_on).size() == 12);
  CHECK(program.take().call > 0.9 * program.isolated);
  program.seen.table.entries.front().native = true;
  CHECK(CallRow(program.seen, goes_on).empty());
}

TEST_CASE("a row that is cancelled ends after the call that is simulated") {
  const BroadcastRow program({});
  std::atomic<bool> is_cancelled{false};
  const CallRow row(program.seen, is_cancelled);
  int calls = 0;
  const auto count = [&](const simulator::Posts&, double) { return ++calls > 0; };
  row.simulate(program.seen.network, row.size(), count);
  CHECK(calls == 6);
  row.simulate(program.seen.network, row.size(), [&](const auto&, double) {
    ++calls;
    is_cancelled = true;
    return true;
  });
  CHECK(calls == 7);
  row.simulate(program.seen.network, row.size(), count);
  CHECK(calls == 7);
}

TEST_CASE("a row ends when its visitor has seen enough, and calls after the last of the shape "
          "change nothing") {
  BroadcastRow program({});
  const CallRow row(program.seen, goes_on);
  int calls = 0;
  double seconds = 0;
  row.simulate(program.seen.network, row.size(), [&](const simulator::Posts&, double taken) {
    seconds += taken;
    return ++calls < 2;
  });
  CHECK(calls == 2);
  // Calls that come later are neither seen nor counted among the latest ones.
  for (int i = 0; i < 3; ++i)
    program.seen.row.push_back(native_call(Kind::barrier, 0));
  const CallRow longer(program.seen, goes_on);
  double again = 0;
  calls = 0;
  longer.simulate(program.seen.network, longer.size(), [&](const simulator::Posts&, double taken) {
    again += taken;
    return ++calls < 2;
  });
  CHECK(again == seconds);
}

TEST_CASE("a row whose making was cancelled has nothing to simulate") {
  const BroadcastRow program({});
  std::atomic<bool> is_cancelled{true};
  const CallRow row(program.seen, is_cancelled);
  is_cancelled = false;
  int calls = 0;
  row.simulate(program.seen.network, row.size(), [&](const auto&, double) { return ++calls > 0; });
  CHECK(calls == 0);
}

TEST_CASE("a row has no more calls than have so many messages, and none if one has more") {
  for (const std::int32_t ranks : {8, 256, 520}) {
    CAPTURE(ranks);
    runtime::Observations seen;
    seen.network = network::even_network(8, units::Time(1e-3), units::Rate(1e7));
    for (std::int32_t rank = 0; rank < ranks; ++rank)
      seen.placement.push_back(rank % 8);
    seen.library = "mpich-4.0";
    seen.shape = {key_of(Kind::alltoall, 0, few_bytes), few_bytes, 100};
    const auto problem = algorithms::make_problem(seen.collective_of(seen.shape.key, few_bytes),
                                                  seen.network, seen.placement, seen.library);
    seen.table.entries = {{.kind = Kind::alltoall,
                           .min_size = 1,
                           .native = false,
                           .skeleton = algorithms::find("pairwise").build(problem, {})}};
    const std::size_t messages = index(ranks) * index(ranks - 1); // of a call
    const std::size_t most = static_cast<std::size_t>(CallRow::most_messages) / messages;
    const CallRow unknown(seen, goes_on);
    CHECK(unknown.size() == std::min<std::size_t>(6, most));
    seen.row.assign(12, {seen.shape.key, few_bytes, true});
    const CallRow row(seen, goes_on);
    CHECK(row.size() == std::min<std::size_t>(12, most));
    CHECK(row.empty() == (most == 0));
    CHECK(row.is_too_large() == (most == 0));
  }
}
