/// The binary form of plan files and tables (docs/plan-file.md): 8 bytes of magic, u32 version, u32
/// zero, u64 size of the content, u64 FNV-1a of the content, the content.
#include "planner/envelope.hpp"
#include "planner/table.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace thalweg::planner {

namespace {

using collective::Rank;
using network::HostId;
using network::Network;
using network::NetworkClass;

constexpr std::uint32_t version = 7;
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

void put(Writer& writer, Time time) { writer.put(time.value()); }
void put(Writer& writer, units::Rate rate) { writer.put(rate.value()); }
void put(Writer& writer, float value) { writer.put(value); }

template <class T>
T get_value(Reader& reader) {
  if constexpr (std::is_same_v<T, float>)
    return reader.get_float();
  else
    return T(reader.get_double());
}

template <class T>
void put(Writer& writer, const network::Matrix<T>& matrix) {
  writer.put_count(matrix.size());
  const auto size = static_cast<HostId>(matrix.size());
  for (HostId from = 0; from < size; ++from)
    for (HostId to = 0; to < size; ++to)
      put(writer, matrix(from, to));
}

template <class T>
network::Matrix<T> get_matrix(Reader& reader) {
  const std::size_t size = reader.get_count(sizeof(T));
  require(size < (std::size_t{1} << 20));
  reader.require_left(size * size, sizeof(T));
  network::Matrix<T> matrix(size);
  for (HostId from = 0; std::cmp_less(from, size); ++from)
    for (HostId to = 0; std::cmp_less(to, size); ++to)
      matrix(from, to) = get_value<T>(reader);
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
    put(writer, value);
  const auto exceptions = pairs.exceptions();
  writer.put_count(exceptions.size());
  for (const auto& [from, to, value] : exceptions) {
    writer.put(from);
    writer.put(to);
    put(writer, value);
  }
}

template <class T>
network::HostPairs<T> get_pairs(Reader& reader) {
  if (!reader.get_bool()) return get_matrix<T>(reader);
  using Pairs = network::HostPairs<T>;
  typename Pairs::Blocks blocks;
  blocks.class_of = reader.get_vector<std::int32_t>();
  blocks.values = get_matrix<T>(reader);
  reader.require_left(blocks.values.size(), sizeof(T));
  for (std::size_t at = 0; at < blocks.values.size(); ++at)
    blocks.self.push_back(get_value<T>(reader));
  require(!blocks.class_of.empty() &&
          all_within(blocks.class_of, 0, static_cast<std::int32_t>(blocks.self.size())));
  const auto hosts = static_cast<HostId>(blocks.class_of.size());
  std::vector<typename Pairs::Exception> exceptions(reader.get_count(8 + sizeof(T)));
  for (auto& [from, to, value] : exceptions) {
    from = reader.get<HostId>();
    to = reader.get<HostId>();
    value = get_value<T>(reader);
    require(from >= 0 && from < hosts && to >= 0 && to < hosts);
  }
  return Pairs(std::move(blocks), exceptions);
}

void put(Writer& writer, const network::MessageCost& cost) {
  writer.put(cost.send.value());
  writer.put(cost.receive.value());
  writer.put(cost.per_byte.value());
  writer.put(cost.combine_per_byte.value());
  writer.put(cost.handshake.value());
  writer.put(cost.eager_limit);
}

network::MessageCost get_message_cost(Reader& reader) {
  network::MessageCost cost;
  cost.send = Time(reader.get_double());
  cost.receive = Time(reader.get_double());
  cost.per_byte = Time(reader.get_double());
  cost.combine_per_byte = Time(reader.get_double());
  cost.handshake = Time(reader.get_double());
  cost.eager_limit = reader.get<Size>();
  for (const Time time :
       {cost.send, cost.receive, cost.per_byte, cost.combine_per_byte, cost.handshake})
    require(time.value() >= 0 && time < Time::infinity());
  require(cost.eager_limit >= 0);
  return cost;
}

void put(Writer& writer, const Network& net) {
  writer.put_count(net.hosts.size());
  for (const network::Host& host : net.hosts) {
    writer.put(host.name);
    writer.put(host.egress.value());
    writer.put(host.ingress.value());
  }
  put(writer, net.latency);
  put(writer, net.bandwidth);
  put(writer, net.latency_error);
  put(writer, net.bandwidth_error);
  writer.put_count(net.trunks.size());
  for (const network::Trunk& trunk : net.trunks) {
    writer.put(trunk.name);
    writer.put(trunk.from);
    writer.put(trunk.to);
    writer.put(trunk.capacity.value());
    writer.put(trunk.senders);
  }
  writer.put_count(net.sites.size());
  for (const auto& site : net.sites)
    writer.put(site);
  writer.put_count(net.groups.size());
  for (const network::DeclaredGroup& group : net.groups) {
    writer.put(group.name);
    writer.put(group.hosts);
    writer.put(static_cast<std::uint8_t>(group.network_class.value_or(NetworkClass::host)));
  }
  writer.put_count(net.message_costs.size());
  for (const auto& [library, cost] : net.message_costs) {
    writer.put(library);
    put(writer, cost);
  }
  writer.put_count(net.native_times.size());
  for (const network::NativeTime& native : net.native_times) {
    writer.put(native.library);
    writer.put(native.collective);
    writer.put(native.size);
    writer.put(native.time.value());
  }
  writer.put(net.initial_window);
  writer.put(static_cast<std::uint8_t>(net.clock));
  writer.put(net.measured_at);
  writer.put(net.measured_with);
}

Network get_network(Reader& reader) {
  using units::Rate;
  Network net;
  net.hosts.resize(reader.get_count(24));
  for (network::Host& host : net.hosts) {
    host.name = reader.get_string();
    host.egress = Rate(reader.get_double());
    host.ingress = Rate(reader.get_double());
  }
  net.latency = get_pairs<Time>(reader);
  net.bandwidth = get_pairs<Rate>(reader);
  net.latency_error = get_pairs<float>(reader);
  net.bandwidth_error = get_pairs<float>(reader);
  net.trunks.resize(reader.get_count(32));
  for (network::Trunk& trunk : net.trunks) {
    trunk.name = reader.get_string();
    trunk.from = reader.get_vector<HostId>();
    trunk.to = reader.get_vector<HostId>();
    trunk.capacity = Rate(reader.get_double());
    trunk.senders = reader.get<std::int32_t>();
  }
  net.sites.resize(reader.get_count(8));
  for (auto& site : net.sites)
    site = reader.get_vector<HostId>();
  net.groups.resize(reader.get_count(17));
  for (network::DeclaredGroup& group : net.groups) {
    group.name = reader.get_string();
    group.hosts = reader.get_vector<HostId>();
    const auto declared = reader.get<std::uint8_t>();
    require(declared < network::network_classes);
    if (declared > 0) group.network_class = static_cast<NetworkClass>(declared);
  }
  for (std::size_t left = reader.get_count(48); left > 0; --left) {
    std::string library = reader.get_string();
    net.message_costs.emplace(std::move(library), get_message_cost(reader));
  }
  net.native_times.resize(reader.get_count(32));
  for (network::NativeTime& native : net.native_times) {
    native.library = reader.get_string();
    native.collective = reader.get_string();
    native.size = reader.get<Size>();
    native.time = Time(reader.get_double());
  }
  net.initial_window = reader.get<Size>();
  const auto clock = reader.get<std::uint8_t>();
  require(clock <= static_cast<std::uint8_t>(network::Clock::ptp));
  net.clock = static_cast<network::Clock>(clock);
  net.measured_at = reader.get_string();
  net.measured_with = reader.get_string();
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
    writer.put(entry.predicted_ns);
    writer.put(entry.bound_ns);
    writer.put(entry.native_ns);
    writer.put(entry.native_percent);
    writer.put(entry.native_algorithm);
  }
}

Table get_table(Reader& reader) {
  Table table;
  table.placement = reader.get_vector<HostId>();
  const auto ranks = static_cast<Rank>(table.placement.size());
  table.entries.resize(reader.get_count(30));
  for (Entry& entry : table.entries) {
    const auto kind = reader.get<std::uint8_t>();
    require(kind < collective::kind_count);
    entry.kind = static_cast<collective::Kind>(kind);
    entry.root = reader.get<Rank>();
    entry.min_size = reader.get<Size>();
    entry.native = reader.get_bool();
    require(entry.root >= 0 && entry.root < ranks && entry.min_size >= 0);
    if (!entry.native) {
      entry.skeleton = get_skeleton(reader, ranks);
      require(algorithms::find(entry.skeleton.algorithm)
                  .takes({.kind = entry.kind, .ranks = ranks, .root = entry.root}));
    }
    entry.predicted_ns = reader.get<std::int64_t>();
    entry.bound_ns = reader.get<std::int64_t>();
    entry.native_ns = reader.get<std::int64_t>();
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
  writer.put(plan.predicted.value());
  writer.put(plan.native.algorithm);
  writer.put(plan.native.time.value());
  writer.put(plan.native.uncertainty);
  writer.put(plan.native.measured);
  writer.put(plan.bound.time.value());
  writer.put(plan.bound.reason);
  writer.put(plan.reason);
  return wrap({plan_magic, version, "plan"}, writer.take());
}

Plan plan_from_bytes(std::span<const std::byte> bytes, Rank ranks) {
  Reader reader = unwrap({plan_magic, version, "plan"}, bytes);
  Plan plan;
  plan.algorithm = reader.get_string();
  reader.read(plan.parameters);
  if (plan.algorithm != native_name) plan.skeleton = get_skeleton(reader, ranks);
  plan.predicted = Time(reader.get_double());
  plan.native.algorithm = reader.get_string();
  plan.native.time = Time(reader.get_double());
  plan.native.uncertainty = reader.get_double();
  plan.native.measured = reader.get_bool();
  plan.bound.time = Time(reader.get_double());
  plan.bound.reason = reader.get_string();
  plan.reason = reader.get_string();
  require(reader.empty());
  return plan;
}

} // namespace thalweg::planner
