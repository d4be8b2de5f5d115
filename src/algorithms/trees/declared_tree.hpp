#pragma once

#include "algorithms/algorithm.hpp"

#include <string>

namespace thalweg::algorithms {

/// One entry of a tree given by the user: the ranks that a rank serves, in order.
struct Children {
  Rank parent = 0;
  std::vector<Rank> ranks;
  std::string where; ///< names the entry in errors
};

/// Returns the tree that these entries make of `ranks` ranks. Ranks without children need no entry.
/// @throws std::invalid_argument naming the entry and the rank at fault
DeclaredTree make_tree(Rank ranks, const std::vector<Children>& entries);

/// Reads the text form of a tree (docs/tree-file.md) into the parameters of the algorithm that
/// takes one: the tree and its segment size.
/// @throws std::invalid_argument naming the line and the rank at fault
Parameters parse_tree(std::string_view text);
/// Returns the text form, without a comma, a semicolon or an equals sign.
std::string to_text(const DeclaredTree& tree, Size segment_size);

/// Returns the children of each rank, in order.
std::vector<std::vector<Rank>> children_of(const DeclaredTree& tree);

} // namespace thalweg::algorithms
