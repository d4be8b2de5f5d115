#include "../temporary_folder.hpp"
#include "runtime/observe/counters.hpp"
#include "runtime/observe/json_text.hpp"
#include "runtime/observe/recorder.hpp"
#include "runtime/observe/summary.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/resource.h>
#include <vector>

using namespace thalweg;
using namespace thalweg::runtime;
using namespace thalweg::runtime::observe;
using collective::Kind;

namespace {

struct File {
  FileHeader header;
  std::vector<Event> events; ///< by their positions in the ring
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

CallEvent call(std::uint32_t number) {
  CallEvent event;
  event.call = number;
  return event;
}

} // namespace

TEST_CASE("the ring keeps the latest events, also for a reader while the program runs") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path + "/events";
  Recorder recorder;
  CHECK_FALSE(recorder.is_open());
  REQUIRE(
      recorder.open(path, {.run = 5, .world_rank = 3, .world_size = 4}, 8 * sizeof(Event)).empty());
  for (std::uint32_t i = 0; i < 20; ++i)
    recorder.add(call(i));
  const File file = read(path);
  CHECK(std::memcmp(file.header.magic, magic, sizeof magic) == 0);
  CHECK(file.header.world_rank == 3);
  CHECK(file.header.world_size == 4);
  CHECK(file.header.run == 5);
  CHECK(file.header.count == 20);
  CHECK(file.header.room == 8);
  REQUIRE(file.events.size() == 8);
  for (std::uint32_t i = 12; i < 20; ++i)
    CHECK(file.events[i % 8].call.call == i);
}

TEST_CASE("a ring grows up to its limit before it keeps only the latest events") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path + "/events";
  constexpr std::uint32_t most = 40'000; // 2.4 MiB
  for (const std::uint32_t count : {most - 1, most, most + 10}) {
    Recorder recorder;
    REQUIRE(recorder.open(path, {}, most * sizeof(Event)).empty());
    for (std::uint32_t i = 0; i < count; ++i)
      recorder.add(call(i));
    const File file = read(path);
    CHECK(file.header.count == count);
    CHECK(file.header.room == most);
    REQUIRE(file.events.size() == most);
    for (std::uint32_t i = count > most ? count - most : 0; i < count; ++i)
      if (file.events[i % most].call.call != i) FAIL("event " << i << " isn't in its place");
  }
}

TEST_CASE("a ring whose file can't grow keeps the latest events in the room it has") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path + "/events";
  Recorder recorder;
  REQUIRE(recorder.open(path, {}, Recorder::all).empty());
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit limit{std::filesystem::file_size(path), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  constexpr std::uint32_t count = 50'000;
  for (std::uint32_t i = 0; i < count; ++i)
    recorder.add(call(i));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(recorder.problem().find(path + ": can't be written") == 0);
  const File file = read(path);
  const auto room = static_cast<std::uint32_t>(file.header.room);
  CHECK(file.events.size() == room);
  CHECK(file.header.count == count);
  CHECK(file.events[(count - 1) % room].call.call == count - 1);
}

TEST_CASE("transfers are recorded with what is common to their call, and world ranks") {
  const testing::TemporaryFolder folder;
  Recorder recorder;
  REQUIRE(recorder.open(folder.path + "/events", {}, 8 * sizeof(Event)).empty());
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
  const TransferEvent written = read(folder.path + "/events").events.at(0).transfer;
  CHECK(written.type == EventType::transfer);
  CHECK(written.peer == 7);
  CHECK(written.call == 9);
  CHECK(written.tag == 4);
  CHECK(written.size == 100);
}

TEST_CASE("nonblocking calls are records of a type of their own, with the same fields") {
  const testing::TemporaryFolder folder;
  Recorder recorder;
  REQUIRE(recorder.open(folder.path + "/events", {}, 8 * sizeof(Event)).empty());
  CallEvent event = call(9);
  recorder.add(event);
  event.type = EventType::nonblocking_call;
  recorder.add(event);
  const File file = read(folder.path + "/events");
  CHECK(static_cast<int>(file.events.at(0).type) == 2);
  CHECK(static_cast<int>(file.events.at(1).type) == 3);
  CHECK(file.events.at(1).call.call == 9);
}

TEST_CASE("ticks become times of the monotonic clock") {
  Calibration clock;
  const std::int64_t before = monotonic_ns();
  const Ticks between = now();
  const std::int64_t after = monotonic_ns();
  clock.calibrate();
  // Within the error of a short calibration.
  const std::int64_t slack = 100'000 + (after - before);
  CHECK(std::abs(clock.to_ns(between) - before) < slack);
  const TickScale scale = clock.scale();
  const double ns = static_cast<double>(scale.ns) +
                    static_cast<double>(between - scale.ticks) * scale.ns_per_tick;
  CHECK(std::abs(static_cast<double>(clock.to_ns(between)) - ns) <= 1);
}

TEST_CASE("native calls are counted one by one, and long ones are all timed") {
  const Calibration clock;
  Counters counters;
  constexpr Ticks long_ticks = 10'000; // beyond those of which some stand for others
  constexpr int calls = 3000;
  const Ticks begin = now();
  for (int i = 0; i < calls; ++i) {
    const int code = counters.count_native(Kind::bcast, Reason::single_host, 8, [&] {
      const Ticks enter = now();
      while (now() - enter < long_ticks) {
      }
      return i;
    });
    if (code != i) FAIL("the call's code is " << code);
    counters.count_native(Kind::reduce, Reason::single_rank, 3, [] { return 0; });
  }
  const Ticks elapsed = now() - begin;
  CHECK(counters.calls(Kind::bcast, Reason::single_host) == calls);
  CHECK(counters.calls(Kind::bcast, Reason::single_rank) == 0);
  CHECK(counters.calls(Kind::reduce, Reason::single_rank) == calls);
  const auto counted = nlohmann::json::parse(counters.to_json(clock));
  const auto& bcasts = counted["bcast"]["native"]["single-host"];
  CHECK(bcasts["bytes"] == 8 * calls);
  CHECK(counted["reduce"]["native"]["single-rank"]["bytes"] == 3 * calls);
  const auto seconds = bcasts["seconds"].get<double>() * 1e9;
  CHECK(seconds >= clock.duration_ns(long_ticks * calls) - 1);
  CHECK(seconds <= clock.duration_ns(elapsed) + 1);
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
  CHECK_FALSE(json.contains("more_races"));
  info.more_races = R"({"plan": 2})";
  CHECK(nlohmann::json::parse(summary(info, counters, clock))["more_races"]["plan"] == 2);
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
  counters.count(Kind::bcast, std::nullopt, {.bytes = 5, .time = 3000, .native_ns = 6000});
  const auto more = nlohmann::json::parse(summary(info, counters, clock));
  CHECK(near(more["collectives"]["bcast"]["planned"]["compared"]["native"], 12000));
  CHECK(more["collectives"]["bcast"]["planned"]["compared"]["limit"].is_null());
  CHECK_FALSE(json["collectives"]["allreduce"]["native"]["single-host"].contains("compared"));
  CHECK(json["collectives"]["allreduce"]["native"]["single-host"]["calls"] == 1);
  CHECK_FALSE(json["collectives"].contains("reduce"));
  CHECK(json["collectives"]["neighbor_alltoall"]["native"]["not-planned"]["bytes"] == 9);
  CHECK_FALSE(json["collectives"].contains("neighbor_allgather"));
  CHECK(json["library_version"] == "a \"quoted\"\tversion");
  CHECK(json["reasons"].size() == reason_count);
}

TEST_CASE("a quoted text is JSON whatever bytes it has") {
  const auto read = [](const std::string& text) {
    return nlohmann::json::parse(observe::quoted(text)).get<std::string>();
  };
  for (const std::string text :
       {"", "plain", "a \"quote\" \\ \n\x01", "\u00fc \u20ac \U0001f600 \U0010ffff"})
    CHECK(read(text) == text);
  const std::string replaced = "\ufffd";
  CHECK(read("gr\xfc\xdf"
             "e") == "gr" + replaced + replaced + "e");          // Latin-1
  CHECK(read("\xe2\x82") == replaced + replaced);                // cut off
  CHECK(read("\xc0\xaf") == replaced + replaced);                // longer than needed
  CHECK(read("\xed\xa0\x80") == replaced + replaced + replaced); // half of a pair of UTF-16
  CHECK(read("\xf4\x90\x80\x80").size() == 4 * replaced.size()); // beyond Unicode
  CHECK(read("\xff") == replaced);
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text;
    while (text.size() < 8)
      text += static_cast<char>(random() % 2 == 0 ? random() : 0x80 + random() % 0x40);
    CHECK_NOTHROW(read(text));
  }
}

TEST_CASE("numbers have a point and as many digits as wanted") {
  CHECK(observe::seconds(1.5e9) == "1.500000000");
  CHECK(observe::seconds(0.0) == "0.000000000");
  CHECK(observe::digits(12.345, 3) == "12.3");
  CHECK(observe::digits(1e6, 3) == "1e+06");
}
