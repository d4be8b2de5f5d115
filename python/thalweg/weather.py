"""The weather: the history of what was measured and observed between hosts, and its forecast.

docs/weather-file.md describes the file. Every probe, every run record, every sample and every run
whose plans followed a change adds a line to the file of its hosts; nothing is ever changed in it,
and if it can't be read or written, a note on standard error says so and the work goes on.
"""

import fcntl
import hashlib
import json
import math
import operator
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, get_args

from thalweg import console, forecast, paths
from thalweg.errors import UserError
from thalweg.files import parse_json, write_error, write_whole
from thalweg.forecast import Change, Forecast
from thalweg.network import Network

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from thalweg.record import Run

# numpy, and records, which need it, are imported where they are used: a run whose network was
# measured lately starts without waiting for them.

VERSION = 1
MOST_PAIRS = 4096
"""Most pairs of a quantity in an entry; of more, as many evenly chosen ones."""
LARGEST = 32 << 20
"""Bytes of a file beyond which its older half is dropped."""
RECENT = 4 << 20
"""Most bytes that are read from a file's end where the latest entries suffice."""
AHEAD = 60.0
"""Seconds by which an entry may be later than this machine's clock, which was set back if it is
more: what is known then isn't known to be old."""
LATEST = 253_402_300_800.0
"""The first time whose year has five digits, in seconds since 1970: no calendar has it."""
LEAST, MOST = 1e-30, 1e30
"""The least and the greatest value that is taken for one: others' ratios would overflow."""
_noted: set[Path] = set()
"""The files with which something is wrong, as was said."""
FEWEST = 20
"""Fewest transfers of a pair in a run record that tell something."""
USUAL_SHARE = 0.1
"""The share of a pair's transfers that are quicker than what counts as its ratio."""

Source = Literal["probe", "record", "sample", "run"]
Quantity = Literal["latency", "bandwidth", "ratio"]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Entry:
    """What was found at one time; pairs and ports by the hosts' names."""

    at: float
    """Seconds since 1970, UTC."""
    source: Source
    latency: Mapping[Pair, float] = field(default_factory=dict)
    """Seconds."""
    bandwidth: Mapping[Pair, float] = field(default_factory=dict)
    """Bytes per second of a single flow."""
    ratio: Mapping[Pair, float] = field(default_factory=dict)
    """What planned transfers took over what the network lets expect, with little waiting."""
    ports: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Egress and ingress in bytes per second; infinite: no limit known."""
    trunks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Series:
    """A quantity of a pair over time, in the order of time."""

    times: Sequence[float]
    values: Sequence[float]
    sources: Sequence[Source]

    @property
    def logs(self) -> list[float]:
        return [math.log(value) for value in self.values]

    def forecast(self, at: float) -> Forecast:
        """Returns the forecast of the value's logarithm; its error is a fraction of the value."""
        return forecast.forecast(self.times, self.logs, at)

    def changes(self) -> list[Change]:
        """Returns the lasting changes, of the value's logarithm."""
        return forecast.changes(self.times, self.logs)


@dataclass(frozen=True)
class History:
    """All that is known of some hosts' weather."""

    hosts: Sequence[str]
    entries: Sequence[Entry]
    """In the order of time."""

    @cached_property
    def _series(self) -> Mapping[tuple[Quantity, Pair], Series]:
        found: dict[tuple[Quantity, Pair], Series] = {}
        for entry in self.entries:
            for quantity in get_args(Quantity):
                values: Mapping[Pair, float] = getattr(entry, quantity)
                for pair, value in values.items():
                    series = found.setdefault((quantity, pair), Series([], [], []))
                    assert isinstance(series.times, list)
                    assert isinstance(series.values, list)
                    assert isinstance(series.sources, list)
                    series.times.append(entry.at)
                    series.values.append(value)
                    series.sources.append(entry.source)
        return found

    def series(self, quantity: Quantity, pair: Pair) -> Series:
        return self._series.get((quantity, pair), Series([], [], []))

    def pairs(self, quantity: Quantity) -> list[Pair]:
        """Returns the pairs of which something is known, in the order of the hosts."""
        place = {host: at for at, host in enumerate(self.hosts)}
        found = [pair for known, pair in self._series if known == quantity]
        return sorted(found, key=lambda pair: (place[pair[0]], place[pair[1]]))

    def since(self, at: float) -> "History":
        """Returns the part that is from `at` on."""
        return History(self.hosts, [entry for entry in self.entries if entry.at >= at])


# What is found -----------------------------------------------------------------------------------


def of_network(net: Network, at: float, source: Source = "probe") -> Entry:
    """Returns what a probe measured of a network: pairs whose values aren't inferred."""
    names = [host.name for host in net.hosts]
    return Entry(
        at,
        source,
        _measured(names, net.latency, net.latency_error),
        _measured(names, net.bandwidth, net.bandwidth_error),
        ports={host.name: (host.egress, host.ingress) for host in net.hosts},
        trunks={trunk.name: trunk.capacity for trunk in net.trunks},
    )


def of_change(before: Network, after: Network, at: float) -> Entry:
    """Returns what a run found to have changed in a network, as it was when the run ended."""
    import numpy as np

    names = [host.name for host in after.hosts]
    both = [*zip(before.hosts, after.hosts, strict=True)]
    trunks = [*zip(before.trunks, after.trunks, strict=True)]

    def changed(values: Any, known: Any) -> dict[Pair, float]:
        return _measured(names, np.where(values == known, np.nan, values), None)

    return Entry(
        at,
        "run",
        changed(after.latency, before.latency),
        changed(after.bandwidth, before.bandwidth),
        ports={
            now.name: (now.egress, now.ingress)
            for was, now in both
            if (now.egress, now.ingress) != (was.egress, was.ingress)
        },
        trunks={now.name: now.capacity for was, now in trunks if now.capacity != was.capacity},
    )


def _measured(names: Sequence[str], values: Any, errors: Any) -> dict[Pair, float]:
    import numpy as np

    known = np.isfinite(values) & (values > 0)
    if errors is not None and np.shape(errors) == np.shape(values):
        known &= np.isfinite(errors)
    np.fill_diagonal(known, val=False)
    senders, receivers = np.nonzero(known)
    chosen = _evenly(senders, receivers, len(names))
    return {
        (names[a], names[b]): float(values[a, b])
        for a, b in zip(senders[chosen], receivers[chosen], strict=True)
    }


def _evenly(
    senders: "NDArray[np.intp]", receivers: "NDArray[np.intp]", hosts: int
) -> "NDArray[np.intp]":
    """Returns the places of at most MOST_PAIRS pairs, in which hosts occur about equally often.

    The pairs whose numbers differ by the same amount, modulo the hosts, have each host once at
    either end. Whole such sets are taken, of amounts that are spread (van der Corput's sequence).
    """
    import numpy as np

    if len(senders) <= MOST_PAIRS:
        return np.arange(len(senders))
    order = np.empty(hosts, np.intp)
    digits = hosts.bit_length()
    order[sorted(range(hosts), key=lambda amount: f"{amount:0{digits}b}"[::-1])] = np.arange(hosts)
    found = np.lexsort((senders, order[(receivers - senders) % hosts]))[:MOST_PAIRS]
    return np.sort(found)


def of_record(run: "Run", at: float) -> Entry:
    """Returns the link observations of a run as ratios of observed to predicted time.

    A transfer's time includes waiting for a sender that is late, so that the quick ones tell about
    the network: the ratio that a tenth of a pair's transfers stays below. Pairs with few transfers
    are left out, and those whose messages came before they were asked for.
    """
    import numpy as np

    from thalweg.record import RATIOS

    counts = np.cumsum(run.links["ratios"], axis=1)
    class_ = np.sum(counts <= USUAL_SHARE * counts[:, -1:], axis=1)
    known = (counts[:, -1] >= FEWEST) & (run.links["predicted"] > 0)
    (tell,) = np.nonzero(known & (class_ > 0) & (class_ < len(RATIOS) - 1))
    links = run.links[tell]
    chosen = _evenly(links["from"].astype(np.intp), links["to"].astype(np.intp), len(run.hosts))
    ratios = {
        (run.hosts[link["from"]], run.hosts[link["to"]]): (
            math.sqrt(RATIOS[at_class] * RATIOS[at_class + 1]) / run.dilation
        )
        for link, at_class in zip(links[chosen], class_[tell][chosen], strict=True)
    }
    return Entry(at, "record", ratio=ratios)


# The file ----------------------------------------------------------------------------------------


def location(hosts: Iterable[str], environment: Mapping[str, str] = os.environ) -> Path:
    """Returns the file of a set of hosts, of this lab if we are in one."""
    key = json.dumps([sorted(set(hosts)), paths.lab(environment)])
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    return paths.cache() / "weather" / f"{name}.jsonl"


def load(hosts: Iterable[str], *, recent: bool = False) -> History:
    """Returns the history of a set of hosts: all of it, or what the last RECENT bytes hold.

    Lines that are cut off or damaged are skipped, and those of the future. A note says if the file
    can't be read, or is something else; then nothing is known.
    """
    names = sorted(set(hosts))
    path = location(names)
    paths.mark_used(path)
    try:
        with path.open("rb") as file:
            head = file.readline(RECENT)
            if recent:
                end = os.fstat(file.fileno()).st_size
                if file.tell() < end - RECENT:
                    file.seek(end - RECENT)
                    file.readline()
            lines = file.read().splitlines()
        if _is_cut_off(head, names):
            return History(names, [])
        _check_head(head, names, path)
    except FileNotFoundError:
        return History(names, [])
    except (OSError, UserError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        _note_once(path, f"weather {path} is ignored: {why}")
        return History(names, [])
    found = [entry for line in lines if (entry := _entry(line, names))]
    now = time.time() + AHEAD
    return History(names, sorted((e for e in found if e.at <= now), key=lambda entry: entry.at))


def _note_once(path: Path, line: str) -> None:
    """Says what is wrong with a history once, however often it is read and written."""
    if path not in _noted:
        _noted.add(path)
        console.note(line)


def _head(names: Sequence[str]) -> str:
    return json.dumps({"weather": VERSION, "hosts": names}) + "\n"


def _is_cut_off(line: bytes, names: Sequence[str]) -> bool:
    """Whether it is a part of the head, whose writer goes on, was killed or had no space."""
    return not line.endswith(b"\n") and _head(names).encode().startswith(line)


def _check_head(line: bytes, names: Sequence[str], path: Path) -> None:
    try:
        head = parse_json(line.decode(), str(path))
    except (UserError, ValueError):
        head = None
    if not isinstance(head, dict) or head.get("weather") != VERSION:
        raise UserError("not a history that this Thalweg can read; remove it")
    if head.get("hosts") != list(names):
        raise UserError("of other hosts; remove it")


def add(hosts: Iterable[str], entry: Entry) -> None:
    """Adds an entry to the history of its hosts. A note says why if that isn't possible.

    Processes may add at the same time: each line is written at once, under a lock.
    """
    names = sorted(set(hosts))
    path = location(names)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(0)
            head = file.readline(RECENT)
            if is_new := _is_cut_off(head, names):
                file.truncate(0)
                text = _head(names)
            else:
                _check_head(head, names, path)
                file.seek(size - 1)
                # A writer that was killed may have left half a line.
                torn = file.read(1) != b"\n"
                text = "\n" * torn
            text += _line(entry, names) + "\n"
            file.write(text.encode())
            file.flush()
            if is_new:
                paths.drop_unused(path.parent)
            if size > LARGEST:
                _drop_half(path)
    except (OSError, UserError) as error:
        if isinstance(error, OSError):
            _note_once(path, write_error(f"weather {path}", error, paths.ANOTHER_CACHE))
        else:
            _note_once(path, f"weather {path} isn't kept: {error}")


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """Opens the file, under a lock; once more if another process has just replaced it."""
    while True:
        with path.open("ab+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(path, file):
                yield file
                return


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _drop_half(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    write_whole(path, b"".join([lines[0], *lines[len(lines) // 2 :]]))


def _line(entry: Entry, names: Sequence[str]) -> str:
    number = {name: at for at, name in enumerate(names)}

    def rows(values: Mapping[Pair, float]) -> list[list[float]]:
        return [[number[a], number[b], _short(value)] for (a, b), value in values.items()]

    def limits(values: Iterable[float]) -> list[float | None]:
        return [_short(value) if math.isfinite(value) else None for value in values]

    content: dict[str, Any] = {"at": round(entry.at, 3), "source": entry.source}
    for quantity in get_args(Quantity):
        if values := getattr(entry, quantity):
            content[quantity] = rows(values)
    if entry.ports:
        content["ports"] = [[number[name], *limits(pair)] for name, pair in entry.ports.items()]
    if entry.trunks:
        content["trunks"] = [[name, *limits([rate])] for name, rate in entry.trunks.items()]
    return json.dumps(content, separators=(",", ":"))


def _short(value: float) -> float:
    """Returns four significant digits: more are not known."""
    return float(f"{value:.4g}")


def _entry(line: bytes, names: Sequence[str]) -> Entry | None:
    """Reads a line; None if it isn't an entry of a kind that is known."""
    try:
        found = json.loads(line)
        at, source = float(found["at"]), found["source"]
        if source not in get_args(Source) or not 0 <= at < LATEST:
            return None
        quantities = {
            quantity: {
                (_host(names, a), _host(names, b)): _positive(value)
                for a, b, value in found.get(quantity, [])
            }
            for quantity in get_args(Quantity)
        }
        ports = {
            _host(names, host): (_limit(out), _limit(into))
            for host, out, into in found.get("ports", [])
        }
        trunks = {str(name): _limit(rate) for name, rate in found.get("trunks", [])}
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        return None
    return Entry(at, source, **quantities, ports=ports, trunks=trunks)


def _host(names: Sequence[str], value: Any) -> str:
    number = operator.index(value)
    if number < 0:
        raise IndexError("not a host")
    return names[number]


def _positive(value: Any) -> float:
    number = float(value)
    if not LEAST <= number <= MOST:
        raise ValueError("not a quantity")
    return number


def _limit(value: Any) -> float:
    return math.inf if value is None else _positive(value)


def timestamp(at: float) -> str:
    """Returns a time in seconds since 1970 as a network file's `measured_at`: in UTC, to the second
    that it is in."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def seconds(at: str, otherwise: Callable[[], float] = time.time) -> float:
    """Returns a network file's `measured_at`, which is in UTC, in seconds since 1970; if there is
    none, now."""
    import datetime

    try:
        found = datetime.datetime.fromisoformat(at)
    except ValueError:
        return otherwise()
    return (found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).timestamp()
