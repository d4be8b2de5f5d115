"""`thalweg weather --watch`: samples in the background that take a bounded share of the time."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from thalweg import console, host_names, inputs, paths, percentage, probe, sampling
from thalweg.errors import UserError
from thalweg.launcher import Launcher
from thalweg.network import Network

Pairs = Sequence[tuple[int, int]]

ALONE = "there is only one host: nothing to sample; name several with -H, or a network file"
LONGEST_PAUSE = 86_400 * 365.0
"""Seconds; a share that allows less than one sample a year asks for more than clocks can wait."""
FAILED = 3.0
"""A failed sample counts as this multiple of what one may take: while it waited for a silent host,
for up to a minute, it loaded no network."""


def parse_share(text: str) -> float:
    """Reads "0.1%". Raises UserError."""
    return percentage.parse(text, "--share", "0.1%", most=1)


def watch(
    hosts: Sequence[str],
    file: Path | None,
    launcher: Launcher,
    *,
    every: float,
    share: float,
    times: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Samples telling pairs again and again, until it is interrupted or has done so `times` times.

    A sample begins every `every` seconds, or later, so that samples take at most `share` of the
    time: while one is measured, all of its hosts count as busy. It has as many pairs, in turn, as
    should stay below that share. The network is the file's, or the one in the cache. A sample that
    fails is noted, and the next one follows. Raises UserError if there is no network of the hosts,
    and at the end if no sample succeeded.
    """
    if every <= 0:
        raise UserError("--watch 0: give a time between two samples, such as 10min")
    net = inputs.network(file or _cached(hosts))
    listed = {} if file else dict(zip(inputs.own_names(net, hosts), hosts, strict=True))
    pairs = _pairs(net)
    if not pairs:
        raise UserError(ALONE)
    pace = _Pace(net, pairs, every * share)
    done = succeeded = 0
    while times is None or done < times:
        begin = clock()
        succeeded += _sample(net, pace, launcher, listed)
        done += 1
        if times is None or done < times:
            wait = max(every, pace.taken / share) - (clock() - begin)
            pause(min(max(0.0, wait), LONGEST_PAUSE))
    if not succeeded:
        raise UserError("the sample failed" if done == 1 else f"all {done} samples failed")


def _cached(hosts: Sequence[str]) -> Path:
    """Returns the file of the hosts' network in the cache. Raises UserError if there is none."""
    path = paths.network(host_names.own(hosts))
    if not path.is_file():
        if len({*hosts}) < 2:
            raise UserError(ALONE)
        raise UserError(
            f"the network of {', '.join(sorted(hosts)[:4])} isn't known; name its file, or run a "
            "program on these hosts first"
        )
    paths.mark_used(path)
    return path


def _pairs(net: Network) -> list[tuple[int, int]]:
    """Returns the telling pairs, and those in which each host sends to the next one.

    So each host sends and receives, and with different ones: a slow host can be told from those
    that it is measured with.
    """
    count = len(net.hosts)
    ring = [(host, (host + 1) % count) for host in range(count)] if count > 1 else []
    telling = sampling.telling_pairs(net, max(sampling.TELLING, 2 * count))
    return list(dict.fromkeys(telling + ring))


def _sample(net: Network, pace: "_Pace", launcher: Launcher, listed: Mapping[str, str]) -> bool:
    """Takes the next sample, and says what came of it. Returns whether it succeeded."""
    chosen = pace.begin()
    try:
        entry = sampling.sample(
            net, chosen, launcher, budget=pace.budget, listed=listed,
            measured_for=pace.measured_for,
        )  # fmt: skip
    except UserError as error:
        console.note(f"no sample: {error}")
        pace.failed()
        return False
    console.note(f"pairs sampled: {len(entry.bandwidth)}")
    return True


class _Pace:
    """Chooses pairs by what the sample before took."""

    def __init__(self, net: Network, pairs: Pairs, allowed: float) -> None:
        """`allowed` are the seconds that a sample should take."""
        self._pairs = pairs
        self._allowed = allowed
        self._position = 0
        self._count = 0
        self._dilation = probe.lab_dilation()
        # The probe's streams last at least 50 ms.
        farthest = max(sampling.round_trip(net, *pair) for pair in pairs)
        self._shortest = max(0.05, sampling.ROUND_TRIPS * farthest)
        self._each = self._usual = self._shortest * self._dilation
        self.taken = 0.0
        """The seconds that the latest sample took."""

    @property
    def budget(self) -> float:
        """The seconds of the network's own time that a sample may take."""
        return min(sampling.BUDGET, max(self._shortest, self._allowed / self._dilation))

    def begin(self) -> list[tuple[int, int]]:
        """Returns the next pairs: at least one, and as many as should take the allowed time."""
        most = min(len(self._pairs), sampling.TELLING)
        self._count = max(1, min(most, int(self._allowed / self._each)))
        chosen = [
            self._pairs[(self._position + at) % len(self._pairs)] for at in range(self._count)
        ]
        self._position = (self._position + self._count) % len(self._pairs)
        self.taken = 0.0
        self._usual = self._each
        return chosen

    def failed(self) -> None:
        """Forgets how long the sample took, but for what may have been traffic."""
        self.taken = min(self.taken, FAILED * self.budget * self._dilation)
        self._each = self._usual

    def measured_for(self, seconds: float) -> None:
        """Learns how long the sample took. One that ended before it measured tells nothing."""
        self.taken = seconds
        if seconds > 0:
            self._each = seconds / self._count
