#pragma once

#include "check.hpp"
#include "persistent_calls.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mpi.h>
#include <string>
#include <utility>
#include <vector>

/// Nonblocking and persistent collectives of all kinds, with buffers of their own and known
/// results.
namespace thalweg::test {

using Ints = std::vector<int>;

/// Returns the datatype of an int that is followed by room for another.
inline MPI_Datatype with_gaps() {
  static const MPI_Datatype type = [] {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &made);
    MPI_Type_commit(&made);
    return made;
  }();
  return type;
}

/// A collective in progress.
struct Pending {
  MPI_Request request = MPI_REQUEST_NULL;
  std::function<void()> verify; ///< called when it is complete; keeps the buffers
  std::function<void()> reset;  ///< makes the result as it was before the start
};

/// What a call does, equal on all ranks.
struct Draw {
  int number = 0; ///< of the call
  int kind = 0, root = 0, count = 1;
  bool in_place = false;
  bool gaps = false;       ///< between the elements of blocks of different lengths
  bool persistent = false; ///< as a persistent collective, of those whose blocks differ
  bool spoils = false;     ///< arrays of counts and displacements don't stay until the end
};

inline constexpr int equal_kinds = 14, kinds = 19;

/// Starts a collective on `comm`, with buffers of its own.
class Starter {
public:
  Starter(MPI_Comm comm, const Draw& draw)
      : _comm(comm), _draw(draw), _rank(rank_of(comm)), _ranks(size_of(comm)),
        _all(static_cast<std::size_t>(_ranks * draw.count)),
        _one(static_cast<std::size_t>(draw.count)) {}

  Pending start() {
    switch (_draw.kind) {
    case 0:
      return bcast();
    case 1:
      return reduce();
    case 2:
      return allreduce();
    case 3:
      return prefix(true);
    case 4:
      return prefix(false);
    case 5:
      return reduce_scatter(true);
    case 6:
      return reduce_scatter(false);
    case 7:
      return gather();
    case 8:
      return scatter();
    case 9:
      return allgather(true);
    case 10:
      return allgather(false);
    case 11:
      return alltoall(true);
    case 12:
      return alltoall(false);
    case 13:
      MPI_Ibarrier(_comm, &_pending.request);
      _pending.verify = [] {};
      return std::move(_pending);
    case 14:
      return gatherv();
    case 15:
      return scatterv();
    case 16:
      return allgatherv();
    case 17:
      return alltoallv();
    default:
      return alltoallw();
    }
  }

private:
  /// Returns element `i` of what `from` gives to `to`.
  [[nodiscard]] int value(int from, int to, int i) const {
    return (_draw.number * 7 + from * 131 + to * 17 + i * 3) % 10007;
  }
  /// Returns what `from` gives to `to`.
  [[nodiscard]] Ints block(int from, int to) const {
    Ints result;
    for (int i = 0; i < _draw.count; ++i)
      result.push_back(value(from, to, i));
    return result;
  }
  /// Returns the sum of what the ranks in [0, end) give to `to`.
  [[nodiscard]] Ints sum(int end, int to) const {
    Ints result(_one);
    for (int from = 0; from < end; ++from)
      for (int i = 0; i < _draw.count; ++i)
        result[static_cast<std::size_t>(i)] += value(from, to, i);
    return result;
  }
  /// Returns the blocks of all ranks, one after another.
  template <class Block>
  [[nodiscard]] Ints each(const Block& block) const {
    Ints result;
    for (int rank = 0; rank < _ranks; ++rank) {
      const Ints one = block(rank);
      result.insert(result.end(), one.begin(), one.end());
    }
    return result;
  }
  template <class Data>
  Data& keep(Data data) {
    auto kept = std::make_shared<Data>(std::move(data));
    _kept.push_back(kept);
    return *kept;
  }
  /// Lets `out` be compared with what is expected.
  Pending expect(Ints& out, Ints expected, const char* what) {
    _pending.reset = [&out, before = out] { out = before; };
    _pending.verify = [kept = std::move(_kept), &out, expected = std::move(expected), what,
                       number = _draw.number] {
      check(out == expected, std::string(what) + " number " + std::to_string(number));
    };
    return std::move(_pending);
  }
  /// Calls with the counts of equal blocks.
  template <class Body>
  void all_counts(const Body& body) {
    Ints& own = counts();
    body(own);
    spoil(own);
  }
  void spoil(Ints& array) const {
    if (_draw.spoils) std::fill(array.begin(), array.end(), -1);
  }
  template <class Blocks>
  void spoil_arrays(Blocks& blocks) const {
    spoil(blocks.counts), spoil(blocks.displacements);
  }
  Ints& counts() { return keep(Ints(static_cast<std::size_t>(_ranks), _draw.count)); }
  Ints& places() {
    Ints& places = keep(Ints());
    for (int rank = 0; rank < _ranks; ++rank)
      places.push_back(rank * _draw.count);
    return places;
  }

  Pending bcast() {
    Ints& data = keep(_rank == _draw.root ? block(_draw.root, 0) : _one);
    MPI_Ibcast(data.data(), _draw.count, MPI_INT, _draw.root, _comm, &_pending.request);
    return expect(data, block(_draw.root, 0), "bcast");
  }
  Pending reduce() {
    Ints &in = keep(block(_rank, 0)), &out = keep(_one);
    MPI_Ireduce(in.data(), out.data(), _draw.count, MPI_INT, MPI_SUM, _draw.root, _comm,
                &_pending.request);
    return expect(out, _rank == _draw.root ? sum(_ranks, 0) : _one, "reduce");
  }
  Pending allreduce() {
    Ints &in = keep(block(_rank, 0)), &out = keep(_draw.in_place ? in : _one);
    MPI_Iallreduce(_draw.in_place ? MPI_IN_PLACE : in.data(), out.data(), _draw.count, MPI_INT,
                   MPI_SUM, _comm, &_pending.request);
    return expect(out, sum(_ranks, 0), "allreduce");
  }
  Pending prefix(bool inclusive) {
    Ints &in = keep(block(_rank, 0)), &out = keep(_one);
    (inclusive ? MPI_Iscan : MPI_Iexscan)(in.data(), out.data(), _draw.count, MPI_INT, MPI_SUM,
                                          _comm, &_pending.request);
    return expect(out, sum(_rank + (inclusive ? 1 : 0), 0), inclusive ? "scan" : "exscan");
  }
  Pending reduce_scatter(bool equal) {
    Ints &in = keep(each([&](int to) { return block(_rank, to); })), &out = keep(_one);
    if (equal)
      MPI_Ireduce_scatter_block(in.data(), out.data(), _draw.count, MPI_INT, MPI_SUM, _comm,
                                &_pending.request);
    else
      all_counts([&](Ints& own) {
        MPI_Ireduce_scatter(in.data(), out.data(), own.data(), MPI_INT, MPI_SUM, _comm,
                            &_pending.request);
      });
    return expect(out, sum(_ranks, _rank), "reduce_scatter");
  }
  Pending gather() {
    Ints &in = keep(block(_rank, 0)), &out = keep(_all);
    MPI_Igather(in.data(), _draw.count, MPI_INT, out.data(), _draw.count, MPI_INT, _draw.root,
                _comm, &_pending.request);
    return expect(out, _rank == _draw.root ? each([&](int from) { return block(from, 0); }) : _all,
                  "gather");
  }
  Pending scatter() {
    Ints &in = keep(each([&](int to) { return block(_draw.root, to); })), &out = keep(_one);
    MPI_Iscatter(in.data(), _draw.count, MPI_INT, out.data(), _draw.count, MPI_INT, _draw.root,
                 _comm, &_pending.request);
    return expect(out, block(_draw.root, _rank), "scatter");
  }
  Pending allgather(bool equal) {
    Ints &in = keep(block(_rank, 0)), &out = keep(_all);
    if (equal)
      MPI_Iallgather(in.data(), _draw.count, MPI_INT, out.data(), _draw.count, MPI_INT, _comm,
                     &_pending.request);
    else
      MPI_Iallgatherv(in.data(), _draw.count, MPI_INT, out.data(), counts().data(), places().data(),
                      MPI_INT, _comm, &_pending.request);
    return expect(out, each([&](int from) { return block(from, 0); }), "allgather");
  }
  Pending alltoall(bool equal) {
    Ints& out = keep(each([&](int to) { return block(_rank, to); }));
    Ints& in = _draw.in_place && equal ? out : keep(out);
    if (equal)
      MPI_Ialltoall(&in == &out ? MPI_IN_PLACE : in.data(), _draw.count, MPI_INT, out.data(),
                    _draw.count, MPI_INT, _comm, &_pending.request);
    else
      MPI_Ialltoallv(in.data(), counts().data(), places().data(), MPI_INT, out.data(),
                     counts().data(), places().data(), MPI_INT, _comm, &_pending.request);
    return expect(out, each([&](int from) { return block(from, _rank); }), "alltoall");
  }

  // Blocks of different lengths, some of them empty.

  /// A buffer with a block for each rank, the last rank's first, with room between them.
  struct Blocks {
    Ints data;
    Ints counts, displacements; ///< as in a v-form
    Ints bytes;                 ///< displacements of an alltoallw
    std::vector<MPI_Datatype> types;
  };
  /// Returns how many elements `from` gives to `to`.
  [[nodiscard]] int length(int from, int to) const {
    const int mixed = from * 7 + to * 11 + _draw.number;
    return mixed % 3 == 0 ? 0 : mixed % (_draw.count + 1);
  }
  /// Returns what `from` gives to `to`.
  [[nodiscard]] Ints uneven(int from, int to) const {
    Ints result;
    for (int i = 0; i < length(from, to); ++i)
      result.push_back(value(from, to, i));
    return result;
  }
  /// Ints from one element to the next, in the block of a rank.
  [[nodiscard]] int stride(int rank) const {
    const bool mixed = _draw.kind == kinds - 1; // Only an alltoallw has a type for each block.
    return _draw.gaps && (!mixed || rank % 2 == 0) ? 2 : 1;
  }
  /// Puts the ranks' blocks into a buffer.
  template <class Block>
  [[nodiscard]] Blocks put(const Block& block) const {
    Blocks blocks;
    const auto all = static_cast<std::size_t>(_ranks);
    blocks.counts.resize(all);
    blocks.displacements.resize(all);
    blocks.bytes.resize(all);
    blocks.types.assign(all, MPI_INT);
    for (int rank = _ranks - 1; rank >= 0; --rank) {
      const auto at = static_cast<std::size_t>(rank);
      const Ints elements = block(rank);
      const std::size_t begin = blocks.data.size();
      blocks.counts[at] = static_cast<int>(elements.size());
      blocks.displacements[at] = static_cast<int>(begin) / stride(rank);
      blocks.bytes[at] = static_cast<int>(begin * sizeof(int));
      blocks.data.resize(begin + 2 * elements.size() + 2, -1);
      for (std::size_t i = 0; i < elements.size(); ++i)
        blocks.data[begin + i * static_cast<std::size_t>(stride(rank))] = elements[i];
      if (stride(rank) == 2) blocks.types[at] = with_gaps();
    }
    return blocks;
  }
  /// Returns the same buffer without data.
  Blocks& keep_empty(const Blocks& blocks) {
    Blocks& empty = keep(blocks);
    empty.data.assign(blocks.data.size(), -1);
    return empty;
  }
  /// Starts a call, as a nonblocking or a persistent collective.
  template <class Nonblocking, class Persistent, class... Arguments>
  void call(Nonblocking nonblocking, Persistent persistent, Arguments... arguments) {
    if (_draw.persistent) {
      persistent(arguments..., _comm, MPI_INFO_NULL, &_pending.request);
      return;
    }
    nonblocking(arguments..., _comm, &_pending.request);
  }
  Pending gatherv() {
    const auto from_all = [&](int from) { return uneven(from, 0); };
    Ints& in = keep(uneven(_rank, 0));
    const Blocks expected = put(from_all);
    Blocks& out = keep_empty(expected);
    call(MPI_Igatherv, THALWEG_PERSISTENT(Gatherv), in.data(), length(_rank, 0), MPI_INT,
         out.data.data(), out.counts.data(), out.displacements.data(), out.types[0], _draw.root);
    spoil_arrays(out);
    return expect(out.data, _rank == _draw.root ? expected.data : Ints(out.data), "gatherv");
  }
  Pending scatterv() {
    Blocks& in = keep(put([&](int to) { return uneven(_draw.root, to); }));
    const Ints expected = uneven(_draw.root, _rank);
    Ints& out = keep(Ints(expected.size(), -1));
    call(MPI_Iscatterv, THALWEG_PERSISTENT(Scatterv), in.data.data(), in.counts.data(),
         in.displacements.data(), in.types[0], out.data(), length(_draw.root, _rank), MPI_INT,
         _draw.root);
    spoil_arrays(in);
    return expect(out, expected, "scatterv");
  }
  Pending allgatherv() {
    Ints& in = keep(uneven(_rank, 0));
    const Blocks expected = put([&](int from) { return uneven(from, 0); });
    Blocks& out = keep_empty(expected);
    call(MPI_Iallgatherv, THALWEG_PERSISTENT(Allgatherv), in.data(), length(_rank, 0), MPI_INT,
         out.data.data(), out.counts.data(), out.displacements.data(), out.types[0]);
    spoil_arrays(out);
    return expect(out.data, expected.data, "allgatherv");
  }
  Pending alltoallv() {
    Blocks& in = keep(put([&](int to) { return uneven(_rank, to); }));
    const Blocks expected = put([&](int from) { return uneven(from, _rank); });
    Blocks& out = keep_empty(expected);
    call(MPI_Ialltoallv, THALWEG_PERSISTENT(Alltoallv), in.data.data(), in.counts.data(),
         in.displacements.data(), in.types[0], out.data.data(), out.counts.data(),
         out.displacements.data(), out.types[0]);
    spoil_arrays(in), spoil_arrays(out);
    return expect(out.data, expected.data, "alltoallv");
  }
  Pending alltoallw() {
    Blocks& in = keep(put([&](int to) { return uneven(_rank, to); }));
    const Blocks expected = put([&](int from) { return uneven(from, _rank); });
    Blocks& out = keep_empty(expected);
    call(MPI_Ialltoallw, THALWEG_PERSISTENT(Alltoallw), in.data.data(), in.counts.data(),
         in.bytes.data(), in.types.data(), out.data.data(), out.counts.data(), out.bytes.data(),
         out.types.data());
    return expect(out.data, expected.data, "alltoallw");
  }

  MPI_Comm _comm;
  Draw _draw;
  int _rank, _ranks;
  Ints _all, _one;
  Pending _pending;
  std::vector<std::shared_ptr<void>> _kept;
};

inline Pending start(MPI_Comm comm, const Draw& draw) { return Starter(comm, draw).start(); }

inline void wait(Pending& pending) {
  MPI_Wait(&pending.request, MPI_STATUS_IGNORE);
  check(pending.request == MPI_REQUEST_NULL, "a complete request is null");
  pending.verify();
}

} // namespace thalweg::test
