#pragma once

#include "execution/operations.hpp"

#include <span>
#include <vector>

namespace thalweg::simulator {

using collective::Rank;

/// The executor's operations of a tree, without a schedule: data flows down it (bcast, scatter) or
/// up it (reduce, gather). The message between a rank and its parent has the rank's number.
class TreeOperations {
public:
  /// How data goes through a tree: bcast, scatter and gather copy it, and reduce combines it.
  struct TreeUse {
    bool down = true;      ///< else up
    bool combines = false; ///< up only: incoming data is combined
  };
  TreeOperations(TreeUse use, Rank ranks);

  /// @param order the ranks as they join the tree, the root first; upwards, they serve their parent
  /// in the reverse order
  /// @param parents rank -> parent, no_rank at the root
  /// @param has_message whether a rank exchanges a message with its parent; ranks below one without
  /// don't either.
  /// O(ranks).
  template <class HasMessage>
  void build(std::span<const Rank> order, std::span<const Rank> parents,
             const HasMessage& has_message) {
    for (Node& node : _nodes)
      node = {};
    for (const Rank rank : order)
      if (parents[index(rank)] != collective::no_rank && has_message(rank)) {
        _nodes[index(rank)].has_parent = true;
        ++_nodes[index(parents[index(rank)])].children;
      }
    put_down(order, parents);
  }

  /// Returns the operations, whose transfers are the messages.
  [[nodiscard]] const execution::Operations& operations() const { return _operations; }
  [[nodiscard]] bool has_message(Rank rank) const { return _nodes[index(rank)].has_parent; }
  [[nodiscard]] execution::Item sending(Rank message) const {
    return {_nodes[index(message)].sending};
  }
  [[nodiscard]] execution::Item receiving(Rank message) const {
    return {_nodes[index(message)].receiving};
  }

private:
  struct Node {
    std::int32_t first = 0, children = 0; ///< where its children are
    std::int32_t filled = 0;
    bool has_parent = false;                           ///< exchanges a message with its parent
    execution::OperationId sending = 0, receiving = 0; ///< of that message
  };

  [[nodiscard]] std::span<const Rank> children(const Node& node) const {
    return std::span(_children).subspan(index(node.first), index(node.children));
  }
  void put_down(std::span<const Rank> order, std::span<const Rank> parents);
  void add_down(Rank rank);
  void add_up(Rank rank);

  TreeUse _use;
  std::vector<Node> _nodes;
  std::vector<Rank> _children;
  execution::Operations _operations;
};

} // namespace thalweg::simulator
