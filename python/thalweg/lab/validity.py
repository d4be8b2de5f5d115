"""Checks whether a measurement made in the lab is valid.

A lab can be wrong: its switch may fall behind, a library may find that the hosts share a machine, a
clock may be off. A measurement with any such sign is reported as invalid, never as a number.
"""

from dataclasses import dataclass

from thalweg.lab.counters import Counters
from thalweg.lab.scenario import Scenario

BUSIEST = 0.85
"""The largest load of the switch's core; above it the switch itself is measured. One that can't
keep up is hardly busier, since it rests for 7 % of the time."""
LATE_SHARE = 0.01
"""The share of frames that may be later than allowed, since a machine is never quite idle."""
LATENESS_SHARE = 0.02
"""The share of the measured time that lateness may add per critical hop."""


@dataclass(frozen=True)
class Validity:
    """The verdict on a measurement, with the reasons against it."""

    reasons: tuple[str, ...]

    @property
    def valid(self) -> bool:
        return not self.reasons

    def __bool__(self) -> bool:
        return self.valid


def judge(
    scenario: Scenario,
    counted: Counters,
    measured_time: float,
    bytes_must_cross: int,
    bound: float = 0.0,
    hops: int | None = None,
) -> Validity:
    """Judges one measurement, or several of the same thing in a row.

    scenario: the network that the lab imposes.
    counted: the counters from just before to just after (counters.read, Counters.since).
    measured_time: the shortest of the measured times, un-dilated seconds.
    bytes_must_cross: the least bytes that the operations measured in between must have moved from
        host to host; a broadcast of m bytes to p hosts: (p - 1) m.
    bound: the physical limit of the operation on the scenario's network, un-dilated seconds.
    hops: transfers one after another on the critical path; if not known, all hosts in a chain.

    The rules: no frame later than planned by more than the greater of 5 % of the latency imposed on
    it and of 2 % of the measured time per critical hop (but for one frame in a hundred, each of
    these by less than 2 % of the time as a whole); the switch's core at most 85 % busy; the bytes
    crossed the switch; no host dropped frames on its own interface; not faster than the bound.
    """
    hops = hops or len(scenario.hosts) - 1
    allowed = LATENESS_SHARE * measured_time * counted.dilation
    reasons = []
    too_late = counted.late_beyond(allowed / hops)
    if too_late > LATE_SHARE * counted.frames:
        reasons.append(
            f"{too_late} of {counted.frames} frames left the switch late by over 5 % of their "
            f"latency and {allowed / hops * 1e6:.0f} us: raise the dilation, or free the machine "
            "of other work"
        )
    elif counted.late_beyond(allowed):
        reasons.append(
            f"a frame left the switch {counted.latest * 1e3:.1f} ms late, over "
            f"{LATENESS_SHARE:.0%} of the measured time: measure again"
        )
    if counted.busy_fraction > BUSIEST:
        reasons.append(
            f"the switch was busy {counted.busy_fraction:.0%} of the time, over {BUSIEST:.0%}: "
            "raise the dilation"
        )
    if counted.bytes < bytes_must_cross:
        reasons.append(
            f"{counted.bytes} bytes crossed the switch where the operation must move "
            f"{bytes_must_cross}: the hosts found another path to each other"
        )
    if sum(counted.host_drops) > 0:
        worst = max(zip(counted.host_drops, counted.hosts, strict=True))
        reasons.append(f"the interface of host {worst[1]} dropped {worst[0]} frames")
    if measured_time < bound:
        reasons.append(f"{measured_time:.6f} s is below the physical limit of {bound:.6f} s")
    return Validity(tuple(reasons))
