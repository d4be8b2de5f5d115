#pragma once

#include "network/network.hpp"
#include "probe/channel.hpp"
#include "probe/options.hpp"
#include "probe/report.hpp"

#include <functional>
#include <string>
#include <vector>

namespace thalweg::probe {

using network::HostId;
using network::Matrix;
using network::Network;

/// What rank 0 can ask of any rank, itself included.
enum class Order : std::int64_t { stop, ping, pong, transfer, cost, eager, collective };

/// An order to one rank; its first word is the Order.
struct Assignment {
  int rank = 0;
  Words order;
};

/// Begins an order.
inline Words begin(Order order) { return {static_cast<std::int64_t>(order)}; }

/// One or more ranks failed; the text says which and how.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Rank 0: hands out orders, collects the replies, and knows whom to blame when one doesn't come.
class Coordinator {
public:
  Coordinator(const Channel& ranks, const Options& wishes, Report& listener,
              std::vector<std::string> names);

  /// Has all assignments carried out at the same time, at most one per rank.
  /// @param expected how long it should take, on the wall clock
  /// @param what "measuring latency", for errors
  /// @return what the orders' functions returned, in the order of the assignments
  /// @throws Failure naming the hosts that didn't answer
  std::vector<Words> run(const std::vector<Assignment>& assignments, Nanoseconds expected,
                         const std::string& what) const;
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
  /// When this share of the time budget is spent.
  [[nodiscard]] Nanoseconds deadline(double share) const;

  const Channel& channel;
  const Options& options;
  Report& report;
  /// offsets[rank] is what to subtract from a time on that rank's clock to get rank 0's.
  std::vector<Nanoseconds> offsets;

private:
  std::vector<std::string> _names;
  Nanoseconds _start;
};

} // namespace thalweg::probe
