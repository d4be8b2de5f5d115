#include "runtime/adapt/report.hpp"

#include "runtime/observe/json_text.hpp"
#include "units/fields.hpp"

#include <charconv>
#include <optional>
#include <stdexcept>

namespace thalweg::runtime {
namespace {

using collective::Rank;
using observe::seconds;

/// Returns an object with what there is of each candidate.
/// @param value its JSON, from a candidate
template <class Value>
std::string by_candidate(const Candidates& candidates, const Value& value) {
  std::string text;
  for (const Candidate each : all_candidates)
    if (candidates.contains(each))
      text +=
          (text.empty() ? "{" : ", ") + observe::quoted(units::name_of(each)) + ": " + value(each);
  return text + "}";
}

/// Returns a time of each candidate, in seconds.
/// @param ns the nanoseconds, from a candidate
template <class Nanoseconds>
std::string times(const Candidates& candidates, const Nanoseconds& ns) {
  return by_candidate(candidates, [&](Candidate each) { return seconds(ns(each)); });
}

/// Returns the predicted time of a candidate; 0: not known.
std::int64_t predicted_ns(const Race& race, Candidate candidate) {
  switch (candidate) {
  case Candidate::plan:
    return race.facts().predicted_plan_ns;
  case Candidate::native:
    return race.facts().predicted_native_ns;
  case Candidate::second:
    return 0;
  }
  return 0;
}

std::string report(const Race& race, const Race::Verdict& verdict) {
  return "{\"call\": " + std::to_string(verdict.call) +
         ", \"winner\": " + observe::quoted(units::name_of(verdict.winner)) +
         ", \"loser\": " + observe::quoted(units::name_of(verdict.loser)) + ", \"seconds\": " +
         times(race.candidates(), [&](Candidate each) { return verdict.cost_ns[each]; }) + "}";
}

/// Returns the algorithms of a race's plans, which are those of its largest call.
std::string algorithms_of(const Race& race, const planner::Table* table) {
  const RaceKey& key = race.key();
  const std::shared_ptr<const planner::Entry> row =
      table == nullptr ? nullptr : table->find(key.kind, key.root, race.sizes().most);
  const auto name = [&](Candidate candidate) {
    if (row != nullptr && candidate == Candidate::plan) return row->skeleton.algorithm;
    if (row != nullptr && candidate == Candidate::second && row->second)
      return row->second->algorithm;
    return std::string();
  };
  return by_candidate(race.candidates(),
                      [&](Candidate each) { return observe::quoted(name(each)); });
}

std::string report(const Race& race, const planner::Table* table, collective::Rank ranks,
                   int leader) {
  const RaceKey& key = race.key();
  return "{\"collective\": " + observe::quoted(to_text(key.kind)) +
         ", \"ranks\": " + std::to_string(ranks) + ", \"leader\": " + std::to_string(leader) +
         ", \"root\": " + std::to_string(key.root) + ", \"band\": " + std::to_string(key.band) +
         ", " + size_fields(race.sizes()) + ", \"algorithms\": " + algorithms_of(race, table) +
         ", \"calls\": " + std::to_string(race.calls()) +
         ", \"races\": " + std::to_string(race.races()) +
         ", \"began\": " + observe::quoted(units::name_of(race.began_with())) +
         ", \"winner\": " + observe::quoted(units::name_of(race.incumbent())) + ", \"seconds\": " +
         times(race.candidates(), [&](Candidate each) { return race.cost_ns(each); }) +
         ", \"predicted\": " +
         times(race.candidates(), [&](Candidate each) { return predicted_ns(race, each); }) +
         ", \"lost\": " + seconds(race.lost_ns()) + ", \"verdicts\": " +
         observe::list(race.verdicts(),
                       [&](const Race::Verdict& each) { return report(race, each); }) +
         "}";
}

/// Visits the races with a verdict that are known one by one.
template <class Visit>
void for_each_decided(const Races& races, const Visit& visit) {
  for (const std::vector<Race>* const those : {&races.replaced(), &races.all()})
    for (const Race& race : *those)
      if (!race.verdicts().empty()) visit(race);
}

template <class Integer>
std::optional<Integer> number(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// Takes what stands before the next colon, and the colon, off a text.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(':'), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<Won> parse_won(std::string_view text) {
  const std::string_view kind = take_word(text);
  const auto root = number<Rank>(take_word(text));
  const auto size = number<units::Size>(take_word(text));
  if (!root || !size) return std::nullopt;
  const std::string_view second = units::name_of(Candidate::second);
  if (!text.empty() && text != second) return std::nullopt;
  try {
    return Won{key_of(collective::parse_kind(kind), *root, *size),
               text == second ? Candidate::second : Candidate::native};
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

} // namespace

std::string size_fields(const SizeRange& sizes) {
  return "\"size\": " + std::to_string(sizes.least) +
         ", \"largest\": " + std::to_string(sizes.most);
}

std::vector<std::string> reports(const Races& races, const planner::Table* table,
                                 collective::Rank ranks, int leader) {
  std::vector<std::string> result;
  for_each_decided(races,
                   [&](const Race& race) { result.push_back(report(race, table, ranks, leader)); });
  return result;
}

ByCandidate<std::uint64_t> more_races(const Races& races, std::size_t reported) {
  ByCandidate<std::uint64_t> result = races.left_out();
  std::size_t at = 0;
  for_each_decided(races, [&](const Race& race) {
    if (at++ >= reported) ++result[race.incumbent()];
  });
  return result;
}

std::string as_json(const ByCandidate<std::uint64_t>& numbers) {
  std::string text;
  std::uint64_t all = 0;
  for (const Candidate each : all_candidates) {
    all += numbers[each];
    text += (text.empty() ? "{" : ", ") + observe::quoted(units::name_of(each)) + ": " +
            std::to_string(numbers[each]);
  }
  return all == 0 ? "" : text + "}";
}

std::vector<Won> parse_raced(std::string_view text) {
  std::vector<Won> result;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    if (const auto won = parse_won(text.substr(0, end))) result.push_back(*won);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

} // namespace thalweg::runtime
