"""What `thalweg run` knows of the network between its hosts, and whether that still holds.

Hosts that were never seen are measured in a few seconds. The network of known ones comes from the
cache; where the weather's forecast, or a short sample of a few telling pairs, differs from it by
more than a threshold, what doesn't fit is calibrated anew (thalweg.drift); a network that hardly
fits at all is another one, and is measured anew. A sample is taken only if nothing was measured of
the network for an hour, or if run records show a link that became slow. Where none can be taken, or
is wanted, a sure forecast stands for it. A file that the user gives is never changed: a copy is.
"""

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import (
    calibration,
    console,
    drift,
    host_names,
    inputs,
    paths,
    probe,
    sampling,
    verification,
    weather,
    weather_file,
)
from thalweg import network as networks
from thalweg.caution import USUAL, Caution
from thalweg.errors import UserError
from thalweg.files import is_file, locked, writing
from thalweg.hosts import Host
from thalweg.launcher import Launcher
from thalweg.network import Network
from thalweg.weather import Entry, Pair

if TYPE_CHECKING:
    from thalweg.record import Run

QUICK = 0.5
"""Seconds of the network's own time that the measurement of hosts never seen may take."""
QUICK_START = 1.0
"""About how many seconds that delays a start, with the start of its ranks."""
QUICKLY = ", quickly"
"""The end of what such a network was measured with; what a run found may follow."""
UNKNOWN_TIME = "an unknown time"
INSTEAD = "`--verify off` takes it as it is, `thalweg probe` measures anew"
PLANNING_ANEW = f"planning for what the hosts have: {INSTEAD}"


class _MustMeasureError(Exception):
    """Something is to be measured, which other runs might be doing now."""


def is_quick(net: Network) -> bool:
    """Whether a network was measured quickly, so that thorough plans for it gain nothing. It stays
    so where it was calibrated, or kept with what a run found."""
    return QUICKLY in net.measured_with


def network(hosts: Sequence[Host], launcher: Launcher, caution: Caution = USUAL) -> Path:
    """Returns the file of the hosts' network in the cache, or measures it.

    One that was measured with another MPI library is completed for this one; one that was measured
    quickly is measured anew if the start is to be full. Of several runs at once the first one
    measures what is to be measured, and the others wait for that: they would disturb each other.
    Raises UserError if the hosts can't be measured, or the cache can't be written.
    """
    path = _in_cache(hosts)
    if is_file(path):
        with contextlib.suppress(_MustMeasureError):
            return _known(path, hosts, launcher, caution, alone=False)
    with _one_at_a_time(path):
        path = _in_cache(hosts)  # The run before may have found out what the hosts call themselves.
        if is_file(path):
            return _known(path, hosts, launcher, caution)
        return _measure(path, hosts, launcher, caution)


def is_known(hosts: Sequence[Host]) -> bool:
    """Whether the cache has the network of these hosts."""
    return is_file(_in_cache(hosts))


def kept(hosts: Sequence[Host]) -> Network | None:
    """Returns the network of these hosts as the cache has it, and says which file that is; None if
    it has none. Raises UserError if the file can't be read as a network."""
    path = _in_cache(hosts)
    if not is_file(path):
        return None
    paths.mark_used(path)
    net = inputs.network(path)
    console.note(f"using the network measured at {net.measured_at or UNKNOWN_TIME} ({path})")
    return net


def _in_cache(hosts: Sequence[Host]) -> Path:
    return paths.network(host_names.own(host.name for host in hosts))


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Waits for other runs that measure this network. Where the file system has no locks, nobody
    waits."""
    said = "another run measures the network of these hosts: waiting for it"
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(path, lambda: console.note(said)))
        yield


def _known(
    path: Path, hosts: Sequence[Host], launcher: Launcher, caution: Caution, *, alone: bool = True
) -> Path:
    """Returns the file of what holds of a network in the cache; if the hosts have been replaced by
    others, theirs.

    Raises _MustMeasureError if something is to be measured, and this run mayn't be `alone` in it.
    """
    try:
        return _verified(path, hosts, launcher, caution, alone=alone)
    except probe.OtherHostsError as error:
        console.note(
            f"{path} has other hosts than those that are listed: {error}; they are measured anew"
        )
        return _measure(path, hosts, launcher, caution)


def _verified(
    path: Path, hosts: Sequence[Host], launcher: Launcher, caution: Caution, *, alone: bool = True
) -> Path:
    """Returns the file of what holds of a network in the cache. Raises probe.OtherHostsError, and
    _MustMeasureError as _known() does."""
    paths.mark_used(path)
    try:
        net = inputs.network(path)
    except UserError as error:
        return _measure_instead(path, hosts, launcher, caution, str(error), alone=alone)
    try:
        start = verification.Start(launcher, verification.listed(net, hosts))
    except UserError:
        why = f"{path} has other hosts than those that are listed"
        return _measure_instead(path, hosts, launcher, caution, why, alone=alone)
    if caution.start == "full" and is_quick(net):
        why = f"{path} was measured quickly"
        return _measure_instead(path, hosts, launcher, caution, why, alone=alone)
    wanted = [] if caution.verify == "off" else verification.to_sample(net, caution)
    if not alone and (wanted or launcher.flavour not in net.message_costs):
        raise _MustMeasureError
    when = net.measured_at or UNKNOWN_TIME
    if launcher.flavour not in net.message_costs:
        console.note(f"adding {launcher.name} to the network measured at {when} ({path})")
        paths.make_cache(path, f"network {path}")
        probe.run(
            hosts, path, launcher, base=path, resume_within=verification.FRESH,
            remedy=paths.ANOTHER_CACHE,
        )  # fmt: skip
        net = inputs.network(path)
    else:
        console.note(f"using the network measured at {when} ({path}; delete it to measure anew)")
    found = verification.sample(net, wanted, start) if wanted else None
    if not found and (wanted or caution.verify == "off"):
        return calibration.as_forecast(path, net, caution)
    if not found or not (off := drift.misfits(net, found, caution.threshold)):
        return path
    if verification.is_another(net, sampling.telling_pairs(net), off, found):
        console.note(drift.in_words(off, path))
        return _measure(path, hosts, launcher, caution)
    calibration.calibrate(path, net, verification.with_others(net, found, off, start), caution)
    return path


def _measure_instead(
    path: Path,
    hosts: Sequence[Host],
    launcher: Launcher,
    caution: Caution,
    why: str,
    *,
    alone: bool,
) -> Path:
    if not alone:
        raise _MustMeasureError
    console.note(f"{why}; the network is measured anew")
    return _measure(path, hosts, launcher, caution)


def _measure(path: Path, hosts: Sequence[Host], launcher: Launcher, caution: Caution) -> Path:
    if caution.start != "full":
        return _measure_quickly(path, hosts, launcher, caution)
    paths.make_cache(path, f"network {path}")
    console.note(f"probing the network of {len(hosts)} hosts into the cache")
    fresh = verification.FRESH
    probe.run(hosts, path, launcher, resume_within=fresh, remedy=paths.ANOTHER_CACHE)
    own = _of_own_names(path)
    with writing(f"network {own}", paths.ANOTHER_CACHE):
        path.replace(own)
    paths.drop_unused(own.parent)
    return own


def _measure_quickly(
    path: Path, hosts: Sequence[Host], launcher: Launcher, caution: Caution
) -> Path:
    """Measures a network, unless the probe shows that it is known by other names of its hosts."""
    paths.make_cache(path, f"network {path}")
    console.note(f"measuring the network of {len(hosts)} hosts in about a second, with quick plans")
    # Other runs see only what is complete.
    raw = path.with_name(f"{path.stem}.{time.time_ns():x}.json")
    try:
        probe.run(hosts, raw, launcher, budget=QUICK, hurried=True, remedy=paths.ANOTHER_CACHE)
        own = _of_own_names(raw)
        if own != path and is_file(own):
            return _verified(own, hosts, launcher, caution)
        _complete(raw)
        with writing(f"network {own}", paths.ANOTHER_CACHE):
            raw.replace(own)
        paths.drop_unused(own.parent)
    finally:
        raw.unlink(missing_ok=True)
    console.note("`thalweg run --start full` measures the network fully, for better plans")
    return own


def _of_own_names(path: Path) -> Path:
    """Returns where the cache has the network in a file, by what its hosts call themselves."""
    return paths.network(host.name for host in networks.read(path).hosts)


def _complete(path: Path) -> None:
    """Marks a network as measured quickly, and sets what little time left unmeasured.

    A host whose capacity isn't known gets that of its fastest flow.
    Without any, plans would send to everybody at once and believe that it takes no longer.
    """
    import numpy as np

    net = networks.read(path)
    rate = np.array(net.bandwidth, dtype=float)
    np.fill_diagonal(rate, 0)
    net.hosts = [
        networks.Host(
            host.name,
            host.egress if np.isfinite(host.egress) else float(rate[at].max()),
            host.ingress if np.isfinite(host.ingress) else float(rate[:, at].max()),
        )
        for at, host in enumerate(net.hosts)
    ]
    net.measured_with += QUICKLY
    networks.write(net, path)


def given(path: Path, hosts: Sequence[Host], launcher: Launcher, caution: Caution) -> Path:
    """Returns the user's network file, or where it doesn't fit the hosts, one that does.

    Samples a few telling pairs if too little was heard of them lately, and with them pairs that a
    run found to contradict the file. If what is found differs, that is said, and the network is a
    calibrated copy of the file in the cache, which stays the same as long as it fits, so that plans
    and races for it are found again; or, if hardly anything fits, or hosts have been replaced by
    others, the network that is known of the hosts (network()). The file isn't changed. Raises
    UserError as network() does.
    """
    if path.absolute().parent == paths.cache() / "networks":
        paths.mark_used(path)
    try:
        return _verified_file(path, hosts, launcher, caution)
    except probe.OtherHostsError as error:
        console.note(f"network {path} doesn't fit: {error}; {PLANNING_ANEW}")
        return network(hosts, launcher, caution)


def _verified_file(path: Path, hosts: Sequence[Host], launcher: Launcher, caution: Caution) -> Path:
    """Returns what given() does. Raises probe.OtherHostsError."""
    if caution.verify == "off":
        return path
    net = inputs.network(path)
    try:
        start = verification.Start(launcher, verification.listed(net, hosts))
    except UserError:  # whoever looks for the hosts in it says what is wrong
        return path
    names = list(start.listed)
    if len(names) < 2:
        return path
    if len(names) > networks.MOST_HOSTS:
        console.note(
            f"the network isn't verified: more than {networks.MOST_HOSTS} hosts are listed"
        )
        return path
    if len(net.hosts) > networks.MOST_HOSTS:  # of which the part of the listed hosts is verified
        net = sampling.part(net, sorted(verification.host_places(net, names)))
    copy = calibration.copy_for(path, net, names)
    telling = sampling.telling_pairs(net, among=verification.host_places(net, names))
    is_new = False
    if not (found := verification.heard(net, telling, names, caution)):
        with _one_at_a_time(copy):
            if not (found := verification.heard(net, telling, names, caution)):
                is_new = True
                first = verification.to_sample_of_file(net, telling, names, caution)
                found = verification.sample(net, first, start, names)
    if not found or not (off := drift.misfits(net, found, caution.threshold)):
        return path
    if verification.is_another(net, telling, off, found):
        console.note(f"{drift.in_words(off, path)}; {PLANNING_ANEW}")
        return network(hosts, launcher, caution)
    console.note(f"{drift.in_words(off, path)}; planning for a calibrated copy: {INSTEAD}")
    before = calibration.of_copy(copy)
    if before and not drift.misfits(before, found, caution.threshold):
        paths.mark_used(copy)
        return copy
    if is_new:
        found = verification.with_others(net, found, off, start, names)
    return calibration.calibrated_copy(path, copy, net, found, caution)


def learn(run: "Run", hosts: Iterable[str]) -> None:
    """Adds a run record to the weather of its hosts, whatever they are called."""
    add(hosts, weather.of_record(run, time.time()), run.hosts)


def add(hosts: Iterable[str], entry: Entry, called: Sequence[str]) -> None:
    """Adds an entry to the weather of some hosts. What it has of other hosts is left out; nothing
    is added if that is all.

    `called`: all hosts of the network or record that the entry is of, as they are called in it.
    """
    names = list(dict.fromkeys(hosts))
    own = [None if at is None else names[at] for at in host_names.matches(called, names)]
    renamed = dict(zip(called, own, strict=True))

    def of_pairs(values: Mapping[Pair, float]) -> dict[Pair, float]:
        return {
            (a, b): value
            for (first, second), value in values.items()
            if (a := renamed[first]) and (b := renamed[second])
        }

    latency, bandwidth, ratio = map(of_pairs, (entry.latency, entry.bandwidth, entry.ratio))
    ports = {name: limits for each, limits in entry.ports.items() if (name := renamed[each])}
    if latency or bandwidth or ratio:
        known = replace(entry, latency=latency, bandwidth=bandwidth, ratio=ratio, ports=ports)
        weather_file.add(names, known)
