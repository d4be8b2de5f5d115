#include "runtime/setup/hosts.hpp"

#include "units/index.hpp"

#include <algorithm>

namespace thalweg::runtime {
std::string misplacement(const planner::PlanFile& plan, const network::Placement& placement) {
  const network::Placement* expected = nullptr;
  for (const planner::Table& table : plan.tables) {
    if (table.placement == placement) return {};
    if (expected == nullptr && table.placement.size() == placement.size())
      expected = &table.placement;
  }
  if (expected == nullptr) return {};
  const auto name = [&](network::HostId host) -> const std::string& {
    return plan.network.hosts[index(host)].name;
  };
  const auto [found, planned] = std::ranges::mismatch(placement, *expected);
  std::size_t elsewhere = 0;
  for (std::size_t rank = 0; rank < placement.size(); ++rank)
    elsewhere += placement[rank] != (*expected)[rank] ? 1 : 0;
  return "the plan is for another placement: rank " + std::to_string(found - placement.begin()) +
         " runs on " + name(*found) + ", where the plan has it on " + name(*planned) + " (" +
         std::to_string(elsewhere) + " of " + std::to_string(placement.size()) +
         " ranks are elsewhere): the launcher was told or took another order; what pays is planned "
         "anew";
}

std::vector<std::int32_t> numbers_of(const std::vector<std::string>& names) {
  std::unordered_map<std::string, std::int32_t> numbers;
  std::vector<std::int32_t> result;
  for (const std::string& name : names)
    result.push_back(
        numbers.try_emplace(name, static_cast<std::int32_t>(numbers.size())).first->second);
  return result;
}

network::Network assumed_network(const std::vector<std::string>& names) {
  const std::vector<std::int32_t> numbers = numbers_of(names);
  std::vector<std::string> distinct;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (index(numbers[i]) == distinct.size()) distinct.push_back(names[i]);
  network::Network network = network::even_network(static_cast<network::HostId>(distinct.size()),
                                                   units::Time(1e-4), units::Rate(1e9));
  for (std::size_t i = 0; i < distinct.size(); ++i)
    network.hosts[i].name = distinct[i];
  return network;
}

std::vector<std::string> assumed_names(const std::string& list, int ranks) {
  std::vector<std::string> choices(1);
  for (const char c : list) {
    if (c == ',')
      choices.emplace_back();
    else
      choices.back() += c;
  }
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks; ++rank)
    names.push_back(choices[static_cast<std::size_t>(rank) % choices.size()]);
  return names;
}

} // namespace thalweg::runtime
