#include "network/network.hpp"

#include "core.hpp"
#include "fields.hpp"
#include "network/change.hpp"
#include "network/file.hpp"
#include "network/hierarchy.hpp"
#include "network/host_classes.hpp"

#include <algorithm>
#include <cmath>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace thalweg::bindings {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace network;

/// The numbers of a matrix: a quantity consists of just its double.
template <class T>
using Number = std::conditional_t<std::is_same_v<T, float>, float, double>;
template <class T>
using Array = nb::ndarray<const Number<T>, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
template <class T>
using View = nb::ndarray<nb::numpy, Number<T>, nb::ndim<2>>;

void check_matrix(std::size_t hosts) {
  if (std::cmp_greater(hosts, most_hosts_in_matrices))
    throw std::invalid_argument(
        "a network of " + std::to_string(hosts) +
        " hosts has no matrix of all pairs, which ends at " +
        std::to_string(most_hosts_in_matrices) +
        " hosts: ask for pairs, such as by latency_between(), or for classes()");
}

/// Takes anything that NumPy makes a matrix of numbers of.
template <class T>
Array<T> to_array(nb::handle given) {
  const char* const type = std::is_same_v<T, float> ? "float32" : "float64";
  try {
    Array<T> array;
    if (nb::try_cast(nb::module_::import_("numpy").attr("ascontiguousarray")(given, type), array))
      return array;
  } catch (const nb::python_error&) { // neither numbers nor lists of the same length
  }
  throw std::invalid_argument(
      "a matrix must be rows and columns of numbers: a list of lists, or an "
      "array of NumPy");
}

template <class T>
Matrix<T> to_matrix(const Array<T>& array, std::size_t size, const char* parts) {
  if (array.shape(0) != size || array.shape(1) != size)
    throw std::invalid_argument("a matrix of " + std::to_string(array.shape(0)) + " by " +
                                std::to_string(array.shape(1)) +
                                " numbers doesn't fit: it needs a row and a column for each of "
                                "the " +
                                std::to_string(size) + " " + parts);
  Matrix<T> matrix(size);
  if (size > 0)
    std::transform(array.data(), array.data() + array.size(), &matrix(0, 0),
                   [](Number<T> number) { return T(number); });
  return matrix;
}

template <class T>
void assign(HostPairs<T>& pairs, const Array<T>& array, std::size_t hosts) {
  Matrix<T> matrix = to_matrix<T>(array, hosts, "hosts");
  // In place, since numpy views may point to it.
  if (pairs.size() == hosts && hosts > 0)
    std::copy_n(&matrix(0, 0), hosts * hosts, &pairs.make_dense()(0, 0));
  else
    pairs = std::move(matrix);
}

void set_hosts(Network& network, std::vector<Host> hosts) {
  if (hosts.size() != network.hosts.size())
    throw std::invalid_argument("a network keeps its number of hosts: give it " +
                                std::to_string(network.hosts.size()) + ", not " +
                                std::to_string(hosts.size()));
  network.hosts = std::move(hosts);
}

/// Binds a numpy view: writing to it changes the network, which lives as long as the view and
/// keeps all pairs one by one from now on.
template <class T, HostPairs<T> Network::*member>
void bind_matrix(nb::class_<Network>& c, const char* name) {
  static_assert(sizeof(T) == sizeof(Number<T>));
  c.def_prop_rw(
      name,
      [](nb::handle_t<Network> self) {
        auto& pairs = nb::cast<Network&>(self).*member;
        check_matrix(pairs.size());
        auto& matrix = pairs.make_dense();
        void* data = matrix.size() > 0 ? &matrix(0, 0) : nullptr;
        return View<T>(data, {matrix.size(), matrix.size()}, self);
      },
      [](Network& self, nb::handle given) {
        assign(self.*member, to_array<T>(given), self.hosts.size());
      });
}

/// Binds the parts, which are values: change a network by assigning a new list of them.
void bind_parts(nb::module_& m) {
  bind_struct<Host>(m, "Host");
  bind_struct<Trunk>(m, "Trunk");
  bind_struct<DeclaredGroup>(m, "DeclaredGroup");
  bind_struct<MessageCost>(m, "MessageCost");
  bind_struct<Disturbance>(m, "Disturbance");
  bind_struct<NativeTime>(m, "NativeTime");
}

void construct(Network* self, std::vector<Host> hosts, nb::handle latency, nb::handle bandwidth) {
  Network network;
  network.hosts = std::move(hosts);
  assign(network.latency, to_array<Time>(latency), network.hosts.size());
  assign(network.bandwidth, to_array<Rate>(bandwidth), network.hosts.size());
  validate(network);
  new (self) Network(std::move(network));
}

/// Binds a network by classes of hosts.
Network from_classes(std::vector<Host> hosts, const std::vector<std::int32_t>& class_of,
                     nb::handle given_latency, nb::handle given_bandwidth,
                     const std::optional<std::vector<double>>& latency_self,
                     const std::optional<std::vector<double>>& bandwidth_self) {
  const auto latency = to_array<Time>(given_latency);
  const auto bandwidth = to_array<Rate>(given_bandwidth);
  const std::size_t classes = latency.shape(0);
  if (class_of.size() != hosts.size())
    throw std::invalid_argument("there are classes of " + std::to_string(class_of.size()) +
                                " hosts, not of the " + std::to_string(hosts.size()));
  const auto blocks = [&]<class Q>(const Array<Q>& array,
                                   const std::optional<std::vector<double>>& self, Q usual) {
    std::vector<Q> selves(self ? self->size() : classes, usual);
    for (std::size_t at = 0; self && at < selves.size(); ++at)
      selves[at] = Q((*self)[at]);
    return HostPairs<Q>({class_of, to_matrix<Q>(array, classes, "classes"), std::move(selves)});
  };
  Network network;
  network.hosts = std::move(hosts);
  network.latency = blocks(latency, latency_self, Time(0));
  network.bandwidth = blocks(bandwidth, bandwidth_self, Rate::infinity());
  validate(network);
  return network;
}

void check_host(HostId hosts, HostId host) {
  if (host < 0 || host >= hosts)
    throw std::invalid_argument("there is no host number " + std::to_string(host) +
                                ": the network has " + std::to_string(hosts) + " hosts");
}
void check_host(const Network& network, HostId host) { check_host(network.size(), host); }

HostId hosts_of(const Hierarchy& hierarchy) {
  return static_cast<HostId>(hierarchy.levels().back().groups.front().size());
}

template <class T, HostPairs<T> Network::*member>
void bind_pairs(nb::class_<Network>& c, const std::string& name) {
  c.def((name + "_between").c_str(),
        [](const Network& n, HostId from, HostId to) {
          check_host(n, from);
          check_host(n, to);
          return (n.*member)(from, to).value();
        },
        "from_"_a, "to"_a);
  c.def(("set_" + name).c_str(),
        [](Network& n, HostId from, HostId to, double value) {
          check_host(n, from);
          check_host(n, to);
          (n.*member).set(from, to, T(value));
        },
        "from_"_a, "to"_a, "value"_a);
}

void check_hosts(const Network& network, const std::vector<HostId>& hosts) {
  for (const HostId host : hosts)
    check_host(network, host);
}

/// Returns a copy, which numpy owns.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values,
                                   std::initializer_list<std::size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

/// Binds functions over many pairs that need no matrix of all.
template <class T, HostPairs<T> Network::*member>
void bind_extracts(nb::class_<Network>& c, const std::string& name) {
  c.def((name + "_among").c_str(),
        [](const Network& n, const std::vector<HostId>& hosts) {
          check_hosts(n, hosts);
          check_matrix(hosts.size());
          std::vector<double> values;
          for (const HostId from : hosts)
            for (const HostId to : hosts)
              values.push_back((n.*member)(from, to).value());
          return to_numpy(std::move(values), {hosts.size(), hosts.size()});
        },
        "hosts"_a);
  c.def((name + "_counts").c_str(),
        [](const Network& n, const std::vector<HostId>& from, const std::vector<HostId>& to) {
          check_hosts(n, from);
          check_hosts(n, to);
          std::vector<double> values;
          std::vector<std::int64_t> counts;
          for (const auto& [value, pairs] : values_between<T>(n.*member, from, to)) {
            values.push_back(value.value());
            counts.push_back(pairs);
          }
          const std::size_t size = values.size();
          return std::pair(to_numpy(std::move(values), {size}),
                           to_numpy(std::move(counts), {size}));
        },
        "from_"_a, "to"_a);
}

std::vector<HostId> ascending(std::vector<HostId> hosts) {
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

/// Binds apply(), whose rules change.hpp states.
void change_part(Network& network, const std::string& what, const std::string& quantity,
                 std::vector<HostId> from, std::vector<HostId> to, double factor, double excess,
                 std::string trunk) {
  check_hosts(network, from);
  check_hosts(network, to);
  if (!(factor > 0 && std::isfinite(factor)))
    throw std::invalid_argument("factor is " + std::to_string(factor) + ": give a positive number");
  if (!std::isfinite(excess)) throw std::invalid_argument("excess isn't a number of seconds");
  Change change{.from = ascending(std::move(from)),
                .to = ascending(std::move(to)),
                .trunk = std::move(trunk),
                .factor = factor,
                .excess = Time(excess)};
  from_python(what, change.what);
  if (change.what == Change::What::trunk &&
      std::ranges::find(network.trunks, change.trunk, &Trunk::name) == network.trunks.end())
    throw std::invalid_argument("no trunk is called '" + change.trunk + "'");
  Quantity changed{};
  from_python(quantity, changed);
  apply(network, change, changed);
}

void bind_class(nb::module_& m) {
  nb::class_<Network> c(m, "Network");
  c.def("__init__", construct, "hosts"_a, "latency"_a, "bandwidth"_a);
  bind_matrix<Time, &Network::latency>(c, "latency");
  bind_matrix<Rate, &Network::bandwidth>(c, "bandwidth");
  bind_pairs<Time, &Network::latency>(c, "latency");
  bind_pairs<Rate, &Network::bandwidth>(c, "bandwidth");
  bind_extracts<Time, &Network::latency>(c, "latency");
  bind_extracts<Rate, &Network::bandwidth>(c, "bandwidth");
  bind_matrix<float, &Network::latency_error>(c, "latency_error");
  bind_matrix<float, &Network::bandwidth_error>(c, "bandwidth_error");
  c.def_prop_rw(
       "hosts", [](const Network& n) { return n.hosts; }, set_hosts)
      .def_rw("trunks", &Network::trunks, nb::rv_policy::copy)
      .def_rw("sites", &Network::sites)
      .def_ro("disturbance", &Network::disturbance)
      .def_rw("groups", &Network::groups, nb::rv_policy::copy)
      .def_rw("message_costs", &Network::message_costs, nb::rv_policy::copy)
      .def_rw("native_times", &Network::native_times, nb::rv_policy::copy)
      .def_rw("initial_window", &Network::initial_window)
      .def_rw("measured_at", &Network::measured_at)
      .def_rw("measured_with", &Network::measured_with)
      .def_prop_rw(
          "clock", [](const Network& n) { return units::name_of(n.clock); },
          [](Network& n, const std::string& name) { from_python(name, n.clock); })
      .def(
          "find",
          [](const Network& n, const std::string& name) -> nb::object {
            const HostId host = n.find(name);
            return host == no_host ? nb::none() : nb::cast(host);
          },
          "name"_a)
      .def(
          "transfer_time",
          [](const Network& n, HostId from, HostId to, Size size) {
            check_host(n, from);
            check_host(n, to);
            return n.transfer_time(from, to, size).value();
          },
          "from_"_a, "to"_a, "size"_a)
      .def("representatives", [](const Network& n) { return representatives(host_classes(n)); })
      .def_static("from_classes", from_classes, "hosts"_a, "class_of"_a, "latency"_a, "bandwidth"_a,
                  "latency_self"_a = nb::none(), "bandwidth_self"_a = nb::none())
      .def("copy", [](const Network& n) { return n; })
      .def("change_part", change_part, "what"_a, "quantity"_a, "from_"_a, "to"_a, "factor"_a = 1.0,
           "excess"_a = 0.0, "trunk"_a = "")
      .def("compact",
           [](const Network& n) {
             Network copy = n;
             copy.compact();
             return copy;
           })
      .def("fingerprint", fingerprint)
      .def("__eq__", equal<Network>, nb::is_operator());
}

void bind_hierarchy(nb::module_& m) {
  nb::class_<Grouping>(m, "Grouping")
      .def_ro("boundary", &Grouping::boundary)
      .def_ro("groups", &Grouping::groups)
      .def("__eq__", equal<Grouping>, nb::is_operator());
  m.attr("most_hosts_in_matrices") = most_hosts_in_matrices;
  nb::class_<Hierarchy>(m, "Hierarchy")
      .def(
          "__init__",
          [](Hierarchy* self, const Network& network, Size size, double base,
             std::int32_t most_span, std::string_view adjust, std::string_view scale) {
            validate(network);
            new (self) Hierarchy(network,
                                 {size, base, most_span, parse_adjust(adjust), parse_scale(scale)});
          },
          "network"_a, "size"_a = HierarchyOptions().size, "base"_a = HierarchyOptions().base,
          "most_span"_a = HierarchyOptions().most_span, "adjust"_a = "close", "scale"_a = "linear")
      .def_prop_ro("levels", &Hierarchy::levels)
      .def(
          "distance",
          [](const Hierarchy& hierarchy, HostId a, HostId b) {
            check_host(hosts_of(hierarchy), a);
            check_host(hosts_of(hierarchy), b);
            return hierarchy.distance(a, b);
          },
          "a"_a, "b"_a)
      .def(
          "classes",
          [](const Hierarchy& hierarchy, const Network& network) {
            validate(network);
            if (network.size() != hosts_of(hierarchy))
              throw std::invalid_argument(
                  "the hierarchy is of " + std::to_string(hosts_of(hierarchy)) +
                  " hosts, the network has " + std::to_string(network.size()) +
                  ": give the network that it was built for");
            std::vector<std::string_view> names;
            for (const NetworkClass each : classes(hierarchy, network))
              names.push_back(units::name_of(each));
            return names;
          },
          "network"_a);
  m.def("asymmetric_share",
        checked(+[](const Network& network, double base, std::string_view scale) {
          return asymmetric_shares(network, base, parse_scale(scale));
        }),
        "network"_a, "base"_a, "scale"_a = "linear");
}

} // namespace

void bind_network(nb::module_& module) {
  nb::module_ m = module.def_submodule("network");
  bind_parts(m);
  bind_class(m);
  bind_hierarchy(m);
  m.def(
      "even_network",
      [](HostId count, double latency, double bandwidth) {
        return even_network(count, Time(latency), Rate(bandwidth));
      },
      "count"_a, "latency"_a, "bandwidth"_a);
  m.def(
      "read", [](const std::string& path) { return read(path); }, "path"_a);
  m.def(
      "write", [](const Network& n, const std::string& path) { write(n, path); }, "network"_a,
      "path"_a);
  m.def("from_json", from_json, "text"_a, "where"_a);
  m.def("to_json", to_json, "network"_a);
  m.def("validate", validate, "network"_a);
}

} // namespace thalweg::bindings
