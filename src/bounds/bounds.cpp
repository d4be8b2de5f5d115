#include "bounds/bounds.hpp"

#include "algorithms/used_hosts.hpp"
#include "bounds/view.hpp"
#include "network/host_classes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <optional>

namespace thalweg::bounds {
namespace {

using collective::Collective;
using collective::Kind;

Exchange exchange(const Collective& collective, const Reach& reach) {
  if (collective.block_sizes.empty()) return {reach.ranks, static_cast<double>(collective.size)};
  network::Matrix<double> bytes(index(reach.size()));
  collective::ChunkId block = 0;
  for (const HostId from : reach.host_of_rank)
    for (const HostId to : reach.host_of_rank)
      bytes(from, to) += static_cast<double>(collective.block_size(block++));
  return {reach.ranks, std::move(bytes)};
}

/// Returns how many results must be made of two others for each element. A result of k
/// contributions takes k - 1 of them. Each prefix but the first contribution alone is the result of
/// at least one combination of its own; an exscan has no use for the last one.
double combinations(const Collective& collective) {
  return collective.ranks - (collective.kind == Kind::exscan ? 2 : 1);
}

/// Adds the CPU time of combining contributions.
void add_combining(const Collective& collective, const Reach& reach, Largest& largest) {
  if (reach.combine_per_byte <= 0) return;
  const double times = std::max(0.0, combinations(collective));
  std::vector<Window> windows;
  for (HostId host = 0; host < reach.size(); ++host)
    windows.push_back({reach.cores(host) / reach.combine_per_byte, 0});
  const std::string where =
      reach.size() == 1 ? reach.names.front() : "all " + std::to_string(reach.size()) + " hosts";
  largest.add_windows("combining on " + where, times * static_cast<double>(collective.total()),
                      windows);
}

/// The views forwards and backwards in time, each made when first needed.
class Views {
public:
  explicit Views(const Reach& reach) : _reach(reach) {}
  View& forwards() { return _forwards ? *_forwards : _forwards.emplace(_reach); }
  View& backwards() {
    if (!_backwards) _backwards.emplace(_transposed.emplace(_reach.transposed()));
    return *_backwards;
  }
  template <class Add>
  void both(Add add) {
    add(forwards());
    add(backwards());
  }

private:
  const Reach& _reach;
  std::optional<Reach> _transposed;
  std::optional<View> _forwards, _backwards;
};

void add(const Collective& collective, const Reach& reach, Largest& largest) {
  const HostId root = reach.host_of_rank[index(collective.root)];
  const auto bytes = static_cast<double>(collective.size);
  Views views(reach);
  switch (collective.kind) {
  case Kind::bcast:
    return add_bcast(views.forwards(), root, bytes, largest);
  case Kind::reduce:
    return add_bcast(views.backwards(), root, bytes, largest);
  case Kind::scatter:
    return add_scatter(views.forwards(), root, reach.block_bytes(collective), largest);
  case Kind::gather:
    return add_scatter(views.backwards(), root, reach.block_bytes(collective), largest);
  case Kind::reduce_scatter: {
    const std::vector<double> blocks = reach.block_bytes(collective);
    add_reduce_scatter(views.forwards(), blocks, largest);
    return add_all_parts(views.backwards(), blocks, largest);
  }
  case Kind::allgather: {
    const std::vector<double> blocks = reach.block_bytes(collective);
    add_reduce_scatter(views.backwards(), blocks, largest);
    return add_all_parts(views.forwards(), blocks, largest);
  }
  case Kind::alltoall: {
    const Exchange all = exchange(collective, reach);
    add_alltoall(views.forwards(), all, largest);
    return add_alltoall(views.backwards(), all.transposed(), largest);
  }
  case Kind::allreduce:
    return views.both([&](View& view) { add_allreduce(view, bytes, largest); });
  case Kind::scan:
  case Kind::exscan:
    return views.both([&](View& view) { add_scan(view, bytes, largest); });
  case Kind::barrier:
    return views.both([&](View& view) { add_barrier(view, largest); });
  }
}

} // namespace

Bound bound(const Problem& problem) {
  const Collective& collective = problem.collective;
  if (algorithms::UsedHosts(problem.network, problem.placement).size() >
      network::most_hosts_in_matrices)
    return {};
  if (collective.kind != Kind::barrier && collective.total() == 0) return {Time(), "no data"};
  const Reach reach(problem, problem.cost);
  Largest largest(collective.block_sizes.empty() ? collective.size : 0);
  if (reach.size() > 1) add(collective, reach, largest);
  if (collective::is_reduction(collective.kind)) add_combining(collective, reach, largest);
  if (reach.size() == 1 && largest.time() == 0)
    return {Time(), "all ranks are on " + reach.names.front()};
  return std::move(largest).bound();
}

} // namespace thalweg::bounds
