#pragma once

#include "mapping/cost.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::mapping {

/// How ranks are placed. All but `thalweg` are there to be compared with.
enum class Method : std::uint8_t {
  thalweg,    ///< several starts, Scotch's among them, each refined on the directed cost
  block,      ///< fills one host after the other
  interleave, ///< deals the ranks out, one to each host in turn
  random,     ///< any slot for any rank
  intra_only, ///< little traffic between hosts, which are taken as equally far from each other
  inter_only, ///< groups of successive ranks; which host has which group, and the order in which
              ///< hosts of different slots are filled, are optimised
  scotch,     ///< Scotch alone, made to fit
  cloudmap_intra, ///< CloudMap's intra-instance mapping alone: Scotch divides the ranks into groups
                  ///< as if all hosts were equally far from each other; which host has which
                  ///< group is drawn
  cloudmap_inter, ///< CloudMap's inter-instance mapping alone: groups are drawn, Scotch puts them
                  ///< on hosts
};
constexpr auto names_of(Method /*method*/) {
  return std::to_array<std::string_view>({"thalweg", "block", "interleave", "random", "intra-only",
                                          "inter-only", "scotch", "cloudmap-intra",
                                          "cloudmap-inter"});
}

struct MapOptions {
  Method method = Method::thalweg;
  std::uint64_t seed = 0;
  /// As RefineOptions::moves; none: as many as usual_moves() says.
  std::optional<std::int64_t> moves = std::nullopt;
  /// With more hosts, ranks are placed on sites first, or on parts of so many hosts (sites.hpp).
  std::int32_t hosts_at_once = 2000;
  /// The MPI library of a program that runs without plans, whose own collectives exchange messages
  /// by the numbers of ranks (native_calls.hpp); empty: collectives are planned.
  std::string native = {};
};

/// Returns how many moves a search takes unless it is told: milliseconds for 64 ranks, a few
/// seconds for 16,384.
std::int64_t usual_moves(const Problem& problem);

/// Places the ranks. `thalweg` never costs more than any other method but CloudMap's halves, which
/// draw what they don't optimise: all others are among its starts or, where ranks are placed on
/// sites first, compared with the result; with more than 512 ranks or 1.5 times `hosts_at_once`
/// only block, interleave and random. Deterministic; with and without Scotch results differ. Hosts
/// without slots don't count. Memory O(hosts × (ranks + hosts)); in that case only for hosts and
/// ranks of one site or part, or for all ranks and these. Source of `cloudmap_intra` and
/// `cloudmap_inter`: Carreño et al.: Automatic Communication Optimization of Parallel Applications
/// in Public Clouds, section VI-C.
/// @throws std::invalid_argument if the problem isn't valid, or if the method needs Scotch and this
/// build has none or Scotch refuses
Placement place(const Problem& problem, const MapOptions& options = {});

/// Returns the different placements of least cost that a search ends with, the best first, at most
/// `most`: what place() returns, and others to judge by plans (planned.hpp). If those are wanted
/// and the program has calls, what the other methods find follows, since plans may find it better
/// than the estimate does: of those that place() doesn't cost more than. Other methods than
/// `thalweg` have one.
std::vector<Placement> finalists(const Problem& problem, const MapOptions& options,
                                 std::size_t most);

} // namespace thalweg::mapping
