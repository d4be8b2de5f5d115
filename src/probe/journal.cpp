#include "probe/journal.hpp"

#include "network/parse.hpp"

#include <exception>
#include <istream>

namespace thalweg::probe {
namespace {

using nlohmann::json;

std::optional<Step> step_of(const std::string& line) {
  try {
    const json object = network::parse_json(line);
    return Step{object.at("what").get<std::string>(), object.at("key").get<Words>(),
                object.at("spent").get<Nanoseconds>(),
                object.at("replies").get<std::vector<Words>>()};
  } catch (const std::exception&) { // the line being written when the probe ended
    return std::nullopt;
  }
}

} // namespace

std::string to_text(const Step& step) {
  return json{{"event", "step"},     {"what", step.what},       {"key", step.key},
              {"spent", step.spent}, {"replies", step.replies}, {"number", step.number}}
      .dump();
}

Journal::Journal(std::istream& lines) {
  bool first = true;
  for (std::string line; std::getline(lines, line); first = false) {
    auto step = step_of(line);
    if (step)
      _steps.push_back(std::move(*step));
    else if (!first)
      return;
  }
}

std::optional<Step> Journal::find(const std::string& what, const Words& key) {
  if (_steps.empty()) return std::nullopt;
  if (_steps.front().what != what || _steps.front().key != key) {
    _steps.clear();
    return std::nullopt;
  }
  auto step = std::move(_steps.front());
  _steps.pop_front();
  return step;
}

} // namespace thalweg::probe
