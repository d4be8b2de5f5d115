#pragma once

#include "check.hpp"
#include "layouts.hpp"
#include "random_draws.hpp"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace thalweg::test {

/// The collectives that move blocks: one per rank, or one per ordered pair of ranks.
enum class Moves : std::uint8_t {
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw
};
inline constexpr std::array<const char*, 9> moves_names = {"gather",   "gatherv",   "scatter",
                                                           "scatterv", "allgather", "allgatherv",
                                                           "alltoall", "alltoallv", "alltoallw"};

/// One such call, on one rank.
class BlockCall {
public:
  /// `seed` is shared, `own` needn't be.
  BlockCall(Moves kind, const Peers& peers, std::uint64_t seed, std::int64_t largest, Random& own)
      : _kind(kind), _peers(peers), _seed(seed), _basic(basic_type(seed)),
        _root(static_cast<int>(seed / 7 % static_cast<unsigned>(peers.size))),
        _in_place(seed / 11 % 3 == 0), _large(seed / 13 % 2 == 0) {
    Random shared(seed);
    _units = random_units(shared, _basic.size, std::max<std::int64_t>(1, largest / peers.size));
    number_blocks();
    std::uint64_t out = own(), in = own();
    // The own allgatherv of Open MPI 4.1 hangs, and that of MPICH 4.0 says that messages are
    // truncated, if ranks count the same data in different types.
    if (_kind == Moves::allgatherv)
      out = in = _seed % 2 == 0 ? 6 * (seed >> 32) + 1 + (seed >> 20) % 5 : 5;
#ifdef OPEN_MPI // Its own alltoall by Bruck's algorithm writes before types that begin early.
    if (_kind == Moves::alltoall && peers.size > 12) {
      if (out % Layout::choices == Layout::before_its_address) ++out;
      if (in % Layout::choices == Layout::before_its_address) ++in;
    }
#endif
    if (_kind == Moves::alltoallw) {
      _send_typed = std::make_unique<TypedLayout>(_basic, units_of(_sends), out);
      _receive_typed = std::make_unique<TypedLayout>(_basic, units_of(_receives), in);
    }
    _send = std::make_unique<Layout>(_basic, units_of(_sends), out, is_uneven());
    _receive = std::make_unique<Layout>(_basic, units_of(_receives), in, is_uneven());
  }

  void check_it() {
#ifdef OPEN_MPI // The own alltoallw of one rank takes displacements in extents instead of bytes.
    if (_kind == Moves::alltoallw && _peers.size == 1) return;
#endif
    if (_kind == Moves::alltoallw) return check_typed();
    auto send = _send->buffer(), receive = _receive->buffer();
    for (std::size_t i = 0; i < _sends.size(); ++i)
      _send->fill(send, value(_sends[i]), i);
    const auto before = send;
    if (_in_place && replaces_send()) put_in_place(*_receive, receive);
    auto expected = receive;
    for (std::size_t i = 0; i < _receives.size(); ++i)
      _receive->fill(expected, value(_receives[i]), i);
    const bool sends = !(_in_place && replaces_send());
    const bool receives = !(_in_place && is_scatter() && _peers.rank == _root);
    const void* const out = sends ? _send->address(send) : MPI_IN_PLACE;
    void* const in = receives ? _receive->address(receive) : MPI_IN_PLACE;
#if MPI_VERSION >= 4
    if (_large)
      call_large(out, in);
    else
#endif
      call(out, in);
    const std::string what = description() + " as " + _send->name() + " to " + _receive->name();
    if (receives) check(receive == expected, what);
    check(send == before, what + ": the send buffer was written to");
  }

private:
  /// As check_it(), for an alltoallw.
  void check_typed() const {
    auto send = _send_typed->buffer(), receive = _receive_typed->buffer();
    for (std::size_t i = 0; i < _sends.size(); ++i)
      _send_typed->fill(send, value(_sends[i]), i);
    const auto before = send;
    if (_in_place) put_in_place(*_receive_typed, receive);
    auto expected = receive;
    for (std::size_t i = 0; i < _receives.size(); ++i)
      _receive_typed->fill(expected, value(_receives[i]), i);
    const void* const out = _in_place ? MPI_IN_PLACE : send.data();
#if MPI_VERSION >= 4
    if (_large)
      call_typed<MPI_Count, MPI_Aint>(MPI_Alltoallw_c, out, receive.data());
    else
#endif
      call_typed<int, int>(MPI_Alltoallw, out, receive.data());
    check(receive == expected, description());
    check(send == before, description() + ": the send buffer was written to");
  }
  template <class Count, class Displacement, class Alltoallw>
  void call_typed(const Alltoallw& alltoallw, const void* out, void* in) const {
    const auto out_types = _send_typed->types(), in_types = _receive_typed->types();
    const auto out_counts = _send_typed->counts<Count>(),
               in_counts = _receive_typed->counts<Count>();
    const auto out_at = _send_typed->displacements<Displacement>();
    const auto in_at = _receive_typed->displacements<Displacement>();
    alltoallw(out, out_counts.data(), out_at.data(), out_types.data(), in, in_counts.data(),
              in_at.data(), in_types.data(), _peers.comm);
  }
  [[nodiscard]] std::string description() const {
    return std::string(moves_names[static_cast<std::size_t>(_kind)]) + " of " +
           std::to_string(_units) + " " + _basic.name + " at " + std::to_string(_root) + " of " +
           std::to_string(_peers.size) + (_in_place ? " in place" : "") +
           (_large ? " (large)" : "");
  }
  static const Basic& basic_type(std::uint64_t seed) {
    return basic_types()[seed % basic_types().size()];
  }
  [[nodiscard]] bool is_uneven() const {
    return _kind == Moves::gatherv || _kind == Moves::scatterv || _kind == Moves::allgatherv ||
           _kind == Moves::alltoallv || _kind == Moves::alltoallw;
  }
  [[nodiscard]] bool is_alltoall() const {
    return _kind == Moves::alltoall || _kind == Moves::alltoallv || _kind == Moves::alltoallw;
  }
  [[nodiscard]] bool is_gather() const { return _kind == Moves::gather || _kind == Moves::gatherv; }
  [[nodiscard]] bool is_scatter() const {
    return _kind == Moves::scatter || _kind == Moves::scatterv;
  }
  [[nodiscard]] bool replaces_send() const {
    if (is_scatter()) return false;
    return !is_gather() || _peers.rank == _root;
  }
  /// Numbers as collective::Collective has them.
  void number_blocks() {
    const int p = _peers.size, r = _peers.rank;
    const bool is_root = r == _root;
    for (int i = 0; i < p; ++i) {
      if (is_alltoall() || (is_scatter() && is_root))
        _sends.push_back(is_alltoall() ? r * p + i : i);
      if (is_alltoall())
        _receives.push_back(i * p + r);
      else if (is_scatter() ? i == r : !is_gather() || is_root)
        _receives.push_back(i);
    }
    if (!is_alltoall() && !is_scatter()) _sends.push_back(r);
  }
  /// Returns the units of a block: some are empty if sizes differ. Blocks that two ranks exchange
  /// in place have the same size.
  [[nodiscard]] std::int64_t units(int block) const {
    if (!is_uneven()) return _units;
    std::int64_t key = block;
    if (is_alltoall() && _in_place) {
      const int p = _peers.size, from = block / p, to = block % p;
      key = std::min(from, to) * p + std::max(from, to);
    }
    Random random(_seed + static_cast<std::uint64_t>(key) * 31);
    const std::int64_t most = 1 + _units / 12;
    return random() % 4 == 0 ? 0 : (_seed % 2 == 0 ? 12 : 1) * pick(random, most + 1);
  }
  [[nodiscard]] std::vector<std::int64_t> units_of(const std::vector<int>& blocks) const {
    std::vector<std::int64_t> all;
    for (const int block : blocks)
      all.push_back(units(block));
    return all;
  }
  [[nodiscard]] std::uint64_t value(int block) const {
    return _seed * 1000003 + static_cast<std::uint64_t>(block);
  }
  /// Puts what is sent into the receive buffer.
  template <class AnyLayout>
  void put_in_place(const AnyLayout& layout, std::vector<unsigned char>& receive) const {
    for (std::size_t i = 0; i < _sends.size(); ++i) {
      const std::size_t at = is_alltoall() ? i : static_cast<std::size_t>(_peers.rank);
      layout.fill(receive, value(_sends[i]), at);
    }
  }

  /// An array that means something at the root only, and may be null elsewhere.
  template <class Integer>
  [[nodiscard]] const Integer* at_root(const std::vector<Integer>& numbers) const {
    return _peers.rank == _root ? numbers.data() : nullptr;
  }

  void call(const void* send, void* receive) const {
    const int root = _root;
    const MPI_Comm comm = _peers.comm;
    const MPI_Datatype from = _send->type(), to = _receive->type();
    const int out = static_cast<int>(_send->count()), in = static_cast<int>(_receive->count());
    const auto out_counts = _send->counts<int>(), in_counts = _receive->counts<int>();
    const auto out_at = _send->displacements<int>(), in_at = _receive->displacements<int>();
    switch (_kind) {
    case Moves::gather:
      MPI_Gather(send, out, from, receive, in, to, root, comm);
      break;
    case Moves::gatherv:
      MPI_Gatherv(send, out, from, receive, at_root(in_counts), at_root(in_at), to, root, comm);
      break;
    case Moves::scatter:
      MPI_Scatter(send, out, from, receive, in, to, root, comm);
      break;
    case Moves::scatterv:
      MPI_Scatterv(send, at_root(out_counts), at_root(out_at), from, receive, in, to, root, comm);
      break;
    case Moves::allgather:
      MPI_Allgather(send, out, from, receive, in, to, comm);
      break;
    case Moves::allgatherv:
      MPI_Allgatherv(send, out, from, receive, in_counts.data(), in_at.data(), to, comm);
      break;
    case Moves::alltoall:
      MPI_Alltoall(send, out, from, receive, in, to, comm);
      break;
    case Moves::alltoallv:
      MPI_Alltoallv(send, out_counts.data(), out_at.data(), from, receive, in_counts.data(),
                    in_at.data(), to, comm);
      break;
    case Moves::alltoallw: // call_typed()
      break;
    }
  }
#if MPI_VERSION >= 4
  void call_large(const void* send, void* receive) const {
    const int root = _root;
    const MPI_Comm comm = _peers.comm;
    const MPI_Datatype from = _send->type(), to = _receive->type();
    const MPI_Count out = _send->count(), in = _receive->count();
    const auto out_counts = _send->counts<MPI_Count>(), in_counts = _receive->counts<MPI_Count>();
    const auto out_at = _send->displacements<MPI_Aint>();
    const auto in_at = _receive->displacements<MPI_Aint>();
    switch (_kind) {
    case Moves::gather:
      MPI_Gather_c(send, out, from, receive, in, to, root, comm);
      break;
    case Moves::gatherv:
      MPI_Gatherv_c(send, out, from, receive, at_root(in_counts), at_root(in_at), to, root, comm);
      break;
    case Moves::scatter:
      MPI_Scatter_c(send, out, from, receive, in, to, root, comm);
      break;
    case Moves::scatterv:
      MPI_Scatterv_c(send, at_root(out_counts), at_root(out_at), from, receive, in, to, root, comm);
      break;
    case Moves::allgather:
      MPI_Allgather_c(send, out, from, receive, in, to, comm);
      break;
    case Moves::allgatherv:
      MPI_Allgatherv_c(send, out, from, receive, in_counts.data(), in_at.data(), to, comm);
      break;
    case Moves::alltoall:
      MPI_Alltoall_c(send, out, from, receive, in, to, comm);
      break;
    case Moves::alltoallv:
      MPI_Alltoallv_c(send, out_counts.data(), out_at.data(), from, receive, in_counts.data(),
                      in_at.data(), to, comm);
      break;
    case Moves::alltoallw: // call_typed()
      break;
    }
  }
#endif

  Moves _kind;
  Peers _peers;
  std::uint64_t _seed;
  const Basic& _basic;
  int _root;
  bool _in_place, _large;
  std::int64_t _units = 0;
  std::vector<int> _sends, _receives; ///< the collective's blocks that the rank sends and gets
  std::unique_ptr<Layout> _send, _receive;
  std::unique_ptr<TypedLayout> _send_typed, _receive_typed; ///< of an alltoallw
};

} // namespace thalweg::test
