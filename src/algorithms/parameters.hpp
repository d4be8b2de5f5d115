#pragma once

#include "collective/collective.hpp"
#include "network/hierarchy.hpp"
#include "units/fields.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace thalweg::algorithms {

using collective::Rank;
using units::Size;

/// How an algorithm assigns its positions to ranks.
enum class Order : std::uint8_t {
  closeness, ///< neighbours in the algorithm are close in the network
  rank,      ///< by rank, as MPI libraries do
};
constexpr auto names_of(Order /*order*/) {
  return std::to_array<std::string_view>({"closeness", "rank"});
}

/// How far the data of a site is split before sites exchange it.
enum class Split : std::uint8_t {
  whole, ///< among all ranks of the site
  early, ///< among its senders only
};
constexpr auto names_of(Split /*split*/) {
  return std::to_array<std::string_view>({"whole", "early"});
}

/// How the ranks of a site split data among them and put it together again.
enum class Inside : std::uint8_t {
  ring,      ///< from one source to all, and along a ring
  recursive, ///< by recursive halving, the farther half first, and recursive doubling
};
constexpr auto names_of(Inside /*inside*/) {
  return std::to_array<std::string_view>({"ring", "recursive"});
}

/// The first partner of an algorithm that halves the data from one exchange to the next.
enum class Halving : std::uint8_t {
  nearest,  ///< the next rank, as in MPICH: little data is left for the farthest one
  farthest, ///< the rank half of all ranks away
};
constexpr auto names_of(Halving /*halving*/) {
  return std::to_array<std::string_view>({"nearest", "farthest"});
}

/// A tree given by the user.
struct DeclaredTree {
  std::vector<Rank> order;   ///< the ranks as they join, root first: children in their order
  std::vector<Rank> parents; ///< rank -> parent, no_rank at the root
  bool operator==(const DeclaredTree&) const = default;
  static constexpr auto fields() {
    return std::tuple{units::Field("order", &DeclaredTree::order, 0),
                      units::Field("parents", &DeclaredTree::parents, collective::no_rank)};
  }
};
/// Returns the text form of a tree file (docs/tree-file.md), without a comma, a semicolon or an
/// equals sign.
std::string to_text(const DeclaredTree& tree);
/// @throws std::invalid_argument naming the line and the rank at fault
void from_text(std::string_view text, DeclaredTree& tree);

/// The parameters of an algorithm, as integers, so that a plan is the same on every host. A new
/// field is added to the table below and needs nothing else.
struct Parameters {
  Size segment_size = 0;   ///< bytes per segment; 0: one segment
  std::int32_t degree = 2; ///< of a k-ary or k-nomial tree; number of chains, trees or groups
  Rank senders = 0; ///< from a site to each other site, 0: as many as fill the trunk; or per group
  Order order = Order::closeness;
  /// Parameters of the network performance hierarchy, for algorithms that use it: CMPI's k and
  /// T_span, how groups are made equal, and how levels grow.
  std::int32_t base = 4, span = 1;
  network::Adjust adjust = network::Adjust::close;
  network::Scale scale = network::Scale::linear;
  Split split = Split::whole;
  Inside inside = Inside::ring;
  Halving halving = Halving::nearest;
  std::int32_t parts = 0;  ///< messages that a block is cut into; 0: the algorithm's own choice
  std::int32_t window = 0; ///< messages in flight, for any algorithm; 0: the algorithm's own choice
  DeclaredTree tree = {};  ///< for the algorithm that takes one
  bool operator==(const Parameters&) const = default;

  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("segment_size", &Parameters::segment_size, 0),
                      Field("degree", &Parameters::degree, 1),
                      Field("senders", &Parameters::senders, 0),
                      Field("order", &Parameters::order),
                      Field("base", &Parameters::base, 2),
                      Field("span", &Parameters::span, 0),
                      Field("adjust", &Parameters::adjust),
                      Field("scale", &Parameters::scale),
                      Field("split", &Parameters::split),
                      Field("inside", &Parameters::inside),
                      Field("halving", &Parameters::halving),
                      Field("parts", &Parameters::parts, 0),
                      Field("window", &Parameters::window, 0),
                      Field("tree", &Parameters::tree)};
  }
};

/// Returns the parameters that aren't default, as in THALWEG_FORCE: "segment_size=64KiB,degree=4".
std::string to_text(const Parameters& parameters);
/// Reads the text of to_text(). The last of several values of a name counts.
/// @throws std::invalid_argument naming the part that is wrong, and what is expected
Parameters parse_parameters(std::string_view text);
/// Returns an algorithm with parameters, as in THALWEG_FORCE:
/// "packed-trees:segment_size=64KiB,degree=4".
std::string to_text(std::string_view algorithm, const Parameters& parameters);

} // namespace thalweg::algorithms
