#pragma once

#include "runtime/adapt/diagnosis.hpp"
#include "runtime/observe/pair_times.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace thalweg::runtime {

class Races;

/// What one rank observes of the blocking calls of its communicator, for the leader to find out
/// what changed: the latest calls, and the times of the messages that it received in planned ones.
/// Races are named by their numbers in Races. Nothing here is collective.
class CallObserver {
public:
  CallObserver(const network::Placement& placement, collective::Rank rank);

  /// Returns the hosts that have ranks, ascending.
  [[nodiscard]] const std::vector<HostId>& hosts() const { return _hosts; }
  /// Returns the number of sums for all ordered pairs of hosts.
  [[nodiscard]] std::size_t sums_of_pairs() const {
    return _hosts.size() * _hosts.size() * observe::PairTimes::classes;
  }

  /// Notes a blocking call. O(1).
  void note(const RowedCall& call) { _row[_calls++ % _row.size()] = call; }
  /// Returns the calls that were noted since the last forget_calls().
  [[nodiscard]] std::size_t calls() const { return _calls; }
  void forget_calls() { _calls = 0; }
  /// Returns the latest calls in their order: as many as have 12 planned ones, or 36.
  [[nodiscard]] std::vector<RowedCall> latest_calls() const;

  /// Notes that a race has a planned call of a size. Needs no memory.
  void note_size(std::size_t race, units::Size size);
  /// Returns one more than the highest number of a race that note_size() was told of.
  [[nodiscard]] std::size_t races() const { return _seen.size(); }
  /// Returns the shape of a race's calls, with the size of the latest planned one, or, if there was
  /// none, the largest of all. @param race below races()
  [[nodiscard]] CalledShape shape(const Races& races, std::size_t race) const;

  /// Returns what counts the messages of the next call, which is one of a race that note_size() was
  /// told of; null: there is no memory for that.
  observe::PairTimesLog* log(std::size_t race);
  /// Writes the sums of the race's messages to this rank into `sums`, which has PairTimes::fields
  /// numbers for each of the sums_of_pairs(); leaves the others as they are.
  void put_sums(std::size_t race, std::span<std::uint64_t> sums) const;
  /// Begins the sums of a race anew.
  void forget(std::size_t race);
  /// Begins the sums of all races anew.
  void forget_messages();

private:
  /// Observations of a race.
  struct Seen {
    std::vector<observe::PairTimes> incoming; ///< by host of the sender and class
    units::Size size = 0;
  };

  std::vector<HostId> _hosts;
  std::int32_t _own_host; ///< position in _hosts of this rank's host
  observe::PairTimesLog _log;
  std::vector<Seen> _seen;        ///< by race
  std::array<RowedCall, 36> _row; ///< the latest calls; modulo their number
  std::size_t _calls = 0;
};

} // namespace thalweg::runtime
