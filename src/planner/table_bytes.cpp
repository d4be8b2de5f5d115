/// The binary form of plan files and tables (docs/plan-file.md): 8 bytes of magic, u32 version, u32
/// zero, u64 size of the content, u64 FNV-1a of the content, the content.
#include "planner/envelope.hpp"
#include "planner/table.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace thalweg::planner {

namespace {

using collective::Rank;
using network::HostId;
using network::Network;

constexpr std::uint32_t version = 10;
constexpr std::string_view file_magic = "THWGPLAN", table_magic = "THWGTABL",
                           plan_magic = "THWGCHCE";

void require(bool condition) {
  if (!condition) Reader::fail();
}

bool all_within(std::span<const std::int32_t> values, std::int32_t low, std::int32_t high) {
  return std::all_of(values.begin(), values.end(),
                     [&](std::int32_t value) { return value >= low && value < high; });
}

// Networks

template <class T>
void put(Writer& writer, const network::Matrix<T>& matrix) {
  writer.put_count(matrix.size());
  const auto size = static_cast<HostId>(matrix.size());
  for (HostId from = 0; from < size; ++from)
    for (HostId to = 0; to < size; ++to)
      writer.put(matrix(from, to));
}

template <class T>
network::Matrix<T> get_matrix(Reader& reader) {
  const std::size_t size = reader.get_count(sizeof(T));
  require(size < (std::size_t{1} << 20));
  reader.require_left(size * size, sizeof(T));
  network::Matrix<T> matrix(size);
  for (HostId from = 0; std::cmp_less(from, size); ++from)
    for (HostId to = 0; std::cmp_less(to, size); ++to)
      reader.read(matrix(from, to));
  return matrix;
}

template <class T>
void put(Writer& writer, const network::HostPairs<T>& pairs) {
  writer.put(!pairs.is_dense());
  if (pairs.is_dense()) {
    put(writer, pairs.dense());
    return;
  }
  writer.put(pairs.blocks().class_of);
  put(writer, pairs.blocks().values);
  for (const T value : pairs.blocks().self)
    writer.put(value);
  const auto exceptions = pairs.exceptions();
  writer.put_count(exceptions.size());
  for (const auto& [from, to, value] : exceptions) {
    writer.put(from);
    writer.put(to);
    writer.put(value);
  }
}

template <class T>
void read(Reader& reader, network::HostPairs<T>& pairs) {
  if (!reader.get_bool()) {
    pairs = get_matrix<T>(reader);
    return;
  }
  using Pairs = network::HostPairs<T>;
  typename Pairs::Blocks blocks;
  blocks.class_of = reader.get_vector<std::int32_t>();
  blocks.values = get_matrix<T>(reader);
  reader.require_left(blocks.values.size(), sizeof(T));
  blocks.self.resize(blocks.values.size());
  for (T& value : blocks.self)
    reader.read(value);
  require(!blocks.class_of.empty() &&
          all_within(blocks.class_of, 0, static_cast<std::int32_t>(blocks.self.size())));
  const auto hosts = static_cast<HostId>(blocks.class_of.size());
  std::vector<typename Pairs::Exception> exceptions(reader.get_count(8 + sizeof(T)));
  for (auto& [from, to, value] : exceptions) {
    from = reader.get<HostId>();
    to = reader.get<HostId>();
    reader.read(value);
    require(from >= 0 && from < hosts && to >= 0 && to < hosts);
  }
  pairs = Pairs(std::move(blocks), exceptions);
}

/// A plan file keeps no disturbance: only people read it, in the network file.
void put(Writer& /*writer*/, const network::Disturbance& /*disturbance*/) {}
void read(Reader& /*reader*/, network::Disturbance& /*disturbance*/) {}

template <class T>
void put(Writer& writer, const T& value) {
  writer.put(value);
}
template <class T>
void read(Reader& reader, T& value) {
  reader.read(value);
}

void put(Writer& writer, const Network& net) {
  const auto put_field = [&](const auto& field) { put(writer, net.*field.member); };
  units::for_each_field<Network>(put_field);
  units::for_each_in(Network::measured_fields(), put_field);
}

Network get_network(Reader& reader) {
  Network net;
  const auto read_field = [&](const auto& field) { read(reader, net.*field.member); };
  units::for_each_field<Network>(read_field);
  units::for_each_in(Network::measured_fields(), read_field);
  network::validate(net);
  return net;
}

// Tables

Skeleton get_skeleton(Reader& reader, Rank ranks) {
  Skeleton skeleton;
  reader.read(skeleton);
  require(skeleton.ranks == ranks);
  algorithms::check(skeleton);
  return skeleton;
}

void put(Writer& writer, const Table& table) {
  writer.put(table.placement);
  writer.put_count(table.entries.size());
  for (const Entry& entry : table.entries) {
    writer.put(static_cast<std::uint8_t>(entry.kind));
    writer.put(entry.root);
    writer.put(entry.min_size);
    writer.put(entry.native);
    if (!entry.native) writer.put(entry.skeleton);
    writer.put(entry.second.has_value());
    if (entry.second) writer.put(*entry.second);
    writer.put(entry.times);
    writer.put(entry.native_percent);
    writer.put(entry.native_algorithm);
  }
}

Skeleton get_skeleton(Reader& reader, const Entry& entry, Rank ranks) {
  Skeleton skeleton = get_skeleton(reader, ranks);
  algorithms::check_fit(skeleton, {.kind = entry.kind, .ranks = ranks, .root = entry.root});
  return skeleton;
}

Table get_table(Reader& reader) {
  Table table;
  table.placement = reader.get_vector<HostId>();
  const auto ranks = static_cast<Rank>(table.placement.size());
  table.entries.resize(reader.get_count(31));
  for (Entry& entry : table.entries) {
    const auto kind = reader.get<std::uint8_t>();
    require(kind < collective::kind_count);
    entry.kind = static_cast<collective::Kind>(kind);
    entry.root = reader.get<Rank>();
    entry.min_size = reader.get<Size>();
    entry.native = reader.get_bool();
    require(entry.root >= 0 && entry.root < ranks && entry.min_size >= 0);
    if (!entry.native) entry.skeleton = get_skeleton(reader, entry, ranks);
    if (reader.get_bool()) entry.second = get_skeleton(reader, entry, ranks);
    reader.read(entry.times);
    require(std::ranges::adjacent_find(entry.times, std::ranges::greater_equal(),
                                       &PredictedTimes::size) == entry.times.end());
    entry.native_percent = reader.get<std::int32_t>();
    entry.native_algorithm = reader.get_string();
  }
  require(std::is_sorted(
      table.entries.begin(), table.entries.end(), [](const Entry& a, const Entry& b) {
        return std::tuple(a.kind, a.root, a.min_size) < std::tuple(b.kind, b.root, b.min_size);
      }));
  return table;
}

} // namespace

std::vector<std::byte> to_bytes(const PlanFile& file) {
  Writer writer;
  put(writer, file.network);
  writer.put(file.library);
  writer.put_count(file.tables.size());
  for (const Table& table : file.tables)
    put(writer, table);
  return wrap({file_magic, version, "plan file"}, writer.take());
}

PlanFile from_bytes(std::span<const std::byte> bytes) {
  Reader reader = unwrap({file_magic, version, "plan file"}, bytes);
  PlanFile file;
  file.network = get_network(reader);
  file.library = reader.get_string();
  file.tables.resize(reader.get_count(16));
  for (Table& table : file.tables) {
    table = get_table(reader);
    require(all_within(table.placement, 0, file.network.size()));
  }
  require(reader.empty());
  return file;
}

std::vector<std::byte> to_bytes(const Table& table) {
  Writer writer;
  put(writer, table);
  return wrap({table_magic, version, "plan file"}, writer.take());
}

Table table_from_bytes(std::span<const std::byte> bytes) {
  Reader reader = unwrap({table_magic, version, "plan file"}, bytes);
  Table table = get_table(reader);
  require(reader.empty());
  return table;
}

std::vector<std::byte> to_bytes(const Plan& plan) {
  Writer writer;
  writer.put(plan.algorithm);
  writer.put(plan.parameters);
  if (plan.algorithm != native_name) writer.put(plan.skeleton);
  writer.put(plan.predicted);
  writer.put(plan.native);
  writer.put(plan.bound);
  writer.put(plan.reason);
  return wrap({plan_magic, version, "plan"}, writer.take());
}

Plan plan_from_bytes(std::span<const std::byte> bytes, Rank ranks) {
  Reader reader = unwrap({plan_magic, version, "plan"}, bytes);
  Plan plan;
  plan.algorithm = reader.get_string();
  reader.read(plan.parameters);
  if (plan.algorithm != native_name) plan.skeleton = get_skeleton(reader, ranks);
  reader.read(plan.predicted);
  reader.read(plan.native);
  reader.read(plan.bound);
  plan.reason = reader.get_string();
  require(reader.empty());
  return plan;
}

} // namespace thalweg::planner
