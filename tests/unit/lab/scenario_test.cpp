#include "lab/scenario.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

using namespace thalweg::lab;
using nlohmann::json;

namespace {

json valid() {
  return json::parse(R"({
    "schema": 1, "name": "pair", "dilation": 2,
    "network": {"schema": 1,
      "hosts": [{"name": "a", "egress": "100Mbps", "ingress": "100Mbps"}, {"name": "b"}],
      "latency": {"unit": "ms", "matrix": [[0, 5], [10, 0]]},
      "bandwidth": {"unit": "Mbps", "matrix": [[null, 80], [100, null]]},
      "trunks": [{"name": "wan", "from": ["a"], "to": ["b"], "capacity": "1Gbps"}]},
    "queues": {"trunk": "1MB"}, "loss": 0.01, "seed": 5,
    "timeline": [{"at": "20s", "trunk": "wan", "capacity": "10Mbps"},
                 {"at": "10s", "from": ["a"], "to": "all", "latency": "50ms"}]})");
}

std::filesystem::path written(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / "thalweg_scenario_test.json";
  std::ofstream(path) << text;
  return path;
}

Scenario read(const json& document) { return read_scenario(written(document.dump())); }

std::string repeated(const std::string& part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += part;
  return text;
}

std::string error_of(const std::string& text) {
  try {
    read_scenario(written(text));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

/// The document with the value at a JSON pointer replaced.
std::string with(const char* pointer, const json& value) {
  auto document = valid();
  document[json::json_pointer(pointer)] = value;
  return document.dump();
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a scenario is read with its units") {
  const auto scenario = read(valid());
  CHECK(scenario.name == "pair");
  CHECK(scenario.dilation == 2);
  CHECK(scenario.network.latency(1, 0) == Time(0.010));
  CHECK(scenario.network.hosts[0].egress == Rate(12.5e6));
  CHECK(scenario.queues.trunk == 1'000'000);
  CHECK(scenario.queues.ingress == Queues{}.ingress);
  CHECK(scenario.loss == 0.01);
  CHECK(scenario.seed == 5);
  REQUIRE(scenario.timeline.size() == 2);
  CHECK(scenario.timeline[0].at == Time(10));
  CHECK(scenario.timeline[0].to == std::vector<HostId>{0, 1});
  CHECK(scenario.timeline[1].trunk == 0);
}

TEST_CASE("dilation divides rates, multiplies times, leaves queues") {
  const auto scenario = dilated(read(valid()));
  CHECK(scenario.network.latency(0, 1).value() == doctest::Approx(0.010));
  CHECK(scenario.network.bandwidth(0, 1).value() == doctest::Approx(5e6));
  CHECK(scenario.network.hosts[0].egress.value() == doctest::Approx(6.25e6));
  CHECK(scenario.network.hosts[1].egress == Rate::infinity());
  CHECK(scenario.network.trunks[0].capacity.value() == doctest::Approx(62.5e6));
  CHECK(scenario.queues.trunk == 1'000'000);
  CHECK(scenario.timeline[0].at.value() == doctest::Approx(20));
  CHECK(scenario.timeline[0].latency->value() == doctest::Approx(0.1));
  CHECK(scenario.timeline[1].capacity->value() == doctest::Approx(0.625e6));
}

TEST_CASE("a description has the same numbers") {
  const auto description = json::parse(describe(read(valid())));
  CHECK(description["latency"][1][0] == 0.010);
  CHECK(description["hosts"][1]["egress"].is_null());
  CHECK(description["trunks"][0]["to"] == json::array({1}));
  CHECK(description["timeline"][1]["capacity"] == 1.25e6);
}

TEST_CASE("errors name the file and the place") {
  CHECK(contains(error_of("{"), "not JSON: parse error at line 1"));
  CHECK(contains(error_of(R"({"schema": 1, "schema": 1})"), "the key \"schema\" stands twice"));
  for (const char* begin : {"[", "{\"network\":"})
    CHECK(contains(error_of(repeated(begin, 100'000)), "too deeply"));
  CHECK(contains(error_of("[]"), "must be an object"));
  CHECK(contains(error_of("{}"), "schema"));
  CHECK(contains(error_of(with("/colour", 1)), "unknown key \"colour\""));
  CHECK(contains(error_of(with("/dilation", 0.5)), ": dilation: "));
  CHECK(contains(error_of(with("/loss", 1.5)), ": loss: "));
  CHECK(contains(error_of(with("/seed", -1)), ": seed: "));
  CHECK(contains(error_of(with("/queues/trunk", "fast")), ": queues.trunk: "));
  CHECK(contains(error_of(with("/queues/trunk", 5)), "text with a unit"));
  CHECK(contains(error_of(with("/network/hosts", json::array())), ": network"));
  CHECK(contains(error_of(with("/timeline/0/trunk", "lan")), "timeline[0].trunk: no trunk"));
  CHECK(contains(error_of(with("/timeline/1/from", json::array({"c"}))),
                 "timeline[1].from: no host"));
  CHECK(
      contains(error_of(with("/timeline/0", json{{"at", "1s"}})), "timeline[0]: changes nothing"));
  CHECK(contains(error_of(with("/timeline/0", json{{"at", "1s"}, {"latency", "1ms"}})),
                 "\"from\" and \"to\""));
  CHECK(contains(error_of("{"), "thalweg_scenario_test.json"));
  CHECK_THROWS_AS(read_scenario("/nowhere/at/all.json"), std::invalid_argument);
}
