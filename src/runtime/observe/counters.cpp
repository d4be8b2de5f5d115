#include "runtime/observe/counters.hpp"

namespace thalweg::runtime::observe {

void Counters::count(collective::Kind kind, std::optional<Reason> reason, std::int64_t bytes) {
  Count& count = _counts[kind].of(reason);
  count.calls.fetch_add(1, std::memory_order_relaxed);
  count.bytes.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
}

std::uint64_t Counters::calls(collective::Kind kind, std::optional<Reason> reason) const {
  return _counts[kind].of(reason).calls;
}

std::string Counters::to_json() const {
  std::string json = "{";
  const auto entry = [](const Count& count) {
    return "{\"calls\": " + std::to_string(count.calls.load()) +
           ", \"bytes\": " + std::to_string(count.bytes.load()) + "}";
  };
  for (const collective::Kind kind : collective::kinds) {
    const Counts& counts = _counts[kind];
    std::string native;
    for (std::size_t reason = 0; reason < reason_count; ++reason) {
      const Count& count = counts.native[reason];
      if (count.calls == 0) continue;
      native += (native.empty() ? "\"" : ", \"") + std::string(names_of(Reason{})[reason]) +
                "\": " + entry(count);
    }
    if (native.empty() && counts.planned.calls == 0) continue;
    if (json.size() > 1) json += ", ";
    json += "\"" + std::string(to_text(kind)) + "\": {\"planned\": " + entry(counts.planned) +
            ", \"native\": {" + native + "}}";
  }
  return json + "}";
}

} // namespace thalweg::runtime::observe
