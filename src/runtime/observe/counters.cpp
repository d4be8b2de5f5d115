#include "runtime/observe/counters.hpp"

#include "runtime/observe/json_text.hpp"

namespace thalweg::runtime::observe {

void Counters::count(Counted what, std::optional<Reason> reason, const Call& call) {
  Count& count = _counts[what.number()].of(reason);
  count.calls.add(1);
  count.bytes.add(static_cast<std::uint64_t>(call.bytes));
  count.time.add(call.time);
  if (call.native_ns == 0) return;
  count.compared.add(call.time);
  if (call.bound_ns == 0) count.unbounded.add(1);
  count.native_ns.add(call.native_ns);
  count.bound_ns.add(call.bound_ns);
}

/// What a call stands for is known before it is made, so that on average the sum is right.
void Counters::Count::add_timed(Ticks ticks) {
  constexpr Ticks short_ticks = 8192; // timing costs less than 1 % of longer ones
  constexpr std::uint64_t first_calls = 1000;
  constexpr std::uint16_t left_out = 16; // and one: a prime, which periods of programs rarely have
  time.add(ticks * weight);
  untimed = ticks < short_ticks && calls.value() >= first_calls ? left_out : 0;
  weight = static_cast<std::uint16_t>(untimed + 1);
}

std::uint64_t Counters::calls(Counted what, std::optional<Reason> reason) const {
  return _counts[what.number()].of(reason).calls.value();
}

std::string Counters::entry(const Count& count, const Calibration& clock) {
  std::string json = "{\"calls\": " + std::to_string(count.calls.value()) +
                     ", \"bytes\": " + std::to_string(count.bytes.value()) +
                     ", \"seconds\": " + seconds(clock.duration_ns(count.time.value()));
  if (count.native_ns.value() != 0)
    json += ", \"compared\": {\"seconds\": " + seconds(clock.duration_ns(count.compared.value())) +
            ", \"native\": " + seconds(count.native_ns.value()) + ", \"limit\": " +
            (count.unbounded.value() == 0 ? seconds(count.bound_ns.value()) : "null") + "}";
  return json + "}";
}

std::string Counters::to_json(const Calibration& clock) const {
  std::string json = "{";
  for (std::size_t number = 0; number < Counted::count; ++number) {
    const Counts& counts = _counts[number];
    std::string native;
    for (std::size_t reason = 0; reason < reason_count; ++reason) {
      const Count& count = counts.native[reason];
      if (count.calls.value() == 0) continue;
      native += (native.empty() ? "\"" : ", \"") + std::string(names_of(Reason{})[reason]) +
                "\": " + entry(count, clock);
    }
    if (native.empty() && counts.planned.calls.value() == 0) continue;
    if (json.size() > 1) json += ", ";
    json += "\"" + std::string(Counted::of(number).name()) +
            "\": {\"planned\": " + entry(counts.planned, clock) + ", \"native\": {" + native + "}}";
  }
  return json + "}";
}

} // namespace thalweg::runtime::observe
