#include "runtime/adapt/diagnosis.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace thalweg::runtime {
namespace {

using observe::PairTimes;

/// A time that is compared with a prediction is at least four times the clocks' error.
constexpr double least_errors = 4;
/// Changes of a message's time that are smaller than this are noise of processors.
constexpr double least_excess_ns = 20'000;
constexpr std::size_t most_shapes = 8;
/// More ranks than this are planned for by the quick estimate.
constexpr std::size_t few_ranks = 64;
/// A message may arrive at once, by the clocks.
constexpr double least_time_ns = 100;
/// The variance of waits that are alike, relative to their mean's square. It is 1 if half of the
/// messages aren't waited for, and 0.6 if every other call begins before the messages of the one
/// before arrive.
constexpr double most_variance = 0.7;
constexpr double gain = 0.95;
/// Between the quartiles of the delays in a queue.
constexpr double queued_spread = 2;
/// By how much a logarithm of times must fit better.
constexpr double clearly = 0.1;
constexpr int fit_steps = 5;
/// What is left of messages' times after a recovery, at most.
constexpr double recovered = 0.5;

algorithms::Problem problem_of(const Observations& seen, const Network& network,
                               const CalledShape& shape) {
  const collective::Collective collective{.kind = shape.key.kind,
                                          .ranks =
                                              static_cast<collective::Rank>(seen.placement.size()),
                                          .root = shape.key.root,
                                          .size = shape.size};
  return algorithms::make_problem(collective, network, seen.placement, seen.library);
}

/// The mean time of messages lies between these.
struct MessageTime {
  double least_ns = 0; ///< 0: unknown, since receivers may have come late
  double most_ns = 0;  ///< from when they were sent until they were complete
};

/// Whether messages were waited for about equally long. Else some may have been waited for since
/// before they were sent, and others may have been there when their receive was posted.
bool are_waits_alike(const PairTimes& times) {
  const auto count = static_cast<double>(times.receives);
  const double mean_us = static_cast<double>(times.waited_ns) * 1e-3 / count;
  const double variance = static_cast<double>(times.squares) / count - mean_us * mean_us;
  return variance <= most_variance * mean_us * mean_us;
}

/// Returns none if there was no message, or if some of them are only known at one end.
std::optional<MessageTime> time_of(const PairTimes& times) {
  if (times.receives == 0 || times.sends != times.receives) return std::nullopt;
  const auto count = static_cast<double>(times.receives);
  const double sent = static_cast<double>(static_cast<std::int64_t>(times.done_ns - times.sent_ns));
  const double wait = static_cast<double>(static_cast<std::int64_t>(times.waited_ns));
  const bool is_known = wait >= sent || are_waits_alike(times);
  return MessageTime{is_known ? std::min(sent, wait) / count : 0, sent / count};
}

/// Returns how many times as long messages take, as far as that is known, and how much longer.
/// Offsets of clocks, which are in both times, are mended as far as a latency shows them.
std::optional<PairChange> change_of(MessageTime before, MessageTime now, double latency_ns) {
  const double offset_ns = std::max(0.0, std::max(latency_ns, least_time_ns) - before.most_ns);
  const auto ratio = [&](double now_ns, double before_ns) {
    return std::max(least_time_ns, now_ns + offset_ns) / (before_ns + offset_ns);
  };
  PairChange change{.excess_ns = now.most_ns - before.most_ns};
  change.factor = ratio(now.most_ns, before.most_ns);
  const bool is_longer = ratio(now.least_ns, before.most_ns) > least_change;
  const bool is_shorter = ratio(now.most_ns, before.least_ns) * least_change < 1;
  if (is_longer || is_shorter) return change;
  // An upper bound of one time still tells that it isn't much more than the other.
  if (change.factor > least_change || change.factor * least_change < 1) return std::nullopt;
  return PairChange{.excess_ns = change.excess_ns};
}

/// Returns the mean time of messages between hosts in a simulation of the plan; 0: there is none.
std::vector<double> simulated(const Observations& seen) {
  const std::size_t hosts = seen.hosts.size();
  std::vector<double> sums(hosts * hosts), counts(hosts * hosts);
  const planner::Entry* const entry =
      seen.table.find(seen.shape.key.kind, seen.shape.key.root, seen.shape.size);
  if (entry == nullptr || entry->native) return sums;
  simulator::SimulationOptions options;
  options.timeline = true;
  std::vector<std::size_t> place(index(seen.network.size()));
  for (std::size_t i = 0; i < hosts; ++i)
    place[index(seen.hosts[i])] = i;
  const auto prediction =
      simulator::simulate(problem_of(seen, seen.network, seen.shape), entry->skeleton, options);
  for (const simulator::SimulatedMessage& message : prediction.timeline) {
    const std::size_t at = place[index(seen.placement[index(message.from)])] * hosts +
                           place[index(seen.placement[index(message.to)])];
    sums[at] += (message.end - message.start).value() * 1e9;
    ++counts[at];
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (counts[i] > 0) sums[i] /= counts[i];
  return sums;
}

std::span<const PairTimes> classes_of(const std::vector<PairTimes>& times, std::size_t pair) {
  return std::span(times).subspan(pair * PairTimes::classes, PairTimes::classes);
}

PairTimes all_of(const std::vector<PairTimes>& times, std::size_t pair) {
  PairTimes sums;
  for (const PairTimes& each : classes_of(times, pair))
    sums += each;
  return sums;
}

/// Returns how the messages between two hosts compare with before: those of the class that has most
/// bytes of those that tell.
std::optional<PairChange> change_since_before(const Observations& seen, std::size_t pair) {
  const HostId from = seen.hosts[pair / seen.hosts.size()];
  const HostId to = seen.hosts[pair % seen.hosts.size()];
  const double latency_ns = 1e9 * seen.network.latency(from, to).value();
  // Offsets of clocks are in both times, but for what they drifted.
  const double least_ns = std::max(least_excess_ns, static_cast<double>(seen.drift_ns));
  std::optional<PairChange> result;
  std::uint64_t most_bytes = 0;
  for (std::size_t i = 0; i < PairTimes::classes; ++i) {
    const PairTimes& since = classes_of(seen.since, pair)[i];
    const auto before = time_of(classes_of(seen.before, pair)[i]), now = time_of(since);
    if (!before || !now || (result && since.bytes <= most_bytes)) continue;
    auto change = change_of(*before, *now, latency_ns);
    if (!change) continue;
    if (std::abs(change->excess_ns) < least_ns) change->factor = 1;
    result = change;
    most_bytes = since.bytes;
  }
  return result;
}

/// Returns how they compare with what is predicted; `excess_ns` is what they take.
std::optional<PairChange> change_from(const Observations& seen, double predicted_ns,
                                      std::size_t pair) {
  const auto now = time_of(all_of(seen.since, pair));
  const auto error_ns = static_cast<double>(seen.error_ns + seen.drift_ns);
  if (!now || predicted_ns <= 0 || now->most_ns < least_errors * error_ns) return std::nullopt;
  auto change = change_of({predicted_ns, predicted_ns}, *now, 0);
  if (change) change->excess_ns = now->most_ns;
  return change;
}

/// Divides all factors by their median.
void level(std::vector<PairChange>& changes) {
  if (changes.empty()) return;
  std::vector<double> factors;
  for (const PairChange& change : changes)
    factors.push_back(change.factor);
  const double middle = median(std::move(factors));
  for (PairChange& change : changes) {
    const double now_ns = change.excess_ns; // as compare() left it
    change.factor /= middle;
    change.excess_ns = now_ns * (1 - 1 / change.factor);
  }
}

/// Returns how long the plan in force takes for a shape; infinite without one.
double time_on(const Observations& seen, const Network& network, const CalledShape& shape,
               const planner::Entry* entry) {
  if (entry == nullptr || entry->native) return std::numeric_limits<double>::infinity();
  simulator::SimulationOptions options;
  options.max_messages = 16'000;
  return simulator::simulate(problem_of(seen, network, shape), entry->skeleton, options)
      .time.value();
}

/// Returns what most of the time of the usual message between the causes' hosts depends on.
Quantity dominant(const Observations& seen, std::span<const Cause> causes) {
  double latency = 0, transfer = 0;
  const std::size_t hosts = seen.hosts.size();
  for (std::size_t a = 0; a < hosts; ++a)
    for (std::size_t b = 0; b < hosts; ++b) {
      const HostId from = seen.hosts[a], to = seen.hosts[b];
      const bool is_covered = std::ranges::any_of(causes, [&](const Cause& cause) {
        return a != b && cause.covers(seen.network, from, to);
      });
      if (!is_covered) continue;
      const PairTimes times = all_of(seen.since, a * hosts + b);
      latency += static_cast<double>(times.receives) * seen.network.latency(from, to).value();
      transfer += static_cast<double>(times.bytes) / seen.network.bandwidth(from, to).value();
    }
  return transfer > latency ? Quantity::bandwidth : Quantity::latency;
}

/// Whether calls became slower, compared with before or else with the simulation.
bool is_slower(const Observations& seen) {
  if (seen.usual_ns > 0) return seen.cost_ns > seen.usual_ns;
  const CalledShape& shape = seen.shape;
  const planner::Entry* const entry = seen.table.find(shape.key.kind, shape.key.root, shape.size);
  return static_cast<double>(seen.cost_ns) > 1e9 * time_on(seen, seen.network, shape, entry);
}

/// Whether messages of the causes were delayed by amounts so different that it was a queue that
/// delayed them: what latency adds is the same for all. False if there are fewer than four pairs.
bool has_queued(const Observations& seen, std::span<const PairChange> changes,
                std::span<const Cause> causes) {
  std::vector<double> excesses;
  for (const PairChange& change : changes) {
    const bool is_covered = std::ranges::any_of(causes, [&](const Cause& cause) {
      return cause.covers(seen.network, change.from, change.to);
    });
    if (is_covered && change.factor >= least_change) excesses.push_back(change.excess_ns);
  }
  if (excesses.size() < 4) return false;
  std::ranges::sort(excesses);
  return excesses[excesses.size() * 3 / 4] > queued_spread * excesses[excesses.size() / 4];
}

/// Returns how the logarithm of the simulated time of the plan in force differs from that of what
/// the calls take now, both relative to before, after the change of a quantity.
class Misfit {
public:
  explicit Misfit(const Observations& seen)
      : _seen(seen),
        _entry(seen.table.find(seen.shape.key.kind, seen.shape.key.root, seen.shape.size)),
        _before(time_on(seen, seen.network, seen.shape, _entry)) {
    const double usual = seen.usual_ns > 0 ? static_cast<double>(seen.usual_ns) : _before * 1e9;
    _wanted = std::log(static_cast<double>(seen.cost_ns) / usual);
  }
  double operator()(std::span<const Cause> causes, Quantity quantity) const {
    const Network now = changed(_seen.network, causes, quantity);
    return std::log(time_on(_seen, now, _seen.shape, _entry) / _before) - _wanted;
  }

private:
  const Observations& _seen;
  const planner::Entry* _entry;
  double _before, _wanted = 0;
};

/// Finds the quantity whose change makes the simulated calls take as long as the observed ones do.
/// Where both do, it is the one that the messages' time depends on.
Quantity find_quantity(const Observations& seen, std::span<const PairChange> changes,
                       std::span<const Cause> causes) {
  if (seen.usual_ns > 0 && has_queued(seen, changes, causes)) return Quantity::bandwidth;
  const Misfit misfit(seen);
  const Quantity usually = dominant(seen, causes);
  const Quantity other = usually == Quantity::latency ? Quantity::bandwidth : Quantity::latency;
  const double off = std::abs(misfit(causes, usually));
  return std::abs(misfit(causes, other)) + clearly < off / 2 ? other : usually;
}

/// Scales the factors of bandwidth, alike in their logarithms, until the simulated calls take as
/// long as the observed ones do. What messages were delayed by tells less, since they also wait for
/// each other. Leaves them where no factors between the root and the square of these do.
void fit_factors(const Observations& seen, std::vector<Cause>& causes) {
  const Misfit misfit(seen);
  const auto scaled = [&](double exponent) {
    std::vector<Cause> result = causes;
    for (Cause& cause : result)
      cause.factor = std::pow(cause.factor, exponent);
    return result;
  };
  double low = 0.5, high = 2;
  const double sign = causes.front().factor > 1 ? 1 : -1;
  const auto is_too_much = [&](double exponent) {
    return sign * misfit(scaled(exponent), Quantity::bandwidth) > 0;
  };
  if (is_too_much(low) || !is_too_much(high)) return;
  for (int i = 0; i < fit_steps; ++i) {
    const double middle = std::sqrt(low * high);
    (is_too_much(middle) ? high : low) = middle;
  }
  causes = scaled(std::sqrt(low * high));
}

/// Whether one of the causes is that messages through a part that plans avoid take less again.
bool have_recovered(std::span<const Cause> avoided, std::span<const Cause> causes) {
  return std::ranges::any_of(causes, [&](const Cause& cause) {
    return cause.factor <= recovered && std::ranges::any_of(avoided, [&](const Cause& part) {
             return part.what == cause.what && part.from == cause.from && part.to == cause.to;
           });
  });
}

/// Plans a shape for the changed network.
void replan_shape(const Observations& seen, const CalledShape& shape, Replan& result) {
  const planner::Entry* const old = seen.table.find(shape.key.kind, shape.key.root, shape.size);
  if (old == nullptr || old->native) return;
  planner::PlanOptions options;
  options.library = seen.library;
  options.threads = 1; // The program's own have the processors.
  if (seen.placement.size() > few_ranks) options.effort = planner::Effort::estimate;
  const planner::Plan plan = planner::plan(problem_of(seen, result.network, shape), options);
  if (plan.algorithm == planner::native_name) return; // The race decides on that.
  planner::Entry entry = *old;
  entry.skeleton = plan.skeleton;
  const double before = time_on(seen, result.network, shape, old);
  const double after = time_on(seen, result.network, shape, &entry);
  if (after > gain * before) return;
  const auto ns = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e9); };
  entry.predicted_ns = ns(after);
  entry.bound_ns = ns(plan.bound.time.value());
  planner::set_native(entry, plan.native);
  put_plan(result.table, shape.key, entry);
  result.changes.push_back({.key = shape.key,
                            .before = old->skeleton.algorithm,
                            .after = plan.algorithm,
                            .before_ns = ns(before),
                            .after_ns = ns(after)});
}

} // namespace

std::vector<PairChange> compare(const Observations& seen) {
  const std::size_t hosts = seen.hosts.size();
  const bool has_before = seen.usual_ns > 0;
  const std::vector<double> predicted = has_before ? std::vector<double>() : simulated(seen);
  std::vector<PairChange> changes;
  for (std::size_t a = 0; a < hosts; ++a)
    for (std::size_t b = 0; b < hosts; ++b) {
      const std::size_t pair = a * hosts + b;
      auto change =
          has_before ? change_since_before(seen, pair) : change_from(seen, predicted[pair], pair);
      if (!change) continue;
      change->from = seen.hosts[a];
      change->to = seen.hosts[b];
      changes.push_back(*change);
    }
  if (!has_before) level(changes);
  return changes;
}

Replan replan(const Observations& seen, const std::atomic<bool>& is_cancelled) {
  Replan result;
  const std::vector<PairChange> changes = compare(seen);
  result.causes = find_causes(seen.network, changes);
  if (result.causes.empty() || is_cancelled) return result;
  // A part of the network that became slower doesn't explain calls that became faster.
  const bool fits = seen.unimpaired ? have_recovered(seen.avoided, result.causes)
                                    : is_slower(seen) == (result.causes.front().factor > 1);
  if (!fits) {
    result.causes.clear();
    return result;
  }
  result.quantity = find_quantity(seen, changes, result.causes);
  if (result.quantity == Quantity::bandwidth && !seen.unimpaired) fit_factors(seen, result.causes);
  result.network =
      seen.unimpaired ? *seen.unimpaired : changed(seen.network, result.causes, result.quantity);
  result.table = seen.table;
  std::vector<CalledShape> shapes = seen.others;
  std::ranges::stable_sort(shapes, std::ranges::greater(), [](const CalledShape& shape) {
    return static_cast<double>(shape.calls) * static_cast<double>(shape.size + 1);
  });
  shapes.insert(shapes.begin(), seen.shape);
  if (shapes.size() > most_shapes) shapes.resize(most_shapes);
  for (const CalledShape& shape : shapes) {
    if (is_cancelled) {
      result.changes.clear();
      break;
    }
    replan_shape(seen, shape, result);
  }
  return result;
}

void put_plan(planner::Table& table, const RaceKey& key, const planner::Entry& wanted) {
  const units::Size begin = key.least_size();
  const units::Size end = units::Size{1} << key.size_class;
  const planner::Entry* const last = table.find(key.kind, key.root, end);
  std::vector<planner::Entry> rows;
  for (const planner::Entry& row : table.entries) {
    const bool is_inside =
        row.kind == key.kind && row.root == key.root && row.min_size >= begin && row.min_size < end;
    if (!is_inside) rows.push_back(row);
  }
  rows.push_back(wanted);
  rows.back().min_size = begin;
  if (last == nullptr || last->min_size < end) { // No row means native.
    rows.push_back(last != nullptr
                       ? *last
                       : planner::Entry{.kind = key.kind, .root = key.root, .skeleton = {}});
    rows.back().min_size = end;
  }
  std::ranges::sort(rows, {}, [](const planner::Entry& row) {
    return std::tuple(row.kind, row.root, row.min_size);
  });
  table.entries = std::move(rows);
}

} // namespace thalweg::runtime
