#include "runtime/intercept/force.hpp"

#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::runtime {
namespace {

/// Cuts `text` at the first `separator`; the second part is empty if there is none.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

[[noreturn]] void fail(std::string_view part, const char* expected) {
  throw std::invalid_argument("THALWEG_FORCE: '" + std::string(part) + "': expected " + expected);
}

void set(algorithms::Parameters& parameters, std::string_view assignment) {
  const auto [name, value] = cut(assignment, '=');
  if (name == "segment_size") {
    parameters.segment_size = units::parse_size(value);
  } else if (name == "degree") {
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), parameters.degree);
    if (error != std::errc() || end != value.data() + value.size() || parameters.degree < 2)
      fail(assignment, "degree=<a whole number of at least 2>");
  } else if (name == "senders") {
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), parameters.senders);
    if (error != std::errc() || end != value.data() + value.size() || parameters.senders < 1)
      fail(assignment, "senders=<a whole number of at least 1>");
  } else if (name == "order" && (value == "closeness" || value == "rank")) {
    parameters.order = value == "rank" ? algorithms::Order::rank : algorithms::Order::closeness;
  } else {
    fail(assignment, "segment_size=<size>, degree=<n>, senders=<n> or order=closeness|rank");
  }
}

Force::Choice parse_choice(collective::Kind kind, std::string_view text) {
  auto [name, parameters] = cut(text, ':');
  Force::Choice choice;
  if (name == "native") {
    choice.what = Force::What::native;
    return choice;
  }
  choice.what = Force::What::algorithm;
  choice.algorithm = &algorithms::find(name);
  if (!choice.algorithm->supports(kind)) fail(text, "an algorithm for this collective");
  while (!parameters.empty()) {
    const auto [first, rest] = cut(parameters, ',');
    set(choice.parameters, first);
    parameters = rest;
  }
  return choice;
}

} // namespace

Force parse_force(std::string_view text) {
  Force force;
  if (text == "native") {
    for (Force::Choice& choice : force.choices)
      choice.what = Force::What::native;
    return force;
  }
  while (!text.empty()) {
    const auto [part, rest] = cut(text, ';');
    text = rest;
    if (part.empty()) continue;
    const auto [name, choice] = cut(part, '=');
    if (choice.empty()) fail(part, "<collective>=<algorithm or native>");
    const collective::Kind kind = collective::parse_kind(name);
    force.choices[static_cast<std::size_t>(kind)] = parse_choice(kind, choice);
  }
  return force;
}

} // namespace thalweg::runtime
