"""Clocks of hosts, aligned more closely by the run's own messages: none arrives before it is sent.

Each directed pair of hosts bounds the difference of their clocks by its fastest message, and
chains of pairs bound it further. Where all these bounds agree, each clock is put in the middle of
what they leave. (As clocks are compared with rank 0's, docs/record.md, but over all messages.)
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

SURE_LATENCY = 0.9
"""Share of a link's latency in the network file that every message is taken to need."""
ROUNDING = 1e-6
"""Nanoseconds by which sums of the same times may differ."""


def offsets(
    messages: pl.DataFrame, host_of: Numbers, latency: Floats | None, errors: Floats
) -> tuple[Floats, Floats]:
    """Returns by host what to add to its times, and how wrong its clock may then still be.

    `messages`: as of a run; `host_of`: each rank's host by number, that of rank 0 is the reference;
    `latency`: nanoseconds from host to host, as the network file has them, None if there is none;
    `errors`: by host, how wrong its clock may be, half of a round trip to rank 0's; infinite if it
    isn't known. If messages contradict the latencies, these are
    left out; if they contradict the errors, nothing is changed. Cost: that of grouping messages,
    and one pass over the pairs of hosts with messages for each link of the longest chain that
    bounds a clock; where they contradict each other, at most one for each host.
    """
    unchanged = np.zeros(len(errors)), errors
    if messages.is_empty():
        return unchanged
    fastest = _fastest(messages, host_of)
    sender, receiver, took = (fastest[name].to_numpy() for name in ("a", "b", "took"))
    root = int(host_of[0])
    for share in (SURE_LATENCY, 0.0):
        if latency is None and share > 0:
            continue
        least = 0.0 if latency is None else share * latency[sender, receiver]
        # The clock of a sender is ahead of its receiver's by less than what the message took.
        bounds = [(receiver, sender, took - least)]
        known = np.flatnonzero(np.isfinite(errors))
        others = known[known != root]
        at_root = np.full(len(others), root)
        # Clocks are compared by messages to the reference and back.
        there, back = (
            (0.0, 0.0) if latency is None
            else (share * latency[others, root], share * latency[root, others])
        )  # fmt: skip
        bounds += [
            (at_root, others, np.maximum(errors[others] - there, 0)),
            (others, at_root, np.maximum(errors[others] - back, 0)),
        ]
        origin, target, length = (np.concatenate(each) for each in zip(*bounds, strict=True))
        above = _distances(root, origin, target, length, len(errors))
        if above is None:
            continue
        below = _distances(root, target, origin, length, len(errors))
        if below is not None:
            reached = np.isfinite(above) & np.isfinite(below)
            high, low = np.where(reached, above, 0), np.where(reached, -below, 0)
            return (high + low) / 2, np.where(reached, (high - low) / 2, errors)
    return unchanged


def _fastest(messages: pl.DataFrame, host_of: Numbers) -> pl.DataFrame:
    hosts = pl.Series(host_of)
    return (
        messages.select(
            a=hosts.gather(messages["sender"]),
            b=hosts.gather(messages["receiver"]),
            took=(pl.col("receive_done") - pl.col("send_posted")).cast(pl.Float64),
        )
        .filter(pl.col("a") != pl.col("b"))
        .group_by("a", "b")
        .agg(pl.col("took").min())
        .sort("a", "b")
    )


def _distances(
    root: int, origin: Numbers, target: Numbers, length: Floats, hosts: int
) -> Floats | None:
    """Returns the shortest distances from the root (Bellman and Ford); None if a circle is
    negative, so that there is no solution."""
    found = np.full(hosts, np.inf)
    found[root] = 0
    for _ in range(hosts + 1):
        following = found.copy()
        np.minimum.at(following, target, found[origin] + length)
        if (following >= found - ROUNDING).all():
            return following
        if following[root] < -ROUNDING:  # from the root back to it
            return None
        found = following
    return None
