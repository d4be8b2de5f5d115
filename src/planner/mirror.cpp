#include "planner/mirror.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace thalweg::planner {

namespace {

using network::HostId;
using network::Network;
using network::Placement;

/// The hosts of a placement, and how two groups of them are exchanged.
class Exchange {
public:
  Exchange(const Network& network, const Placement& placement)
      : _network(network), _used(network::used_hosts(placement)), _image(network.hosts.size()),
        _ranks(network.hosts.size()) {
    std::iota(_image.begin(), _image.end(), 0);
    for (std::size_t rank = 0; rank < placement.size(); ++rank)
      _ranks[index(placement[rank])].push_back(static_cast<Rank>(rank));
  }

  /// Exchanges two hosts, and the others of their sites if these differ. Returns whether they have
  /// as many.
  bool exchange(HostId first, HostId second) {
    const std::vector<HostId>*here = site_of(first), *there = site_of(second);
    std::vector<HostId> left = {first}, right = {second};
    if (here != there) {
      add_others(left, *here);
      add_others(right, *there);
    }
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      _image[index(left[i])] = right[i];
      _image[index(right[i])] = left[i];
    }
    return true;
  }

  /// Returns where each rank goes; nothing if hosts that are exchanged have different numbers.
  /// @param first the rank that takes the place of `second`, and the reverse
  std::optional<std::vector<Rank>> ranks(Rank first, Rank second, const Placement& placement) {
    for (const Rank rank : {first, second}) { // the first ones of their hosts
      std::vector<Rank>& same = _ranks[index(placement[index(rank)])];
      std::iter_swap(same.begin(), std::ranges::find(same, rank));
    }
    std::vector<Rank> image(placement.size());
    std::iota(image.begin(), image.end(), 0);
    for (const HostId host : _used) {
      const std::vector<Rank>&from = _ranks[index(host)], &to = _ranks[index(_image[index(host)])];
      if (from.size() != to.size()) return std::nullopt;
      for (std::size_t i = 0; i < from.size(); ++i)
        image[index(from[i])] = to[i];
    }
    if (placement[index(first)] == placement[index(second)]) {
      image[index(first)] = second;
      image[index(second)] = first;
    }
    return image;
  }

  [[nodiscard]] bool keeps_network() const {
    return std::ranges::all_of(_used, [&](HostId host) { return keeps_links(host); }) &&
           trunks(false) == trunks(true);
  }

private:
  using TrunkKey = std::tuple<std::vector<HostId>, std::vector<HostId>, double, std::int32_t>;

  [[nodiscard]] const std::vector<HostId>* site_of(HostId host) const {
    for (const std::vector<HostId>& site : _network.sites)
      if (std::ranges::find(site, host) != site.end()) return &site;
    return nullptr;
  }
  void add_others(std::vector<HostId>& hosts, const std::vector<HostId>& site) const {
    for (const HostId host : site)
      if (host != hosts.front() && std::ranges::binary_search(_used, host)) hosts.push_back(host);
  }

  [[nodiscard]] bool keeps_links(HostId from) const {
    const HostId from_image = _image[index(from)];
    const network::Host &own = _network.hosts[index(from)],
                        &other = _network.hosts[index(from_image)];
    if (own.egress != other.egress || own.ingress != other.ingress) return false;
    return std::ranges::all_of(_used, [&](HostId to) {
      const HostId to_image = _image[index(to)];
      return (from == from_image && to == to_image) ||
             (_network.latency(from, to) == _network.latency(from_image, to_image) &&
              _network.bandwidth(from, to) == _network.bandwidth(from_image, to_image));
    });
  }

  [[nodiscard]] std::vector<HostId> used_of(const std::vector<HostId>& hosts, bool mirrored) const {
    std::vector<HostId> used;
    for (const HostId host : hosts)
      if (std::ranges::binary_search(_used, host))
        used.push_back(mirrored ? _image[index(host)] : host);
    std::ranges::sort(used);
    return used;
  }
  [[nodiscard]] std::vector<TrunkKey> trunks(bool mirrored) const {
    std::vector<TrunkKey> keys;
    for (const network::Trunk& trunk : _network.trunks)
      keys.emplace_back(used_of(trunk.from, mirrored), used_of(trunk.to, mirrored),
                        trunk.capacity.value(), trunk.senders);
    std::ranges::sort(keys);
    return keys;
  }

  const Network& _network;
  std::vector<HostId> _used, _image;     ///< ascending; by host
  std::vector<std::vector<Rank>> _ranks; ///< by host
};

} // namespace

std::optional<Mirror> Mirror::find(const Network& network, const Placement& placement, Rank first,
                                   Rank second) {
  Exchange exchange(network, placement);
  const HostId here = placement[index(first)], there = placement[index(second)];
  if (here != there && !exchange.exchange(here, there)) return std::nullopt;
  std::optional<std::vector<Rank>> image = exchange.ranks(first, second, placement);
  if (!image || !exchange.keeps_network()) return std::nullopt;
  return Mirror(std::move(*image));
}

Mirror Mirror::within_host(Rank ranks, Rank first, Rank second) {
  std::vector<Rank> image(index(ranks));
  std::iota(image.begin(), image.end(), 0);
  std::swap(image[index(first)], image[index(second)]);
  return Mirror(std::move(image));
}

Skeleton Mirror::operator()(const Skeleton& skeleton) const {
  Skeleton mirrored = skeleton;
  mirrored.root = (*this)(skeleton.root);
  for (Rank& rank : mirrored.order)
    rank = (*this)(rank);
  for (std::size_t tree = 0; tree < skeleton.parents.size(); ++tree)
    for (std::size_t rank = 0; rank < _image.size(); ++rank) {
      const Rank parent = skeleton.parents[tree][rank];
      mirrored.parents[tree][index(_image[rank])] =
          parent == collective::no_rank ? parent : (*this)(parent);
    }
  for (std::size_t at = 0; at < skeleton.delays.size(); ++at)
    mirrored.delays[at - at % _image.size() + index(_image[at % _image.size()])] =
        skeleton.delays[at];
  return mirrored;
}

} // namespace thalweg::planner
