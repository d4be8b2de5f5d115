#include "collective/collective.hpp"
#include "network/file.hpp"
#include "network/node.hpp"
#include "network/pairs_from_json.hpp"
#include "network/parse.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace thalweg::network {
namespace {

using nlohmann::json;

void read_schema(const Node& root) {
  root.check_object();
  const Node schema = root["schema"];
  const std::string known = std::to_string(schema_version);
  if (!schema.value.is_number_integer() || schema.value < 1)
    schema.fail_value("must be from 1 to " + known);
  if (schema.value > schema_version)
    fail("schema is " + schema.value.dump() + ", of a newer Thalweg: this one reads up to " +
         known + ", so update it");
}

/// The MPI libraries, whose names may be followed by a version, as in "mpich-1.4".
constexpr std::array<std::string_view, 2> libraries{"openmpi", "mpich"};

void check_library(const Node& node, std::string_view name) {
  if (std::ranges::find(libraries, name.substr(0, name.find('-'))) == libraries.end())
    node.fail_name(name, "an MPI library", libraries);
}

void check_collective(const Node& node, std::string_view name) {
  std::array<std::string_view, collective::kind_count> known;
  std::ranges::transform(collective::kinds, known.begin(), collective::to_text);
  if (std::ranges::find(known, name) == known.end()) node.fail_name(name, "a collective", known);
}

/// Checks the names of what a network's costs and times are of, which a search for them would
/// otherwise never find.
void check_names(const Node& root) {
  if (root.has("message_costs")) {
    const Node costs = root["message_costs"];
    for (const auto& item : costs.value.items())
      check_library(costs, item.key());
  }
  if (!root.has("native_times")) return;
  const Node times = root["native_times"];
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Node library = times[i]["library"], collective = times[i]["collective"];
    check_library(library, library.text());
    check_collective(collective, collective.text());
  }
}

/// Returns some keys, followed by those of a table of fields.
template <class Table>
std::vector<std::string_view> keys_of(const Table& table, std::vector<std::string_view> keys = {}) {
  units::for_each_in(table, [&](const auto& field) { keys.push_back(field.name); });
  return keys;
}

/// Reads names of hosts, and [first, last] for all from one to another in the order of the hosts.
std::vector<HostId> read_group(const Node& node, const Names& names) {
  std::vector<HostId> group;
  for (std::size_t i = 0; i < node.size(); ++i) {
    const Node entry = node[i];
    if (group.size() > names.size()) entry.fail("a group lists a host several times");
    if (!entry.value.is_array()) {
      group.push_back(names.read(entry));
      continue;
    }
    if (entry.size() != 2) entry.fail("must be the first and the last of some hosts");
    const HostId last = names.read(entry[1]);
    const std::size_t before = group.size();
    for (HostId host = names.read(entry[0]); host <= last; ++host)
      group.push_back(host);
    if (group.size() == before) entry.fail("the last host comes before the first");
  }
  return group;
}

/// Reads structs by the tables of their fields, and what these are made of.
class ValueReader {
public:
  explicit ValueReader(const Names& names) : _names(names) {}

  void read(const Node& node, std::string& text) const { text = node.text(); }
  void read(const Node& node, double& share) const { share = read_share(node); }
  void read(const Node& node, std::int32_t& count) const { count = read_count(node); }
  void read(const Node& node, Size& size) const { size = read_size(node); }
  void read(const Node& node, Time& time) const { time = read_time(node); }
  void read(const Node& node, Rate& rate) const { rate = read_rate(node); }
  void read(const Node& node, std::vector<HostId>& group) const {
    group = read_group(node, _names);
  }
  void read(const Node& node, std::optional<NetworkClass>& network_class) const {
    const std::string text = node.text();
    try {
      network_class = parse_network_class(text);
    } catch (const std::invalid_argument& error) {
      node.fail(error.what());
    }
  }
  template <units::Named T>
  void read(const Node& node, T& value) const {
    const auto named = units::value_named<T>(node.text());
    if (!named) node.fail_value("must be " + units::list_names<T>());
    value = *named;
  }
  template <class T>
  void read(const Node& node, std::vector<T>& values) const {
    values.resize(node.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      read(node[i], values[i]);
  }
  template <class T>
  void read(const Node& node, std::map<std::string, T>& values) const {
    node.check_object();
    for (const auto& item : node.value.items())
      read(node[item.key()], values[item.key()]);
  }
  template <units::Described T>
  void read(const Node& node, T& object) const {
    node.check_keys(keys_of(T::fields()));
    units::for_each_field<T>([&](const auto& field) {
      if (!field.is_optional || node.has(field.name)) read(node[field.name], object.*field.member);
    });
  }

private:
  const Names& _names;
};

void read_measured(const Node& root, Network& network) {
  if (!root.has("measured")) return;
  const Node measured = root["measured"];
  measured.check_keys({"at", "with", "clock", "disturbance"});
  const Names names({});
  const auto read = [&](std::string_view key, auto& value) {
    if (measured.has(key)) ValueReader(names).read(measured[key], value);
  };
  read("at", network.measured_at);
  read("with", network.measured_with);
  read("clock", network.clock);
  read("disturbance", network.disturbance);
}

Network read_network(const Node& root) {
  read_schema(root);
  root.check_keys(keys_of(optional_parts, {"schema", "measured", "hosts", "latency", "bandwidth"}));
  Network network;
  read_measured(root, network);
  ValueReader(Names({})).read(root["hosts"], network.hosts);
  if (network.hosts.empty()) root["hosts"].fail("the network has no hosts: list at least one");
  const Names names(network.hosts);
  read_latency(root["latency"], names, network);
  read_bandwidth(root["bandwidth"], names, network);
  units::for_each_in(optional_parts, [&](const auto& part) {
    if (root.has(part.name)) ValueReader(names).read(root[part.name], network.*part.member);
  });
  check_names(root);
  validate(network);
  network.compact();
  return network;
}

/// Parses and reads; names `where` in errors.
Network read_from(json (*parse)(std::string_view), std::string_view text,
                  const std::string& where) {
  try {
    return read_network({parse(text), ""});
  } catch (const std::invalid_argument& error) {
    fail(where + ": " + error.what());
  }
}

} // namespace

Network from_json(const std::string& text, const std::string& where) {
  return read_from(parse_json, text, where);
}

Network from_cbor(const std::string& bytes, const std::string& where) {
  return read_from(parse_cbor, bytes, where);
}

} // namespace thalweg::network
