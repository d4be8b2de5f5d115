#include "mapping/chains.hpp"

#include "mapping/native_calls.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace thalweg::mapping {
namespace {

/// Repetitions that are simulated; the second half of them stands for all that follow.
constexpr double most_repetitions = 48;

/// Whether what happens `count` times in so many repetitions happens in this one, from 1.
bool happens(double count, double times, double repetition) {
  if (count >= times) return true; // which rounding hides, where numbers are means
  return std::floor(repetition * count / times) > std::floor((repetition - 1) * count / times);
}

} // namespace

Chains::Chains(const Problem& problem, const HostCosts& costs, const std::string& library)
    : _costs(costs), _phases(problem.communication.phases()), _now(index(problem.ranks())),
      _after(_now) {
  add(problem.communication.entries(), 0);
  NativeMessages native;
  if (library.empty())
    native.others = problem.calls;
  else
    native = native_messages(problem, library);
  const std::size_t own = _phases.size();
  add(Communication(problem.ranks(), native.entries).entries(), own);
  _has_calls = native.others.empty();
  for (const Call& call : native.others)
    if (call.members.empty()) _calls += call.count;
}

void Chains::add(const std::vector<Traffic>& entries, std::size_t first_phase) {
  for (const Traffic& each : entries) {
    const std::size_t at = first_phase + index(each.phase);
    if (at >= _phases.size()) _phases.resize(at + 1);
    Phase& phase = _phases[at];
    phase.entries.push_back({each, std::max(1.0, each.messages)});
    phase.most = std::max(phase.most, phase.entries.back().messages);
  }
}

Time Chains::time(const Placement& placement) {
  double most = 0, one_by_one = 0;
  for (Phase& phase : _phases) {
    for (Entry& each : phase.entries) {
      const HostCosts::Pair pair =
          _costs(placement[index(each.traffic.from)], placement[index(each.traffic.to)]);
      each.wait = pair.message + pair.byte * each.traffic.bytes / each.messages;
    }
    one_by_one += repeated(std::span(&phase, 1), phase.most, 0);
    most = std::max(most, phase.most);
  }
  if (_phases.size() == 1 && _calls == 0) return Time(one_by_one); // both are the same
  return Time((one_by_one + repeated(_phases, most, _calls)) / 2);
}

double Chains::repeated(std::span<const Phase> phases, double times, double calls) {
  std::ranges::fill(_now, 0);
  const double last = std::min(std::floor(times), most_repetitions), half = std::floor(last / 2);
  double at_half = 0;
  for (double repetition = 1; repetition <= last; ++repetition) {
    bool is_over = calls == 0;
    for (const Phase& phase : phases)
      is_over = exchange(phase, times, repetition) && is_over;
    if (is_over) return std::ranges::max(_now);
    if (happens(calls, times, repetition)) std::ranges::fill(_now, std::ranges::max(_now));
    if (repetition == half) at_half = std::ranges::max(_now);
  }
  const double end = std::ranges::max(_now);
  return end + (last > half ? (times - last) * (end - at_half) / (last - half) : 0);
}

bool Chains::exchange(const Phase& phase, double times, double repetition) {
  _after = _now;
  bool is_over = true;
  for (const Entry& each : phase.entries) {
    double& receiver = _after[index(each.traffic.to)];
    const double arrival = _now[index(each.traffic.from)] + each.wait;
    const bool comes = happens(each.messages, times, repetition);
    is_over = is_over && comes && arrival <= receiver;
    if (comes) receiver = std::max(receiver, arrival);
  }
  _now.swap(_after);
  return is_over;
}

} // namespace thalweg::mapping
