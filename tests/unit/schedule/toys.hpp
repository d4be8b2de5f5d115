#pragma once

#include "schedule/schedule.hpp"

#include <algorithm>
#include <string>
#include <vector>

/// Small schedules written by hand, in which every transfer is needed.
namespace thalweg::schedule::test {

using collective::Kind;

/// A Transfer that owns its ranges.
struct Message {
  Rank from = 0, to = 0;
  Step step = 0;
  How how = How::copy;
  std::vector<Range> what;
  Reg src = 0, dst = 0;
};

struct Toy {
  std::string name;
  Collective collective;
  ChunkId chunks = 1;
  std::vector<Message> messages;
};

inline Schedule to_schedule(const Toy& toy) {
  Sink sink;
  for (const Message& m : toy.messages)
    sink.add(m.from, m.to, m.step, m.how, m.what, m.src, m.dst);
  sink.sort();
  return {toy.chunks, {}, std::move(sink)};
}

/// Round k: rank r sends the 2^k blocks from its own on to r - 2^k, but not more than are missing
/// there.
inline Toy bruck_allgather(Rank ranks) {
  Toy toy{"Bruck allgather of " + std::to_string(ranks), {Kind::allgather, ranks}, ranks, {}};
  Step step = 0;
  for (Rank distance = 1; distance < ranks; distance *= 2, ++step) {
    const ChunkId count = std::min(distance, ranks - distance);
    for (Rank r = 0; r < ranks; ++r) {
      const ChunkId straight = std::min<ChunkId>(count, ranks - r);
      Message m{r, (r + ranks - distance) % ranks, step, How::copy, {{r, straight}}};
      if (straight < count) m.what.push_back({0, count - straight});
      toy.messages.push_back(m);
    }
  }
  return toy;
}

/// Two sites of alternating ranks: the others of rank 1's site send to it, and it sends all to root
/// 0.
inline Toy hierarchical_gather(Rank ranks) {
  Toy toy{"hierarchical gather of " + std::to_string(ranks), {Kind::gather, ranks}, ranks, {}};
  for (Rank r = 2; r < ranks; ++r)
    toy.messages.push_back({r, r % 2, 0, How::copy, {{r}}});
  toy.messages.push_back({1, 0, 1, How::copy, {{1, ranks / 2, 2}}});
  return toy;
}

/// Step s: ranks i and j with i + j = s mod ranks exchange their blocks, which share a slot.
inline Toy in_place_alltoall(Rank ranks) {
  Toy toy{"in-place alltoall of " + std::to_string(ranks),
          {Kind::alltoall, ranks, 0, 0, true},
          ranks * ranks,
          {}};
  for (Rank i = 0; i < ranks; ++i)
    for (Rank j = 0; j < ranks; ++j)
      if (i != j) toy.messages.push_back({i, j, (i + j) % ranks, How::copy, {{i * ranks + j}}});
  return toy;
}

/// Whether scan_by_doubling needs `rank`'s total after the rounds below `distance`: for a higher
/// partner's prefix, or for a total that is needed itself.
inline bool needs_total(Rank ranks, Rank rank, Rank distance) {
  const Rank partner = rank ^ distance;
  if (distance >= ranks || partner >= ranks) return false;
  return partner > rank || needs_total(ranks, partner, 2 * distance) ||
         needs_total(ranks, rank, 2 * distance);
}

/// Register 0 holds the prefix, 1 the total of the ranks seen so far, 2 what has just arrived.
inline Toy scan_by_doubling(Rank ranks) {
  Toy toy{"scan of " + std::to_string(ranks), {Kind::scan, ranks}, 1, {}};
  for (Rank r = 0; r < ranks; ++r)
    if (needs_total(ranks, r, 1)) toy.messages.push_back({r, r, 0, How::copy, {{0}}, 0, 1});
  Step step = 1;
  for (Rank distance = 1; distance < ranks; distance *= 2, step += 2) {
    for (Rank r = 0; r < ranks; ++r) {
      const Rank partner = r ^ distance;
      const bool is_lower = partner < r;
      const bool for_total = needs_total(ranks, r, 2 * distance);
      if (partner >= ranks || !(is_lower || for_total)) continue;
      const How how = is_lower ? How::combine_left : How::combine_right;
      toy.messages.push_back({partner, r, step, How::copy, {{0}}, 1, 2});
      if (is_lower) toy.messages.push_back({r, r, step + 1, how, {{0}}, 2, 0});
      if (for_total) toy.messages.push_back({r, r, step + 1, how, {{0}}, 2, 1});
    }
  }
  return toy;
}

/// Ranks from the largest power of two on give their contribution to the first ranks, and get the
/// result.
inline Toy recursive_doubling_allreduce(Rank ranks, ChunkId chunks) {
  Toy toy{"allreduce of " + std::to_string(ranks), {Kind::allreduce, ranks}, chunks, {}};
  Rank power = 1;
  while (2 * power <= ranks)
    power *= 2;
  for (Rank r = power; r < ranks; ++r)
    toy.messages.push_back({r, r - power, 0, How::combine_right, {{0, chunks}}});
  Step step = 1;
  for (Rank distance = 1; distance < power; distance *= 2, ++step)
    for (Rank r = 0; r < power; ++r) {
      const Rank partner = r ^ distance;
      const How how = r < partner ? How::combine_left : How::combine_right;
      toy.messages.push_back({r, partner, step, how, {{0, chunks}}});
    }
  for (Rank r = power; r < ranks; ++r)
    toy.messages.push_back({r - power, r, step, How::copy, {{0, chunks}}});
  return toy;
}

/// Round k: the 2^k ranks (relative to the root) that have the data send it on, 2^k ranks further.
inline Toy binomial_bcast(Rank ranks, Rank root) {
  Toy toy{"bcast of " + std::to_string(ranks), {Kind::bcast, ranks, root}, 2, {}};
  Step step = 0;
  for (Rank distance = 1; distance < ranks; distance *= 2, ++step)
    for (Rank v = 0; v < distance && v + distance < ranks; ++v)
      toy.messages.push_back(
          {(v + root) % ranks, (v + distance + root) % ranks, step, How::copy, {{0, 2}}});
  return toy;
}

/// Rank v sends to v - 2^k in round k, 2^k being the lowest bit of v.
inline Toy binomial_reduce(Rank ranks) {
  Toy toy{"reduce of " + std::to_string(ranks), {Kind::reduce, ranks}, 2, {}};
  Step step = 0;
  for (Rank distance = 1; distance < ranks; distance *= 2, ++step)
    for (Rank v = distance; v < ranks; v += 2 * distance)
      toy.messages.push_back({v, v - distance, step, How::combine_right, {{0, 2}}});
  return toy;
}

/// Round k: rank r tells r + 2^k whom it knows to have entered.
inline Toy dissemination_barrier(Rank ranks) {
  Toy toy{"barrier of " + std::to_string(ranks), {Kind::barrier, ranks}, 1, {}};
  Step step = 0;
  for (Rank distance = 1; distance < ranks; distance *= 2, ++step)
    for (Rank r = 0; r < ranks; ++r)
      toy.messages.push_back({r, (r + distance) % ranks, step, How::combine_right, {{0}}});
  return toy;
}

/// Ring: step s, rank r passes on the partial sum of the block that ends up s + 1 ranks before it.
inline Toy ring_reduce_scatter(Rank ranks) {
  Toy toy{
      "reduce_scatter of " + std::to_string(ranks), {Kind::reduce_scatter, ranks}, 2 * ranks, {}};
  for (Step step = 0; step + 1 < ranks; ++step)
    for (Rank r = 0; r < ranks; ++r) {
      const Rank to = (r + 1) % ranks;
      const Rank block = (r + 2 * ranks - step - 1) % ranks;
      // The partial sum started at rank block + 1; it has wrapped to rank 0 if `to` is below that.
      const bool has_wrapped = r < block + 1 && block + 1 < ranks;
      const Rank lowest = has_wrapped ? 0 : (block + 1) % ranks;
      const How how = lowest < to ? How::combine_left : How::combine_right;
      toy.messages.push_back({r, to, step, how, {{2 * block, 2}}});
    }
  return toy;
}

/// All but barriers, where messages may be repeated.
inline std::vector<Toy> all_toys() {
  return {bruck_allgather(5),
          bruck_allgather(6),
          bruck_allgather(8),
          hierarchical_gather(8),
          in_place_alltoall(4),
          in_place_alltoall(5),
          scan_by_doubling(4),
          scan_by_doubling(7),
          scan_by_doubling(8),
          recursive_doubling_allreduce(4, 1),
          recursive_doubling_allreduce(6, 3),
          recursive_doubling_allreduce(8, 2),
          binomial_bcast(7, 3),
          binomial_bcast(8, 0),
          binomial_reduce(7),
          binomial_reduce(8),
          ring_reduce_scatter(4),
          ring_reduce_scatter(5)};
}

} // namespace thalweg::schedule::test
