#include "mapping/native_calls.hpp"

#include <doctest/doctest.h>
#include <set>
#include <utility>
#include <vector>

namespace thalweg::mapping {
namespace {

using collective::Kind;

Problem eight_ranks(const Network& net) {
  return {net, {8, {{0, 1, 3, 300}}}, std::vector<std::int32_t>(4, 2)};
}

TEST_CASE("a library's allreduce is the messages of recursive doubling, round by round") {
  const Network net = network::even_network(4, Time(1e-3), units::Rate(1e9));
  Problem problem = eight_ranks(net);
  problem.calls = {{Kind::allreduce, 8, 10, 0, {}}};
  const NativeMessages found = native_messages(problem, "openmpi-4.1");
  CHECK(found.others.empty());
  std::set<std::pair<Rank, Rank>> pairs;
  for (const Traffic& each : found.entries) {
    CHECK((each.from ^ each.to) == 1 << each.phase);
    CHECK(each.messages == 10);
    CHECK(each.bytes == 80);
    pairs.emplace(each.from, each.to);
  }
  CHECK(found.entries.size() == 24);
  CHECK(pairs.size() == 24);
}

TEST_CASE("calls become messages of their members, beside the program's own") {
  const Network net = network::even_network(4, Time(1e-3), units::Rate(1e9));
  Problem problem = eight_ranks(net);
  problem.calls = {{Kind::allreduce, 8, 10, 0, {5, 3}}};
  const Problem native = with_native_messages(problem, "openmpi-4.1");
  CHECK(native.calls.empty());
  CHECK(native.communication.messages() == 3 + 20);
  CHECK(native.communication.peers(5).size() == 1);
  CHECK(native.communication.peers(5)[0].rank == 3);
  CHECK(native.communication.peers(5)[0].sent_messages == 10);
  const Problem planned = with_native_messages(problem, "");
  CHECK(planned.calls.size() == 1);
  CHECK(planned.communication.messages() == 3);
}

TEST_CASE("calls stay whose ranks a library groups by hosts, and those of very many rounds") {
  const Network net = network::even_network(4, Time(1e-3), units::Rate(1e9));
  Problem problem = eight_ranks(net);
  problem.calls = {{Kind::bcast, 100, 10, 0, {}}};
  CHECK(native_messages(problem, "mpich").others.size() == 1);
  const Problem many{
      net, {64, {}}, std::vector<std::int32_t>(4, 16), {{Kind::alltoall, 100'000, 1, 0, {}}}};
  const NativeMessages found = native_messages(many, "openmpi-4.1");
  CHECK(found.others.size() == 1);
  CHECK(found.entries.empty());
}

} // namespace
} // namespace thalweg::mapping
