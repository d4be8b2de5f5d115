#pragma once

#include "network/host_pairs.hpp"
#include "units/fields.hpp"
#include "units/units.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

/// The network: hosts, directed latency and bandwidth between them, and the capacities that flows
/// share.
namespace thalweg::network {

using units::Rate;
using units::Size;
using units::Time;

/// The most hosts, trunks (with more hosts as many as these, up to 16,384) and declared groups.
inline constexpr std::size_t most_hosts = std::size_t{1} << 20, most_trunks = 1024,
                             most_groups = 4096;

/// placement[rank] is the host that the rank runs on.
using Placement = std::vector<HostId>;

/// A machine or VM. The capacities are those of many flows together, which a single flow may not
/// reach; infinite if not measured.
struct Host {
  std::string name;
  Rate egress = Rate::infinity();
  Rate ingress = Rate::infinity();
  bool operator==(const Host&) const = default;
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("name", &Host::name), Field("egress", &Host::egress).optional(),
                      Field("ingress", &Host::ingress).optional()};
  }
};

/// A capacity shared by all flows from the hosts in `from` to the hosts in `to`.
struct Trunk {
  std::string name;
  std::vector<HostId> from, to;
  Rate capacity = Rate::infinity();
  std::int32_t senders = 0; ///< hosts whose flows together fill it, as measured; 0: not known
  bool operator==(const Trunk&) const = default;
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("name", &Trunk::name), Field("from", &Trunk::from),
                      Field("to", &Trunk::to), Field("capacity", &Trunk::capacity).optional(),
                      Field("senders", &Trunk::senders, 0).optional()};
  }
};

/// The network classes of HLOT (Park et al., section 3.3), closest first. The links of a light WAN
/// are alike, those of a heavy WAN uneven.
enum class NetworkClass : std::uint8_t { host, cluster, lan, light_wan, heavy_wan };
constexpr auto names_of(NetworkClass /*network_class*/) {
  return std::to_array<std::string_view>({"host", "cluster", "LAN", "light WAN", "heavy WAN"});
}
/// @throws std::invalid_argument listing the names without "host": hosts don't contain hosts
NetworkClass parse_network_class(std::string_view text);

/// Hosts that belong together because the user says so, independent of measurements.
struct DeclaredGroup {
  std::string name;
  std::vector<HostId> hosts;
  std::optional<NetworkClass> network_class = {}; ///< of the links between them, if declared too
  bool operator==(const DeclaredGroup&) const = default;
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("name", &DeclaredGroup::name), Field("hosts", &DeclaredGroup::hosts),
                      Field("class", &DeclaredGroup::network_class).optional()};
  }
};

/// The time that one MPI library adds to the wire's for a message on this network.
struct MessageCost {
  Time send{};              ///< CPU time of the sender per message
  Time receive{};           ///< CPU time of the receiver per message
  Time per_byte{};          ///< CPU time per byte, at each end
  Time combine_per_byte{};  ///< CPU time per byte of a reduction
  Time handshake{};         ///< of a large message, beside the round trip
  Size eager_limit = 65536; ///< a larger message first waits for a handshake
  bool operator==(const MessageCost&) const = default;
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("send", &MessageCost::send).optional(),
                      Field("receive", &MessageCost::receive).optional(),
                      Field("per_byte", &MessageCost::per_byte).optional(),
                      Field("combine_per_byte", &MessageCost::combine_per_byte).optional(),
                      Field("handshake", &MessageCost::handshake).optional(),
                      Field("eager_limit", &MessageCost::eager_limit, 0).optional()};
  }
};
/// Messages cost nothing, and none waits for a handshake.
inline constexpr MessageCost no_cost{.eager_limit = std::numeric_limits<Size>::max()};

/// A measured time of the MPI library's own collective on all hosts, one rank each, in their order.
struct NativeTime {
  std::string library;    ///< as the keys of Network::message_costs
  std::string collective; ///< "bcast", "allreduce"
  Size size{};
  Time time{};
  bool operator==(const NativeTime&) const = default;
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("library", &NativeTime::library),
                      Field("collective", &NativeTime::collective),
                      Field("size", &NativeTime::size, 0), Field("time", &NativeTime::time)};
  }
};

/// The number of pairs measured beside others and again alone, and the median relative difference.
/// No pairs: not tried.
struct Disturbance {
  std::int32_t pairs = 0;
  double latency = 0, bandwidth = 0;
  bool operator==(const Disturbance&) const = default;
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("pairs", &Disturbance::pairs, 0),
                      Field("latency", &Disturbance::latency),
                      Field("bandwidth", &Disturbance::bandwidth)};
  }
};

/// The clock behind the one-way latencies.
enum class Clock : std::uint8_t { none, shared, ptp };
constexpr auto names_of(Clock /*clock*/) {
  return std::to_array<std::string_view>({"none", "shared", "ptp"});
}

/// The network between hosts. A host's values with itself are those of its ranks through memory.
/// With Clock::none, latency(i,j) is half of a round trip and symmetric.
struct Network {
  std::vector<Host> hosts;
  HostPairs<Time> latency;
  HostPairs<Rate> bandwidth; ///< of a single flow
  /// Half of the 95 % confidence interval over the value; without hosts: not known.
  HostPairs<float> latency_error, bandwidth_error;
  std::vector<Trunk> trunks;
  std::vector<std::vector<HostId>> sites; ///< disjoint, together all hosts; may be empty: not known
  std::vector<DeclaredGroup> groups;      ///< two of them are nested or disjoint
  std::map<std::string, MessageCost> message_costs; ///< by library: "openmpi", "mpich"
  std::vector<NativeTime> native_times;
  /// Bytes that an idle connection may send in its first round trip, as TCP's slow start does; 0:
  /// no limit.
  Size initial_window = 0;
  Clock clock = Clock::none;
  Disturbance disturbance;
  std::string measured_at;   ///< ISO 8601, UTC; empty if not measured
  std::string measured_with; ///< the writer: "thalweg probe", "scenario two-sites"

  [[nodiscard]] HostId size() const { return static_cast<HostId>(hosts.size()); }
  /// Returns the host of this name, or no_host.
  [[nodiscard]] HostId find(const std::string& name) const;
  /// Returns the papers' T_ij(m) = L_ij + m / B_ij.
  [[nodiscard]] Time transfer_time(HostId from, HostId to, Size size) const {
    return latency(from, to) + size / bandwidth(from, to);
  }
  /// Keeps equal hosts as blocks where that saves memory (HostPairs::compact).
  void compact();
  bool operator==(const Network&) const = default;

  /// What planning and bounds read.
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("hosts", &Network::hosts),
                      Field("latency", &Network::latency),
                      Field("bandwidth", &Network::bandwidth),
                      Field("latency_error", &Network::latency_error),
                      Field("bandwidth_error", &Network::bandwidth_error),
                      Field("trunks", &Network::trunks),
                      Field("sites", &Network::sites),
                      Field("groups", &Network::groups),
                      Field("message_costs", &Network::message_costs),
                      Field("native_times", &Network::native_times),
                      Field("initial_window", &Network::initial_window, 0)};
  }
  /// When and how the network was measured.
  static constexpr auto measured_fields() {
    using units::Field;
    return std::tuple{Field("clock", &Network::clock), Field("measured_at", &Network::measured_at),
                      Field("measured_with", &Network::measured_with),
                      Field("disturbance", &Network::disturbance)};
  }
};

/// Returns a library's message cost; if the library is empty or unknown, no_cost.
MessageCost message_cost(const Network& network, const std::string& library);

/// Returns the hosts that have ranks, each once, ascending. O(ranks log ranks).
std::vector<HostId> used_hosts(Placement placement);
/// Returns the lowest rank on a rank's host. O(ranks).
std::size_t first_on_host(const Placement& placement, std::size_t rank);

/// Returns the site of each host, by its index in `sites`; `none` for all hosts where sites aren't
/// known. O(hosts).
std::vector<std::int32_t> sites_of_hosts(const Network& network, std::int32_t none);

/// Returns "west0 -> east3", for errors.
std::string pair_name(const Network& network, HostId from, HostId to);

/// Checks what all modules rely on: at least one host, no more hosts, trunks or groups than the
/// limits above, names unique and not empty, values for all
/// pairs of hosts (errors may be empty), latencies finite and not negative, bandwidths and
/// capacities above zero, trunks and sites over existing hosts (a trunk's two groups disjoint,
/// sites together all hosts), declared groups nested or disjoint and no class above that of a group
/// around it, costs and native times finite.
/// @throws std::invalid_argument naming the host, host pair or trunk at fault
void validate(const Network& network);

/// Returns a network of `count` equal hosts, "host0" and so on: no trunks, one site. A single flow
/// can fill a host's egress and ingress; memory takes no time.
Network even_network(HostId count, Time latency, Rate bandwidth);

/// Returns a 64-bit hash of everything that planning and bounds read: the same for equal networks,
/// however they are kept, on every host. When and how the network was measured doesn't count.
/// O(hosts) and the values that are kept.
std::uint64_t fingerprint(const Network& network);

} // namespace thalweg::network
