#pragma once

#include "network/network.hpp"
#include "probe/channel.hpp"
#include "probe/journal.hpp"
#include "probe/options.hpp"
#include "probe/report.hpp"

#include <span>
#include <string>
#include <vector>

namespace thalweg::probe {

using network::HostId;
using network::Matrix;
using network::Network;

/// What rank 0 can ask of any rank, itself included.
enum class Order : std::int64_t { stop, latency, transfer, cost, eager, echo, collective };

/// An order to one rank; its first word is the Order.
struct Assignment {
  int rank = 0;
  Words order;
};

/// Begins an order.
inline Words begin(Order order) { return {static_cast<std::int64_t>(order)}; }

/// Something that ranks do at the same time, at most one order each.
struct Job {
  std::vector<Assignment> assignments;
  Nanoseconds expected = 0; ///< how long it should take, on the wall clock
  std::string what;         ///< "measuring latency", for errors
  Words key;                ///< tells it from others with the same `what`
};

/// One or more ranks failed; the text says which and how.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A rank heard nothing from a peer.
struct Accusation {
  int accused = 0, by = 0;
};

/// Rank 0: hands out orders, collects the replies, and knows whom to blame when one doesn't come.
class Coordinator {
public:
  Coordinator(const Channel& ranks, const ProbeOptions& wishes, Report& listener,
              std::vector<std::string> names, Journal journal = {});

  /// Has a job done, unless the journal of an interrupted probe knows what came of it.
  /// @return what the orders' functions returned, in the order of the assignments
  /// @throws Failure naming the hosts that didn't answer
  std::vector<Words> run(const Job& job);
  /// Lets all other ranks leave.
  void dismiss() const;

  [[nodiscard]] HostId hosts() const { return channel.size(); }
  [[nodiscard]] const std::string& name(int rank) const {
    return _names[static_cast<std::size_t>(rank)];
  }
  /// A time of the network on the wall clock.
  [[nodiscard]] Nanoseconds dilated(Time time) const;
  /// A measured time as it would be without dilation.
  [[nodiscard]] Time undilated(double nanoseconds) const;
  [[nodiscard]] Rate undilated(Rate rate) const { return rate * options.dilation; }
  /// Of the time budget.
  [[nodiscard]] Time spent() const { return undilated(static_cast<double>(clock() - _start)); }
  /// What to compare with deadlines: now(), and later by the time that the journal has saved.
  [[nodiscard]] Nanoseconds clock() const { return now() + _saved; }
  /// When this share of the time budget is spent.
  [[nodiscard]] Nanoseconds deadline(double share) const;

  const Channel& channel;
  const ProbeOptions& options;
  Report& report;
  /// offsets[rank] is what to subtract from a time on that rank's clock to get rank 0's.
  std::vector<Nanoseconds> offsets;

private:
  [[nodiscard]] std::vector<Words> carry_out_all(const Job& job) const;
  /// @throws Failure naming those of whom nothing was heard
  void accuse(const Job& job, std::span<const int> silent,
              std::span<const Accusation> accusations) const;
  std::vector<std::string> _names;
  Journal _journal;
  Nanoseconds _start, _saved = 0;
};

} // namespace thalweg::probe
