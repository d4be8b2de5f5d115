"""Whether a network still holds: what was heard of it, and samples of a few telling pairs.

A sample is taken only if nothing was measured of the telling pairs for an hour, or if run records
or forecasts show a link that became slow.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from thalweg import console, drift, inputs, probe, sampling, suspicion, weather, weather_file
from thalweg.caution import Caution
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.launcher import Launcher
from thalweg.network import Network, host_numbers
from thalweg.weather import History, Pair, PairValues

FRESH = 3600.0
"""Seconds for which a network counts as known after anything of it was measured."""
FEWEST = 3
"""Fewest pairs that tell whether a network fits."""
ANOTHER = 0.5
"""The share of pairs that don't fit beyond which a network isn't calibrated but measured anew."""


@dataclass(frozen=True)
class Start:
    """How ranks of a sample are started."""

    launcher: Launcher
    listed: Mapping[str, str]
    """How the user calls the hosts of the network."""


def listed(net: Network, hosts: Sequence[Host]) -> dict[str, str]:
    """Returns how the user calls the network's hosts. Raises UserError for an unknown one."""
    names = [host.name for host in hosts]
    return dict(zip(inputs.own_names(net, names), names, strict=True))


def heard(
    net: Network, telling: Sequence[tuple[int, int]], hosts: Iterable[str], caution: Caution
) -> PairValues | None:
    """Returns what is known of a network since it was measured, of the last hour at most; None if
    of too few telling pairs, or if what a run found contradicts the network and wasn't looked at.

    `hosts`: those whose history it is.
    """
    if caution.verify == "always":
        return None
    later, doubtful = _since_measured(net, hosts, caution)
    since = time.time() - FRESH
    fresh = later.since(since)
    # Two hosts have one such pair.
    enough = min(FEWEST, len(telling))
    measured = filter(suspicion.is_measured, fresh.entries)
    pairs = {pair for entry in measured for pair in entry.bandwidth}
    if doubtful or len(names_of(net, telling) & pairs) < enough:
        return None
    return drift.known(fresh, since)


def _since_measured(
    net: Network, hosts: Iterable[str], caution: Caution
) -> tuple[History, list[tuple[int, int]]]:
    """Returns what suspicion.of_runs() does, of what is known since a network was measured."""
    later = weather_file.load(hosts, recent=True).since(measured_at(net))
    return suspicion.of_runs(net, later, caution.threshold)


def to_sample_of_file(
    net: Network, telling: Sequence[tuple[int, int]], hosts: Iterable[str], caution: Caution
) -> list[tuple[int, int]]:
    """Returns the pairs of a user's file to sample where not enough was heard: telling ones, and
    before them those that contradict it by what a run found, at most half as many as are sampled.

    `hosts`: those whose history it is.
    """
    later, doubtful = _since_measured(net, hosts, caution)
    pairs = [*doubtful[: sampling.TELLING // 2], *sampling.longest_ago(net, telling, later)]
    return list(dict.fromkeys(pairs))[: sampling.TELLING]


def is_another(
    net: Network,
    telling: Sequence[tuple[int, int]],
    off: Sequence[drift.Misfit],
    found: PairValues,
) -> bool:
    """Whether so little of a network is as it was found that it must be another one's.

    Only telling pairs count: others are looked at because they are suspected.
    """
    names = names_of(net, telling)
    looked_at = names & {*found.latency, *found.bandwidth}
    wrong = names & {misfit.pair for misfit in off}
    return len(looked_at) >= FEWEST and len(wrong) > ANOTHER * len(looked_at)


def host_places(net: Network, hosts: Iterable[str]) -> set[int]:
    """Returns the numbers of some hosts, by their names in the network."""
    place = host_numbers(net)
    return {place[name] for name in hosts}


def measured_at(net: Network) -> float:
    """Returns when a network was measured, in seconds since 1970; 0 if that isn't known, or in the
    future by this machine's clock."""
    at = weather.seconds(net.measured_at, lambda: 0.0)
    return at if at <= time.time() + weather_file.AHEAD else 0.0


def to_sample(net: Network, caution: Caution) -> list[tuple[int, int]]:
    """Returns pairs that the forecast lets suspect, and telling ones if none was measured for long.

    Run records don't count for that: by them only what became twice as slow is suspected. Nor does
    what runs found to have changed, which is suspected.
    """
    later, _ = _since_measured(net, [host.name for host in net.hosts], caution)
    suspicious = suspicion.suspicious(net, later, caution.threshold)
    telling = sampling.telling_pairs(net)
    names = names_of(net, telling)
    heard_of = filter(suspicion.is_measured, later.entries)
    last = max([measured_at(net), *(entry.at for entry in heard_of if names & {*entry.bandwidth})])
    if caution.verify == "always" or time.time() - last > FRESH:
        suspicious += sampling.longest_ago(net, telling, later)
    return list(dict.fromkeys(suspicious))[: sampling.TELLING]


def names_of(net: Network, pairs: Iterable[tuple[int, int]]) -> set[Pair]:
    """Returns pairs of hosts by their names."""
    hosts = net.hosts
    return {(hosts[a].name, hosts[b].name) for a, b in pairs}


def with_others(
    net: Network,
    found: PairValues,
    off: Sequence[drift.Misfit],
    start: Start,
    hosts: Sequence[str] | None = None,
) -> PairValues:
    """Returns what was found, and of pairs that tell how far what doesn't fit goes."""
    place = host_numbers(net)
    among = None if hosts is None else host_places(net, hosts)
    around = sampling.around(net, [(place[m.pair[0]], place[m.pair[1]]) for m in off], among)
    if not (more := sample(net, around, start, hosts)):
        return found
    return PairValues({**found.latency, **more.latency}, {**found.bandwidth, **more.bandwidth})


def sample(
    net: Network,
    pairs: Collection[tuple[int, int]],
    start: Start,
    hosts: Sequence[str] | None = None,
) -> PairValues | None:
    """Samples pairs, and says for how many there was no time. None, with a note, if that isn't
    possible: the run goes on without.

    Raises probe.OtherHostsError.
    """
    if not pairs:
        return None
    try:
        found = sampling.sample(net, pairs, start.launcher, hosts=hosts, listed=start.listed)
    except probe.OtherHostsError:
        raise
    except UserError as error:
        console.note(f"the network isn't verified: {error}")
        return None
    if missing := len(pairs) - len(found.bandwidth):
        console.note(
            f"the bandwidth of {missing} of {len(pairs)} sampled pairs isn't verified: the sample "
            "had no time for it; the next one begins with them"
        )
    return found.values
