/// The pipelined chain: segments run along a chain through all ranks. For allreduce the chain's two
/// ends send towards its middle, combining, and the result runs back while later segments still
/// come in, so that both directions of each link are used.
/// Source: Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra: Performance Analysis of MPI
/// Collective Operations, section "Broadcast" (pipeline). Using both directions at once and the
/// order of the chain are ours.
#include "algorithms/order.hpp"
#include "algorithms/trees/tree.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;

/// Returns the position from which the farther end of the chain is nearest.
std::size_t middle(const Problem& problem, const std::vector<Rank>& chain, Size segment) {
  const auto time = [&](std::size_t from, std::size_t to) {
    const auto host = [&](std::size_t at) {
      return problem.placement[static_cast<std::size_t>(chain[at])];
    };
    return problem.network.transfer_time(host(from), host(to), segment);
  };
  network::Time before{}, after{};
  for (std::size_t at = 1; at < chain.size(); ++at)
    after += time(at, at - 1) + time(at - 1, at);
  std::size_t best = 0;
  network::Time best_time = after;
  for (std::size_t at = 1; at < chain.size(); ++at) {
    const network::Time link = time(at, at - 1) + time(at - 1, at);
    before += link;
    after -= link;
    if (std::max(before, after) < best_time) {
      best = at;
      best_time = std::max(before, after);
    }
  }
  return best;
}

/// Moves a host that is clearly the slowest to pass data on to the end of the chain, where nothing
/// is passed on and it delays nobody.
void put_slowest_last(const Problem& problem, std::vector<Rank>& chain) {
  constexpr double clearly = 0.8; // relative to the next slowest one's rate
  const bool sends = collective::begins_at_root(problem.collective.kind);
  const auto host = [&](Rank rank) { return problem.placement[static_cast<std::size_t>(rank)]; };
  const auto rate = [&](Rank rank) {
    const network::Host& port = problem.network.hosts[static_cast<std::size_t>(host(rank))];
    return sends ? port.egress : port.ingress;
  };
  if (chain.size() < 3) return;
  const auto slowest = std::ranges::min_element(chain.begin() + 1, chain.end(), {}, rate);
  const bool clear = std::ranges::all_of(chain, [&](Rank rank) {
    return rank == *slowest ||
           (host(rank) != host(*slowest) && rate(*slowest) < clearly * rate(rank));
  });
  if (clear) std::rotate(slowest, slowest + 1, chain.end());
}

class PipelinedChain final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "pipelined-chain"; }
  [[nodiscard]] std::string_view source() const override {
    return "Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section "
           "Broadcast (pipeline)";
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    return segments(problem);
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const bool rooted = collective::is_rooted(problem.collective.kind);
    std::vector<Rank> chain =
        rooted ? make_order(problem, parameters, problem.collective.root, Shape::chain)
               : make_order(problem, parameters, no_rank, Shape::both_directions);
    if (rooted && parameters.order == Order::closeness) put_slowest_last(problem, chain);
    const Size size = problem.collective.size;
    const Size segment =
        parameters.segment_size > 0 ? std::min(parameters.segment_size, size) : size;
    const std::size_t root = rooted ? 0 : middle(problem, chain, segment);
    std::vector<Rank> joined = {chain[root]};
    std::vector<Rank> parents(chain.size(), no_rank);
    const auto join = [&](std::size_t at, std::size_t parent) {
      parents[static_cast<std::size_t>(chain[at])] = chain[parent];
      joined.push_back(chain[at]);
    };
    for (std::size_t distance = 1; distance < chain.size(); ++distance) {
      if (root + distance < chain.size()) join(root + distance, root + distance - 1);
      if (distance <= root) join(root - distance, root - distance + 1);
    }
    return tree(problem, parameters, std::move(joined), std::move(parents), 1);
  }
};

} // namespace

const Algorithm& pipelined_chain() {
  static const PipelinedChain algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
