#include "runtime/observe/counters.hpp"

namespace thalweg::runtime::observe {

void Counters::count(collective::Kind kind, Reason reason, std::int64_t bytes) {
  Count& count = _counts[static_cast<std::size_t>(kind)][static_cast<std::size_t>(reason)];
  count.calls.fetch_add(1, std::memory_order_relaxed);
  count.bytes.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
}

std::uint64_t Counters::calls(collective::Kind kind, Reason reason) const {
  return _counts[static_cast<std::size_t>(kind)][static_cast<std::size_t>(reason)].calls;
}

std::string Counters::to_json() const {
  std::string json = "{";
  const auto entry = [](const Count& count) {
    return "{\"calls\": " + std::to_string(count.calls.load()) +
           ", \"bytes\": " + std::to_string(count.bytes.load()) + "}";
  };
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const auto& counts = _counts[kind];
    std::string native;
    for (int reason = 1; reason < reasons; ++reason) {
      const Count& count = counts[static_cast<std::size_t>(reason)];
      if (count.calls == 0) continue;
      native += (native.empty() ? "\"" : ", \"") + std::string(reason_names[reason]) +
                "\": " + entry(count);
    }
    if (native.empty() && counts[0].calls == 0) continue;
    if (json.size() > 1) json += ", ";
    json += "\"" + std::string(collective::to_text(static_cast<collective::Kind>(kind))) +
            "\": {\"planned\": " + entry(counts[0]) + ", \"native\": {" + native + "}}";
  }
  return json + "}";
}

} // namespace thalweg::runtime::observe
