#pragma once

#include "network/network.hpp"
#include "probe/statistics.hpp"

#include <deque>
#include <optional>
#include <vector>

/// Which flows are measured, in which order, and what follows for those that are not.
namespace thalweg::probe {

using network::HostId;
using network::Matrix;
using Sites = std::vector<std::vector<HostId>>;

/// A flow from one host to another.
struct Arrow {
  HostId from = 0, to = 0;
  bool operator==(const Arrow&) const = default;
};

/// Hands out all directed pairs of hosts, each once, so that at any time at most one flow runs
/// between each ordered pair of sites, at most one leaves a site, at most one enters it (its
/// uplink may be shared), and no host takes part in two. Representative pairs come
/// first: those that let every host of a site send to, and receive from, every site.
class FlowQueue {
public:
  explicit FlowQueue(const Sites& sites);

  /// Starts what can run beside the flows that are running. O(hosts²) at worst, usually O(sites²).
  std::vector<Arrow> start();
  /// `flow` has ended.
  void finish(Arrow flow);
  /// Flows not handed out yet.
  [[nodiscard]] std::size_t waiting() const { return _waiting; }

private:
  struct Lane {
    std::size_t from, to; // sites
    std::deque<Arrow> flows;
    bool busy = false;
  };
  Lane& lane(Arrow flow);
  /// `lane` begins, or ceases, to be busy, with its flow's ends.
  void set_busy(Lane& lane, Arrow flow, bool busy);
  [[nodiscard]] bool can_run(const Lane& lane) const;
  std::vector<std::size_t> _site;
  std::size_t _sites;
  std::vector<Lane> _lanes;           // by (site of from, site of to)
  std::vector<bool> _busy;            // by host
  std::vector<bool> _leaves, _enters; // by site: a flow from or to another one
  std::size_t _waiting = 0;
};

/// Fills the pairs whose bandwidth is zero (not measured) from those that were: a flow gets what
/// the weaker end gets in the best flow measured between it and the other's site; without such
/// flows, the median of the flows between the two sites, or of all. Leaves zeros if nothing was
/// measured.
void infer(Matrix<Rate>& bandwidth, const Sites& sites);

} // namespace thalweg::probe
