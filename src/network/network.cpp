#include "network/network.hpp"

#include "units/hash.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace thalweg::network {
namespace {

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

/// Prints a quantity that may be out of its range.
template <class Quantity>
std::string number(Quantity value) {
  return std::isnan(value.value()) ? "not a number" : units::to_text(value);
}

/// Limits of what can be meant: beyond them, sums and differences have no digits left.
constexpr Rate most_rate{1e18};
constexpr Time most_latency{1e12};

void check_count(std::size_t count, std::size_t most, const char* what) {
  if (count > most)
    fail("the network has " + std::to_string(count) + " " + what + ": at most " +
         std::to_string(most) + " are supported");
}

template <class What>
void check_rate(Rate rate, const What& what) {
  if (!(rate.value() > 0)) fail(what() + " is " + number(rate) + ": must be above 0");
  if (std::isfinite(rate.value()) && rate > most_rate)
    fail(what() + " is " + number(rate) +
         ": must be at most 1e18 B/s, or null (infinite) if unlimited");
}

void check_hosts(const Network& network) {
  if (network.hosts.empty()) fail("the network has no hosts: list at least one");
  check_count(network.hosts.size(), most_hosts, "hosts");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < network.hosts.size(); ++i) {
    const Host& host = network.hosts[i];
    if (host.name.empty()) fail("host number " + std::to_string(i) + " has no name: give it one");
    if (!names.insert(host.name).second)
      fail("host " + host.name + " is listed twice: remove or rename one of them");
    const auto check = [&](Rate capacity, const char* what) {
      check_rate(capacity, [&] { return std::string(what) + " capacity of host " + host.name; });
    };
    check(host.egress, "egress");
    check(host.ingress, "ingress");
  }
}

template <class T>
void check_size(const HostPairs<T>& pairs, std::size_t hosts, const char* what) {
  if (pairs.size() != hosts)
    fail(std::string(what) + " matrix is of " + std::to_string(pairs.size()) +
         " hosts: the network has " + std::to_string(hosts));
}

void check_error(const HostPairs<float>& error, const Network& network, const char* what) {
  if (error.size() == 0) return;
  check_size(error, network.hosts.size(), what);
  error.for_each_kept([&](HostId from, HostId to, float value) {
    if (!(value >= 0))
      fail(std::string(what) + " " + pair_name(network, from, to) + " must be at least 0");
  });
}

void check_pairs(const Network& network) {
  check_size(network.latency, network.hosts.size(), "latency");
  check_size(network.bandwidth, network.hosts.size(), "bandwidth");
  network.latency.for_each_kept([&](HostId from, HostId to, Time latency) {
    if (!(latency.value() >= 0 && latency <= most_latency))
      fail("latency " + pair_name(network, from, to) + " is " + number(latency) +
           ": must be at least 0 and at most 1e12 s");
  });
  network.bandwidth.for_each_kept([&](HostId from, HostId to, Rate bandwidth) {
    check_rate(bandwidth, [&] { return "bandwidth " + pair_name(network, from, to); });
  });
  check_error(network.latency_error, network, "error of latency");
  check_error(network.bandwidth_error, network, "error of bandwidth");
}

/// Marks the hosts of a group; no host may have been marked before.
void mark(const std::vector<HostId>& group, const Network& network, const std::string& what,
          std::vector<bool>& marked) {
  if (group.empty()) fail(what + " has no hosts: list at least one");
  for (const HostId host : group) {
    if (host < 0 || host >= network.size())
      fail(what + " names host number " + std::to_string(host) + ": there are " +
           std::to_string(network.size()) + " hosts");
    const auto index = static_cast<std::size_t>(host);
    if (marked[index]) fail(what + " names host " + network.hosts[index].name + " a second time");
    marked[index] = true;
  }
}

void check_trunks(const Network& network) {
  constexpr std::size_t most_of_many_hosts = 16384;
  check_count(network.trunks.size(),
              std::max(most_trunks, std::min(network.hosts.size(), most_of_many_hosts)), "trunks");
  std::set<std::string_view> names;
  for (const Trunk& trunk : network.trunks) {
    if (trunk.name.empty()) fail("a trunk has no name: give it one");
    if (!names.insert(trunk.name).second)
      fail("trunk " + trunk.name + " is listed twice: remove or rename one of them");
    std::vector<bool> marked(network.hosts.size());
    mark(trunk.from, network, "\"from\" of trunk " + trunk.name, marked);
    mark(trunk.to, network, "\"to\" of trunk " + trunk.name, marked);
    check_rate(trunk.capacity, [&] { return "capacity of trunk " + trunk.name; });
    if (trunk.senders < 0)
      fail("trunk " + trunk.name + " is filled by " + std::to_string(trunk.senders) +
           " senders: must be at least 0");
  }
}

void check_sites(const Network& network) {
  if (network.sites.empty()) return;
  std::vector<bool> marked(network.hosts.size());
  for (std::size_t i = 0; i < network.sites.size(); ++i)
    mark(network.sites[i], network, "site number " + std::to_string(i), marked);
  const auto missing = std::ranges::find(marked, false);
  if (missing != marked.end())
    fail("host " + network.hosts[static_cast<std::size_t>(missing - marked.begin())].name +
         " is in no site: add it to one, or leave out all sites");
}

/// Checks two groups, the first of which contains the second.
void check_classes(const DeclaredGroup& outer, const DeclaredGroup& inner) {
  if (outer.network_class && inner.network_class && *inner.network_class > *outer.network_class)
    fail("group " + inner.name + " is declared a " +
         std::string(units::name_of(*inner.network_class)) + ", but group " + outer.name +
         ", which contains it, only a " + std::string(units::name_of(*outer.network_class)) +
         ": give " + outer.name + " the class of its worst links");
}

/// Checks groups from the largest to the smallest: all hosts of each must have the same smallest
/// group around them so far. O(hosts of all groups + groups log groups).
void check_nesting(const Network& network) {
  std::vector<const DeclaredGroup*> largest_first;
  for (const DeclaredGroup& group : network.groups)
    largest_first.push_back(&group);
  std::ranges::stable_sort(largest_first, std::ranges::greater(),
                           [](const DeclaredGroup* group) { return group->hosts.size(); });
  std::vector<const DeclaredGroup*> around(network.hosts.size()); // the smallest, of each host
  std::map<const DeclaredGroup*, const DeclaredGroup*> classed;   // the same, if it has a class
  for (const DeclaredGroup* group : largest_first) {
    const DeclaredGroup* const first = around[static_cast<std::size_t>(group->hosts.front())];
    for (const HostId host : group->hosts) {
      const DeclaredGroup* const own = around[static_cast<std::size_t>(host)];
      if (own == first) continue;
      // The smaller one has this host, or the first one, but not both.
      const bool is_own =
          first == nullptr || (own != nullptr && own->hosts.size() < first->hosts.size());
      fail("groups " + (is_own ? own : first)->name + " and " + group->name +
           " share some of their hosts: one must contain the other, or none of it");
    }
    for (const HostId host : group->hosts)
      around[static_cast<std::size_t>(host)] = group;
    const DeclaredGroup* const outer = first != nullptr ? classed[first] : nullptr;
    if (outer != nullptr) check_classes(*outer, *group);
    classed[group] = group->network_class ? group : outer;
  }
}

void check_groups(const Network& network) {
  check_count(network.groups.size(), most_groups, "groups");
  std::set<std::string_view> names;
  for (const DeclaredGroup& group : network.groups) {
    if (group.name.empty()) fail("a group has no name: give it one");
    if (!names.insert(group.name).second)
      fail("group " + group.name + " is listed twice: remove or rename one of them");
    std::vector<bool> marked(network.hosts.size());
    mark(group.hosts, network, "group " + group.name, marked);
  }
  check_nesting(network);
}

/// The most bytes of all pairs of hosts together that a native time may be for.
constexpr double most_native_bytes = 0x1p58;

void check_costs(const Network& network) {
  if (network.initial_window < 0)
    fail("the initial window is " + std::to_string(network.initial_window) +
         " bytes: must be at least 0");
  for (const auto& [library, cost] : network.message_costs) {
    units::for_each_field<MessageCost>([&library = library, &cost = cost](const auto& field) {
      if constexpr (std::is_same_v<decltype(cost.*field.member), const Time&>)
        if (const Time time = cost.*field.member;
            !(time.value() >= 0 && std::isfinite(time.value())))
          fail("message costs of " + library + " contain " + number(time) +
               ": must be finite and at least 0");
    });
    if (cost.eager_limit < 0)
      fail("eager limit of " + library + " is " + std::to_string(cost.eager_limit) +
           ": must be at least 0");
  }
  for (const NativeTime& native : network.native_times) {
    const std::string what = "native time of " + native.library + "'s " + native.collective;
    if (native.library.empty() || native.collective.empty())
      fail("a native time lacks its library or its collective: name both");
    if (native.size < 0)
      fail(what + " is for " + std::to_string(native.size) + " bytes: must be at least 0");
    const double hosts = network.size();
    if (static_cast<double>(native.size) * hosts * hosts > most_native_bytes)
      fail(what + " is for " + std::to_string(native.size) +
           " bytes: what all pairs of hosts exchange must be at most 2^58");
    if (!(native.time.value() > 0 && std::isfinite(native.time.value())))
      fail(what + " is " + number(native.time) + ": must be finite and above 0");
  }
}

/// A hash of values by their bytes.
class Hash {
public:
  void add(const void* data, std::size_t size) {
    _hash.add_bytes({static_cast<const std::byte*>(data), size});
  }
  template <std::integral T>
  void add(T value) {
    const auto wide = static_cast<std::int64_t>(value);
    add(&wide, sizeof wide);
  }
  template <class Tag>
  void add(units::Quantity<Tag> quantity) {
    const double value = quantity.value() + 0.0; // -0.0 equals 0.0
    add(&value, sizeof value);
  }
  void add(const std::string& text) {
    add(text.size());
    add(text.data(), text.size());
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values)
      add(value);
  }
  template <class T>
  void add(const std::map<std::string, T>& values) {
    add(values.size());
    for (const auto& [key, value] : values) {
      add(key);
      add(value);
    }
  }
  template <class T>
  void add(const HostPairs<T>& pairs) {
    if (pairs.size() > 0) add(pairs.hash());
  }
  /// A group's name doesn't count.
  void add(const DeclaredGroup& group) {
    add(group.hosts);
    add(group.network_class ? static_cast<int>(*group.network_class) : -1);
  }
  template <units::Described T>
  void add(const T& value) {
    units::for_each_field<T>([&](const auto& field) { add(value.*field.member); });
  }
  [[nodiscard]] std::uint64_t value() const { return _hash.value(); }

private:
  Fnv1a _hash;
};

} // namespace

NetworkClass parse_network_class(std::string_view text) {
  const auto found = units::value_named<NetworkClass>(text);
  if (found && *found != NetworkClass::host) return *found;
  fail("\"" + std::string(text) + "\" is no class of network: must be " +
       units::list_names(NetworkClass::cluster));
}

MessageCost message_cost(const Network& network, const std::string& library) {
  const auto found = network.message_costs.find(library);
  return found != network.message_costs.end() ? found->second : no_cost;
}

std::vector<HostId> used_hosts(Placement placement) {
  std::ranges::sort(placement);
  placement.erase(std::unique(placement.begin(), placement.end()), placement.end());
  return placement;
}

std::size_t first_on_host(const Placement& placement, std::size_t rank) {
  return static_cast<std::size_t>(std::ranges::find(placement, placement[rank]) -
                                  placement.begin());
}

std::vector<std::int32_t> sites_of_hosts(const Network& network, std::int32_t none) {
  std::vector<std::int32_t> site_of(network.hosts.size(), none);
  for (std::size_t site = 0; site < network.sites.size(); ++site)
    for (const HostId host : network.sites[site])
      site_of[index(host)] = static_cast<std::int32_t>(site);
  return site_of;
}

std::string pair_name(const Network& network, HostId from, HostId to) {
  return network.hosts[static_cast<std::size_t>(from)].name + " -> " +
         network.hosts[static_cast<std::size_t>(to)].name;
}

HostId Network::find(const std::string& name) const {
  const auto host = std::ranges::find(hosts, name, &Host::name);
  return host == hosts.end() ? no_host : static_cast<HostId>(host - hosts.begin());
}

void Network::compact() {
  latency.compact();
  bandwidth.compact();
  latency_error.compact();
  bandwidth_error.compact();
}

void validate(const Network& network) {
  check_hosts(network);
  check_pairs(network);
  check_trunks(network);
  check_sites(network);
  check_groups(network);
  check_costs(network);
}

Network even_network(HostId count, Time latency, Rate bandwidth) {
  if (count < 1 || std::cmp_greater(count, most_hosts))
    fail("a network needs from 1 to " + std::to_string(most_hosts) + " hosts, not " +
         std::to_string(count));
  Network network;
  const std::vector<std::int32_t> one_class(static_cast<std::size_t>(count), 0);
  network.latency = HostPairs<Time>({one_class, Matrix<Time>(1, latency), std::vector{Time(0)}});
  network.bandwidth =
      HostPairs<Rate>({one_class, Matrix<Rate>(1, bandwidth), std::vector{Rate::infinity()}});
  if (one_class.size() <= most_dense_hosts) {
    network.latency.make_dense();
    network.bandwidth.make_dense();
  }
  network.sites.emplace_back();
  for (HostId host = 0; host < count; ++host) {
    network.hosts.push_back({"host" + std::to_string(host), bandwidth, bandwidth});
    network.sites.front().push_back(host);
  }
  validate(network);
  return network;
}

std::uint64_t fingerprint(const Network& network) {
  Hash hash;
  hash.add(network);
  return hash.value();
}

} // namespace thalweg::network
