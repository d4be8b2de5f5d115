/// A tree given by the user: which rank combines whose data, in which order, in what segments. For
/// another root than its own the tree is re-rooted: the links between the two roots change
/// direction, and a rank then serves its former parent first.
/// Source: Bongo, Anshus, Bjørndalen: Collective Communication Performance Analysis Within the
/// Communication System, section 2, the configurable spanning tree.
#include "algorithms/trees/declared_tree.hpp"

#include "algorithms/trees/tree.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

void check_rank(Rank rank, Rank ranks, const std::string& where) {
  if (rank < 0 || rank >= ranks)
    fail(where + ": there is no rank " + std::to_string(rank) + " among " + std::to_string(ranks) +
         ": use 0 to " + std::to_string(ranks - 1));
}

/// Returns the ranks as they join, root first, given each rank's children. Ranks in a cycle are
/// left out.
std::vector<Rank> joined(Rank root, const std::vector<std::vector<Rank>>& children) {
  std::vector<Rank> order = {root};
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::vector<Rank>& own = children[index(order[at])];
    order.insert(order.end(), own.begin(), own.end());
  }
  return order;
}

/// Returns the same tree with its links directed away from `root`.
DeclaredTree turned(const DeclaredTree& tree, Rank root) {
  std::vector<std::vector<Rank>> children = children_of(tree);
  DeclaredTree result = tree;
  result.parents[index(root)] = no_rank;
  for (Rank rank = root; tree.parents[index(rank)] != no_rank; rank = tree.parents[index(rank)]) {
    const Rank parent = tree.parents[index(rank)];
    result.parents[index(parent)] = rank;
    children[index(rank)].insert(children[index(rank)].begin(), parent);
    std::erase(children[index(parent)], rank);
  }
  result.order = joined(root, children);
  return result;
}

/// Reads the lines of a text, without comments, which begin with '#'.
class Lines {
public:
  explicit Lines(std::string_view text) : _rest(text) {}
  /// Moves to the next line. Returns false at the end.
  bool next() {
    if (_rest.empty()) return false;
    const auto end = std::min(_rest.find('\n'), _rest.size());
    _line = _rest.substr(0, end);
    _line = _line.substr(0, _line.find('#'));
    _rest.remove_prefix(std::min(end + 1, _rest.size()));
    ++_number;
    return true;
  }
  /// Returns the next word of the line, empty at its end; a colon is a word.
  std::string_view word() {
    _line.remove_prefix(std::min(_line.find_first_not_of(" \t\r"), _line.size()));
    const auto length =
        _line.starts_with(':') ? 1 : std::min(_line.find_first_of(" \t\r:"), _line.size());
    const std::string_view found = _line.substr(0, length);
    _line.remove_prefix(length);
    return found;
  }
  [[nodiscard]] std::string where() const { return "line " + std::to_string(_number); }
  Rank rank(std::string_view word) const {
    Rank value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      fail(where() + ": '" + std::string(word) +
           "' is no rank: a line is a rank, a colon and the " +
           "ranks that it serves, such as \"0: 4 1 2\"");
    return value;
  }

private:
  std::string_view _rest, _line;
  int _number = 0;
};

void check_form(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{')
    fail("this is a tree file in JSON, which needs a network and ranks: make its text form with "
         "`thalweg plan NET --tree FILE.json --write-tree FILE.tree`");
}

class ByHand final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "tree"; }
  [[nodiscard]] std::string_view source() const override {
    return "Bongo, Anshus, Bjørndalen: Collective Communication Performance Analysis Within the "
           "Communication System, section 2";
  }
  /// Builds nothing unless it is given a tree.
  [[nodiscard]] bool supports(collective::Kind /*kind*/) const override { return false; }
  [[nodiscard]] bool can_do(const Collective& collective) const override {
    return trees_carry(collective.kind);
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& /*problem*/) const override {
    return {};
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const Rank ranks = problem.collective.ranks;
    if (parameters.tree.parents.empty())
      fail("the algorithm tree needs one: give it a tree file (docs/tree-file.md)");
    if (parameters.tree.parents.size() != index(ranks))
      fail("the tree is for " + std::to_string(parameters.tree.parents.size()) + " ranks, the " +
           std::string(to_text(problem.collective.kind)) + " has " + std::to_string(ranks) +
           ": they must be equal");
    const bool rooted = collective::is_rooted(problem.collective.kind);
    DeclaredTree made = rooted ? turned(parameters.tree, problem.collective.root) : parameters.tree;
    const std::vector<Rank> order = made.order;
    Skeleton skeleton = tree(problem, parameters, std::move(made.order), std::move(made.parents));
    skeleton.order = order; // also for collectives of blocks: as written
    return skeleton;
  }
};

} // namespace

std::vector<std::vector<Rank>> children_of(const DeclaredTree& tree) {
  std::vector<std::vector<Rank>> children(tree.parents.size());
  for (const Rank rank : tree.order)
    if (const Rank parent = tree.parents[index(rank)]; parent != no_rank)
      children[index(parent)].push_back(rank);
  return children;
}

DeclaredTree make_tree(Rank ranks, const std::vector<Children>& entries) {
  if (ranks < 1 || ranks > most_ranks)
    fail("a tree has from 1 to " + std::to_string(most_ranks) + " ranks, not " +
         std::to_string(ranks));
  DeclaredTree tree{{}, std::vector<Rank>(index(ranks), no_rank)};
  std::vector<std::vector<Rank>> children(index(ranks));
  std::vector<bool> has_entry(index(ranks));
  for (const Children& entry : entries) {
    check_rank(entry.parent, ranks, entry.where);
    if (has_entry[index(entry.parent)])
      fail(entry.where + ": rank " + std::to_string(entry.parent) +
           " has its children already: put them into one list");
    has_entry[index(entry.parent)] = true;
    for (const Rank rank : entry.ranks) {
      check_rank(rank, ranks, entry.where);
      Rank& parent = tree.parents[index(rank)];
      if (parent != no_rank)
        fail(entry.where + ": rank " + std::to_string(rank) + " is a child of rank " +
             std::to_string(parent) + " already: list it once");
      parent = entry.parent;
    }
    children[index(entry.parent)] = entry.ranks;
  }
  Rank root = no_rank;
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (tree.parents[index(rank)] != no_rank) continue;
    if (root != no_rank)
      fail("ranks " + std::to_string(root) + " and " + std::to_string(rank) +
           " are nobody's children: list all but the root");
    root = rank;
  }
  if (root == no_rank) fail("every rank is a child of another: one must be the root, in no list");
  tree.order = joined(root, children);
  if (tree.order.size() < index(ranks)) {
    const auto lost = [&](Rank rank) {
      return std::ranges::find(tree.order, rank) == tree.order.end();
    };
    Rank rank = 0;
    while (!lost(rank))
      ++rank;
    fail("rank " + std::to_string(rank) + " isn't below the root " + std::to_string(root) +
         ": its parents go in a circle");
  }
  return tree;
}

Parameters parse_tree(std::string_view text) {
  check_form(text);
  Parameters parameters;
  Rank ranks = 0;
  std::vector<Children> entries;
  for (Lines lines(text); lines.next();) {
    const std::string_view first = lines.word();
    if (first.empty()) continue;
    if (first == "ranks") {
      ranks = lines.rank(lines.word());
    } else if (first == "segment_size") {
      try {
        parameters.segment_size = units::parse_size(lines.word());
      } catch (const std::invalid_argument& error) {
        fail(lines.where() + ": " + error.what());
      }
    } else {
      Children entry{lines.rank(first), {}, lines.where()};
      if (lines.word() != ":") fail(lines.where() + ": there must be a colon after the first rank");
      for (std::string_view word = lines.word(); !word.empty(); word = lines.word())
        entry.ranks.push_back(lines.rank(word));
      entries.push_back(std::move(entry));
    }
    if (!lines.word().empty()) fail(lines.where() + ": there is more in it than one value");
  }
  if (ranks < 1) fail("a line such as \"ranks 16\" is missing: add it");
  parameters.tree = make_tree(ranks, entries);
  return parameters;
}

std::string to_text(const DeclaredTree& tree) { return to_text(tree, 0); }

void from_text(std::string_view text, DeclaredTree& tree) { tree = parse_tree(text).tree; }

std::string to_text(const DeclaredTree& tree, Size segment_size) {
  std::string text = "ranks " + std::to_string(tree.parents.size()) + "\n";
  if (segment_size > 0) text += "segment_size " + std::to_string(segment_size) + "B\n";
  const std::vector<std::vector<Rank>> children = children_of(tree);
  for (const Rank rank : tree.order) {
    if (children[index(rank)].empty()) continue;
    text += std::to_string(rank) + ":";
    for (const Rank child : children[index(rank)])
      text += " " + std::to_string(child);
    text += "\n";
  }
  return text;
}

const Algorithm& declared_tree() {
  static const ByHand algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
