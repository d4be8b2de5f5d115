/// Scan along a binary tree in which every subtree is a contiguous range of ranks: totals go up,
/// and the prefix before a subtree comes down to it. The tree is as deep as recursive doubling has
/// rounds, and with segments no rank moves more than three times the data, for any number of ranks.
/// Source: Sanders, Träff: Parallel Prefix (Scan) Algorithms for MPI, section 3 (pipelined binary
/// tree).
#include "algorithms/scan/scan.hpp"

#include <bit>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::How;
using schedule::Range;
using schedule::Reg;
using schedule::Step;

/// The registers by content. `up_to_own` is register 0 in a scan.
constexpr Reg own = 0, before_subtree = 1, before_own = 2, up_to_own_of_exscan = 3, total = 4;
/// Steps between levels, up and down, so that the local moves of one level come before the next.
constexpr Step up_steps = 4, down_steps = 3;

/// A rank's position in the tree. The left subtree has lower ranks, the right one higher.
struct Node {
  Rank parent = no_rank, left = no_rank, right = no_rank;
  Step depth = 0;
  bool is_left = false;
  bool has_prefix = false; ///< there are ranks before its subtree
  bool sends_total = false;
};

/// O(log ranks).
Node find(Rank ranks, Rank rank) {
  const auto middle = [](Rank begin, Rank end) {
    return begin < end ? (begin + end) / 2 : no_rank;
  };
  Node node;
  for (Rank begin = 0, end = ranks;;) {
    const Rank at = middle(begin, end);
    if (at == rank) {
      node.left = middle(begin, at);
      node.right = middle(at + 1, end);
      node.has_prefix = begin > 0;
      return node;
    }
    node.is_left = rank < at;
    (node.is_left ? end : begin) = node.is_left ? at : at + 1;
    // A rank to which only right turns lead from the root has no successor.
    node.sends_total |= node.is_left;
    node.parent = at;
    ++node.depth;
  }
}

/// Emits the transfers of a node of the tree.
class Emission {
public:
  Emission(Kind kind, Rank ranks, Sink& sink)
      : _is_scan(kind == Kind::scan), _ranks(ranks),
        _depth(static_cast<Step>(std::bit_width(static_cast<std::uint32_t>(ranks)))), _sink(sink) {}

  /// Adds a rank's local moves, and its messages with its parent and, if asked for, its children.
  void add(Rank rank, bool with_children) {
    const Node node = find(_ranks, rank);
    add_moves(rank, node);
    if (node.parent != no_rank) add_messages(rank, node);
    if (!with_children) return;
    for (const Rank child : {node.left, node.right})
      if (child != no_rank) add_messages(child, find(_ranks, child));
  }

private:
  static constexpr Range all{0, 1, 1};
  [[nodiscard]] Reg up_to_own() const { return _is_scan ? own : up_to_own_of_exscan; }
  [[nodiscard]] Step up(const Node& node) const {
    return up_steps * (_depth - node.depth) + (node.is_left ? 0 : 3);
  }
  [[nodiscard]] Step down(const Node& node) const {
    return up_steps * _depth + down_steps * node.depth;
  }
  /// Whether the prefix before the subtree is needed as it arrives.
  [[nodiscard]] bool keeps_prefix(const Node& node) const {
    return node.left != no_rank || (!_is_scan && node.right != no_rank);
  }
  [[nodiscard]] static bool adds_total(const Node& node) {
    return node.sends_total && node.right != no_rank;
  }

  void move(Rank rank, Step step, How how, Reg from, Reg to) {
    _sink.add(rank, rank, step, how, all, from, to);
  }

  void add_messages(Rank rank, const Node& node) {
    if (node.sends_total) {
      const bool is_leaf = node.left == no_rank && node.right == no_rank;
      const Reg from = adds_total(node) ? total : is_leaf ? own : up_to_own();
      if (!node.is_left)
        _sink.add(rank, node.parent, up(node), How::combine_right, all, from, total);
      else if (_is_scan)
        _sink.add(rank, node.parent, up(node), How::combine_left, all, from, own);
      else
        _sink.add(rank, node.parent, up(node), How::copy, all, from, before_own);
    }
    if (!node.has_prefix) return;
    const Reg from = node.is_left ? before_subtree : up_to_own();
    if (keeps_prefix(node))
      _sink.add(node.parent, rank, down(node), How::copy, all, from, before_subtree);
    else
      _sink.add(node.parent, rank, down(node), _is_scan ? How::combine_left : How::copy, all, from,
                own);
  }

  void add_moves(Rank rank, const Node& node) {
    const bool has_left = node.left != no_rank, has_right = node.right != no_rank;
    if (!has_left && !has_right) return;
    // After the left child's message and before the right child's.
    const Step between = up_steps * (_depth - node.depth - 1) + 1;
    if (!_is_scan && (has_right || node.sends_total)) {
      move(rank, 0, How::copy, own, up_to_own());
      if (has_left) move(rank, between, How::combine_left, before_own, up_to_own());
    }
    if (adds_total(node)) move(rank, between + (_is_scan ? 0 : 1), How::copy, up_to_own(), total);
    const Step then = down(node) + 1;
    if (node.has_prefix && keeps_prefix(node)) {
      if (_is_scan || has_right) move(rank, then, How::combine_left, before_subtree, up_to_own());
      if (!_is_scan && has_left) move(rank, then, How::combine_left, before_subtree, before_own);
    }
    if (!_is_scan && (has_left || node.has_prefix))
      move(rank, then + 1, How::copy, has_left ? before_own : before_subtree, own);
  }

  bool _is_scan;
  Rank _ranks;
  Step _depth; ///< number of levels
  Sink& _sink;
};

class BinaryScan final : public ScanAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "binary-scan"; }
  [[nodiscard]] std::string_view source() const override {
    return "Sanders, Träff: Parallel Prefix (Scan) Algorithms for MPI, section 3";
  }

  void emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    Emission emission(kind, skeleton.ranks, sink);
    if (rank != no_rank) {
      emission.add(rank, true);
    } else {
      for (Rank each = 0; each < skeleton.ranks; ++each)
        emission.add(each, false);
    }
    sink.sort();
  }

protected:
  [[nodiscard]] Step period(Kind /*kind*/) const override {
    return 3; // messages that a rank sends per segment
  }
};

} // namespace

const Algorithm& binary_scan() {
  static const BinaryScan algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
