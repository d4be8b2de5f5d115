#include "core.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace thalweg::bindings {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

/// Arguments of other types than a function takes.
struct ArgumentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void erase_all(std::string& text, std::string_view part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
}

/// Removes the modules before the names of types, as in "collections.abc.Sequence[int]".
std::string without_modules(std::string text) {
  erase_all(text, "collections.abc.");
  constexpr std::string_view core = "thalweg._core.";
  for (auto at = text.find(core); at != std::string::npos; at = text.find(core, at))
    text.erase(at, text.find('.', at + core.size()) + 1 - at);
  return text;
}

/// Returns "(name: str, capacity: float = inf)" of the function whose documentation nanobind wrote.
std::string parameters_of(nb::handle function) {
  std::string text = nb::cast<std::string>(nb::str(function.attr("__doc__")));
  text = text.substr(0, text.find('\n'));
  text = text.substr(text.find('('));
  text = text.substr(0, text.rfind(" -> "));
  if (text.starts_with("(self")) text.erase(1, text.starts_with("(self, ") ? 6 : 4);
  return without_modules(std::move(text));
}

/// What a function takes, and the error that says it.
class Wanted {
public:
  Wanted(const std::string& name, nb::handle function)
      : _wanted(name + " takes " + parameters_of(function)) {}

  [[noreturn]] void refuse(const nb::args& args, const nb::kwargs& kwargs) const {
    std::string given;
    const auto add = [&](const std::string& one) { given += (given.empty() ? "" : ", ") + one; };
    const auto type = [](nb::handle value) { return std::string(nb::inst_name(value).c_str()); };
    for (const nb::handle value : args)
      add(type(value));
    for (const auto& [key, value] : kwargs)
      add(nb::cast<std::string>(key) + ": " + type(value));
    throw ArgumentError(_wanted + ", with whole numbers of 64 bits at most, not (" +
                        without_modules(std::move(given)) + ")");
  }

private:
  std::string _wanted;
};

/// Adds an overload that takes everything. nanobind tries all overloads twice, and converts types
/// only the second time: the whole number after the arguments becomes a `double` only then, after
/// the function's own overloads have failed.
void add_last_overload(nb::handle scope, const std::string& attribute, const std::string& name,
                       nb::handle function) {
  const auto sequel = nb::arg("and_") = nb::int_(0);
  const Wanted wanted(name, function);
  if (nb::type_name(function.type()).equal(nb::str("nanobind.nb_method")))
    nb::cpp_function_def([wanted](nb::handle /*self*/, const nb::args& args, double /*unused*/,
                                  const nb::kwargs& kwargs) { wanted.refuse(args, kwargs); },
                         nb::is_method(), nb::scope(scope), nb::name(attribute.c_str()), "args"_a,
                         sequel, "kwargs"_a);
  else
    nb::cpp_function_def([wanted](const nb::args& args, double /*unused*/,
                                  const nb::kwargs& kwargs) { wanted.refuse(args, kwargs); },
                         nb::scope(scope), nb::name(attribute.c_str()), "args"_a, sequel,
                         "kwargs"_a);
}

/// Replaces a property whose setter, which has no scope for overloads, fails with an error of
/// several lines.
void replace_setter(nb::handle scope, const std::string& attribute, const std::string& name,
                    nb::handle property) {
  const nb::object set = property.attr("fset");
  if (set.is_none()) return;
  const auto refused = nb::borrow(nb::module_::import_("builtins").attr("TypeError"));
  const auto checked_set = nb::cpp_function(
      [set, refused, wanted = Wanted(name, set)](nb::handle self, nb::handle value) {
        try {
          set(self, value);
        } catch (const nb::python_error& error) {
          if (!error.matches(refused)) throw;
          wanted.refuse(nb::borrow<nb::args>(nb::make_tuple(value)), nb::kwargs());
        }
      },
      nb::is_method(), nb::arg("value").none());
  scope.attr(attribute.c_str()) =
      property.type()(property.attr("fget"), checked_set, nb::none(), property.attr("__doc__"));
}

void explain_members(nb::handle scope, const std::string& prefix) {
  const nb::object members = nb::module_::import_("builtins").attr("vars")(scope).attr("copy")();
  for (const nb::handle item : members.attr("items")()) {
    const auto attribute = nb::cast<std::string>(item[0]);
    const nb::object member = item[1];
    const auto type = nb::cast<std::string>(nb::type_name(member.type()));
    if (nb::isinstance<nb::module_>(member) || nb::type_check(member))
      explain_members(member, nb::type_check(member) ? attribute + "." : "");
    else if (type == "property")
      replace_setter(scope, attribute, prefix + attribute, member);
    else if (attribute == "__init__")
      add_last_overload(scope, attribute, prefix.substr(0, prefix.size() - 1) + "()", member);
    else if (type.starts_with("nanobind.nb_") && !attribute.starts_with("__"))
      add_last_overload(scope, attribute, prefix + attribute + "()", member);
  }
}

} // namespace

void explain_mismatches(nb::module_& module) {
  const nb::exception<ArgumentError> type(module, "ArgumentError", PyExc_TypeError);
  explain_members(module, "");
}

} // namespace thalweg::bindings
