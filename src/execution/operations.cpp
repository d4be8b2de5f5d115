#include "execution/operations.hpp"

#include "execution/dependencies.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cassert>

namespace thalweg::execution {
namespace {

Direction direction_of(const Transfer& transfer, Rank rank) {
  if (transfer.from == transfer.to) return Direction::local;
  return transfer.from == rank ? Direction::send : Direction::receive;
}

/// Adds one rank after another.
class Builder {
public:
  Builder(std::span<const Transfer> transfers, Operations& operations)
      : _transfers(transfers), _operations(operations), _dependencies(transfers) {
    Rank ranks = 0;
    for (const Transfer& transfer : transfers)
      ranks = std::max(ranks, transfer.to + 1);
    _queues.resize(index(ranks));
  }

  /// @param own indices of the rank's transfers
  void add(Rank rank, std::span<const std::int32_t> own) {
    _operations.begin_rank();
    for (const std::int32_t at : own) {
      const Transfer& transfer = _transfers[index(at)];
      const Direction direction = direction_of(transfer, rank);
      _operations.add(direction, transfer.step, at,
                      direction == Direction::send ? queue(transfer) : -1);
    }
    _dependencies.find(_operations);
  }

private:
  std::int32_t queue(const Transfer& transfer) {
    Queue& known = _queues[index(transfer.to)];
    if (known.from != transfer.from) known = {transfer.from, _next_queue++};
    return known.id;
  }

  /// The queue of the sends to a rank, from the rank that sent to it last.
  struct Queue {
    Rank from = collective::no_rank;
    std::int32_t id = -1;
  };
  std::span<const Transfer> _transfers;
  Operations& _operations;
  DependencyFinder _dependencies;
  std::vector<Queue> _queues;
  std::int32_t _next_queue = 0;
};

} // namespace

Operations::Operations(std::span<const Transfer> own, Rank rank) {
  std::vector<std::int32_t> all(own.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::int32_t>(i);
  Builder(own, *this).add(rank, all);
  finish();
}

Operations Operations::of_all(std::span<const Transfer> transfers, Rank ranks) {
  std::vector<std::size_t> begin(index(ranks) + 1, 0); // of each rank's own transfers
  const auto each_part = [&](auto visit) {
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      visit(index(transfers[i].from), static_cast<std::int32_t>(i));
      if (transfers[i].to != transfers[i].from)
        visit(index(transfers[i].to), static_cast<std::int32_t>(i));
    }
  };
  each_part([&](std::size_t rank, std::int32_t) { ++begin[rank + 1]; });
  for (std::size_t rank = 0; rank < index(ranks); ++rank)
    begin[rank + 1] += begin[rank];
  std::vector<std::int32_t> own(begin.back());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  each_part([&](std::size_t rank, std::int32_t transfer) { own[next[rank]++] = transfer; });

  Operations operations;
  operations._operations.reserve(own.size());
  Builder builder(transfers, operations);
  for (std::size_t rank = 0; rank < index(ranks); ++rank)
    builder.add(static_cast<Rank>(rank),
                std::span(own).subspan(begin[rank], begin[rank + 1] - begin[rank]));
  operations.finish();
  return operations;
}

void Operations::clear() {
  _operations.clear();
  _first.clear();
  _groups.clear();
  _waits.clear();
  _queues = 0;
}

void Operations::begin_rank() {
  _first.push_back({static_cast<OperationId>(_operations.size()), _groups.size()});
}

OperationId Operations::add(Direction direction, Step step, std::int32_t transfer,
                            std::int32_t queue) {
  assert(!_first.empty() && (direction == Direction::send) == (queue >= 0));
  const auto id = static_cast<OperationId>(_operations.size());
  const bool is_first = _groups.size() == _first.back().group;
  assert(is_first || step >= _groups.back().step);
  if (is_first || step != _groups.back().step) _groups.push_back({step, id});
  _operations.push_back({direction, ranks() - 1, transfer, queue});
  _queues = std::max(_queues, queue + 1);
  return id;
}

void Operations::wait(const Wait& wait) {
  Operation& waiting = _operations[index(wait.waiting)];
  ++(wait.reads ? waiting.reads : waiting.writes);
  _waits.push_back(wait);
}

void Operations::finish() {
  _groups.push_back({0, static_cast<OperationId>(_operations.size())});
  // Row i begins at _rows[i]; while rows are filled, _rows[i + 1] is where row i continues.
  _rows.assign(_operations.size() + 2, 0);
  for (const Wait& wait : _waits)
    ++_rows[index(wait.other) + 2];
  for (std::size_t row = 2; row < _rows.size(); ++row)
    _rows[row] += _rows[row - 1];
  _dependents.resize(_waits.size());
  for (const Wait& wait : _waits)
    _dependents[_rows[index(wait.other) + 1]++] = {wait.waiting, wait.reads, wait.after_read};
  _waits.clear();
}

std::span<const Operations::Group> Operations::groups(std::int32_t rank) const {
  const std::size_t begin = _first[index(rank)].group;
  const std::size_t end = rank + 1 < ranks() ? _first[index(rank + 1)].group : _groups.size() - 1;
  return std::span(_groups).subspan(begin, end - begin + 1);
}

} // namespace thalweg::execution
