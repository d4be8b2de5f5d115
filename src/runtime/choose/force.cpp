#include "runtime/choose/force.hpp"

#include "algorithms/trees/declared_tree.hpp"
#include "runtime/choose/settings.hpp"
#include "units/fields.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::runtime {
namespace {

/// The user's parameter for a declared tree's file, in place of the parameter `tree`.
constexpr std::string_view file_name = "file";

/// Cuts `text` at the first `separator`; the second part is empty if there is none.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

[[noreturn]] void fail(std::string_view part, const std::string& expected) {
  throw std::invalid_argument("'" + std::string(part) + "': expected " + expected);
}

/// Returns the replacement of `file=<path>`, with the file's content.
std::string with_content(std::string_view assignment) {
  const auto [name, path] = cut(assignment, '=');
  if (name != file_name) return std::string(assignment);
  const std::string file(path);
  try {
    const algorithms::Parameters read = algorithms::parse_tree(read_file(file));
    return algorithms::to_text(read);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("THALWEG_FORCE: tree file '" + file + "': " + error.what());
  }
}

/// Replaces the parts of a text between separators, and keeps the separators.
template <class Replace>
std::string replace_parts(std::string_view text, char separator, Replace replace) {
  std::string result;
  for (bool more = !text.empty(); more;) {
    const auto end = text.find(separator);
    more = end != std::string_view::npos;
    result += replace(text.substr(0, end));
    if (!more) break;
    result += separator;
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string algorithms_for(collective::Kind kind) {
  std::string names;
  for (const algorithms::Algorithm* const each : algorithms::all())
    if (each->supports(kind)) names += (names.empty() ? "" : ", ") + std::string(each->name());
  return names;
}

Force::Directive parse_directive(collective::Kind kind, std::string_view text) {
  auto [name, parameters] = cut(text, ':');
  Force::Directive directive;
  if (name == "native") {
    directive.what = Force::What::native;
    return directive;
  }
  directive.what = Force::What::algorithm;
  directive.algorithm = &algorithms::find(name);
  const collective::Collective any{.kind = kind, .ranks = 2};
  if (!directive.algorithm->supports(kind) && !directive.algorithm->can_do(any))
    fail(text, "an algorithm for " + std::string(to_text(kind)) + ": " + algorithms_for(kind));
  if (parameters.find(std::string(file_name) + "=") != std::string_view::npos)
    fail(parameters, "a file in the variable THALWEG_FORCE only, which rank 0 reads for all");
  directive.parameters = algorithms::parse_parameters(parameters);
  if (name == "tree" && directive.parameters.tree.parents.empty()) fail(text, "tree:file=<path>");
  return directive;
}

planner::Pace parse_pace(std::string_view text) {
  const auto [name, parameter] = cut(text, ':');
  const auto pacing = units::value_named<planner::Pacing>(name);
  if (!pacing) fail(text, "native, far-first, by-rank or by-host");
  planner::Pace pace{*pacing, 0};
  if (parameter.empty()) return pace;
  const auto [key, number] = cut(parameter, '=');
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, pace.window);
  if (key != "window" || parsed.ec != std::errc{} || parsed.ptr != end || pace.window < 1)
    fail(text, "window=<number from 1 on>");
  return pace;
}

Force parse_directives(std::string_view text) {
  Force force;
  if (text == "native") {
    for (Force::Directive& directive : force.directives)
      directive.what = Force::What::native;
    force.neighborhoods.fill(planner::Pace{});
    return force;
  }
  while (!text.empty()) {
    const auto [part, rest] = cut(text, ';');
    text = rest;
    if (part.empty()) continue;
    const auto [name, directive] = cut(part, '=');
    if (directive.empty()) fail(part, "<collective>=<algorithm or native>");
    if (const auto neighborhood = units::value_named<collective::Neighborhood>(name)) {
      force.neighborhoods[static_cast<std::size_t>(*neighborhood)] = parse_pace(directive);
      continue;
    }
    const collective::Kind kind = collective::parse_kind(name);
    force.directives[kind] = parse_directive(kind, directive);
  }
  return force;
}

} // namespace

std::string with_files(std::string_view text, std::vector<std::string>& problems) {
  return replace_parts(text, ';', [&](std::string_view directive) {
    const auto colon = directive.find(':');
    if (colon == std::string_view::npos) return std::string(directive);
    try {
      return std::string(directive.substr(0, colon + 1)) +
             replace_parts(directive.substr(colon + 1), ',', with_content);
    } catch (const std::invalid_argument& error) {
      const std::string collective(cut(directive, '=').first);
      problems.push_back(std::string(error.what()) + "; " + collective + " is native");
      return collective + "=native";
    }
  });
}

bool Force::names_algorithms() const {
  if (std::ranges::any_of(neighborhoods, [](const auto& pace) {
        return pace && pace->pacing != planner::Pacing::native;
      }))
    return true;
  return std::ranges::any_of(collective::kinds, [&](collective::Kind kind) {
    return directives[kind].what == What::algorithm;
  });
}

Force parse_force(std::string_view text) {
  try {
    return parse_directives(text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("THALWEG_FORCE: " + std::string(error.what()));
  }
}

} // namespace thalweg::runtime
