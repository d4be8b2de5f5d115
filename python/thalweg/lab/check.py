"""Verifies the lab with independent tools: latency with ping, rates with iperf3."""

import json as json_format
import math
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from statistics import quantiles

from rich.table import Table

from thalweg import console
from thalweg.errors import UserError
from thalweg.lab import interfaces, launch, lifecycle, state, tcp
from thalweg.lab.scenario import Scenario, Trunk, find
from thalweg.lab.state import Lab
from thalweg.signals import ended_by_signals

TOLERANCE = 0.05
ATTEMPTS = 3  # at most, of what is out of tolerance
SAMPLE = 6  # pairs
PINGS = 100
PING_FRAME = 98  # bytes
TENTHS = 10
# The share of iperf3's data in a full frame, beside Ethernet, IP and TCP with timestamps.
GOODPUT = (tcp.MTU - 52) / interfaces.LARGEST_FRAME
IPERF_SECONDS = 4  # at least
SETTLE_SECONDS = 2  # at least: slow start
SETTLE_ROUND_TRIPS = 10
TRUNK_IN_USE = 0.9  # flows checked at the same time leave this much to spare
WINDOW_IN_USE = 0.5  # the share of its largest buffer that TCP fills with data in flight
LAUNCH_SECONDS = 60  # for a measurement, beside the time that it lasts

Pair = tuple[int, int]


@dataclass(frozen=True)
class Finding:
    """One checked quantity; un-dilated, seconds or bytes per second."""

    what: str
    where: str
    scenario: float
    measured: float
    attempts: int = 1
    """How often it was measured; `measured` is the last result."""

    @property
    def error(self) -> float:
        """Relative error."""
        return self.measured / self.scenario - 1

    @property
    def passed(self) -> bool:
        return abs(self.error) <= TOLERANCE


@dataclass(frozen=True)
class Unchecked:
    """A rate that the tools can't verify, and why."""

    what: str
    where: str
    why: str


@dataclass
class Report:
    """What a check found."""

    findings: list[Finding] = field(default_factory=list)
    unchecked: list[Unchecked] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.findings)


def run(name_or_file: str | None, *, every_pair: bool, json: bool) -> bool:
    """Checks the lab that is up, or one that it brings up for this; returns whether all passed."""
    for tool, package in (("ping", "iputils-ping"), ("iperf3", "iperf3")):
        if shutil.which(tool) is None:
            raise UserError(f"{tool} is missing: install the package {package}")
    lab = state.running() if name_or_file is None else None
    if lab is not None:
        lab = state.require()
        if lab.scenario.plain["timeline"]:
            raise UserError(
                f"the lab {lab.name} changes over time: check its scenario by name or file, which "
                "leaves the timeline out"
            )
        report = _check(lab, every_pair)
    else:
        if name_or_file is None:
            raise UserError("no lab is running: name a scenario to check, such as two-sites")
        with ended_by_signals():
            lab = lifecycle.up(_unchanging(find(name_or_file)))
            try:
                report = _check(lab, every_pair)
            finally:
                lifecycle.down()
    _show(report, json)
    return report.passed


def _unchanging(scenario: Scenario) -> Scenario:
    """Returns a scenario without its timeline."""
    document = {**scenario.document, "timeline": []}
    return replace(scenario, document=document, plain={**scenario.plain, "timeline": []})


def confirm(first: Finding, measure: Callable[[], Finding]) -> Finding:
    """Measures again, up to twice, what is out of tolerance, and returns the last finding.

    Other programs on the machine disturb single measurements; a wrong shaper stays wrong.
    """
    finding = first
    while not finding.passed and finding.attempts < ATTEMPTS:
        finding = replace(measure(), attempts=finding.attempts + 1)
    return finding


def _check(lab: Lab, every_pair: bool) -> Report:
    scenario = lab.scenario
    pairs = _all_pairs(scenario) if every_pair else sample(scenario)
    report = Report()
    window = window_of_tcp(scenario)
    rated: list[Pair] = []
    for pair in pairs:
        if why := why_unchecked(scenario, pair, window):
            report.unchecked.append(Unchecked("rate", _name(scenario, pair), why))
        else:
            rated.append(pair)
    trunks = []
    for trunk in scenario.trunks:
        if why := why_trunk_unchecked(scenario, trunk, window):
            report.unchecked.append(Unchecked("trunk", trunk.name, why))
        else:
            trunks.append(trunk)
    rounds = list(_rounds(scenario, rated))
    steps = len(pairs) + len(rounds) + len(trunks)
    with console.progress(f"checking {lab.name}", steps) as meter:
        for done, pair in enumerate(pairs):
            meter.update(done, text="ping")
            measure = partial(_latency, lab, scenario, pair)
            report.findings.append(confirm(measure(), measure))
        for done, each in enumerate(rounds):
            meter.update(len(pairs) + done, text="iperf3, pair by pair")
            rates = _iperf(lab, each)
            for pair, rate in zip(each, rates, strict=True):
                measure = partial(_pair_rate_alone, lab, scenario, pair)
                report.findings.append(confirm(_pair_rate(scenario, pair, rate), measure))
        for done, trunk in enumerate(trunks):
            meter.update(len(pairs) + len(rounds) + done, text="iperf3, trunks")
            measure = partial(_trunk_rate, lab, scenario, trunk)
            report.findings.append(confirm(measure(), measure))
    return report


def window_of_tcp(scenario: Scenario) -> float:
    """Returns the bytes that a flow of TCP has in flight at most."""
    settings = tcp.settings(scenario.document.get("tcp", {}), scenario.name)
    return WINDOW_IN_USE * min(int(settings[key].split()[-1]) for key in ("rmem", "wmem"))


def why_unchecked(scenario: Scenario, pair: Pair, window: float) -> str:
    """Says why one flow of TCP doesn't show a pair's rate; "" if it does."""
    rate = scenario.pair_rate(*pair)
    if math.isinf(rate):
        return "unlimited"
    if scenario.document.get("loss", 0) > 0:
        return "TCP slows down at each lost frame"
    if rate * _round_trip(scenario, pair) > window:
        return f"one flow of TCP has at most {window * 1e-6:.1f} MB in flight"
    return ""


def why_trunk_unchecked(scenario: Scenario, trunk: Trunk, window: float) -> str:
    """Says why flows of TCP don't show a trunk's capacity; "" if they do."""
    if trunk.capacity is None:
        return "unlimited"
    pairs = trunk_flows(scenario, trunk)
    if not pairs:
        return "each flow across it is limited by another trunk"
    return next((why for pair in pairs if (why := why_unchecked(scenario, pair, window))), "")


def _round_trip(scenario: Scenario, pair: Pair) -> float:
    a, b = pair
    return scenario.latency(a, b) + scenario.latency(b, a)


def _all_pairs(scenario: Scenario) -> list[Pair]:
    count = len(scenario.hosts)
    return [(a, b) for a in range(count) for b in range(count) if a != b]


def sample(scenario: Scenario) -> list[Pair]:
    """Returns pairs of every kind: spread over all pairs in order of latency, then rate."""
    kinds: dict[tuple[float, float], list[Pair]] = {}
    for pair in _all_pairs(scenario):
        kinds.setdefault((scenario.latency(*pair), scenario.pair_rate(*pair)), []).append(pair)
    ordered = [kinds[kind] for kind in sorted(kinds)]
    if len(ordered) >= SAMPLE:
        step = (len(ordered) - 1) / (SAMPLE - 1)
        return [ordered[round(n * step)][0] for n in range(SAMPLE)]
    each = SAMPLE // len(ordered)
    return [pair for pairs in ordered for pair in pairs[:: max(1, len(pairs) // each)][:each]]


def _rounds(scenario: Scenario, pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Groups pairs that can be measured at the same time: no host twice, no trunk filled."""
    left = list(pairs)
    while left:
        together: list[Pair] = []
        for pair in left:
            if _fits(scenario, [*together, pair]):
                together.append(pair)
        yield together
        left = [pair for pair in left if pair not in together]


def _fits(scenario: Scenario, pairs: Sequence[Pair]) -> bool:
    if len(pairs) == 1:
        return True
    used = [host for pair in pairs for host in pair]
    return len(used) == len(set(used)) and all(
        trunk.capacity is None
        or _demand(scenario, _crossing(trunk, pairs)) <= TRUNK_IN_USE * trunk.capacity
        for trunk in scenario.trunks
    )


def _crossing(trunk: Trunk, pairs: Iterable[Pair]) -> list[Pair]:
    return [(a, b) for a, b in pairs if a in trunk.sources and b in trunk.targets]


def _demand(scenario: Scenario, pairs: Iterable[Pair]) -> float:
    return sum(scenario.pair_rate(*pair) for pair in pairs)


def _latency(lab: Lab, scenario: Scenario, pair: Pair) -> Finding:
    """Returns a round trip, with the time of the two small frames on the wire.

    It is the round trip that a tenth of the pings don't exceed: other work on this machine makes
    single pings late, never early, and a shaper that is wrong is wrong for all.
    """
    a, b = pair
    there_and_back = _round_trip(scenario, pair)
    on_the_wire = PING_FRAME / scenario.pair_rate(a, b) + PING_FRAME / scenario.pair_rate(b, a)
    patience = math.ceil(2 + 2 * there_and_back * lab.dilation)
    pings = ["-c", str(PINGS), "-i", "0.002", "-W", str(patience)]
    command = ["ping", "-n", *pings, interfaces.address(b)]
    result = launch.run(lab, lab.hosts[a], command, timeout=LAUNCH_SECONDS + 2 * patience)
    times = [float(text) * 1e-3 for text in re.findall(r"time=([\d.]+) ms", result.stdout)]
    measured = quantiles(times, n=TENTHS)[0] / lab.dilation if len(times) > 1 else 0.0
    return Finding("round trip", _name(scenario, pair), there_and_back + on_the_wire, measured)


def _pair_rate(scenario: Scenario, pair: Pair, measured: float) -> Finding:
    return Finding("rate", _name(scenario, pair), scenario.pair_rate(*pair) * GOODPUT, measured)


def _pair_rate_alone(lab: Lab, scenario: Scenario, pair: Pair) -> Finding:
    return _pair_rate(scenario, pair, _iperf(lab, [pair])[0])


def _trunk_rate(lab: Lab, scenario: Scenario, trunk: Trunk) -> Finding:
    """Returns all flows between different hosts, or as many as fill the trunk."""
    pairs = trunk_flows(scenario, trunk)
    expected = min(_demand(scenario, pairs), trunk.capacity or math.inf)
    measured = sum(_iperf(lab, pairs))
    return Finding("trunk", f"{trunk.name}, {len(pairs)} flows", expected * GOODPUT, measured)


def trunk_flows(scenario: Scenario, trunk: Trunk) -> list[Pair]:
    """Returns pairs of different hosts across a trunk that no other trunk limits."""
    sources = sorted(trunk.sources, key=lambda n: scenario.hosts[n].egress or float("inf"))
    targets = sorted(trunk.targets, key=lambda n: scenario.hosts[n].ingress or float("inf"))
    pairs: list[Pair] = []
    while sources and targets:
        pair = (sources.pop(), targets.pop())
        others = [other for other in scenario.trunks if other is not trunk]
        if all(
            other.capacity is None
            or _demand(scenario, _crossing(other, [*pairs, pair])) <= TRUNK_IN_USE * other.capacity
            for other in others
        ):
            pairs.append(pair)
    return pairs


def _iperf(lab: Lab, pairs: Sequence[Pair]) -> list[float]:
    """Returns rates of TCP flows that run at the same time, un-dilated bytes per second."""
    longest = max(_round_trip(lab.scenario, pair) for pair in pairs) * lab.dilation
    settle = math.ceil(max(SETTLE_SECONDS, SETTLE_ROUND_TRIPS * longest))
    lasts = max(IPERF_SECONDS, 2 * settle)
    client = f"iperf3 -J -t {lasts} -O {settle} -c "
    timeout = LAUNCH_SECONDS + 2 * (settle + lasts)
    with ThreadPoolExecutor(2 * len(pairs)) as pool:

        def run(host: int, command: str) -> Future[subprocess.CompletedProcess[str]]:
            return pool.submit(
                launch.run, lab, lab.hosts[host], ["/bin/sh", "-c", command], timeout=timeout
            )

        servers = [run(b, "exec iperf3 -s -1") for _, b in pairs]
        clients = [run(a, _until_it_works(client + interfaces.address(b))) for a, b in pairs]
        rates = [_received(each.result().stdout) * lab.dilation for each in clients]
        for each in servers:
            each.result()
    return rates


def _until_it_works(command: str) -> str:
    """Repeats a command, since the server may not listen yet."""
    return f'for n in 1 2 3 4 5; do sleep 0.2; out=$({command}) && echo "$out" && exit; done'


def _received(output: str) -> float:
    """Returns bytes per second from iperf3's JSON; 0 if it failed."""
    try:
        end = json_format.loads(output)["end"]
    except (ValueError, KeyError):
        return 0.0
    return float(end["sum_received"]["bits_per_second"]) / 8


def _name(scenario: Scenario, pair: Pair) -> str:
    return " -> ".join(scenario.hosts[host].name for host in pair)


def _show(report: Report, json: bool) -> None:
    if json:
        console.show_json(
            {
                "tolerance": TOLERANCE,
                "passed": report.passed,
                "findings": [
                    {**asdict(each), "error": each.error, "passed": each.passed}
                    for each in report.findings
                ],
                "unchecked": [asdict(each) for each in report.unchecked],
            }
        )
        return
    table = Table("what", "where", "scenario", "measured", "error", "")
    for each in report.findings:
        table.add_row(
            each.what,
            each.where,
            _text(each, each.scenario),
            _text(each, each.measured),
            f"{each.error:+.1%}",
            console.styled(_remark(each), "" if each.passed else "red"),
        )
    console.show(table)
    reasons: dict[str, list[str]] = {}
    for left in report.unchecked:
        reasons.setdefault(left.why, []).append(f"{left.what} {left.where}")
    for why, which in reasons.items():
        more = f" and {len(which) - 1} more" if len(which) > 1 else ""
        print(f"not checked: {which[0]}{more}: {why}")


def _remark(finding: Finding) -> str:
    """Says whether a finding is out of tolerance, and how often it was measured if not once."""
    remarks = [] if finding.passed else ["over 5 %"]
    if finding.attempts > 1:
        remarks.append(f"measured {finding.attempts} times")
    return ", ".join(remarks)


def _text(finding: Finding, value: float) -> str:
    if finding.what == "round trip":
        return f"{value * 1e3:.3f} ms"
    return f"{value * 8e-6:.1f} Mbit/s"
