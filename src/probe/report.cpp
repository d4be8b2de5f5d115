#include "probe/report.hpp"

#include "network/file.hpp"
#include "probe/channel.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace thalweg::probe {
namespace {

std::string line_of(const nlohmann::json& event) {
  return event.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

void print(const std::string& line) {
  // One write per line: launchers mix the output of ranks between writes.
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

void emit(const nlohmann::json& event) { print(line_of(event)); }

void say(const std::string& text) { std::fprintf(stderr, "thalweg-probe: %s\n", text.c_str()); }

} // namespace

void Report::started(const std::string& name) const {
  if (_events) emit({{"event", "started"}, {"host", name}});
}

std::string Report::waited_in_vain(const std::string& name, int rank) const {
  if (_events) return line_of({{"event", "waited"}, {"host", name}});
  return "thalweg-probe: rank " + std::to_string(rank) + " on " + name +
         " waited in vain for the MPI library's collective; a rank that doesn't say so has died or "
         "stopped\n";
}

void Report::progress(const std::string& phase, std::size_t done, std::size_t total) {
  if (_events)
    return emit({{"event", "progress"}, {"phase", phase}, {"done", done}, {"total", total}});
  if (done < total && now() < _last + 1'000'000'000) return;
  _last = now();
  say(phase + ": " + std::to_string(done) + " of " + std::to_string(total));
}

void Report::note(const std::string& text) const {
  if (_events)
    emit({{"event", "note"}, {"text", text}});
  else
    say(text);
}

void Report::error(const std::string& text, const std::vector<std::string>& hosts) const {
  if (!_events) return say(text);
  nlohmann::json event{{"event", "error"}, {"text", text}};
  if (!hosts.empty()) event["hosts"] = hosts;
  emit(event);
}

void Report::step(const Step& step) const {
  if (_events) print(to_text(step) + "\n");
}

void Report::network(const network::Network& network) const {
  if (_events)
    emit({{"event", "network"}, {"text", network::to_json(network)}});
  else
    std::fputs(network::to_json(network).c_str(), stdout);
}

} // namespace thalweg::probe
