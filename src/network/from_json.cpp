#include "network/file.hpp"
#include "network/parse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <unordered_map>

namespace thalweg::network {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

/// Returns the number of insertions, deletions, replacements and swaps of neighbours between two
/// words.
std::size_t edits(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      const auto at = [&](std::size_t di, std::size_t dj) {
        return table[(i - di) * width + (j - dj)];
      };
      std::size_t& best = table[i * width + j];
      best = i == 0 || j == 0 ? i + j : at(1, 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      if (i == 0 || j == 0) continue;
      best = std::min({best, at(0, 1) + 1, at(1, 0) + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best = std::min(best, at(2, 2) + 1);
    }
  }
  return table.back();
}

std::string nearest(std::string_view word, std::span<const std::string_view> known) {
  return std::string(*std::ranges::min_element(
      known, {}, [&](std::string_view candidate) { return edits(word, candidate); }));
}

/// A value and its place: "trunks[0].from".
struct Node {
  const json& value;
  std::string path;

  [[noreturn]] void fail(const std::string& why) const {
    network::fail(path.empty() ? why : path + ": " + why);
  }
  /// Throws an error that describes the value.
  [[noreturn]] void fail_value(const std::string& advice) const {
    network::fail(path + " is " + value.dump() + ": " + advice);
  }
  [[nodiscard]] Node operator[](std::string_view key) const {
    const auto found = value.find(key);
    if (found == value.end()) fail("the key " + in_quotes(key) + " is missing: add it");
    return {*found, path.empty() ? std::string(key) : path + "." + std::string(key)};
  }
  [[nodiscard]] Node operator[](std::size_t index) const {
    return {value[index], path + "[" + std::to_string(index) + "]"};
  }
  /// Whether the key is there and not null.
  [[nodiscard]] bool has(std::string_view key) const {
    const auto found = value.find(key);
    return found != value.end() && !found->is_null();
  }
  [[nodiscard]] std::size_t size() const {
    if (!value.is_array()) fail("must be a list");
    return value.size();
  }
  [[nodiscard]] std::string text() const {
    if (!value.is_string()) fail("must be text in quotes");
    return value.get<std::string>();
  }
  void check_object() const {
    if (!value.is_object()) fail("must be an object, in braces");
  }
  void check_keys(std::initializer_list<std::string_view> known) const {
    check_object();
    for (const auto& item : value.items())
      if (std::ranges::find(known, item.key()) == known.end())
        fail("the key " + in_quotes(item.key()) + " is unknown: did you mean " +
             in_quotes(nearest(item.key(), {known.begin(), known.size()})) + "?");
  }
};

/// Describes a value and its place; called only for an error, since matrices are large.
using Describe = std::function<std::string()>;

/// Reads a number in units of `unit`, or text with its own unit.
template <class Q, class Valid>
Q read_quantity(const json& value, const Describe& describe, Q (*parse)(std::string_view), Q unit,
                Valid valid, const char* advice) {
  if (value.is_number()) {
    const Q result = value.get<double>() * unit;
    if (valid(result.value())) return result;
  } else if (value.is_string()) {
    try {
      return parse(value.get<std::string>());
    } catch (const std::invalid_argument& error) {
      fail(describe() + ": " + error.what());
    }
  }
  fail(describe() + " is " + value.dump() + ": " + advice);
}

Time read_time(const json& value, const Describe& describe, Time unit = Time(1)) {
  const auto valid = [](double v) { return v >= 0 && std::isfinite(v); };
  return read_quantity(value, describe, units::parse_time, unit, valid, "must be at least 0");
}

/// Reads a rate; null: infinite, or not measured.
Rate read_rate(const json& value, const Describe& describe, Rate unit = Rate(1)) {
  if (value.is_null()) return Rate::infinity();
  const auto valid = [](double v) { return v > 0 && std::isfinite(v); };
  return read_quantity(value, describe, units::parse_rate, unit, valid,
                       "must be above 0, or null if unlimited or not measured");
}

Rate read_capacity(const Node& object, std::string_view key) {
  if (!object.has(key)) return Rate::infinity();
  const Node node = object[key];
  return read_rate(node.value, [&] { return node.path; });
}

Time read_time(const Node& node) {
  return read_time(node.value, [&] { return node.path; });
}

Size read_size(const Node& node) {
  if (node.value.is_number_integer() && node.value >= 0 &&
      node.value <= std::numeric_limits<Size>::max())
    return node.value.get<Size>();
  if (!node.value.is_string())
    node.fail("must be a whole number of bytes of at least 0, or text such as \"64KB\"");
  try {
    return units::parse_size(node.value.get<std::string>());
  } catch (const std::invalid_argument& error) {
    node.fail(error.what());
  }
}

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

Host read_host(const Node& node) {
  node.check_keys({"name", "egress", "ingress"});
  return {node["name"].text(), read_capacity(node, "egress"), read_capacity(node, "ingress")};
}

std::int32_t read_count(const Node& node) {
  if (node.value.is_number_integer() && node.value >= 0 &&
      node.value <= std::numeric_limits<std::int32_t>::max())
    return node.value.get<std::int32_t>();
  node.fail_value("must be a whole number of at least 0");
}

double read_share(const Node& node) {
  const double share = node.value.is_number() ? node.value.get<double>() : -1;
  if (!(share >= 0)) node.fail_value("must be a number of at least 0");
  return share;
}

/// The hosts by their names.
class Names {
public:
  explicit Names(const std::vector<Host>& hosts) {
    for (const Host& host : hosts) {
      _ids.emplace(host.name, static_cast<HostId>(_names.size()));
      _names.emplace_back(host.name);
    }
  }
  [[nodiscard]] HostId read(const Node& node) const {
    const std::string name = node.text();
    if (const auto found = _ids.find(name); found != _ids.end()) return found->second;
    node.fail(in_quotes(name) + " is not a host of this network: did you mean " +
              in_quotes(nearest(name, _names)) + "?");
  }

private:
  std::vector<std::string_view> _names;
  std::unordered_map<std::string_view, HostId> _ids;
};

/// Reads a matrix from a CBOR array of numbers, row by row; none if the value isn't one.
template <class T>
std::optional<Matrix<T>> read_binary(const Node& node, std::size_t size, const char* parts) {
  static_assert(std::endian::native == std::endian::little);
  constexpr int tag = std::is_same_v<T, float> ? tag_of_floats : tag_of_doubles;
  if (!node.value.is_binary()) return std::nullopt;
  const json::binary_t& bytes = node.value.get_binary();
  if (!bytes.has_subtype() || bytes.subtype() != static_cast<std::uint64_t>(tag))
    node.fail("must be a list, or an array of numbers with tag " + std::to_string(tag));
  if (bytes.size() != size * size * sizeof(T))
    node.fail("has " + std::to_string(bytes.size() / sizeof(T)) +
              " numbers: must be the square of the " + std::to_string(size) + " " + parts);
  Matrix<T> matrix(size);
  if (size > 0) std::memcpy(&matrix(0, 0), bytes.data(), bytes.size());
  return matrix;
}

/// Reads the values of one quantity for pairs of hosts.
template <class T>
struct PairReader {
  const Network& network;
  const Names& names;
  const char* what; ///< "latency"
  T unit;
  /// Reads one value; `is_self`: of a host with itself.
  T (*read)(const json& value, const Describe& describe, T unit, bool is_self);

  [[nodiscard]] std::size_t hosts() const { return network.hosts.size(); }

  /// Reads rows of a given length. name(i) names the i-th row and column.
  template <class Name>
  Matrix<T> matrix(const Node& node, std::size_t size, const char* parts, Name name) const {
    if (auto binary = read_binary<T>(node, size, parts)) return in_unit(std::move(*binary));
    const auto check_size = [&](const Node& list, const std::string& subject, const char* entries) {
      if (list.size() != size)
        list.fail(subject + " has " + std::to_string(list.size()) + " " + entries +
                  ": must be one for each of the " + std::to_string(size) + " " + parts);
    };
    check_size(node, "the matrix", "rows");
    Matrix<T> matrix(size);
    for (std::size_t from = 0; from < size; ++from) {
      const Node row = node[from];
      check_size(row, "the row of " + name(from, true), "entries");
      for (std::size_t to = 0; to < size; ++to) {
        const auto describe = [&] {
          return row.path + "[" + std::to_string(to) + "]: " + what + " " + name(from, false) +
                 " -> " + name(to, false);
        };
        matrix(static_cast<HostId>(from), static_cast<HostId>(to)) =
            read(row.value[to], describe, unit, from == to);
      }
    }
    return matrix;
  }

  [[nodiscard]] HostPairs<T> dense(const Node& node) const {
    return matrix(node, hosts(), "hosts", [&](std::size_t host, bool in_full) {
      return (in_full ? "host " : "") + network.hosts[host].name;
    });
  }

  [[nodiscard]] HostPairs<T> blocks(const Node& section) const {
    typename HostPairs<T>::Blocks blocks;
    const Node self = section["self"];
    const std::size_t classes = self.size();
    for (std::size_t at = 0; at < classes; ++at) {
      const Node node = self[at];
      const auto describe = [&] { return node.path + ": " + what; };
      blocks.self.push_back(read(node.value, describe, unit, true));
    }
    blocks.values = matrix(section["values"], classes, "classes",
                           [](std::size_t at, bool) { return "class " + std::to_string(at); });
    blocks.class_of = read_classes(section["classes"], classes);
    check_diagonal(section["values"], blocks.class_of);
    return HostPairs<T>(std::move(blocks), read_exceptions(section));
  }

private:
  Matrix<T> in_unit(Matrix<T> matrix) const {
    if constexpr (!std::is_same_v<T, float>) {
      const auto size = static_cast<HostId>(matrix.size());
      for (HostId from = 0; from < size; ++from)
        for (HostId to = 0; to < size; ++to)
          matrix(from, to) = matrix(from, to).value() * unit;
    }
    return matrix;
  }

  /// Checks that only classes without two hosts have null.
  void check_diagonal(const Node& values, const std::vector<std::int32_t>& class_of) const {
    if (!std::is_same_v<T, Time> || values.value.is_binary()) return;
    std::vector<int> members(values.size());
    for (const std::int32_t own : class_of)
      ++members[static_cast<std::size_t>(own)];
    for (std::size_t at = 0; at < members.size(); ++at)
      if (members[at] > 1 && values.value[at][at].is_null())
        values[at][at].fail(std::string(what) + " between hosts of class " + std::to_string(at) +
                            " is missing: give a number");
  }

  [[nodiscard]] std::vector<std::int32_t> read_classes(const Node& node,
                                                       std::size_t classes) const {
    std::vector<std::int32_t> class_of;
    for (std::size_t i = 0; i < node.size(); ++i) {
      const Node run = node[i];
      if (run.size() != 2) run.fail("must be a number of hosts and the class that they are of");
      const std::int32_t count = read_count(run[0]), own = read_count(run[1]);
      if (static_cast<std::size_t>(own) >= classes)
        run.fail("class " + std::to_string(own) + " isn't there: \"self\" has " +
                 std::to_string(classes));
      if (class_of.size() + static_cast<std::size_t>(count) > hosts())
        run.fail("there are more hosts in the classes than the " + std::to_string(hosts()) +
                 " of the network");
      class_of.insert(class_of.end(), static_cast<std::size_t>(count), own);
    }
    if (class_of.size() != hosts())
      node.fail("the classes have " + std::to_string(class_of.size()) +
                " hosts: must be the network's " + std::to_string(hosts()));
    return class_of;
  }

  [[nodiscard]] std::vector<typename HostPairs<T>::Exception>
  read_exceptions(const Node& section) const {
    std::vector<typename HostPairs<T>::Exception> exceptions;
    if (!section.has("exceptions")) return exceptions;
    const Node list = section["exceptions"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Node node = list[i];
      if (node.size() != 3) node.fail("must be two hosts and a value");
      const HostId from = names.read(node[0]), to = names.read(node[1]);
      const auto describe = [&] {
        return node.path + "[2]: " + what + " " + pair_name(network, from, to);
      };
      exceptions.push_back({from, to, read(node.value[2], describe, unit, from == to)});
    }
    return exceptions;
  }
};

template <class Q>
Q read_unit(const Node& section, Q (*parse)(std::string_view)) {
  section.check_keys({"unit", "matrix", "classes", "values", "self", "exceptions", "error"});
  for (const char* key : {"classes", "values", "self", "exceptions"})
    if (section.has("matrix") && section.has(key))
      section[key].fail("stands beside \"matrix\": give either all pairs of hosts or classes");
  const Node unit = section["unit"];
  try {
    return parse("1" + unit.text());
  } catch (const std::invalid_argument& error) {
    unit.fail(error.what());
  }
}

template <class Q>
HostPairs<Q> read_pairs(const Node& section, const PairReader<Q>& reader) {
  return section.has("classes") ? reader.blocks(section) : reader.dense(section["matrix"]);
}

HostPairs<float> read_errors(const Node& section, const Network& network, const Names& names,
                             const char* what) {
  if (!section.has("error")) return {};
  const auto read = [](const json& value, const Describe& describe, float, bool) {
    const double error = value.is_null() ? std::numeric_limits<double>::infinity()
                                         : (value.is_number() ? value.get<double>() : -1);
    if (error < 0)
      fail(describe() + " is " + value.dump() + ": must be at least 0, or null if not known");
    return static_cast<float>(error);
  };
  const PairReader<float> reader{network, names, what, 1, read};
  const Node node = section["error"];
  if (!node.value.is_object()) return reader.dense(node);
  node.check_keys({"classes", "values", "self", "exceptions"});
  return reader.blocks(node);
}

void read_latency(const Node& section, const Names& names, Network& network) {
  const auto read = [](const json& value, const Describe& describe, Time unit, bool is_self) {
    return value.is_null() && is_self ? Time(0) : read_time(value, describe, unit);
  };
  const PairReader<Time> reader{network, names, "latency", read_unit(section, units::parse_time),
                                read};
  network.latency = read_pairs(section, reader);
  network.latency_error = read_errors(section, network, names, "error of latency");
}

void read_bandwidth(const Node& section, const Names& names, Network& network) {
  const auto read = [](const json& value, const Describe& describe, Rate unit, bool) {
    return read_rate(value, describe, unit);
  };
  const PairReader<Rate> reader{network, names, "bandwidth", read_unit(section, units::parse_rate),
                                read};
  network.bandwidth = read_pairs(section, reader);
  network.bandwidth_error = read_errors(section, network, names, "error of bandwidth");
}

/// Reads names of hosts, and [first, last] for all from one to another in the order of the hosts.
std::vector<HostId> read_group(const Node& node, const Names& names) {
  std::vector<HostId> group;
  for (std::size_t i = 0; i < node.size(); ++i) {
    const Node entry = node[i];
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

std::optional<NetworkClass> read_class(const Node& node) {
  const std::string text = node.text();
  try {
    return parse_network_class(text);
  } catch (const std::invalid_argument& error) {
    node.fail(error.what());
  }
}

void read_groups(const Node& root, const Names& names, Network& network) {
  if (root.has("trunks")) {
    const Node trunks = root["trunks"];
    for (std::size_t i = 0; i < trunks.size(); ++i) {
      const Node node = trunks[i];
      node.check_keys({"name", "from", "to", "capacity", "senders"});
      network.trunks.push_back({node["name"].text(), read_group(node["from"], names),
                                read_group(node["to"], names), read_capacity(node, "capacity"),
                                node.has("senders") ? read_count(node["senders"]) : 0});
    }
  }
  if (root.has("sites")) {
    const Node sites = root["sites"];
    for (std::size_t i = 0; i < sites.size(); ++i)
      network.sites.push_back(read_group(sites[i], names));
  }
  if (root.has("groups")) {
    const Node groups = root["groups"];
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Node node = groups[i];
      node.check_keys({"name", "hosts", "class"});
      network.groups.push_back({node["name"].text(), read_group(node["hosts"], names),
                                node.has("class") ? read_class(node["class"]) : std::nullopt});
    }
  }
}

MessageCost read_cost(const Node& node) {
  node.check_keys({"send", "receive", "per_byte", "combine_per_byte", "handshake", "eager_limit"});
  MessageCost cost;
  const auto set = [&](std::string_view key, Time& time) {
    if (node.has(key)) time = read_time(node[key]);
  };
  set("send", cost.send);
  set("receive", cost.receive);
  set("per_byte", cost.per_byte);
  set("combine_per_byte", cost.combine_per_byte);
  set("handshake", cost.handshake);
  if (node.has("eager_limit")) cost.eager_limit = read_size(node["eager_limit"]);
  return cost;
}

void read_libraries(const Node& root, Network& network) {
  if (root.has("initial_window")) network.initial_window = read_size(root["initial_window"]);
  if (root.has("message_costs")) {
    const Node costs = root["message_costs"];
    costs.check_object();
    for (const auto& item : costs.value.items())
      network.message_costs.emplace(item.key(), read_cost(costs[item.key()]));
  }
  if (root.has("native_times")) {
    const Node times = root["native_times"];
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Node node = times[i];
      node.check_keys({"library", "collective", "size", "time"});
      network.native_times.push_back({node["library"].text(), node["collective"].text(),
                                      read_size(node["size"]), read_time(node["time"])});
    }
  }
}

Clock read_clock(const Node& node) {
  const std::string text = node.text();
  if (text == "none") return Clock::none;
  if (text == "shared") return Clock::shared;
  if (text == "ptp") return Clock::ptp;
  node.fail_value("must be \"none\", \"shared\" or \"ptp\"");
}

Disturbance read_disturbance(const Node& node) {
  node.check_keys({"pairs", "latency", "bandwidth"});
  return {read_count(node["pairs"]), read_share(node["latency"]), read_share(node["bandwidth"])};
}

void read_measured(const Node& root, Network& network) {
  if (!root.has("measured")) return;
  const Node measured = root["measured"];
  measured.check_keys({"at", "with", "clock", "disturbance"});
  if (measured.has("at")) network.measured_at = measured["at"].text();
  if (measured.has("with")) network.measured_with = measured["with"].text();
  if (measured.has("clock")) network.clock = read_clock(measured["clock"]);
  if (measured.has("disturbance")) network.disturbance = read_disturbance(measured["disturbance"]);
}

Network read_network(const Node& root) {
  read_schema(root);
  root.check_keys({"schema", "measured", "hosts", "latency", "bandwidth", "trunks", "sites",
                   "groups", "initial_window", "message_costs", "native_times"});
  Network network;
  read_measured(root, network);
  const Node hosts = root["hosts"];
  for (std::size_t i = 0; i < hosts.size(); ++i)
    network.hosts.push_back(read_host(hosts[i]));
  const Names names(network.hosts);
  read_latency(root["latency"], names, network);
  read_bandwidth(root["bandwidth"], names, network);
  read_groups(root, names, network);
  read_libraries(root, network);
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
