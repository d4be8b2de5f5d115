#include "network/file.hpp"

#include "units/whole_file.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <type_traits>

namespace thalweg::network {
namespace {

using nlohmann::ordered_json;

/// Writes text such as "100Mbps" if it stands for exactly this value, else the number in base
/// units.
template <class Q>
ordered_json to_json(Q quantity, Q (*parse)(std::string_view)) {
  if (std::isinf(quantity.value())) return nullptr;
  const std::string text = units::to_text(quantity);
  if (quantity.value() > 0 && parse(text) == quantity) return text;
  return quantity.value();
}
ordered_json to_json(Time time) { return to_json(time, units::parse_time); }
ordered_json to_json(Rate rate) { return to_json(rate, units::parse_rate); }
ordered_json to_json(Size size) {
  const std::string text = units::size_to_text(size);
  if (size > 0 && units::parse_size(text) == size) return text;
  return size;
}

/// Returns the double whose shortest text is that of the float: 0.1, not 0.10000000149011612.
ordered_json to_json(float value) {
  if (std::isinf(value)) return nullptr;
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value).ptr;
  double result = 0;
  std::from_chars(text.begin(), end, result);
  return result;
}

template <class T, class Entry>
ordered_json to_json(const Matrix<T>& matrix, Entry entry) {
  ordered_json rows = ordered_json::array();
  const auto size = static_cast<HostId>(matrix.size());
  for (HostId from = 0; from < size; ++from) {
    ordered_json& row = rows.emplace_back(ordered_json::array());
    for (HostId to = 0; to < size; ++to)
      row.push_back(entry(matrix(from, to)));
  }
  return rows;
}

/// Writes values row by row, as doubles or floats.
template <class T>
ordered_json to_binary(const Matrix<T>& matrix, int tag) {
  static_assert(std::endian::native == std::endian::little);
  static_assert(sizeof(T) == sizeof(double) || sizeof(T) == sizeof(float));
  ordered_json::binary_t bytes;
  bytes.resize(matrix.size() * matrix.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), &matrix(0, 0), bytes.size());
  bytes.set_subtype(static_cast<ordered_json::binary_t::subtype_type>(tag));
  return bytes;
}

/// The form of the matrices.
enum class Form { text, binary };

/// Writes a number in the matrix's unit, so that columns can be compared.
template <class Q>
ordered_json to_number(Q value) {
  return std::isinf(value.value()) ? ordered_json(nullptr) : ordered_json(value.value());
}
ordered_json to_number(float value) { return to_json(value); }

template <class T>
ordered_json to_json(const Matrix<T>& matrix, Form form) {
  constexpr int tag = std::is_same_v<T, float> ? tag_of_floats : tag_of_doubles;
  if (form == Form::binary) return to_binary(matrix, tag);
  return to_json(matrix, [](T value) { return to_number(value); });
}

/// Writes the classes of consecutive hosts as runs.
ordered_json runs(const std::vector<std::int32_t>& class_of) {
  ordered_json result = ordered_json::array();
  for (std::size_t begin = 0, end = 0; begin < class_of.size(); begin = end) {
    while (end < class_of.size() && class_of[end] == class_of[begin])
      ++end;
    result.push_back({end - begin, class_of[begin]});
  }
  return result;
}

template <class T>
ordered_json blocks(const HostPairs<T>& pairs, const Network& network, Form form) {
  ordered_json self = ordered_json::array(), exceptions = ordered_json::array();
  for (const T value : pairs.blocks().self)
    self.push_back(to_number(value));
  for (const auto& [from, to, value] : pairs.exceptions())
    exceptions.push_back({network.hosts[static_cast<std::size_t>(from)].name,
                          network.hosts[static_cast<std::size_t>(to)].name, to_number(value)});
  ordered_json result = {{"classes", runs(pairs.blocks().class_of)},
                         {"values", to_json(pairs.blocks().values, form)},
                         {"self", self}};
  if (!exceptions.empty()) result["exceptions"] = exceptions;
  return result;
}

template <class Q>
ordered_json to_json(const HostPairs<Q>& pairs, const HostPairs<float>& error, const char* unit,
                     const Network& network, Form form) {
  ordered_json section = {{"unit", unit}};
  if (pairs.is_dense())
    section["matrix"] = to_json(pairs.dense(), form);
  else
    section.update(blocks(pairs, network, form));
  if (error.size() > 0)
    section["error"] =
        error.is_dense() ? to_json(error.dense(), form) : blocks(error, network, form);
  return section;
}

bool has_blocks(const Network& network) {
  return !(network.latency.is_dense() && network.bandwidth.is_dense() &&
           network.latency_error.is_dense() && network.bandwidth_error.is_dense());
}

/// Writes names; in a network with blocks, also [first, last] for consecutive hosts.
ordered_json names(const std::vector<HostId>& group, const Network& network) {
  constexpr std::ptrdiff_t shortest_run = 3;
  const auto name = [&](HostId host) { return network.hosts[static_cast<std::size_t>(host)].name; };
  const bool in_runs = has_blocks(network);
  ordered_json result = ordered_json::array();
  for (auto begin = group.begin(), end = begin; begin != group.end(); begin = end) {
    do
      ++end;
    while (in_runs && end != group.end() && *end == *std::prev(end) + 1);
    if (end - begin >= shortest_run)
      result.push_back({name(*begin), name(*std::prev(end))});
    else
      for (; begin != end; ++begin)
        result.push_back(name(*begin));
  }
  return result;
}

// The structs that have tables of their fields, and what these are made of.

ordered_json to_json(const std::string& text, const Network& /*network*/) { return text; }
ordered_json to_json(const std::vector<HostId>& hosts, const Network& network) {
  return names(hosts, network);
}
template <class Number>
requires std::is_same_v<Number, double> || std::is_same_v<Number, std::int32_t>
    ordered_json to_json(Number number, const Network& /*network*/) {
  return number;
}
template <class Tag>
ordered_json to_json(units::Quantity<Tag> quantity, const Network& /*network*/) {
  return to_json(quantity);
}
ordered_json to_json(Size size, const Network& /*network*/) { return to_json(size); }
template <units::Named T>
ordered_json to_json(T value, const Network& /*network*/) {
  return units::name_of(value);
}
template <units::Named T>
ordered_json to_json(const std::optional<T>& value, const Network& network) {
  return value ? to_json(*value, network) : ordered_json();
}

/// Whether a file lacks the field, since its value isn't known.
template <class Struct, class T>
bool is_unknown(const Struct& object, const units::Field<Struct, T>& field) {
  if constexpr (std::is_same_v<T, std::int32_t>)
    return field.is_optional && object.*field.member == 0;
  else
    return requires(T value) { value.has_value(); }
  &&object.*field.member == T();
}

template <units::Described T>
ordered_json to_json(const T& object, const Network& network) {
  ordered_json result = ordered_json::object();
  units::for_each_field<T>([&](const auto& field) {
    if (!is_unknown(object, field))
      result[std::string(field.name)] = to_json(object.*field.member, network);
  });
  return result;
}
template <class T>
ordered_json to_json(const std::vector<T>& values, const Network& network) {
  ordered_json result = ordered_json::array();
  for (const T& value : values)
    result.push_back(to_json(value, network));
  return result;
}
template <class T>
ordered_json to_json(const std::map<std::string, T>& values, const Network& network) {
  ordered_json result = ordered_json::object();
  for (const auto& [key, value] : values)
    result[key] = to_json(value, network);
  return result;
}

ordered_json measured(const Network& network) {
  ordered_json result = ordered_json::object();
  if (!network.measured_at.empty()) result["at"] = network.measured_at;
  if (!network.measured_with.empty()) result["with"] = network.measured_with;
  result["clock"] = to_json(network.clock, network);
  if (network.disturbance.pairs > 0) result["disturbance"] = to_json(network.disturbance, network);
  return result;
}

/// Prints as dump(2), but puts a value without nested lists or objects on one line: a host, a row
/// of a matrix.
void print(const ordered_json& value, const std::string& indent, std::string& out) {
  const auto is_nested = [](const ordered_json& child) { return child.is_structured(); };
  if (!value.is_structured() || std::none_of(value.begin(), value.end(), is_nested)) {
    std::string line = value.is_structured() ? "" : value.dump();
    if (value.is_structured()) {
      for (const auto& item : value.items())
        line += (line.empty() ? "" : ", ") +
                (value.is_object() ? ordered_json(item.key()).dump() + ": " : std::string()) +
                item.value().dump();
      line = value.is_object() ? "{" + line + "}" : "[" + line + "]";
    }
    out += line;
    return;
  }
  out += value.is_object() ? "{" : "[";
  const char* separator = "\n";
  for (const auto& item : value.items()) {
    out += separator + indent + "  ";
    if (value.is_object()) out += ordered_json(item.key()).dump() + ": ";
    print(item.value(), indent + "  ", out);
    separator = ",\n";
  }
  out += "\n" + indent + (value.is_object() ? "}" : "]");
}

ordered_json document(const Network& network, Form form) {
  validate(network);
  ordered_json root = {
      {"schema", has_blocks(network) ? schema_version : 1},
      {"measured", measured(network)},
      {"hosts", to_json(network.hosts, network)},
      {"latency", to_json(network.latency, network.latency_error, "s", network, form)},
      {"bandwidth", to_json(network.bandwidth, network.bandwidth_error, "B/s", network, form)}};
  units::for_each_in(optional_parts, [&]<class T>(const units::Field<Network, T>& part) {
    if (network.*part.member != T())
      root[std::string(part.name)] = to_json(network.*part.member, network);
  });
  return root;
}

bool is_cbor(const std::filesystem::path& path) { return path.extension() == ".cbor"; }

std::string reason() { return std::generic_category().message(errno); }

} // namespace

std::string to_json(const Network& network) {
  std::string out;
  print(document(network, Form::text), "", out);
  return out + "\n";
}

std::string to_cbor(const Network& network) {
  std::string out;
  ordered_json::to_cbor(document(network, Form::binary), out);
  return out;
}

Network read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  // A folder can be opened, but not read.
  if (!file.is_open() || file.bad() || text.bad())
    throw std::invalid_argument(path.string() + ": can't be read: " + reason());
  return is_cbor(path) ? from_cbor(text.str(), path.string())
                       : from_json(text.str(), path.string());
}

void write(const Network& network, const std::filesystem::path& path) {
  const std::string problem =
      units::write_whole(path, is_cbor(path) ? to_cbor(network) : to_json(network));
  if (!problem.empty()) throw std::invalid_argument(problem);
}

} // namespace thalweg::network
