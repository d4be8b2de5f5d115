#pragma once

#include "check.hpp"
#include "persistent_calls.hpp"
#include "random_draws.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mpi.h>
#include <vector>

/// Collectives of neighbourhoods on random grids and graphs, against closed forms.
namespace thalweg::test {

/// Returns the vector's address, or another one if it is empty: MPI libraries refuse null.
template <class T>
T* address(std::vector<T>& values) {
  static T none{};
  return values.empty() ? &none : values.data();
}
template <class T>
const T* address(const std::vector<T>& values) {
  return address(const_cast<std::vector<T>&>(values)); // NOLINT: nothing is written there
}

/// The neighbours of the rank; MPI_PROC_NULL beyond a grid's edge.
struct Neighbors {
  std::vector<int> sources, destinations;
  bool are_directed = false; ///< those in and out differ
};

/// Whether a drawn graph has edges from ranks to themselves, or several between the same two.
inline bool has_oddities(Random& shared) { return pick(shared, 3) == 0; }

inline MPI_Comm make_grid(Random& shared, MPI_Comm parent, Neighbors& its) {
  const int dimensions = 1 + static_cast<int>(pick(shared, 3));
  const auto some = static_cast<std::size_t>(dimensions);
  std::vector<int> sizes(some, 0), periods(some);
  for (int& periodic : periods)
    periodic = static_cast<int>(pick(shared, 2));
  MPI_Dims_create(size_of(parent), dimensions, sizes.data());
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Cart_create(parent, dimensions, sizes.data(), periods.data(), 0, &comm);
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    int before = 0, after = 0;
    MPI_Cart_shift(comm, dimension, 1, &before, &after);
    for (std::vector<int>* neighbors : {&its.sources, &its.destinations})
      neighbors->insert(neighbors->end(), {before, after});
  }
  return comm;
}

/// A graph in which each edge has its reverse.
inline MPI_Comm make_graph(Random& shared, MPI_Comm parent, Neighbors& its) {
  const int size = size_of(parent);
  std::vector<std::vector<int>> neighbors(static_cast<std::size_t>(size));
  const bool odd = has_oddities(shared);
  for (std::int64_t i = pick(shared, std::int64_t{3} * size); i > 0; --i) {
    const int a = static_cast<int>(pick(shared, size)), b = static_cast<int>(pick(shared, size));
    const std::vector<int>& known = neighbors[static_cast<std::size_t>(a)];
    if (!odd && (a == b || std::find(known.begin(), known.end(), b) != known.end())) continue;
    neighbors[static_cast<std::size_t>(a)].push_back(b);
    if (a != b) neighbors[static_cast<std::size_t>(b)].push_back(a);
  }
  std::vector<int> ends, edges;
  for (const std::vector<int>& of_one : neighbors) {
    edges.insert(edges.end(), of_one.begin(), of_one.end());
    ends.push_back(static_cast<int>(edges.size()));
  }
  edges.push_back(0); // so that it has an address
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Graph_create(parent, size, ends.data(), edges.data(), 0, &comm);
  its.sources = its.destinations = neighbors[static_cast<std::size_t>(rank_of(comm))];
  return comm;
}

/// A directed graph.
inline MPI_Comm make_directed_graph(Random& shared, MPI_Comm parent, Neighbors& its) {
  const int size = size_of(parent), rank = rank_of(parent);
  its.are_directed = true;
  const bool odd = has_oddities(shared);
  std::vector<std::array<int, 2>> edges;
  for (std::int64_t i = pick(shared, std::int64_t{5} * size); i > 0; --i) {
    const int a = static_cast<int>(pick(shared, size)), b = static_cast<int>(pick(shared, size));
    const std::array edge{a, b};
    if (!odd && (a == b || std::find(edges.begin(), edges.end(), edge) != edges.end())) continue;
    edges.push_back(edge);
    if (a == rank) its.destinations.push_back(b);
    if (b == rank) its.sources.push_back(a);
  }
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(parent, static_cast<int>(its.sources.size()), address(its.sources),
                                 MPI_UNWEIGHTED, static_cast<int>(its.destinations.size()),
                                 address(its.destinations), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &comm);
  return comm;
}

/// Data in blocks, one after the other.
struct NeighborBlocks {
  std::vector<int> data, counts, begins;
  void add(int count, int value) {
    counts.push_back(count);
    begins.push_back(static_cast<int>(data.size()));
    data.insert(data.end(), static_cast<std::size_t>(count), value);
  }
  [[nodiscard]] NeighborBlocks without_data() const {
    NeighborBlocks empty = *this;
    std::fill(empty.data.begin(), empty.data.end(), -1);
    return empty;
  }
  /// Returns as many bytes as the runtime says of a call: the mean of the blocks, rounded up.
  [[nodiscard]] std::int64_t mean_bytes() const {
    const auto blocks = static_cast<std::int64_t>(counts.size());
    const auto bytes = static_cast<std::int64_t>(data.size() * sizeof(int));
    return blocks > 0 ? (bytes + blocks - 1) / blocks : 0;
  }
};

enum class Form { blocking, large, nonblocking, persistent };
inline constexpr Form largest =
    MPI_VERSION >= 4 ? Form::large : Form::blocking; // of the blocking ones

/// Calls on a communicator with neighbours, a grid or a graph, made for them.
class NeighborhoodCalls {
public:
  /// The calls of all ranks that these draws are the same on and that `parent` contains.
  NeighborhoodCalls(Random& shared, MPI_Comm parent, bool nonblocking) {
    const auto make = std::array{make_grid, make_graph, make_directed_graph}[shared() % 3];
    _comm = make(shared, parent, _its);
    _rank = rank_of(_comm);
    _form = nonblocking ? Form::nonblocking : Form::blocking;
    if (pick(shared, 2) == 0) _form = nonblocking ? Form::persistent : largest;
  }
  ~NeighborhoodCalls() { MPI_Comm_free(&_comm); }
  NeighborhoodCalls(const NeighborhoodCalls&) = delete;
  NeighborhoodCalls& operator=(const NeighborhoodCalls&) = delete;

  /// Draws sizes, and calls everything with them.
  void run(Random& shared) {
    draw_sizes(shared);
    for (std::int64_t which = 0; which < forms; ++which)
      run_form(which);
  }
  /// Draws sizes, and one of the calls.
  void run_one(Random& shared) {
    draw_sizes(shared);
    run_form(pick(shared, forms));
  }
  /// Returns this rank's calls so far: of allgathers and of alltoalls.
  [[nodiscard]] std::array<std::int64_t, 2> calls() const { return _calls; }
  /// Returns their bytes, as the runtime counts them.
  [[nodiscard]] std::array<std::int64_t, 2> bytes() const { return _bytes; }

private:
  static constexpr std::int64_t forms = 6;

  void draw_sizes(Random& shared) {
    _seed = static_cast<int>(pick(shared, 1000));
    _longest = pick(shared, 8) == 0 ? 30000 : 1; // beyond eager limits
  }
  void run_form(std::int64_t which) {
    switch (which) {
    case 0:
      return allgather();
    case 1:
      return allgatherv();
    case 2:
      return alltoall(outgoing(true), incoming(true));
    case 3:
      return alltoallv(outgoing(false), incoming(false));
    case 4:
      return strided(outgoing(false), incoming(false));
    default:
#if !defined(OPEN_MPI)
      // MPICH 4.0 sends too little where neighbours in and out may differ, with or without us.
      if (_its.are_directed) return;
#endif
      return alltoallw(outgoing(false), incoming(false));
    }
  }
  void count(std::size_t what, std::int64_t size) {
    ++_calls[what];
    _bytes[what] += size;
  }

  // The edges between the same two ranks have the same data: MPI libraries match them in different
  // orders. A neighbour may be MPI_PROC_NULL, which is negative.
  [[nodiscard]] int length(int from, int to) const {
    return (_seed + 3 * from + 5 * to + 20) % 6 * _longest;
  }
  [[nodiscard]] int even_length() const { return _seed % 4 * _longest; }
  [[nodiscard]] static int value(int from, int to) { return 100 * from + to; }
  [[nodiscard]] NeighborBlocks outgoing(bool even) const {
    NeighborBlocks blocks;
    for (const int to : _its.destinations)
      blocks.add(even ? even_length() : length(_rank, to), value(_rank, to));
    return blocks;
  }
  [[nodiscard]] NeighborBlocks incoming(bool even) const {
    NeighborBlocks blocks;
    for (const int from : _its.sources)
      blocks.add(even ? even_length() : length(from, _rank),
                 from == MPI_PROC_NULL ? -1 : value(from, _rank));
    return blocks;
  }
  [[nodiscard]] NeighborBlocks gathered(bool even) const {
    NeighborBlocks blocks;
    for (const int from : _its.sources)
      blocks.add(even ? even_length() : length(from, 0),
                 from == MPI_PROC_NULL ? -1 : value(from, 0));
    return blocks;
  }

  /// Calls a collective in the round's form.
  template <class Blocking, class Nonblocking, class Persistent, class... Arguments>
  void call(Blocking blocking, Nonblocking nonblocking, Persistent persistent,
            Arguments... arguments) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (_form == Form::blocking || _form == Form::large) {
      blocking(arguments..., _comm);
      return;
    }
    if (_form == Form::persistent) {
      persistent(arguments..., _comm, MPI_INFO_NULL, &request);
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      return;
    }
    nonblocking(arguments..., _comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
#define THALWEG_FORMS(name)                                                                        \
  MPI_Neighbor_##name, MPI_Ineighbor_##name, THALWEG_PERSISTENT(Neighbor_##name)

  void allgather() {
    const int count_each = even_length();
    const std::vector<int> in(static_cast<std::size_t>(count_each), value(_rank, 0));
    const NeighborBlocks expected = gathered(true);
    NeighborBlocks out = expected.without_data();
#if MPI_VERSION >= 4
    if (_form == Form::large)
      MPI_Neighbor_allgather_c(address(in), count_each, MPI_INT, address(out.data), count_each,
                               MPI_INT, _comm);
    else
#endif
      call(THALWEG_FORMS(allgather), address(in), count_each, MPI_INT, address(out.data),
           count_each, MPI_INT);
    check(out.data == expected.data, "neighbor_allgather");
    count(0, static_cast<std::int64_t>(in.size() * sizeof(int)));
  }
  void allgatherv() {
    const int own = length(_rank, 0);
    const std::vector<int> in(static_cast<std::size_t>(own), value(_rank, 0));
    const NeighborBlocks expected = gathered(false);
    NeighborBlocks out = expected.without_data();
    call(THALWEG_FORMS(allgatherv), address(in), own, MPI_INT, address(out.data),
         address(out.counts), address(out.begins), MPI_INT);
    check(out.data == expected.data, "neighbor_allgatherv");
    count(0, static_cast<std::int64_t>(in.size() * sizeof(int)));
  }
  void alltoall(const NeighborBlocks& in, const NeighborBlocks& expected) {
    NeighborBlocks out = expected.without_data();
    const int each = even_length();
    call(THALWEG_FORMS(alltoall), address(in.data), each, MPI_INT, address(out.data), each,
         MPI_INT);
    check(out.data == expected.data, "neighbor_alltoall");
    count(1, each * static_cast<std::int64_t>(sizeof(int)));
  }
  void alltoallv(const NeighborBlocks& in, const NeighborBlocks& expected) {
    NeighborBlocks out = expected.without_data();
#if MPI_VERSION >= 4
    if (_form == Form::large) {
      const std::vector<MPI_Count> sent(in.counts.begin(), in.counts.end());
      const std::vector<MPI_Count> received(out.counts.begin(), out.counts.end());
      const std::vector<MPI_Aint> from(in.begins.begin(), in.begins.end());
      const std::vector<MPI_Aint> to(out.begins.begin(), out.begins.end());
      MPI_Neighbor_alltoallv_c(address(in.data), address(sent), address(from), MPI_INT,
                               address(out.data), address(received), address(to), MPI_INT, _comm);
    } else
#endif
      call(THALWEG_FORMS(alltoallv), address(in.data), address(in.counts), address(in.begins),
           MPI_INT, address(out.data), address(out.counts), address(out.begins), MPI_INT);
    check(out.data == expected.data, "neighbor_alltoallv");
    count(1, in.mean_bytes());
  }
  /// Every other integer; those between don't change.
  void strided(const NeighborBlocks& in, const NeighborBlocks& expected) {
    const auto spread = [](const std::vector<int>& data) {
      std::vector<int> result;
      for (const int value : data)
        result.insert(result.end(), {value, -7});
      return result;
    };
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, static_cast<MPI_Aint>(2 * sizeof(int)), &type);
    MPI_Type_commit(&type);
    const std::vector<int> sent = spread(in.data);
    std::vector<int> received = spread(expected.without_data().data);
    call(THALWEG_FORMS(alltoallv), address(sent), address(in.counts), address(in.begins), type,
         address(received), address(expected.counts), address(expected.begins), type);
    MPI_Type_free(&type);
    check(received == spread(expected.data), "neighbor_alltoallv of a type with gaps");
    count(1, in.mean_bytes());
  }
  /// Bytes are received as integers.
  void alltoallw(const NeighborBlocks& in, const NeighborBlocks& expected) {
    NeighborBlocks out = expected.without_data();
    std::vector<int> in_bytes = in.counts;
    std::vector<MPI_Aint> from(in.begins.begin(), in.begins.end());
    std::vector<MPI_Aint> to(out.begins.begin(), out.begins.end());
    for (int& length : in_bytes)
      length *= static_cast<int>(sizeof(int));
    for (std::vector<MPI_Aint>* places : {&from, &to})
      for (MPI_Aint& place : *places)
        place *= static_cast<MPI_Aint>(sizeof(int));
    const std::vector<MPI_Datatype> sent(in.counts.size(), MPI_BYTE);
    const std::vector<MPI_Datatype> received(out.counts.size(), MPI_INT);
    call(THALWEG_FORMS(alltoallw), address(in.data), address(in_bytes), address(from),
         address(sent), address(out.data), address(out.counts), address(to), address(received));
    check(out.data == expected.data, "neighbor_alltoallw");
    count(1, in.mean_bytes());
  }

  std::array<std::int64_t, 2> _calls{}, _bytes{};
  int _seed = 0, _longest = 1, _rank = 0;
  MPI_Comm _comm = MPI_COMM_NULL;
  Neighbors _its;
  Form _form;
};

} // namespace thalweg::test
