#include "simulator/tree_operations.hpp"

#include <algorithm>

namespace thalweg::simulator {

using execution::Direction;

TreeOperations::TreeOperations(TreeUse use, Rank ranks)
    : _use(use), _nodes(index(ranks)), _children(index(ranks)) {}

void TreeOperations::put_down(std::span<const Rank> order, std::span<const Rank> parents) {
  std::int32_t first = 0;
  for (Node& node : _nodes) {
    node.first = first;
    first += node.children;
  }
  for (const Rank rank : order) {
    if (!has_message(rank)) continue;
    Node& parent = _nodes[index(parents[index(rank)])];
    const std::int32_t at = _use.down ? parent.filled : parent.children - 1 - parent.filled;
    ++parent.filled;
    _children[index(parent.first + at)] = rank;
  }
  _operations.clear();
  for (Rank rank = 0; index(rank) < _nodes.size(); ++rank) {
    _operations.begin_rank();
    _use.down ? add_down(rank) : add_up(rank);
  }
  _operations.finish();
}

void TreeOperations::add_down(Rank rank) {
  Node& own = _nodes[index(rank)];
  if (own.has_parent) own.receiving = _operations.add(Direction::receive, 0, rank);
  for (const Rank child : children(own)) {
    const auto sending = _operations.add(Direction::send, 0, child, child);
    _nodes[index(child)].sending = sending;
    if (own.has_parent)
      _operations.wait({.waiting = sending, .reads = true, .other = own.receiving});
  }
}

/// A combination reads the result of the last one, and each waits for the one before.
void TreeOperations::add_up(Rank rank) {
  Node& own = _nodes[index(rank)];
  for (const Rank child : children(own)) {
    const auto receiving = _operations.add(Direction::receive, 0, child);
    _nodes[index(child)].receiving = receiving;
    if (_use.combines && child != children(own).front())
      _operations.wait({.waiting = receiving, .reads = false, .other = receiving - 1});
  }
  if (!own.has_parent) return;
  own.sending = _operations.add(Direction::send, 0, rank, rank);
  const auto waits = _use.combines ? std::min(own.children, 1) : own.children;
  for (auto other = own.sending - waits; other < own.sending; ++other)
    _operations.wait({.waiting = own.sending, .reads = true, .other = other});
}

} // namespace thalweg::simulator
