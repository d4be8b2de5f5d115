#pragma once

#include "bounds/reach.hpp"

#include <vector>

namespace thalweg::bounds {

/// When all of some hosts can have heard, at the earliest, of what one other host knows at 0: the
/// postal bound (Bar-Noy, Kipnis: Designing Broadcasting Algorithms in the Postal Model for
/// Message-Passing Systems) for latencies that differ.
///
/// A host hears of it when a message of one that has heard is in place. For each message its
/// sender's CPU is busy for `send` at a time of its own (engine.cpp, occupy_cpu()), so a host that
/// hears at g can begin to send at g, g + send, g + 2 send, ... and no earlier. What it begins at b
/// is in place at v at b + latency(u,v) at the earliest, overheads included.
///
/// Proof. Let l(v) be the least latency to v of any of `hosts`, and e(v) the distance from the
/// source. What a host outside of `hosts` begins at b is as if it began at b + min_v (latency(u,v)
/// - l(v)) and took l(v). Let the k hosts that hear first have heard by t. Then k messages have
/// been begun, each in a slot of its own, by hosts outside or that heard before: the i-th of these
/// slots isn't before the i-th of all slots that are possible at all, b_i, if (by induction) none
/// of the first k - 1 has heard before the time found for it. And the latencies l of k different
/// hosts, in ascending order, are no less than the k least of all. Whatever slot serves which host,
/// of the k - i + 1 that the slots from the i-th on serve one has at least the (k - i + 1)-th least
/// latency, so t ≥ b_i + l_(k-i+1) for each i. Nor can k hosts have heard before the k-th least
/// distance. The largest of all these is the time found for the k-th.
///
/// Hosts outside, but for the source, have heard no earlier than their distance is, and the k-th of
/// them no earlier than it could if all slots served them: the same bound for them, for which
/// `hosts` count as outside with their distances. So neither has the k-th of their first slots
/// come.
///
/// Cost: O((hosts in use)²). Seconds.
double postal_time(const Reach& reach, HostId source, const Distances& earliest,
                   const std::vector<HostId>& hosts);

} // namespace thalweg::bounds
