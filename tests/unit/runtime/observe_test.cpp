#include "../temporary_folder.hpp"
#include "runtime/observe/counters.hpp"
#include "runtime/observe/recorder.hpp"
#include "runtime/observe/trace.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

using namespace thalweg;
using namespace thalweg::runtime;
using namespace thalweg::runtime::observe;
using collective::Kind;

namespace {

struct File {
  FileHeader header;
  std::vector<Event> events;
};

File read(const std::string& path) {
  File result;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  REQUIRE(std::fread(&result.header, sizeof result.header, 1, file) == 1);
  for (Event event; std::fread(&event, sizeof event, 1, file) == 1;)
    result.events.push_back(event);
  std::fclose(file);
  return result;
}

} // namespace

TEST_CASE("the ring keeps the latest events and counts the others") {
  const testing::TemporaryFolder folder;
  Recorder recorder(8);
  const std::int64_t before = monotonic_ns();
  for (std::uint32_t i = 0; i < 20; ++i) {
    CallEvent event;
    event.call = i;
    event.enter = event.exit = now();
    recorder.add(event);
  }
  const std::int64_t after = monotonic_ns();
  REQUIRE(recorder.write(folder.path + "/events", 3, 4).empty());
  const File file = read(folder.path + "/events");
  CHECK(std::memcmp(file.header.magic, magic, sizeof magic) == 0);
  CHECK(file.header.world_rank == 3);
  CHECK(file.header.world_size == 4);
  CHECK(file.header.dropped == 12);
  REQUIRE(file.events.size() == 8);
  for (std::uint32_t i = 0; i < 8; ++i)
    CHECK(file.events[i].call.call == 12 + i);
  // Ticks have become times of the monotonic clock, within the error of a short calibration.
  const std::int64_t slack = 100'000 + (after - before);
  CHECK(file.events[0].call.enter > before - slack);
  CHECK(file.events[7].call.exit < after + slack);
}

TEST_CASE("transfers are recorded with what is common to their call, and world ranks") {
  const testing::TemporaryFolder folder;
  Recorder recorder(8);
  const int world_ranks[] = {5, 7};
  TransferLog log;
  CHECK_FALSE(log.enabled());
  log.recorder = &recorder;
  log.world_ranks = world_ranks;
  log.common.call = 9;
  log.common.tag = 4;
  TransferEvent event;
  event.direction = 1;
  event.peer = 1;
  event.size = 100;
  log.add(event);
  REQUIRE(recorder.write(folder.path + "/events", 0, 8).empty());
  const TransferEvent written = read(folder.path + "/events").events.at(0).transfer;
  CHECK(written.type == EventType::transfer);
  CHECK(written.peer == 7);
  CHECK(written.call == 9);
  CHECK(written.tag == 4);
  CHECK(written.size == 100);
}

TEST_CASE("the summary is JSON and counts what was counted") {
  const Calibration clock;
  Counters counters;
  counters.count(Kind::bcast, std::nullopt, {.bytes = 10, .time = 1000});
  counters.count(Kind::bcast, std::nullopt,
                 {.bytes = 5, .time = 3000, .native_ns = 6000, .bound_ns = 1500});
  counters.count(Kind::allreduce, Reason::single_host, {.bytes = 7, .time = 1});
  counters.count(collective::Neighborhood::alltoall, Reason::not_planned, {.bytes = 9, .time = 1});
  RunInfo info;
  info.library = "openmpi";
  info.library_version = "a \"quoted\"\tversion";
  info.algorithms = {"flat"};
  const auto json = nlohmann::json::parse(summary(info, counters, clock));
  CHECK_FALSE(json.contains("nonblocking"));
  info.nonblocking = &counters;
  CHECK(nlohmann::json::parse(summary(info, Counters(), clock))["nonblocking"] ==
        json["collectives"]);
  CHECK(json["collectives"]["bcast"]["planned"]["calls"] == 2);
  CHECK(json["collectives"]["bcast"]["planned"]["bytes"] == 15);
  CHECK(json["collectives"]["bcast"]["native"].empty());
  const auto near = [](const nlohmann::json& seconds, double ns) {
    return std::abs(seconds.get<double>() * 1e9 - ns) <= 0.5;
  };
  CHECK(near(json["collectives"]["bcast"]["planned"]["seconds"], clock.duration_ns(4000)));
  const auto& compared = json["collectives"]["bcast"]["planned"]["compared"];
  CHECK(near(compared["seconds"], clock.duration_ns(3000)));
  CHECK(near(compared["native"], 6000));
  CHECK(near(compared["limit"], 1500));
  CHECK_FALSE(json["collectives"]["allreduce"]["native"]["single-host"].contains("compared"));
  CHECK(json["collectives"]["allreduce"]["native"]["single-host"]["calls"] == 1);
  CHECK_FALSE(json["collectives"].contains("reduce"));
  CHECK(json["collectives"]["neighbor_alltoall"]["native"]["not-planned"]["bytes"] == 9);
  CHECK_FALSE(json["collectives"].contains("neighbor_allgather"));
  CHECK(json["library_version"] == "a \"quoted\"\tversion");
  CHECK(json["reasons"].size() == reason_count);
}

TEST_CASE("a trace goes into a folder that is made for it") {
  const testing::TemporaryFolder folder;
  Recorder recorder(8);
  const Counters counters;
  RunInfo info;
  info.world_rank = 1;
  CHECK(write_trace(folder.path + "/a/b", info, recorder, counters).empty());
  CHECK(std::fopen((folder.path + "/a/b/summary.json").c_str(), "rb") == nullptr);
  CHECK(write_trace("/proc/none", info, recorder, counters).find("/proc/none: ") == 0);
}
