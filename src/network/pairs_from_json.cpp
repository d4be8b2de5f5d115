#include "network/pairs_from_json.hpp"

#include "network/file.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace thalweg::network {
namespace {

using nlohmann::json;

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
    // Before there is memory for all, which a short text mustn't claim.
    for (std::size_t from = 0; from < size; ++from)
      check_size(node[from], "the row of " + name(from, true), "entries");
    Matrix<T> matrix(size);
    for (std::size_t from = 0; from < size; ++from) {
      const Node row = node[from];
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

/// Whether a number goes on with the text, so that "10ms" would be read as 110 ms.
bool continues_a_number(std::string_view text) {
  if (text.starts_with('e') || text.starts_with('E')) text.remove_prefix(1);
  return text.empty() || std::string_view("0123456789.+- ").find(text.front()) != text.npos;
}

template <class Q>
Q read_unit(const Node& section, Q (*parse)(std::string_view), const char* example) {
  section.check_keys({"unit", "matrix", "classes", "values", "self", "exceptions", "error"});
  for (const char* key : {"classes", "values", "self", "exceptions"})
    if (section.has("matrix") && section.has(key))
      section[key].fail("stands beside \"matrix\": give either all pairs of hosts or classes");
  const Node unit = section["unit"];
  const std::string text = unit.text();
  try {
    if (!continues_a_number(text)) return parse("1" + text);
  } catch (const std::invalid_argument&) { // Its advice is about numbers with a unit.
  }
  unit.fail_value("must be a unit without a number, such as " + in_quotes(example));
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

} // namespace

void read_latency(const Node& section, const Names& names, Network& network) {
  const auto read = [](const json& value, const Describe& describe, Time unit, bool is_self) {
    return value.is_null() && is_self ? Time(0) : read_time(value, describe, unit);
  };
  const PairReader<Time> reader{network, names, "latency",
                                read_unit(section, units::parse_time, "ms"), read};
  network.latency = read_pairs(section, reader);
  network.latency_error = read_errors(section, network, names, "error of latency");
}

void read_bandwidth(const Node& section, const Names& names, Network& network) {
  const auto read = [](const json& value, const Describe& describe, Rate unit, bool) {
    return read_rate(value, describe, unit);
  };
  const PairReader<Rate> reader{network, names, "bandwidth",
                                read_unit(section, units::parse_rate, "Mbps"), read};
  network.bandwidth = read_pairs(section, reader);
  network.bandwidth_error = read_errors(section, network, names, "error of bandwidth");
}

} // namespace thalweg::network
