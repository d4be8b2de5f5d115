#pragma once

#include "core.hpp"
#include "units/fields.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

/// Binds structs by the tables of their fields.
namespace thalweg::bindings {

/// Returns what Python sees of a value: enums by their names, quantities as numbers.
template <class T>
auto to_python(const T& value) {
  if constexpr (units::Named<T>)
    return std::string(units::name_of(value));
  else
    return value;
}
template <class Tag>
double to_python(units::Quantity<Tag> quantity) {
  return quantity.value();
}
template <units::Named T>
std::optional<std::string> to_python(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  return to_python(*value);
}

template <class T>
using Python = decltype(to_python(std::declval<const T&>()));

template <class T>
void from_python(Python<T> from, T& value) {
  value = T(std::move(from));
}
/// @throws std::invalid_argument listing the names
template <units::Named T>
void from_python(const std::string& name, T& value) {
  const auto named = units::value_named<T>(name);
  if (!named)
    throw std::invalid_argument("\"" + name + "\" is unknown: must be " + units::list_names<T>());
  value = *named;
}

/// The first value stands for none, so its name can't be given.
/// @throws std::invalid_argument listing the names
template <units::Named T>
void from_python(const std::optional<std::string>& name, std::optional<T>& value) {
  value = name ? units::value_named<T>(*name) : std::nullopt;
  if (name && value.value_or(T{}) == T{})
    throw std::invalid_argument("\"" + *name + "\" is unknown: must be " +
                                units::list_names(static_cast<T>(1)));
}

/// Returns a field's name, or another one where Python has that word for itself.
constexpr const char* python_name(std::string_view name) {
  if (name == "from") return "from_";
  if (name == "class") return "network_class";
  return name.data();
}

/// Binds the fields as properties that can't be set.
template <class T>
void bind_fields(nanobind::class_<T>& c) {
  units::for_each_field<T>([&](const auto& field) {
    c.def_prop_ro(python_name(field.name),
                  [field](const T& self) { return to_python(self.*field.member); });
  });
}

/// Returns the argument of the constructor for a field; an optional field has its default.
template <class T, std::size_t position>
auto argument() {
  constexpr auto field = std::get<position>(T::fields());
  const nanobind::arg name(python_name(field.name));
  if constexpr (field.is_optional)
    return name = to_python(T().*field.member);
  else
    return name;
}

/// Binds a struct whose constructor takes all of its fields.
/// @returns the class, for what else it has
template <class T>
nanobind::class_<T> bind_struct(nanobind::module_& m, const char* name) {
  nanobind::class_<T> c(m, name);
  const auto bind_constructor = [&]<class... Values, std::size_t... positions>(
                                    const std::tuple<units::Field<T, Values>...>& /*fields*/,
                                    std::index_sequence<positions...> /*positions*/) {
    c.def(
        "__init__",
        [](T* self, Python<Values>... values) {
          T made;
          (from_python(std::move(values), made.*std::get<positions>(T::fields()).member), ...);
          new (self) T(std::move(made));
        },
        argument<T, positions>()...);
  };
  constexpr auto fields = T::fields();
  bind_constructor(fields, std::make_index_sequence<std::tuple_size_v<decltype(fields)>>());
  bind_fields(c);
  c.def("__eq__", equal<T>, nanobind::is_operator());
  return c;
}

} // namespace thalweg::bindings
