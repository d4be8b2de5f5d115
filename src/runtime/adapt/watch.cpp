#include "runtime/adapt/watch.hpp"

#include <algorithm>

namespace thalweg::runtime {
namespace {

constexpr std::int64_t usual_percent = 125;
/// How a call's time may compare with what was predicted.
constexpr std::int64_t most_times = 2, least_share = 8;
/// Where calls may overlap, the first ones take less until the ranks' memory for those that have
/// begun is full, or more where connections are new: usual is what they take when that doesn't grow
/// any more. Memory of some megabytes may take seconds to fill.
constexpr std::int64_t growing_percent = 110, filling_ns = 5'000'000'000;
constexpr int least_filling_looks = 2, most_growing_looks = 6;
constexpr std::int64_t longest_ns = std::int64_t{1} << 50;

int sign_of(std::int64_t cost_ns, std::int64_t usual_ns) {
  if (cost_ns * 100 > usual_ns * usual_percent) return 1;
  return cost_ns * usual_percent < usual_ns * 100 ? -1 : 0;
}

int sign_of_first(std::int64_t cost_ns, std::int64_t predicted_ns, bool may_overlap) {
  if (cost_ns > predicted_ns * most_times) return 1;
  return !may_overlap && cost_ns * least_share < predicted_ns ? -1 : 0;
}

} // namespace

void Watch::look(std::int64_t cost_ns, std::int64_t predicted_ns, std::int64_t elapsed_ns,
                 bool may_overlap, std::int64_t calm_ns) {
  _cost_ns = std::clamp<std::int64_t>(cost_ns, 1, longest_ns);
  std::shift_right(_latest_ns.begin(), _latest_ns.end(), 1);
  _latest_ns.front() = _cost_ns;
  const std::int64_t passed_ns = std::clamp<std::int64_t>(elapsed_ns, 0, 2 * lasting_ns);
  int sign = 0;
  if (_usual_ns > 0 && !_is_filling)
    sign = sign_of(_cost_ns, _usual_ns);
  else if (predicted_ns > 0)
    sign = sign_of_first(_cost_ns, std::min(predicted_ns, longest_ns), may_overlap);
  if (sign == 0 && _is_filling) {
    fill(passed_ns);
  } else if (sign == 0 && _usual_ns == 0) {
    _usual_ns = _cost_ns;
    _is_filling = may_overlap;
  }
  _is_latest_off = sign != 0;
  const bool goes_on = sign != 0 && sign == _sign;
  _off_ns += goes_on ? passed_ns - 2 * std::clamp<std::int64_t>(calm_ns, 0, passed_ns) : -passed_ns;
  _off_ns = std::min(_off_ns, 2 * lasting_ns);
  if (_off_ns > 0) {
    _looks += goes_on ? 1 : 0;
    return;
  }
  _sign = sign;
  _looks = sign != 0 ? 1 : 0;
  // Most of the time since the look before may have been as usual.
  _off_ns = sign != 0 ? std::min(passed_ns, lasting_ns) / 2 : 0;
}

void Watch::fill(std::int64_t passed_ns) {
  const bool grows = _cost_ns * 100 > _usual_ns * growing_percent;
  ++_fillings;
  _filling_ns = std::min(_filling_ns + passed_ns, filling_ns);
  _is_filling = _filling_ns < filling_ns || _fillings < least_filling_looks ||
                (grows && _fillings < most_growing_looks);
  _usual_ns = _cost_ns;
}

void Watch::settle() {
  _usual_ns = _cost_ns;
  _is_filling = false;
  _looks = _sign = 0;
  _is_latest_off = false;
  _off_ns = 0;
}

std::uint64_t Watch::state() const {
  const auto usual = static_cast<std::uint64_t>(_usual_ns);
  return (usual * 31 + static_cast<std::uint64_t>(_looks)) * 31 +
         static_cast<std::uint64_t>(_sign + 1) + 17 * static_cast<std::uint64_t>(_fillings) +
         (_is_latest_off ? 7 : 0) + (_is_filling ? 11 : 0) +
         static_cast<std::uint64_t>(most_ns()) * 127 + static_cast<std::uint64_t>(_off_ns) * 131 +
         static_cast<std::uint64_t>(_filling_ns) * 137;
}

} // namespace thalweg::runtime
