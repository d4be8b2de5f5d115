"""Runs during which the network changes: with plans that follow, that stay, and that knew before.

A third of the calls come before a part of the network becomes ten times worse, a third before it
recovers. What becomes worse is the part for which the simulated plan for the network before is
farthest from the one for the network after. Plans are made for the scenario's own network, with
time dilated as the lab's is, since the runtime compares predictions with what it observes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench import timeline_runs
from bench.builds import Build
from bench.page import Page, Part, valid_runs
from bench.progress import Progress
from bench.report import Subject, Table, percent, seconds, times
from bench.session import Session
from bench.settings import Settings
from bench.timeline_runs import Program, programs
from thalweg import simulator, units
from thalweg.algorithms import Problem
from thalweg.lab import scenario
from thalweg.network import Host, Network, Trunk
from thalweg.plans import Plan
from thalweg.printable import plural

subject = Subject(
    "timeline",
    "Runs during which the network changes",
    (*timeline_runs.measures, "bench/timeline.py"),
    ("scenario", "build", "collective", "bytes", "fault"),
)
scenarios = ("three-sites",)
bar = 1.15  # times the time of plans that knew before
gain_bar = 1.03  # times what knowing takes: plans that take no longer needn't be replaced
epochs_bar = 3
FACTOR = 10.0
PHASE_SECONDS = 24.0
"""What a third of the calls take before the change, on the dilated network. What is noticed takes
a dozen seconds until new plans hold, whatever the length of a run."""
stay, told, adapt = "stay", "told", "adapt"
Document = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """A part of a network that becomes worse; changes are the lab's (docs/scenario-file.md)."""

    kind: str
    part: str
    fall: Sequence[Document] = field(default=())
    recovery: Sequence[Document] = field(default=())

    def in_turn(self, count: int, every: float) -> list[Document]:
        """Returns a timeline of so many falls and recoveries in turn, un-dilated seconds apart."""
        return [
            {"at": f"{(1 + at) * every}s", **change}
            for at in range(count)
            for change in (self.recovery if at % 2 else self.fall)
        ]


# What can become worse --------------------------------------------------------------------------


def faults(net: Document) -> Iterator[Fault]:
    """Returns all faults of a network file: of each trunk, port, and direction between sites."""
    for trunk in net.get("trunks", []):
        rate = units.parse_rate(trunk["capacity"])
        yield Fault("trunk", trunk["name"], *_both("capacity", rate, {"trunk": trunk["name"]}))
    for host in net["hosts"]:
        where = {"hosts": [host["name"]]}
        falls, recoveries = zip(
            *(_both(port, units.parse_rate(host[port]), where) for port in ("egress", "ingress")),
            strict=True,
        )
        yield Fault("port", host["name"], _flat(falls), _flat(recoveries))
    yield from _directions(net)


def _both(what: str, rate: float, where: Document) -> tuple[list[Document], list[Document]]:
    fall, recovery = (units.rate_to_text(each) for each in (rate / FACTOR, rate))
    return [{**where, what: fall}], [{**where, what: recovery}]


def _flat(lists: Sequence[Sequence[Document]]) -> list[Document]:
    return [each for one in lists for each in one]


def _directions(net: Document) -> Iterator[Fault]:
    names = [host["name"] for host in net["hosts"]]
    matrix = net["latency"]["matrix"]
    unit = net["latency"]["unit"]
    sites: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        sites.setdefault(name.rstrip("0123456789"), []).append(at)
    for source, senders in sites.items():
        for target, receivers in sites.items():
            if source == target:
                continue
            fall, recovery = (
                [
                    {
                        "from": [names[a]],
                        "to": [names[b]],
                        "latency": f"{matrix[a][b] * factor:g}{unit}",
                    }
                    for a in senders
                    for b in receivers
                ]
                for factor in (FACTOR, 1.0)
            )
            yield Fault("latency", f"{source} to {target}", fall, recovery)


def changed(net: Network, changes: Sequence[Document]) -> Network:
    """Returns a network after changes of the lab."""
    result = net.copy()
    names = [host.name for host in net.hosts]
    latency, hosts, trunks = result.latency.copy(), list(result.hosts), list(result.trunks)
    for change in changes:
        for a in change.get("from", ()):
            for b in change["to"]:
                latency[names.index(a), names.index(b)] = units.parse_time(change["latency"])
        for name in change.get("hosts", ()):
            at = names.index(name)
            rates = {port: getattr(hosts[at], port) for port in ("egress", "ingress")}
            rates |= {port: units.parse_rate(change[port]) for port in rates if port in change}
            hosts[at] = Host(name, **rates)
        trunks = [
            Trunk(
                each.name,
                each.from_,
                each.to,
                units.parse_rate(change["capacity"]),
                each.senders,
            )
            if each.name == change.get("trunk")
            else each
            for each in trunks
        ]
    result.latency, result.hosts, result.trunks = latency, hosts, trunks
    return result


@dataclass(frozen=True)
class Chosen:
    """The fault of a kind that a plan is farthest off after."""

    fault: Fault
    usual: float
    staying: float
    knowing: float
    """Simulated seconds of a call: before the fault, and after it with the old and a new plan."""


def choose(net: Network, document: Document, program: Program, nbytes: int) -> list[Chosen]:
    """Returns a fault of each kind, simulated."""
    before = program.plans(net, nbytes)
    usual = sum(plan.predicted for plan in before)
    worst: dict[str, Chosen] = {}
    for fault in faults(document):
        worse = changed(net, fault.fall)
        after = program.plans(worse, nbytes)
        staying = sum(_time_on(new.problem, old) for new, old in zip(after, before, strict=True))
        chosen = Chosen(fault, usual, staying, sum(plan.predicted for plan in after))
        best = worst.get(fault.kind)
        if best is None or chosen.staying / chosen.knowing > best.staying / best.knowing:
            worst[fault.kind] = chosen
    return list(worst.values())


def _time_on(problem: Problem, plan: Plan) -> float:
    """Returns what a call takes; native's time is the one that was predicted."""
    if plan.is_native:
        return plan.predicted
    return simulator.simulate(problem, plan.skeleton).time


# Runs -------------------------------------------------------------------------------------------


def run(settings: Settings) -> None:
    """Measures each collective with each kind of fault, a lab for each."""
    page = Page(settings, subject, contents)
    build, nbytes = timeline_runs.build_and_size(settings)
    wanted = [
        (name, programs[program], chosen)
        for name in settings.scenarios
        for program in settings.programs or programs
        for chosen in choose(
            scenario.find(name).network,
            scenario.document(name)["network"],
            programs[program],
            nbytes,
        )
    ]
    progress = Progress({_name(*each): 240.0 * settings.repetitions for each in wanted})
    for each in wanted:
        name, program, chosen = each
        labels = {
            "scenario": name, "build": build.name, "collective": program.name, "bytes": nbytes,
            "fault": chosen.fault.kind,
        }  # fmt: skip
        if page.has(labels):
            continue
        with progress.part(_name(*each)):
            facts, samples = _measure(settings, build, *each, nbytes)
            page.add(labels, facts, samples)
    page.finish()


def _name(name: str, program: Program, chosen: Chosen) -> str:
    return f"{name}, {program.name}, {chosen.fault.kind} {chosen.fault.part}"


def _measure(
    settings: Settings, build: Build, name: str, program: Program, chosen: Chosen, nbytes: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    runs = 3 * settings.repetitions
    document = scenario.document(name)
    document["timeline"] = chosen.fault.in_turn(2 * runs, 1e6)
    found = scenario.parse(document)
    dilation = settings.dilation or found.dilation
    samples = []
    with Session(found, dilation) as session:
        plans = {stay: timeline_runs.plan(session, build, found.network, stay)}
        worse = changed(found.network, chosen.fault.fall)
        plans[told] = timeline_runs.plan(session, build, worse, told)
        words = program.arguments(nbytes, len(found.network.hosts), chosen.usual)
        least = timeline_runs.LEAST_STEPS // 2
        calls = timeline_runs.steps_lasting(PHASE_SECONDS, session, build, plans[stay], words)
        for _ in range(settings.repetitions):
            for variant in (stay, told, adapt):
                # Plans that knew of the change count only while the network is worse.
                phases = (least, calls, 1) if variant == told else (calls,) * 3
                samples.append(
                    timeline_runs.sample(
                        session, build, variant, plans[told if variant == told else stay], words,
                        phases, timeline_runs.follows if variant == adapt else {},
                    )
                )  # fmt: skip
    facts = {
        "dilation": dilation, "part": chosen.fault.part, "calls": calls,
        "simulated": [chosen.usual, chosen.staying, chosen.knowing],
    }  # fmt: skip
    return facts, samples


# The page ---------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns the table: a row for each program and fault."""
    table = Table(
        "Whole runs, un-dilated seconds",
        ["scenario", "collective", "worse by 10", "part", "runs", "calls", "old plans", "knowing",
         "following", "of knowing's", "old plans of it", "simulated", "met", "replaced after"],
        notes=[
            "Medians over the runs, of which each kind has so many, in turn. Knowing: the plans "
            "for the network before where it is so, "
            "and for the one after while it is that, each from the runs of one table of plans. "
            "Old plans of it: how many times as long the run with the plans for the network "
            "before takes; simulated: the same of a call while the network is worse.",
            f"Following: `thalweg run --adapt on`. Met: it takes at most {bar}x of knowing's time, "
            f"and plans were replaced after at most {epochs_bar} epochs; else what is missed. "
            "Where they weren't replaced, it is missed if following and old plans both take more "
            f"than {percent(gain_bar - 1)} longer than knowing; else there was nothing to gain, "
            "in some rows since plans were improved before the change. "
            "Replaced after: calls between the change and plans for it, and how many "
            "epochs that are, at the mean number of calls in one until the change was noticed, of "
            "the first run; or why plans stayed.",
            timeline_runs.of_nbody,
            "Invalid runs, by the lab's own counters, are left out.",
        ],
    )  # fmt: skip
    for part in parts:
        phases = {
            variant: timeline_runs.medians(part.samples, variant) for variant in (stay, told, adapt)
        }
        if not all(phases.values()):
            continue
        knowing = phases[stay][0] + min(phases[told][1], phases[stay][1]) + phases[stay][2]
        own, following = sum(phases[stay]), sum(phases[adapt])
        _, staying, best = part.facts["simulated"]
        replaced, epochs = _replaced(part)
        runs = min(len(valid_runs(part.samples, each)) for each in phases)
        table.add(
            part.labels["scenario"], part.labels["collective"], part.labels["fault"],
            part.facts["part"], runs, 3 * part.facts["calls"], seconds(own), seconds(knowing),
            seconds(following), times(following / knowing), times(own / knowing),
            times(staying / best), _met(following / knowing, own / knowing, replaced, epochs),
            replaced,
        )  # fmt: skip
    return [table]


def _met(ratio: float, gain: float, replaced: str, epochs: int | None) -> str:
    """Says what is missed.

    @param ratio: Following's time over knowing's.
    @param gain: Old plans' time over knowing's.
    """
    missed = [times(ratio)] if ratio > bar else []
    if epochs is None and min(ratio, gain) > gain_bar:
        missed.append(replaced.removeprefix("not: "))
    elif epochs is not None and epochs > epochs_bar:
        missed.append(plural(epochs, "epoch"))
    if missed:
        return f"MISSED: {', '.join(missed)}"
    return "nothing to gain" if epochs is None else "yes"


def _replaced(part: Part) -> tuple[str, int | None]:
    """Returns the calls and epochs of the first run until plans for the change held, as text, and
    the epochs; why there are no such plans, and None."""
    first = next(iter(valid_runs(part.samples, adapt)), None)
    in_step = len(programs[part.labels["collective"]].parts)
    steps = part.facts["calls"]
    why_not = "not noticed"
    for each in first["changes"] if first else []:
        is_noticed = steps < each["call"] <= 2 * steps  # after the change, before the recovery
        if not is_noticed or each["improvement"] or each["recovery"]:
            continue
        if each["outcome"] == "adopted" and not each["adopted"]:
            continue  # The run ended before the plans held.
        if each["outcome"] != "adopted":
            why_not = f"not: {each['outcome']}"
            continue
        calls = each["adopted"] - steps * in_step
        epochs = round(calls * each["epoch"] / (each["call"] * in_step))
        return f"{plural(calls, 'call')}, {plural(epochs, 'epoch')}", epochs
    return why_not, None
