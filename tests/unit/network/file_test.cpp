#include "network/file.hpp"
#include "networks.hpp"
#include "unit/error_of.hpp"

#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <fstream>
#include <random>
#include <stdexcept>

namespace thalweg::network::test {
namespace {

using thalweg::test::error_of;

/// A file of two hosts, in which the tests replace parts.
const std::string small = R"({
  "schema": 1,
  "hosts": [{"name": "a", "egress": 1000}, {"name": "b"}],
  "latency": {"unit": "ms", "matrix": [[null, 10], ["20ms", 5]]},
  "bandwidth": {"unit": "Mbps", "matrix": [[null, 8], ["2MB/s", null]]}
})";

std::string replaced(const std::string& old, const std::string& with) {
  std::string text = small;
  const auto at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), with);
}

std::string error_with(const std::string& old, const std::string& with) {
  return error_of([&] { from_json(replaced(old, with), "net.json"); });
}

/// The second half of the small file, to hang further keys on.
std::string error_with_section(const std::string& section) {
  return error_with("\"schema\": 1,", "\"schema\": 1, " + section + ",");
}

} // namespace

TEST_CASE("what is written is read again, to the last bit") {
  const Network network = full_network();
  CHECK(from_json(to_json(network), "text") == network);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-12, 12);
  for (int round = 0; round < 200; ++round) {
    Network n = network;
    const auto value = [&] { return std::pow(10, exponent(random)); };
    for (HostId i = 0; i < 4; ++i)
      for (HostId j = 0; j < 4; ++j) {
        n.latency.set(i, j, Time(value()));
        n.bandwidth.set(i, j, Rate(value()));
        n.latency_error.set(i, j, static_cast<float>(value()));
      }
    n.hosts[0].egress = n.trunks[0].capacity = Rate(value());
    n.native_times[0].time = n.message_costs["openmpi"].send = Time(value());
    n.native_times[0].size = static_cast<Size>(value());
    n.hosts[1].name = "a \"quoted\"\n\\ name";
    REQUIRE(from_json(to_json(n), "text") == n);
  }
}

TEST_CASE("a network without anything optional") {
  const Network network = even_network(1, Time(0), Rate(1));
  CHECK(from_json(to_json(network), "text") == network);
}

/// Three hosts of one class and one of another, with an exception.
const std::string by_classes = R"({
  "schema": 2,
  "hosts": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}],
  "latency": {"unit": "ms", "classes": [[2, 0], [1, 1], [1, 0]], "values": [[1, 10], [20, null]],
              "self": [null, 0.5], "exceptions": [["d", "a", "3ms"]],
              "error": {"classes": [[4, 0]], "values": [[0.5]], "self": [null]}},
  "bandwidth": {"unit": "Mbps", "classes": [[4, 0]], "values": [[8]], "self": [null]},
  "sites": [[["a", "c"]], ["d"]]
})";

std::string error_by_classes(const std::string& old, const std::string& with) {
  std::string text = by_classes;
  const auto at = text.find(old);
  REQUIRE(at != std::string::npos);
  return error_of([&] { from_json(text.replace(at, old.size(), with), "net.json"); });
}

TEST_CASE("a network by classes of hosts") {
  const Network n = from_json(by_classes, "text");
  CHECK(n.latency(0, 1) == Time(1e-3));
  CHECK(n.latency(1, 2) == Time(10e-3));
  CHECK(n.latency(2, 3) == Time(20e-3));
  CHECK(n.latency(3, 0) == Time(3e-3));
  CHECK(n.latency(3, 3) == Time(0));
  CHECK(n.latency(2, 2) == Time(0.5e-3));
  CHECK(n.bandwidth(3, 1) == Rate(1e6));
  CHECK(n.bandwidth(1, 1) == Rate::infinity());
  CHECK(n.latency_error(0, 3) == 0.5F);
  CHECK(n.sites == std::vector<std::vector<HostId>>{{0, 1, 2}, {3}});
  CHECK(!n.latency.is_dense());
  CHECK(from_json(to_json(n), "text") == n);
  CHECK(from_cbor(to_cbor(n), "bytes") == n);
  CHECK(to_json(n).find("\"schema\": 2") != std::string::npos);
  Network dense = n;
  dense.latency.make_dense();
  dense.bandwidth.make_dense();
  dense.latency_error.make_dense();
  CHECK(dense == n);
  CHECK(fingerprint(dense) == fingerprint(n));
  CHECK(to_json(dense).find("\"schema\": 1") != std::string::npos);
  CHECK(from_json(to_json(dense), "text") == n);
}

TEST_CASE("what is wrong with classes is said") {
  CHECK(error_by_classes("[1, 1], [1, 0]]", "[1, 1]]") ==
        "net.json: latency.classes: the classes have 3 hosts: must be the network's 4");
  CHECK(error_by_classes("[1, 1], [1, 0]]", "[1, 1], [2, 0]]") ==
        "net.json: latency.classes[2]: there are more hosts in the classes than the 4 of the "
        "network");
  CHECK(error_by_classes("[1, 1], [1, 0]]", "[1, 2], [1, 0]]") ==
        "net.json: latency.classes[1]: class 2 isn't there: \"self\" has 2");
  CHECK(error_by_classes("[2, 0], [1, 1]", "2, [1, 1]").find("latency.classes[0]: must be") !=
        std::string::npos);
  CHECK(error_by_classes("[[1, 10], [20, null]]", "[[1, 10]]") ==
        "net.json: latency.values: the matrix has 1 rows: must be one for each of the 2 classes");
  CHECK(error_by_classes("[[1, 10], [20, null]]", "[[null, 10], [20, null]]") ==
        "net.json: latency.values[0][0]: latency between hosts of class 0 is missing: give a "
        "number");
  CHECK(error_by_classes("[[1, 10],", "[[1, -10],") ==
        "net.json: latency.values[0][1]: latency class 0 -> class 1 is -10: must be at least 0");
  CHECK(error_by_classes("[\"d\", \"a\", \"3ms\"]", "[\"d\", \"a\"]") ==
        "net.json: latency.exceptions[0]: must be two hosts and a value");
  CHECK(error_by_classes("[\"d\", \"a\",", "[\"x\", \"a\",")
            .find("latency.exceptions[0][0]: \"x\" is not a host of this network") !=
        std::string::npos);
  CHECK(error_by_classes("\"self\": [null, 0.5]", "\"matrix\": []")
            .find("stands beside \"matrix\"") != std::string::npos);
  CHECK(error_by_classes("\"self\": [null, 0.5],", "") ==
        "net.json: latency: the key \"self\" is missing: add it");
  CHECK(error_by_classes("[\"a\", \"c\"]", "[\"c\", \"a\"]") ==
        "net.json: sites[0][0]: the last host comes before the first");
  CHECK(error_by_classes("[\"a\", \"c\"]", "[\"a\"]") ==
        "net.json: sites[0][0]: must be the first and the last of some hosts");
}

TEST_CASE("rows of matrices stand on one line") {
  const std::string text = to_json(full_network());
  CHECK(
      text.find("\n      [null, 3333333.3333333335, 3333333.3333333335, 3333333.3333333335],\n") !=
      std::string::npos);
  CHECK(text.find(
            "\n    {\"name\": \"west0\", \"egress\": \"100Mbps\", \"ingress\": 12345678.0},\n") !=
        std::string::npos);
}

TEST_CASE("numbers are in the unit that is stated, texts in their own") {
  const Network n = from_json(small, "text");
  CHECK(n.latency(0, 0) == Time(0));
  CHECK(n.latency(0, 1) == Time(0.01));
  CHECK(n.latency(1, 0) == Time(0.02));
  CHECK(n.latency(1, 1) == Time(0.005));
  CHECK(n.bandwidth(0, 0) == Rate::infinity());
  CHECK(n.bandwidth(0, 1) == Rate(1e6));
  CHECK(n.bandwidth(1, 0) == Rate(2e6));
  CHECK(n.hosts[0].egress == Rate(1000));
  CHECK(n.hosts[1].ingress == Rate::infinity());
  CHECK(n.latency_error.size() == 0);
  CHECK(n.clock == Clock::none);
}

TEST_CASE("values out of range are named by place and host pair") {
  CHECK(error_with(", 10]", ", -1]") ==
        "net.json: latency.matrix[0][1]: latency a -> b is -1: must be at least 0");
  CHECK(error_with(", 10]", ", null]") ==
        "net.json: latency.matrix[0][1]: latency a -> b is null: must be at least 0");
  CHECK(error_with("\"20ms\"", "\"20m\"")
            .find("net.json: latency.matrix[1][0]: latency b -> a: \"20m\" is not a time: ") == 0);
  CHECK(error_with("8]", "0]") ==
        "net.json: bandwidth.matrix[0][1]: bandwidth a -> b is 0: must be above 0, or null if "
        "unlimited or not measured");
  CHECK(error_with("\"2MB/s\"", "true") ==
        "net.json: bandwidth.matrix[1][0]: bandwidth b -> a is true: must be above 0, or null if "
        "unlimited or not measured");
  CHECK(error_with("1000", "-1000") == "net.json: hosts[0].egress is -1000: must be above 0, or "
                                       "null if unlimited or not measured");
  CHECK(error_with("[[null, 10]", "[[null]") ==
        "net.json: latency.matrix[0]: the row of host a has 1 entries: must be one for each of the "
        "2 hosts");
  CHECK(error_with("[[null, 10], [\"20ms\", 5]]", "[]") ==
        "net.json: latency.matrix: the matrix has 0 rows: must be one for each of the 2 hosts");
  CHECK(error_of([] {
          from_json(R"({"schema": 1, "hosts": [], "latency": {"unit": "s", "matrix": []},
                        "bandwidth": {"unit": "B/s", "matrix": []}, "sites": [["a"]]})",
                    "net.json");
        }) == "net.json: hosts: the network has no hosts: list at least one");
  for (const char* unit : {"mss", "10ms", "1ms", ".5us", "e-3s", "", " ms"})
    CHECK(error_with("\"unit\": \"ms\"", "\"unit\": \"" + std::string(unit) + "\"") ==
          "net.json: latency.unit is \"" + std::string(unit) +
              "\": must be a unit without a number, such as \"ms\"");
  CHECK(error_with("\"unit\": \"ms\",", "\"unit\": \"ms\", \"error\": [[0, -1], [0, 0]],") ==
        "net.json: latency.error[0][1]: error of latency a -> b is -1: must be at least 0, or null "
        "if not known");
}

TEST_CASE("keys that are missing, unknown or there twice are named") {
  CHECK(error_with("\"schema\": 1,", "") == "net.json: the key \"schema\" is missing: add it");
  CHECK(error_with("\"schema\": 1", "\"schema\": 3") ==
        "net.json: schema is 3, of a newer Thalweg: this one reads up to 2, so update it");
  CHECK(error_with("\"schema\": 1", "\"schema\": \"1\"") ==
        "net.json: schema is \"1\": must be from 1 to 2");
  CHECK(error_with("\"unit\": \"ms\", ", "") ==
        "net.json: latency: the key \"unit\" is missing: add it");
  CHECK(error_with("\"name\": \"a\", ", "") ==
        "net.json: hosts[0]: the key \"name\" is missing: add it");
  CHECK(error_with("egress", "egres") ==
        "net.json: hosts[0]: the key \"egres\" is unknown: did you mean \"egress\"?");
  CHECK(error_with_section("\"trunk\": []") ==
        "net.json: the key \"trunk\" is unknown: did you mean \"trunks\"?");
  CHECK(error_with_section("\"hosts\": []") ==
        "net.json: the key \"hosts\" stands twice in one object: remove one of them");
  // A newer schema may have keys that this one doesn't know: its version is the news.
  CHECK(error_with("\"schema\": 1,", "\"schema\": 3, \"hops\": 1,").find("newer") !=
        std::string::npos);
}

TEST_CASE("declared groups and the initial window") {
  const std::string group = R"("groups": [{"name": "g", "hosts": ["a", "b"]}])";
  const Network network = from_json(
      replaced("\"schema\": 1,", "\"schema\": 1, " + group + ", \"initial_window\": \"1KB\","),
      "text");
  CHECK(network.groups == std::vector<DeclaredGroup>{{"g", {0, 1}}});
  CHECK(network.initial_window == 1000);
  CHECK(error_with_section(R"("groups": [{"name": "g", "hosts": ["a", "c"]}])") ==
        "net.json: groups[0].hosts[1]: \"c\" is not a host of this network: did you mean \"a\"?");
  CHECK(error_with_section(R"("groups": [{"name": "g"}])") ==
        "net.json: groups[0]: the key \"hosts\" is missing: add it");
  CHECK(error_with_section(R"("groups": [{"name": "g", "hosts": ["a"], "class": "wide"}])") ==
        "net.json: groups[0].class: \"wide\" is no class of network: must be \"cluster\", \"LAN\", "
        "\"light WAN\" or \"heavy WAN\"");
  CHECK(error_with_section(R"("initial_window": -1)").starts_with("net.json: initial_window"));
}

TEST_CASE("groups name hosts of the network") {
  CHECK(error_with_section("\"sites\": [[\"a\"], [\"bb\"]]") ==
        "net.json: sites[1][0]: \"bb\" is not a host of this network: did you mean \"b\"?");
  CHECK(error_with_section("\"sites\": [[\"a\"]]") ==
        "net.json: host b is in no site: add it to one, or leave out all sites");
  CHECK(error_with_section("\"trunks\": [{\"name\": \"t\", \"from\": [\"a\"], \"to\": [\"a\"]}]") ==
        "net.json: \"to\" of trunk t names host a a second time");
  CHECK(error_with_section("\"trunks\": [{\"name\": \"t\", \"from\": \"a\", \"to\": [\"b\"]}]") ==
        "net.json: trunks[0].from: must be a list");
  CHECK(error_with_section("\"trunks\": {\"name\": \"t\"}") == "net.json: trunks: must be a list");
  CHECK(error_with("\"name\": \"b\"", "\"name\": \"a\"") ==
        "net.json: host a is listed twice: remove or rename one of them");
}

TEST_CASE("costs and times") {
  CHECK(error_with_section("\"message_costs\": {\"mpich\": {\"send\": -1}}") ==
        "net.json: message_costs.mpich.send is -1: must be at least 0");
  CHECK(error_with_section("\"message_costs\": {\"mpich\": {\"eager_limit\": 1.5}}") ==
        "net.json: message_costs.mpich.eager_limit: must be a whole number of bytes of at least 0, "
        "or text such as \"64KB\"");
  CHECK(error_with_section("\"native_times\": [{\"library\": \"mpich\", \"collective\": \"bcast\", "
                           "\"size\": \"1MB\", \"time\": 0}]") ==
        "net.json: native time of mpich's bcast is 0s: must be finite and above 0");
  const auto error_with_native = [](const std::string& library, const std::string& collective) {
    return error_with_section(R"("native_times": [{"library": ")" + library +
                              R"(", "collective": ")" + collective +
                              R"(", "size": 8, "time": 1}])");
  };
  CHECK(error_with_native("mpich-4.0", "reduce_scatter") == "none");
  CHECK(error_with_native("mpihc", "bcast") ==
        "net.json: native_times[0].library: \"mpihc\" is not an MPI library: did you mean "
        "\"mpich\"?");
  CHECK(error_with_native("openmpi", "broadcast") ==
        "net.json: native_times[0].collective: \"broadcast\" is not a collective: did you mean "
        "\"bcast\"?");
  CHECK(error_with_section(R"("message_costs": {"openmp": {}})") ==
        "net.json: message_costs: \"openmp\" is not an MPI library: did you mean \"openmpi\"?");
  CHECK(error_with_section("\"measured\": {\"clock\": \"sundial\"}") ==
        "net.json: measured.clock is \"sundial\": must be \"none\", \"shared\" or \"ptp\"");
}

TEST_CASE("what is no JSON is named by line and column") {
  CHECK(error_with("\"hosts\":", "\"hosts\"").find("net.json: not JSON: parse error at line 3, ") ==
        0);
  CHECK(error_of([] { from_json("", "net.json"); }).find("net.json: not JSON: ") == 0);
  CHECK(error_of([] { from_json("[]", "net.json"); }) == "net.json: must be an object, in braces");
  CHECK(error_with(", 10]", ", 1e999]").find("net.json: not JSON: ") == 0);
}

TEST_CASE("a text cut off anywhere is refused, never crashes") {
  for (std::size_t length = 0; length < small.size() - 1; ++length)
    CHECK(error_of([&] { from_json(small.substr(0, length), "net.json"); }).find("net.json: ") ==
          0);
}

TEST_CASE("CBOR says the same as JSON") {
  const Network network = full_network();
  const std::string bytes = to_cbor(network);
  CHECK(from_cbor(bytes, "bytes") == network);
  for (std::size_t size = 0; size < bytes.size(); size += 7)
    CHECK_THROWS_AS(from_cbor(bytes.substr(0, size), "bytes"), std::invalid_argument);
  CHECK(error_of([] { from_cbor("{}", "net.cbor"); }).starts_with("net.cbor: not CBOR: "));
  CHECK(error_of([] { from_cbor("\xa0", "net.cbor"); }) ==
        "net.cbor: the key \"schema\" is missing: add it");
  CHECK(error_of([] { from_cbor(std::string(100'000, '\x81'), "net.cbor"); }) ==
        "net.cbor: lists and objects stand in each other too deeply");

  Network wrong = network;
  std::string text = to_cbor(wrong);
  const double latency = wrong.latency(0, 1).value(), negative = -1;
  std::string from(sizeof latency, '\0'), to(sizeof latency, '\0');
  std::memcpy(from.data(), &latency, sizeof latency);
  std::memcpy(to.data(), &negative, sizeof negative);
  text.replace(text.find(from), from.size(), to);
  CHECK(error_of([&] { from_cbor(text, "net.cbor"); }) ==
        "net.cbor: latency west0 -> west1 is -1s: must be at least 0 and at most 1e12 s");
}

TEST_CASE("files are written whole, and read again") {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("thalweg-network-" + std::to_string(std::random_device()()));
  std::filesystem::create_directory(folder);
  const auto path = folder / "net.json";
  write(even_network(2, Time(0), Rate(1)), path);
  write(full_network(), path);
  CHECK(read(path) == full_network());
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  CHECK(error_of([&] { read(folder / "none.json"); }) ==
        (folder / "none.json").string() + ": can't be read: No such file or directory");
  CHECK(error_of([&] { read(folder); }) == folder.string() + ": can't be read: Is a directory");
  CHECK(error_of([&] { write(full_network(), folder / "none" / "net.json"); }) ==
        (folder / "none" / "net.json").string() +
            ": can't be written: No such file or directory; name another file");
  CHECK(error_of([&] { write({}, path); }) == "the network has no hosts: list at least one");
  CHECK(read(path) == full_network());
  std::ofstream(path) << "";
  CHECK(error_of([&] { read(path); }).find(path.string() + ": not JSON") == 0);
  std::filesystem::remove_all(folder);
}

} // namespace thalweg::network::test
