#include "runtime/adapt/change_report.hpp"

#include "runtime/adapt/report.hpp"
#include "runtime/observe/json_text.hpp"
#include "units/index.hpp"

#include <array>
#include <cstdio>
#include <string_view>

namespace thalweg::runtime {
namespace {

using observe::quoted;

std::string in_seconds(double ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9f", ns * 1e-9);
  return text.data();
}

std::string in_seconds(std::int64_t ns) { return in_seconds(static_cast<double>(ns)); }

std::string_view name_of(Replanning::Outcome outcome) {
  constexpr std::array<std::string_view, 5> names = {"open", "nothing better", "no memory",
                                                     "unreadable", "adopted"};
  return names[static_cast<std::size_t>(outcome)];
}

std::string shape_of(const RaceKey& key, const SizeRange& sizes) {
  return "\"collective\": " + quoted(to_text(key.kind)) +
         ", \"root\": " + std::to_string(key.root) + ", " + size_fields(sizes);
}

/// Returns the names of the hosts that a cause is about at one end.
std::string ends(const Network& network, const Cause& cause, bool from) {
  std::vector<std::string> names;
  for (HostId host = 0; host < network.size(); ++host)
    for (HostId other = 0; other < network.size(); ++other)
      if (host != other &&
          (from ? cause.covers(network, host, other) : cause.covers(network, other, host))) {
        names.push_back(network.hosts[index(host)].name);
        break;
      }
  return observe::list(names);
}

std::string report(const Network& network, const Cause& cause) {
  constexpr std::array<std::string_view, 5> whats = {"trunk", "sites", "egress", "ingress", "pair"};
  std::array<char, 32> factor{};
  std::snprintf(factor.data(), factor.size(), "%.3g", cause.factor);
  return "{\"what\": " + quoted(whats[static_cast<std::size_t>(cause.what)]) +
         ", \"name\": " + quoted(to_text(network, cause)) +
         ", \"from\": " + ends(network, cause, true) + ", \"to\": " + ends(network, cause, false) +
         ", \"factor\": " + factor.data() + ", \"excess\": " + in_seconds(cause.excess_ns) + "}";
}

std::string report(const PlanChange& change) {
  return "{" + shape_of(change.key, {change.size, change.size}) +
         ", \"before\": " + quoted(change.before) + ", \"after\": " + quoted(change.after) +
         ", \"predicted\": {\"before\": " + in_seconds(change.before_ns) +
         ", \"after\": " + in_seconds(change.after_ns) + "}}";
}

std::string report(const Attempt& attempt, const Network& network, collective::Rank ranks,
                   int leader, std::uint32_t communicator) {
  return "{" + shape_of(attempt.key, attempt.sizes) + ", \"ranks\": " + std::to_string(ranks) +
         ", \"leader\": " + std::to_string(leader) +
         ", \"communicator\": " + std::to_string(communicator) +
         ", \"call\": " + std::to_string(attempt.call) +
         ", \"epoch\": " + std::to_string(attempt.epoch) +
         ", \"adopted\": " + std::to_string(attempt.adopted) +
         ", \"seconds\": {\"usual\": " + in_seconds(attempt.usual_ns) +
         ", \"noticed\": " + in_seconds(attempt.cost_ns) +
         ", \"after\": " + in_seconds(attempt.after_ns) +
         "}, \"recovery\": " + (attempt.is_recovery ? "true" : "false") +
         ", \"improvement\": " + (attempt.is_improvement ? "true" : "false") +
         ", \"outcome\": " + quoted(attempt.was_worse ? "taken back" : name_of(attempt.outcome)) +
         ", \"quantity\": " +
         quoted(attempt.quantity == Quantity::latency ? "latency" : "bandwidth") +
         ", \"causes\": " +
         observe::list(attempt.causes, [&](const Cause& cause) { return report(network, cause); }) +
         ", \"plans\": " +
         observe::list(attempt.changes, [](const PlanChange& change) { return report(change); }) +
         "}";
}

} // namespace

std::vector<std::string> reports(std::span<const Attempt> attempts, const Network& network,
                                 collective::Rank ranks, int leader, std::uint32_t communicator) {
  std::vector<std::string> result;
  for (const Attempt& attempt : attempts)
    result.push_back(report(attempt, network, ranks, leader, communicator));
  return result;
}

} // namespace thalweg::runtime
