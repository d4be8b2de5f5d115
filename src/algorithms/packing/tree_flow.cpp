#include "algorithms/packing/tree_flow.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::How;
using schedule::Range;

How combine(Rank incoming, Rank present) {
  return incoming < present ? How::combine_left : How::combine_right;
}

} // namespace

TreeFlow::TreeFlow(Kind kind, const Skeleton& skeleton, std::size_t tree, Step begin, Rank only,
                   Sink& sink)
    : _kind(kind), _skeleton(skeleton), _tree(tree), _begin(begin), _only(only), _sink(sink),
      _parents(skeleton.parents[tree]), _children(_parents.size()), _sent(_parents.size(), 0),
      _arrived(_sent), _lowest(_parents.size(), 0), _place(_lowest), _count(_lowest) {
  order_children();
  time();
  number();
}

void TreeFlow::order_children() {
  Rank root = 0;
  for (Rank rank = 0; rank < _skeleton.ranks; ++rank)
    _parents[index(rank)] == no_rank ? void(root = rank)
                                     : _children[index(_parents[index(rank)])].push_back(rank);
  _order = {root};
  for (std::size_t at = 0; at < _order.size(); ++at)
    _order.insert(_order.end(), _children[index(_order[at])].begin(),
                  _children[index(_order[at])].end());
  // Bottom up: the steps from a rank's arrival at its parent until all ranks below have the data.
  std::vector<Step> height(_parents.size(), 0);
  for (std::size_t at = _order.size(); at-- > 0;) {
    const Rank rank = _order[at];
    std::ranges::stable_sort(_children[index(rank)], std::greater<>(),
                             [&](Rank child) { return height[index(child)]; });
    Step served = 0, last = 0;
    for (const Rank child : _children[index(rank)])
      last = std::max(last, ++served + height[index(child)]);
    const std::size_t link = _tree * _parents.size() + index(rank);
    height[index(rank)] = last + (_skeleton.delays.empty() ? 0 : _skeleton.delays[link]);
  }
}

void TreeFlow::time() {
  if (!_skeleton.delays.empty())
    _gap = _skeleton.delays[_tree * _parents.size() + index(_order.front())];
  for (const Rank parent : _order) {
    Step next = _arrived[index(parent)];
    for (const Rank child : _children[index(parent)]) {
      const std::size_t link = _tree * _parents.size() + index(child);
      _sent[index(child)] = next++;
      _arrived[index(child)] = next + (_skeleton.delays.empty() ? 0 : _skeleton.delays[link]);
      _depth = std::max(_depth, _arrived[index(child)]);
    }
  }
}

void TreeFlow::number() {
  std::vector<Rank> stack = {_order.front()};
  _order.clear();
  while (!stack.empty()) {
    const Rank rank = stack.back();
    stack.pop_back();
    _place[index(rank)] = static_cast<Rank>(_order.size());
    _order.push_back(rank);
    const auto& children = _children[index(rank)];
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  for (std::size_t at = _order.size(); at-- > 0;) {
    const Rank rank = _order[at];
    _lowest[index(rank)] = rank;
    _count[index(rank)] = 1;
    for (const Rank child : _children[index(rank)]) {
      _lowest[index(rank)] = std::min(_lowest[index(rank)], _lowest[index(child)]);
      _count[index(rank)] += _count[index(child)];
    }
  }
}

TreeFlow::Step TreeFlow::root_children() const {
  return static_cast<Step>(_children[index(_order.front())].size());
}

TreeFlow::Step TreeFlow::up_step(Rank child) const {
  return _begin + _depth - _arrived[index(child)];
}

TreeFlow::Step TreeFlow::down_step(Rank child) const {
  return _begin + (_kind == Kind::bcast ? 0 : _depth + _gap) + _sent[index(child)];
}

bool TreeFlow::is_below(Rank rank, Rank top) const {
  const Rank place = _place[index(rank)] - _place[index(top)];
  return place >= 0 && place < _count[index(top)];
}

bool TreeFlow::concerns(Rank child) const {
  return _only == no_rank || child == _only || _parents[index(child)] == _only;
}

void TreeFlow::emit() {
  for (const Rank rank : _order) {
    if (_kind == Kind::reduce || _kind == Kind::allreduce) reduce_from(rank);
    if (_kind == Kind::reduce_scatter) collect_outside(rank);
    if (_parents[index(rank)] == no_rank || !concerns(rank)) continue;
    if (_kind == Kind::bcast || _kind == Kind::allreduce) hand_down(rank);
    if (_kind == Kind::reduce_scatter) distribute_below(rank);
    if (_kind == Kind::allgather) {
      gather(rank);
      spread(rank);
    }
  }
}

std::vector<Rank> TreeFlow::as_they_arrive(Rank parent) const {
  std::vector<Rank> children = _children[index(parent)];
  std::ranges::sort(children, {}, [&](Rank child) { return std::pair(up_step(child), child); });
  return children;
}

void TreeFlow::reduce_from(Rank parent) {
  Rank present = parent;
  for (const Rank child : as_they_arrive(parent)) {
    const Rank incoming = _lowest[index(child)];
    if (concerns(child))
      _sink.add(child, parent, up_step(child), combine(incoming, present),
                Range{static_cast<ChunkId>(_tree), 1, 1});
    present = std::min(present, incoming);
  }
}

void TreeFlow::hand_down(Rank child) {
  _sink.add(_parents[index(child)], child, down_step(child), How::copy,
            Range{static_cast<ChunkId>(_tree), 1, 1});
}

void TreeFlow::gather(Rank child) {
  send_blocks(child, _parents[index(child)], up_step(child), How::copy, below(child));
}

void TreeFlow::spread(Rank child) {
  send_blocks(_parents[index(child)], child, down_step(child), How::copy, outside(child));
}

void TreeFlow::Present::add(Rank brought, Rank child) {
  if (brought < lowest) {
    second = lowest;
    lowest = brought;
    bringer = child;
  } else {
    second = std::min(second, brought);
  }
}

/// Collects the children's contributions at a parent, from each for the blocks outside its subtree.
void TreeFlow::collect_outside(Rank parent) {
  Present present{parent, parent};
  for (const Rank child : as_they_arrive(parent)) {
    if (concerns(child))
      add_blocks(child, parent, up_step(child), _lowest[index(child)], present, outside(child));
    present.add(_lowest[index(child)], child);
  }
}

/// Sends a child, for the blocks of its subtree, the contributions of all other ranks.
void TreeFlow::distribute_below(Rank child) {
  Rank incoming = 0;
  while (is_below(incoming, child))
    ++incoming;
  Present present{child, child};
  for (const Rank grandchild : _children[index(child)])
    present.add(_lowest[index(grandchild)], grandchild);
  add_blocks(_parents[index(child)], child, down_step(child), incoming, present, below(child));
}

void TreeFlow::add_blocks(Rank from, Rank to, Step step, Rank incoming, const Present& present,
                          const std::vector<Rank>& blocks) {
  std::vector<Rank> left, right;
  for (const Rank block : blocks) {
    const bool brought = present.bringer != no_rank && is_below(block, present.bringer);
    (incoming < (brought ? present.second : present.lowest) ? left : right).push_back(block);
  }
  send_blocks(from, to, step, How::combine_left, left);
  send_blocks(from, to, step, How::combine_right, right);
}

void TreeFlow::send_blocks(Rank from, Rank to, Step step, How how,
                           const std::vector<Rank>& blocks) {
  const auto trees = static_cast<ChunkId>(_skeleton.parents.size());
  std::vector<Range> ranges;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    if (at > 0 && blocks[at] == blocks[at - 1] + 1)
      ++ranges.back().count;
    else
      ranges.push_back({blocks[at] * trees + static_cast<ChunkId>(_tree), 1, trees});
  }
  for (Range& range : ranges)
    if (range.count == 1) range.stride = 1;
  if (!ranges.empty()) _sink.add(from, to, step, how, ranges);
}

std::vector<Rank> TreeFlow::below(Rank top) const {
  const auto begin = _order.begin() + _place[index(top)];
  std::vector<Rank> ranks(begin, begin + _count[index(top)]);
  std::ranges::sort(ranks);
  return ranks;
}

std::vector<Rank> TreeFlow::outside(Rank top) const {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < _skeleton.ranks; ++rank)
    if (!is_below(rank, top)) ranks.push_back(rank);
  return ranks;
}

} // namespace thalweg::algorithms
