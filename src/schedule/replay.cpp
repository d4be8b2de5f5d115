#include "schedule/replay.hpp"

#include "units/mix.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace thalweg::schedule {
namespace {

using collective::Kind;

std::string chunk_name(ChunkId chunk) { return "chunk " + std::to_string(chunk); }

std::string place_name(Rank rank, Reg reg) {
  return "register " + std::to_string(reg) + " of rank " + std::to_string(rank);
}

[[noreturn]] void fail(const Transfer& transfer, const std::string& why) {
  throw std::invalid_argument(name(transfer) + why);
}

[[noreturn]] void fail_unread(const Transfer& transfer, ChunkId chunk) {
  fail(transfer, chunk_name(chunk) + " is never read in " + place_name(transfer.to, transfer.dst) +
                     ", nor part of the result");
}

} // namespace

std::string name(const Transfer& transfer) {
  return "step " + std::to_string(transfer.step) + ", " + std::to_string(transfer.from) + " -> " +
         std::to_string(transfer.to) + ": ";
}

std::pair<State&, bool> Places::at(const Place& place) {
  if (4 * (_entries.size() + 1) > _index.size()) grow();
  Index& index = find(place);
  const bool is_new = index == none;
  if (is_new) {
    index = static_cast<Index>(_entries.size());
    _entries.push_back({place, {}});
  }
  return {_entries[index].state, is_new};
}

Places::Index& Places::find(const Place& place) {
  // Adjacent slots are mostly touched one after the other: their indices are adjacent too.
  constexpr ChunkId adjacent = 16;
  const auto rank = static_cast<std::uint64_t>(place.rank);
  const std::uint64_t hash =
      mix(mix((rank << 8U) | place.reg) + static_cast<std::uint64_t>(place.slot / adjacent)) *
          static_cast<std::uint64_t>(adjacent) +
      static_cast<std::uint64_t>(place.slot % adjacent);
  std::size_t at = hash & (_index.size() - 1);
  while (_index[at] != none && !(_entries[_index[at]].place == place))
    at = (at + 1) & (_index.size() - 1);
  return _index[at];
}

void Places::grow() {
  constexpr std::size_t least = 64;
  _index.assign(std::max(least, 2 * _index.size()), none);
  for (std::size_t i = 0; i < _entries.size(); ++i)
    find(_entries[i].place) = static_cast<Index>(i);
}

Replay::Replay(const Collective& collective, const Schedule& schedule, Rank first_contributor)
    : _collective(collective), _schedule(schedule), _first_contributor(first_contributor),
      _barrier(collective.kind == Kind::barrier), _parts(schedule.chunks() / collective.blocks()) {}

ChunkId Replay::slot(Rank rank, Reg reg, ChunkId chunk) const {
  if (reg != 0) return chunk;
  return _collective.slot(rank, chunk / _parts) * _parts + chunk % _parts;
}

std::uint64_t Replay::contribution(Rank rank) const {
  const Rank bit = rank - _first_contributor;
  if (exact()) return bit >= 0 && bit < 64 ? std::uint64_t{1} << static_cast<unsigned>(bit) : 0;
  return mix(static_cast<std::uint64_t>(rank));
}

Content Replay::own(Rank rank, ChunkId chunk) const {
  return {chunk, rank, contribution(rank), mix(static_cast<std::uint64_t>(rank))};
}

/// Places are filled when first touched: an alltoall has far more of them than it uses.
State& Replay::at(Rank rank, Reg reg, ChunkId chunk) {
  const ChunkId place = slot(rank, reg, chunk);
  const auto [state, is_new] = _places.at({rank, reg, place});
  // At the start a slot holds the chunk it is named after, or nothing.
  if (is_new && reg == 0 && _collective.before(rank, place / _parts))
    state.content = own(rank, place);
  return state;
}

void Replay::run() {
  const auto transfers = _schedule.transfers();
  for (std::size_t first = 0, next = 0; first < transfers.size(); first = next) {
    while (next < transfers.size() && transfers[next].step == transfers[first].step)
      read(transfers[next++]);
    for (const Write& w : _writes)
      write(w);
    _writes.clear();
  }
  check_result();
  check_unread();
}

void Replay::read(const Transfer& transfer) {
  for_each_chunk(transfer.what, [&](ChunkId chunk) {
    State& state = at(transfer.from, transfer.src, chunk);
    const Content& content = state.content;
    if (content.chunk < 0)
      fail(transfer, place_name(transfer.from, transfer.src) + " lacks " + chunk_name(chunk));
    if (content.chunk != chunk)
      fail(transfer, place_name(transfer.from, transfer.src) + " lacks " + chunk_name(chunk) +
                         ": " + chunk_name(content.chunk) + " took its place");
    state.unread = nullptr;
    _writes.push_back({&transfer, content});
  });
}

void Replay::write(const Write& write) {
  const Transfer& transfer = *write.transfer;
  State& state = at(transfer.to, transfer.dst, write.incoming.chunk);
  const bool combines = transfer.how != How::copy;
  if (state.written == transfer.step && !(combines && state.combined))
    fail(transfer, chunk_name(write.incoming.chunk) + " goes where " +
                       place_name(transfer.to, transfer.dst) + " is written already in this step");
  if (combines)
    combine(write, state);
  else
    copy(write, state);
  state.copied_from = combines ? collective::no_rank : transfer.from;
  state.written = transfer.step;
  state.combined = combines;
  state.unread = &transfer;
}

void Replay::copy(const Write& write, State& state) const {
  const Transfer& transfer = *write.transfer;
  const bool same = state.content == write.incoming;
  const bool wasteful = transfer.from != transfer.to && transfer.dst == 0 &&
                        state.copied_from != transfer.from; // see verify.hpp
  if (same && !wasteful)
    fail(transfer, chunk_name(write.incoming.chunk) + " is redundant: " +
                       place_name(transfer.to, transfer.dst) + " holds it already");
  if (!same && state.unread != nullptr) fail_unread(*state.unread, state.content.chunk);
  state.content = write.incoming;
}

void Replay::combine(const Write& write, State& state) const {
  const Transfer& transfer = *write.transfer;
  const Content& incoming = write.incoming;
  Content& present = state.content;
  if (!collective::is_reduction(_collective.kind))
    fail(transfer, "combines " + chunk_name(incoming.chunk) + ", but nothing is combined in a " +
                       std::string(collective::to_text(_collective.kind)));
  if (present.chunk != incoming.chunk)
    fail(transfer, place_name(transfer.to, transfer.dst) + " lacks " + chunk_name(incoming.chunk) +
                       " to combine it with");
  const std::uint64_t both = present.contributors & incoming.contributors;
  if (exact() && !_barrier && both != 0)
    fail(transfer, chunk_name(incoming.chunk) + " brings the contribution of rank " +
                       std::to_string(std::countr_zero(both)) + " a second time");
  if (_barrier && _collective.ranks <= 64 && both == incoming.contributors)
    fail(transfer, "is redundant: it brings no contribution that is new to rank " +
                       std::to_string(transfer.to));
  const bool left = transfer.how == How::combine_left;
  if (!_barrier && left != (incoming.lowest < present.lowest))
    fail(transfer, chunk_name(incoming.chunk) + " is combined on the " + (left ? "left" : "right") +
                       ", but its lowest contributor is rank " + std::to_string(incoming.lowest) +
                       " and that of what is present " + std::to_string(present.lowest));
  present.contributors = _barrier ? present.contributors | incoming.contributors
                                  : present.contributors + incoming.contributors;
  present.expression = left ? mix(mix(incoming.expression) + present.expression)
                            : mix(mix(present.expression) + incoming.expression);
  present.lowest = std::min(present.lowest, incoming.lowest);
}

void Replay::check_result() {
  // A sum of contributions, as combine() adds them up; nothing reads it where nothing is combined.
  const bool grows = collective::is_prefix(_collective.kind);
  std::uint64_t expected = 0;
  for (Rank rank = 0; !grows && rank < _collective.ranks; ++rank)
    expected += contribution(rank);
  for (Rank rank = 0; rank < _collective.ranks; ++rank) {
    if (_collective.kind == Kind::scan) expected += contribution(rank);
    check_result(rank, expected);
    if (_collective.kind == Kind::exscan) expected += contribution(rank);
  }
}

void Replay::check_result(Rank rank, std::uint64_t expected) {
  const auto [first, stride, count] = _collective.blocks_after(rank);
  for (ChunkId i = 0; i < count * _parts; ++i) {
    const ChunkId chunk = (first + i / _parts * stride) * _parts + i % _parts;
    const Content& content = at(rank, 0, chunk).content;
    if (content.chunk != chunk)
      throw std::invalid_argument("at the end rank " + std::to_string(rank) + " lacks " +
                                  chunk_name(chunk));
    if (!collective::is_reduction(_collective.kind)) continue;
    check_contributors(rank, content, expected);
    if (_collective.kind == Kind::allreduce) check_order(rank, content);
  }
}

void Replay::check_order(Rank rank, const Content& content) {
  if (rank == 0)
    _expressions.push_back(content.expression);
  else if (_expressions[static_cast<std::size_t>(content.chunk)] != content.expression)
    throw std::invalid_argument("at the end rank " + std::to_string(rank) + " holds " +
                                chunk_name(content.chunk) +
                                " combined in another order than rank 0");
}

void Replay::check_unread() const {
  const Transfer* first = nullptr;
  ChunkId chunk = 0;
  for (const auto& [place, state] : _places.all()) {
    const bool is_result = place.reg == 0 && state.content.chunk >= 0 &&
                           _collective.after(place.rank, state.content.chunk / _parts);
    if (state.unread == nullptr || is_result) continue;
    if (first != nullptr && first <= state.unread) continue;
    first = state.unread;
    chunk = state.content.chunk;
  }
  if (first != nullptr) fail_unread(*first, chunk);
}

void Replay::check_contributors(Rank rank, const Content& content, std::uint64_t expected) const {
  if (content.contributors == expected) return;
  const std::string where =
      "at the end " + chunk_name(content.chunk) + " of rank " + std::to_string(rank);
  if (!exact())
    throw std::invalid_argument(where + " lacks a contribution, or has one that is too many");
  const std::uint64_t missing = expected & ~content.contributors;
  const std::uint64_t wrong = missing != 0 ? missing : content.contributors & ~expected;
  throw std::invalid_argument(where + (missing != 0 ? " lacks" : " wrongly has") +
                              " the contribution of rank " +
                              std::to_string(std::countr_zero(wrong) + _first_contributor));
}

} // namespace thalweg::schedule
