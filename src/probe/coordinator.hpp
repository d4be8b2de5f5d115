#pragma once

#include "network/network.hpp"
#include "probe/channel.hpp"
#include "probe/journal.hpp"
#include "probe/options.hpp"
#include "probe/report.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::probe {

using network::HostId;
using network::Matrix;
using network::Network;

/// What rank 0 can order any rank, itself included, to do.
enum class Command : std::int64_t { stop, latency, transfer, cost, eager, echo, collective };

/// An order to one rank; its first word is the Command.
struct Assignment {
  int rank = 0;
  Words order;
};

/// Begins an order.
inline Words begin(Command command) { return {static_cast<std::int64_t>(command)}; }

/// Something that ranks do at the same time, with at most one order each.
struct Job {
  std::vector<Assignment> assignments;
  Nanoseconds expected = 0; ///< expected duration on the wall clock
  std::string what;         ///< "measuring latency", for errors
  Words key;                ///< distinguishes it from others with the same `what`
  /// How long after the orders all ranks begin, if they begin together: when that is on a rank's
  /// own clock becomes the second word of its order.
  std::optional<Nanoseconds> lead = {};
};

/// One or more ranks failed; the text says which and how.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The hosts aren't those of the network that was to be completed.
struct OtherHosts : Failure {
  OtherHosts(const std::string& text, std::vector<std::string> own)
      : Failure(text), names(std::move(own)) {}
  std::vector<std::string> names; ///< what they call themselves, by rank
};

/// A rank heard nothing from a peer.
struct Accusation {
  int accused = 0, by = 0;
};

/// Rank 0: sends orders, collects the replies, and finds out whom to blame when one is missing.
class Coordinator {
public:
  Coordinator(const Channel& ranks, const ProbeOptions& wishes, Report& listener,
              std::vector<std::string> names, Journal journal = {});

  /// Runs a job, unless the journal of an interrupted probe has its result.
  /// @return what the orders' functions returned, in the order of the assignments
  /// @throws Failure naming the hosts that didn't answer
  std::vector<Words> run(const Job& job);
  /// Runs a job, whatever the journal has, and keeps its result from a later journal.
  [[nodiscard]] std::vector<Words> run_live(const Job& job) const;
  /// Lets all other ranks leave.
  void dismiss() const;

  [[nodiscard]] HostId hosts() const { return channel.size(); }
  [[nodiscard]] const std::string& name(int rank) const {
    return _names[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return _names; }
  /// Converts a time of the network to the wall clock.
  [[nodiscard]] Nanoseconds dilated(Time time) const;
  /// Converts a measured time to one without dilation.
  [[nodiscard]] Time undilated(double nanoseconds) const;
  [[nodiscard]] Rate undilated(Rate rate) const { return rate * options.dilation; }
  /// Returns the spent part of the time budget.
  [[nodiscard]] Time spent() const { return undilated(static_cast<double>(clock() - _start)); }
  /// Returns the clock for deadlines: when the last job ended, on now()'s clock plus the time that
  /// the journal has saved. It stands still between jobs, so that a probe which resumes another
  /// decides as that one did.
  [[nodiscard]] Nanoseconds clock() const { return _clock; }
  /// Returns when this share of the time budget is spent.
  [[nodiscard]] Nanoseconds deadline(double share) const;
  /// Returns when the MPI library's collectives should be over, if they begin now.
  [[nodiscard]] Nanoseconds native_deadline() const;

  const Channel& channel;
  const ProbeOptions& options;
  Report& report;
  /// Subtract offsets[rank] from a time on that rank's clock to get rank 0's.
  std::vector<Nanoseconds> offsets;
  /// Called once, before the first job that isn't in the journal of an interrupted probe.
  std::function<void()> before_live;

private:
  /// Returns a job's orders, with the time to begin if it has one. Made only as they are sent: the
  /// clocks may have been compared since the job was planned.
  [[nodiscard]] std::vector<Assignment> orders(const Job& job) const;
  /// @throws Failure naming the rank if it doesn't take the order
  void send_order(const Assignment& assignment, const Job& job) const;
  /// @throws Failure naming the silent ranks
  void accuse(const Job& job, std::span<const int> silent,
              std::span<const Accusation> accusations) const;
  std::vector<std::string> _names;
  Journal _journal;
  Nanoseconds _start, _clock = _start, _saved = 0;
  bool _resumes = false;   ///< the journal had results
  std::int64_t _steps = 0; ///< that are over
};

} // namespace thalweg::probe
