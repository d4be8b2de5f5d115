#include "runtime/choose/force.hpp"

#include "algorithms/trees/declared_tree.hpp"
#include "runtime/choose/settings.hpp"

#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::runtime {
namespace {

/// The parameters of a tree by hand: as the user gives it, and as the ranks share it.
constexpr std::string_view file_name = "file", content_name = "content";

/// Cuts `text` at the first `separator`; the second part is empty if there is none.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

[[noreturn]] void fail(std::string_view part, const char* expected) {
  throw std::invalid_argument("THALWEG_FORCE: '" + std::string(part) + "': expected " + expected);
}

/// A whole number of at least `least`.
std::int32_t parse_number(std::string_view assignment, std::string_view value, std::int32_t least) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least)
    fail(assignment, ("a whole number of at least " + std::to_string(least)).c_str());
  return number;
}

void set(algorithms::Parameters& parameters, std::string_view assignment) {
  const auto [name, value] = cut(assignment, '=');
  if (name == "segment_size") {
    parameters.segment_size = units::parse_size(value);
  } else if (name == "degree") {
    parameters.degree = parse_number(assignment, value, 2);
  } else if (name == "senders") {
    parameters.senders = parse_number(assignment, value, 1);
  } else if (name == "window") {
    parameters.window = parse_number(assignment, value, 1);
  } else if (name == "base") {
    parameters.base = parse_number(assignment, value, 2);
  } else if (name == "span") {
    parameters.span = parse_number(assignment, value, 0);
  } else if (name == "order" && (value == "closeness" || value == "rank")) {
    parameters.order = value == "rank" ? algorithms::Order::rank : algorithms::Order::closeness;
  } else if (name == "adjust") {
    parameters.adjust = network::parse_adjust(value);
  } else if (name == "split" && (value == "whole" || value == "early")) {
    parameters.early_split = value == "early";
  } else if (name == content_name) {
    const algorithms::Parameters read = algorithms::parse_tree(value);
    parameters.tree = read.tree;
    if (read.segment_size > 0) parameters.segment_size = read.segment_size;
  } else if (name == file_name) {
    fail(assignment, "a file in the variable THALWEG_FORCE only, which rank 0 reads for all");
  } else {
    fail(assignment,
         "segment_size=<size>, degree=<n>, senders=<n>, window=<n>, base=<n>, span=<n>, "
         "order=closeness|rank, adjust=close|printed, split=whole|early or file=<path>");
  }
}

/// What stands for `file=<path>`, with the file's content.
std::string with_content(std::string_view assignment) {
  const auto [name, path] = cut(assignment, '=');
  if (name != file_name) return std::string(assignment);
  const std::string file(path);
  try {
    const algorithms::Parameters read = algorithms::parse_tree(read_file(file));
    return std::string(content_name) + "=" + algorithms::to_text(read.tree, read.segment_size);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("THALWEG_FORCE: tree file '" + file + "': " + error.what());
  }
}

/// The parts of a text between separators, each replaced; what separates them stays.
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

Force::Choice parse_choice(collective::Kind kind, std::string_view text) {
  auto [name, parameters] = cut(text, ':');
  Force::Choice choice;
  if (name == "native") {
    choice.what = Force::What::native;
    return choice;
  }
  choice.what = Force::What::algorithm;
  choice.algorithm = &algorithms::find(name);
  const collective::Collective any{.kind = kind, .ranks = 2};
  if (!choice.algorithm->supports(kind) && !choice.algorithm->can_do(any))
    fail(text, "an algorithm for this collective");
  while (!parameters.empty()) {
    const auto [first, rest] = cut(parameters, ',');
    set(choice.parameters, first);
    parameters = rest;
  }
  if (name == "tree" && choice.parameters.tree.parents.empty()) fail(text, "tree:file=<path>");
  return choice;
}

} // namespace

std::string with_files(std::string_view text) {
  return replace_parts(text, ';', [](std::string_view choice) {
    const auto colon = choice.find(':');
    if (colon == std::string_view::npos) return std::string(choice);
    return std::string(choice.substr(0, colon + 1)) +
           replace_parts(choice.substr(colon + 1), ',', with_content);
  });
}

void check_trees(const Force& force, int ranks) {
  for (const Force::Choice& choice : force.choices)
    if (const std::size_t size = choice.parameters.tree.parents.size();
        size > 0 && size != static_cast<std::size_t>(ranks))
      throw std::invalid_argument("THALWEG_FORCE: a tree is for " + std::to_string(size) +
                                  " ranks, this run has " + std::to_string(ranks) +
                                  ": make one for it with 'thalweg plan --write-tree'");
}

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
