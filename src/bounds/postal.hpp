#pragma once

#include "bounds/reach.hpp"

#include <vector>

namespace thalweg::bounds {

/// Returns the earliest time in seconds at which all of `hosts` can know what one other host knows
/// at time 0: the postal bound (Bar-Noy, Kipnis: Designing Broadcasting Algorithms in the Postal
/// Model for Message-Passing Systems) for unequal latencies.
///
/// A host is informed when a message of an informed host is in place. Each message occupies a core
/// of its sender for `send` (engine.cpp, occupy_cpu()), so a host of k cores that is informed at g
/// begins to send k times at g, k times at g + send, k times at g + 2 send, ... and no earlier.
/// Each host counts here as having a core for each rank of the host that has the most. A message
/// begun at b is in place at v no earlier than b + latency(u,v), overheads included.
///
/// Proof. Let l(v) be the least latency to v from any of `hosts`, and e(v) the distance from the
/// source. A message that a host outside of `hosts` begins at b is equivalent to one begun at b +
/// min_v (latency(u,v) - l(v)) that takes l(v). Let the first k hosts be informed by t. Then k
/// messages have been begun, each in its own slot, by outside hosts or by hosts informed before:
/// the i-th of these slots isn't before b_i, the i-th of all possible slots, if (by induction) none
/// of the first k - 1 hosts was informed before the time found for it. The latencies l of k
/// different hosts, in ascending order, are no less than the k smallest of all. Whichever slot
/// serves which host, among the k - i + 1 hosts served by the slots from the i-th on one has at
/// least the (k - i + 1)-th smallest latency, so t ≥ b_i + l_(k-i+1) for each i. Nor can k hosts be
/// informed before the k-th smallest distance. The largest of all these is the time found for the
/// k-th host.
///
/// An outside host other than the source is informed no earlier than its distance, and the k-th of
/// them no earlier than if all slots served them: the same bound with their distances, for which
/// `hosts` count as outside. So the k-th of their first slots comes no earlier either.
///
/// Cost: O((hosts in use)²).
double postal_time(const Reach& reach, HostId source, const Distances& earliest,
                   const std::vector<HostId>& hosts);

} // namespace thalweg::bounds
