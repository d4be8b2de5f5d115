#pragma once

#include "network/network.hpp"
#include "probe/statistics.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// Which flows are measured, in which order, and what follows for the others.
namespace thalweg::probe {

using network::HostId;
using network::Matrix;
using Sites = std::vector<std::vector<HostId>>;

/// A flow from one host to another; also stands for the ordered pair of hosts.
struct Flow {
  HostId from = 0, to = 0;
  bool operator==(const Flow&) const = default;
};

/// The sites of a flow's ends.
using SitePair = std::pair<std::size_t, std::size_t>;

/// The site of each host.
class SiteOf {
public:
  explicit SiteOf(const Sites& sites);
  [[nodiscard]] std::size_t operator()(HostId host) const {
    return _site[static_cast<std::size_t>(host)];
  }
  [[nodiscard]] SitePair operator()(Flow flow) const {
    return {(*this)(flow.from), (*this)(flow.to)};
  }
  [[nodiscard]] std::size_t hosts() const { return _site.size(); }

private:
  std::vector<std::size_t> _site;
};

/// Hosts that send, and hosts that receive; both ascend.
struct Ends {
  std::vector<HostId> from, to;
  [[nodiscard]] bool carries(Flow flow) const {
    return std::ranges::binary_search(from, flow.from) && std::ranges::binary_search(to, flow.to);
  }
};

/// The fraction of a joint capacity that flows may take without disturbing each other.
inline constexpr double undisturbed_share = 0.8;

/// How many flows may run at once without disturbing each other.
struct Widths {
  /// The same for flows from some hosts to some others.
  struct Joint : Ends {
    std::size_t most = 1;
    Rate capacity{}; ///< of all of them together
  };
  explicit Widths(std::size_t sites)
      : inside(sites, 1), leaving(sites, 1), entering(sites, 1), between(sites * sites, 1) {}
  std::vector<std::size_t> inside, leaving, entering; ///< by site
  std::vector<std::size_t>
      between; ///< by site of the source × number of sites + site of the target
  std::vector<Joint> joint;
};

/// Hands out all directed pairs of hosts, each once, so that no host takes part in two at any time,
/// and no more flows run inside, out of, into or between sites than the widths allow (one each,
/// unless set). Representative pairs come first: they let every host of a site send to, and receive
/// from, every site.
class FlowQueue {
public:
  explicit FlowQueue(const Sites& sites);

  /// Needs all flows to have ended.
  void set_widths(Widths widths);
  /// Limits the flows from site `from` to site `to` to `most` in all.
  void limit(std::size_t from, std::size_t to, std::size_t most);
  /// Starts all flows that can run beside the running ones. O(hosts²) at worst, usually O(sites²).
  std::vector<Flow> start();
  /// Records that `flow` has ended.
  void finish(Flow flow);
  /// Hands out these flows after all others of their two sites, unless they were handed out
  /// already. O(hosts²).
  void postpone(std::span<const Flow> flows);
  /// Puts `flow`, which has ended, back to be handed out again, before others.
  void put_back(Flow flow);
  /// Returns the number of flows that the limits still allow.
  [[nodiscard]] std::size_t waiting() const;

private:
  /// The flows of an ordered pair of sites.
  struct PairQueue {
    std::size_t from, to; // sites
    std::deque<Flow> flows;
    std::size_t running = 0, handed_out = 0;
    std::size_t most = std::numeric_limits<std::size_t>::max();
  };
  PairQueue& queue_of(Flow flow);
  void begin(PairQueue& queue, Flow flow);
  [[nodiscard]] bool can_run(const PairQueue& queue) const;
  [[nodiscard]] bool can_run(Flow flow) const;
  SiteOf _site;
  std::size_t _sites;
  Widths _widths;
  std::vector<PairQueue> _queues;          // by (site of from, site of to)
  std::vector<bool> _busy;                 // by host
  std::vector<std::size_t> _leave, _enter; // by site: flows to or from another one
  std::vector<std::size_t> _joint;         // by joint width: flows that run
};

/// Fills the pairs without a measured bandwidth (zero): a flow gets the rate of the weaker end in
/// the best flow measured between that end and the other's site; without such flows, the median of
/// the flows between the two sites, or of all. Leaves zeros if nothing was measured.
void infer(Matrix<Rate>& bandwidth, const Sites& sites);

} // namespace thalweg::probe
