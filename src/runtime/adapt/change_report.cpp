#include "runtime/adapt/change_report.hpp"

#include "runtime/adapt/report.hpp"
#include "runtime/observe/json_text.hpp"
#include "units/fields.hpp"
#include "units/index.hpp"

namespace thalweg::runtime {
namespace {

using observe::quoted;
using observe::seconds;

std::string shape_of(const RaceKey& key, const SizeRange& sizes) {
  return "\"collective\": " + quoted(to_text(key.kind)) +
         ", \"root\": " + std::to_string(key.root) + ", " + size_fields(sizes);
}

std::string names(const Network& network, const std::vector<HostId>& hosts) {
  std::vector<std::string> all;
  for (const HostId host : hosts)
    all.push_back(network.hosts[index(host)].name);
  return observe::list(all);
}

std::string report(const Network& network, const Cause& cause) {
  const network::Change change = cause.on(network);
  return "{\"what\": " + quoted(units::name_of(cause.what)) +
         ", \"name\": " + quoted(to_text(network, cause)) +
         ", \"from\": " + names(network, change.from) + ", \"to\": " + names(network, change.to) +
         ", \"factor\": " + observe::digits(cause.factor, 3) +
         ", \"excess\": " + seconds(cause.excess_ns) + "}";
}

std::string report(const PlanChange& change) {
  return "{" + shape_of(change.key, {change.size, change.size}) +
         ", \"before\": " + quoted(change.before) + ", \"after\": " + quoted(change.after) +
         ", \"predicted\": {\"before\": " + seconds(change.before_ns) +
         ", \"after\": " + seconds(change.after_ns) + "}}";
}

std::string report(const Attempt& attempt, const Network& network, collective::Rank ranks,
                   int leader, std::uint32_t communicator) {
  return "{" + shape_of(attempt.key, attempt.sizes) + ", \"ranks\": " + std::to_string(ranks) +
         ", \"leader\": " + std::to_string(leader) +
         ", \"communicator\": " + std::to_string(communicator) +
         ", \"call\": " + std::to_string(attempt.call) +
         ", \"epoch\": " + std::to_string(attempt.epoch) +
         ", \"adopted\": " + std::to_string(attempt.adopted) +
         ", \"seconds\": {\"usual\": " + seconds(attempt.usual_ns) +
         ", \"noticed\": " + seconds(attempt.cost_ns) +
         ", \"after\": " + seconds(attempt.after_ns) +
         "}, \"recovery\": " + (attempt.is_recovery() ? "true" : "false") +
         ", \"improvement\": " + (attempt.purpose == Purpose::improvement ? "true" : "false") +
         ", \"outcome\": " +
         quoted(attempt.was_worse ? "taken back" : units::name_of(attempt.outcome)) +
         ", \"quantity\": " + quoted(units::name_of(attempt.quantity)) + ", \"causes\": " +
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
