#include "runtime/adapt/report.hpp"

#include "runtime/observe/json_text.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <stdexcept>

namespace thalweg::runtime {
namespace {

std::string_view name_of(Candidate candidate) {
  return candidate == Candidate::plan ? "plan" : "native";
}

std::string seconds(std::int64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9f", static_cast<double>(ns) * 1e-9);
  return text.data();
}

/// @param costs in nanoseconds, by Candidate
std::string both(std::int64_t plan_ns, std::int64_t native_ns) {
  return "{\"plan\": " + seconds(plan_ns) + ", \"native\": " + seconds(native_ns) + "}";
}

std::string report(const Race::Verdict& verdict) {
  return "{\"call\": " + std::to_string(verdict.call) + ", \"winner\": \"" +
         std::string(name_of(verdict.winner)) +
         "\", \"seconds\": " + both(verdict.cost_ns[0], verdict.cost_ns[1]) + "}";
}

std::string report(const Race& race, collective::Rank ranks, int leader) {
  const RaceKey& key = race.key();
  return "{\"collective\": " + observe::quoted(to_text(key.kind)) +
         ", \"ranks\": " + std::to_string(ranks) + ", \"leader\": " + std::to_string(leader) +
         ", \"root\": " + std::to_string(key.root) +
         ", \"class\": " + std::to_string(key.size_class) +
         ", \"size\": " + std::to_string(key.least_size()) +
         ", \"calls\": " + std::to_string(race.calls()) +
         ", \"races\": " + std::to_string(race.races()) + ", \"winner\": \"" +
         std::string(name_of(race.incumbent())) + "\", \"seconds\": " +
         both(race.cost_ns(Candidate::plan), race.cost_ns(Candidate::native)) +
         ", \"predicted\": " +
         both(race.facts().predicted_plan_ns, race.facts().predicted_native_ns) +
         ", \"lost\": " + seconds(race.lost_ns()) + ", \"verdicts\": " +
         observe::list(race.verdicts(), [](const Race::Verdict& each) { return report(each); }) +
         "}";
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<RaceKey> parse_key(std::string_view text) {
  const auto first = text.find(':'), second = text.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto root = number(text.substr(first + 1, second - first - 1));
  const auto size_class = number(text.substr(second + 1));
  if (!root || !size_class || *size_class > 63) return std::nullopt;
  try {
    return RaceKey{collective::parse_kind(text.substr(0, first)), *root,
                   static_cast<std::uint8_t>(*size_class)};
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

} // namespace

std::vector<std::string> reports(const Races& races, collective::Rank ranks, int leader) {
  std::vector<std::string> result;
  for (const Race& race : races.all())
    if (!race.verdicts().empty()) result.push_back(report(race, ranks, leader));
  return result;
}

std::vector<RaceKey> parse_raced(std::string_view text) {
  std::vector<RaceKey> result;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    if (const auto key = parse_key(text.substr(0, end))) result.push_back(*key);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

} // namespace thalweg::runtime
