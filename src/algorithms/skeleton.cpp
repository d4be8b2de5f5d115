#include "algorithms/skeleton.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;

void require(bool condition, const std::string& wrong) {
  if (!condition) throw std::invalid_argument("a skeleton is damaged: " + wrong);
}

/// Whether following the parents ends at one root, from each rank.
bool is_tree(const std::vector<Rank>& parents) {
  if (std::ranges::count(parents, no_rank) != 1) return false;
  std::vector<bool> ends(parents.size(), false);
  std::vector<std::size_t> path;
  for (std::size_t start = 0; start < parents.size(); ++start) {
    path.clear();
    for (std::size_t at = start; !ends[at]; at = index(parents[at])) {
      path.push_back(at);
      if (path.size() > parents.size()) return false;
      if (parents[at] == no_rank) break;
    }
    for (const std::size_t at : path)
      ends[at] = true;
  }
  return true;
}

} // namespace

schedule::Pipeline Skeleton::pipeline(Size size) const {
  return schedule::Pipeline{.period = period, .window = window}.cut(size, segment_size);
}

void check_lists(const Skeleton& skeleton, std::initializer_list<std::string_view> used) {
  units::for_each_field<Skeleton>([&](const auto& field) {
    const auto& value = skeleton.*field.member;
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (requires { value.empty(); } && !std::same_as<Value, std::string>)
      require(value.empty() || field.name == "weights" ||
                  std::ranges::find(used, field.name) != used.end(),
              skeleton.algorithm + " has no " + std::string(field.name));
  });
}

void check_permutation(std::span<const Rank> numbers, Rank first, Rank end) {
  require(std::cmp_equal(numbers.size(), end - first), "a rank is missing or twice there");
  std::vector<bool> seen(numbers.size());
  for (const Rank number : numbers) {
    require(number >= first && number < end, "a rank isn't there");
    seen[index(number - first)] = true;
  }
  require(std::ranges::find(seen, false) == seen.end(), "a rank is missing or twice there");
}

void check_order(const Skeleton& skeleton) { check_permutation(skeleton.order, 0, skeleton.ranks); }

void check_trees(const Skeleton& skeleton) {
  require(!skeleton.parents.empty(), "there is no tree");
  for (const std::vector<Rank>& parents : skeleton.parents) {
    require(parents.size() == index(skeleton.ranks), "a tree is for another number of ranks");
    for (const Rank parent : parents)
      require(parent >= no_rank && parent < skeleton.ranks, "a parent isn't there");
    require(is_tree(parents), "parents go in a circle, or there are several roots");
  }
  require(skeleton.delays.empty() ||
              skeleton.delays.size() == index(skeleton.ranks) * skeleton.parents.size(),
          "some links have no delay");
}

void check_joining_tree(const Skeleton& skeleton) {
  check_order(skeleton);
  check_trees(skeleton);
  require(skeleton.parents.size() == 1, "there are several trees");
  std::vector<bool> joined(index(skeleton.ranks));
  for (const Rank rank : skeleton.order) {
    const Rank parent = skeleton.parents.front()[index(rank)];
    require(parent == no_rank || joined[index(parent)], "a rank joins a tree before its parent");
    joined[index(rank)] = true;
  }
}

} // namespace thalweg::algorithms
