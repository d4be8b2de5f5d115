"""Runs during which the network changes: with plans that follow, that stay, and that knew before.

A third of the calls come before a part of the network becomes ten times worse, a third before it
recovers. What becomes worse is the part for which the simulated plan for the network before is
farthest from the one for the network after. Plans are made for the scenario's own network, with
time dilated as the lab's is, since the runtime compares predictions with what it observes.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import thalweg
from bench import adapt as adapt_page
from bench import sources
from bench.builds import Build
from bench.page import Page, Part
from bench.progress import Progress
from bench.report import Subject, Table, console, seconds, times
from bench.session import Planned, Session, with_thalweg
from bench.settings import Settings
from thalweg import network as networks
from thalweg import paths, simulator, units
from thalweg.algorithms import Problem
from thalweg.lab import counters, scenario, validity
from thalweg.network import Host, Network, Trunk
from thalweg.plans import Plan

subject = Subject(
    "timeline",
    "Runs during which the network changes",
    (*sources.run_on_lab, "src/runtime/adapt", "bench/timeline.py", "bench/timeline.cpp"),
    ("scenario", "build", "collective", "bytes", "fault"),
)
scenario_names = ("three-sites",)
size = 65_536


@dataclass(frozen=True)
class Program:
    """What is done again and again: collectives, and their sizes as a part of the whole's."""

    name: str
    parts: Mapping[str, int]
    """By collective: how many blocks its size is one of; 0: as many as ranks."""
    computing: float = 0.0
    """How long a step computes, over what its collectives take on the calm network."""

    def sizes(self, nbytes: int, ranks: int) -> dict[str, int]:
        return {name: nbytes // (blocks or ranks) for name, blocks in self.parts.items()}


programs = {
    each.name: each
    for each in (
        Program("bcast", {"bcast": 1}),
        Program("allreduce", {"allreduce": 1}),
        Program("allgather", {"allgather": 1}),
        Program("nbody", {"gather": 0, "bcast": 1}, computing=0.5),
    )
}
bar = 1.15  # times the time of plans that knew before
epochs_bar = 3
calm_bar = 1.005
FACTOR = 10.0
PHASE_SECONDS = 24.0
"""What a third of the calls take before the change, on the dilated network. What is noticed takes
a dozen seconds until new plans hold, whatever the length of a run."""
LEAST_CALLS = 60
stay, told, adapt = "stay", "told", "adapt"
Document = dict[str, Any]


calm = "calm"
"""The kind of fault that is none: rates are set to what they are."""


@dataclass(frozen=True)
class Fault:
    """A part of a network that becomes worse; changes are the lab's (docs/scenario-file.md)."""

    kind: str
    part: str
    fall: Sequence[Document] = field(default=())
    recovery: Sequence[Document] = field(default=())


# What can become worse --------------------------------------------------------------------------


def faults(net: Document) -> Iterator[Fault]:
    """Returns all faults of a network file: of each trunk, port, and direction between sites; and
    none."""
    host = net["hosts"][0]
    same = [{"hosts": [host["name"]], **{port: host[port] for port in ("egress", "ingress")}}]
    yield Fault(calm, "-", same, same)
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
    result = networks.from_json(networks.to_json(net), "changed")
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
            Trunk(each.name, each.from_, each.to, units.parse_rate(change["capacity"]))
            if each.name == change.get("trunk")
            else each
            for each in trunks
        ]
    result.latency, result.hosts, result.trunks = latency, hosts, trunks
    return result


def dilated(net: Network, factor: float) -> Network:
    """Returns a network on which everything takes longer by a factor."""
    result = networks.from_json(networks.to_json(net), "dilated")
    adapt_page.slow_down(result, factor)
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
    operations = [
        getattr(thalweg, name.capitalize())(nbytes=its)
        for name, its in program.sizes(nbytes, len(net.hosts)).items()
    ]
    before = [thalweg.plan(net, operation) for operation in operations]
    usual = sum(plan.predicted for plan in before)
    worst: dict[str, Chosen] = {}
    for fault in faults(document):
        worse = changed(net, fault.fall)
        after = [thalweg.plan(worse, operation) for operation in operations]
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
    build = next(build for build in settings.builds if build.name == "openmpi-4.1")
    nbytes = (settings.sizes or [size])[0]
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
    document["timeline"] = [
        {"at": f"{1e6 * (1 + at)}s", **change}
        for at in range(2 * runs)
        for change in (chosen.fault.recovery if at % 2 else chosen.fault.fall)
    ]
    found = scenario.parse(document)
    dilation = settings.dilation or found.dilation
    samples = []
    variants = (stay, adapt) if chosen.fault.kind == calm else (stay, told, adapt)
    with Session(found, dilation) as session:
        plans = {stay: _plan(session, build, found.network, stay)}
        if told in variants:
            worse = changed(found.network, chosen.fault.fall)
            plans[told] = _plan(session, build, worse, told)
        words = _words(program, nbytes, len(found.network.hosts), program.computing * chosen.usual)
        pace = _run(session, build, plans[stay], words, LEAST_CALLS)["completed"][-1] / LEAST_CALLS
        calls = max(LEAST_CALLS, round(PHASE_SECONDS / (pace * session.dilation)))
        for _ in range(settings.repetitions):
            for variant in variants:
                # Plans that knew of the change count only while the network is worse.
                phases = (LEAST_CALLS // 2, calls, 1) if variant == told else (calls,) * 3
                sample = _sample(session, build, plans, variant, words, phases)
                samples.append({"variant": variant, **sample})
    facts = {
        "dilation": dilation, "part": chosen.fault.part, "calls": calls,
        "simulated": [chosen.usual, chosen.staying, chosen.knowing],
    }  # fmt: skip
    return facts, samples


def _words(program: Program, nbytes: int, ranks: int, computing: float) -> list[str]:
    """Returns the arguments that say what a step does."""
    sizes = program.sizes(nbytes, ranks)
    return [
        "--collectives", ",".join(sizes), "--sizes", ",".join(map(str, sizes.values())),
        "--compute", f"{computing:.9f}",
    ]  # fmt: skip


def _plan(session: Session, build: Build, net: Network, name: str) -> Planned:
    path = session.folder / f"{name}.json"
    networks.write(dilated(net, session.dilation), path)
    return session.plan_for(build, path)


def _sample(
    session: Session, build: Build, plans: Mapping[str, Planned], variant: str,
    words: Sequence[str], phases: Sequence[int],
) -> dict[str, Any]:  # fmt: skip
    """One run: the un-dilated seconds of its phases of so many calls, and what its plans did.

    The network is worse in the second phase, and as before in the others.
    """
    summary = session.folder / "summary.json"
    summary.unlink(missing_ok=True)
    environment = {"THALWEG_SUMMARY": str(summary)}
    if variant == adapt:
        record = session.folder / f"record-{len(list(session.folder.glob('record-*')))}"
        environment |= {
            "THALWEG_RACE": "1", "THALWEG_ADAPT": "1", "THALWEG_RECORD": str(record)
        }  # fmt: skip
    before = counters.read(session.lab)
    found = _run(
        session, build, plans[told if variant == told else stay],
        [*words, "--changes", f"{phases[0]},{sum(phases[:2])}"], sum(phases), environment,
    )  # fmt: skip
    counted = counters.read(session.lab).since(before)
    end = found["completed"][-1]
    first, second = found["changed"]
    verdict = validity.judge(session.scenario, counted, end, 0, 0.0, sum(phases))
    told_of = json.loads(summary.read_text())
    sample = {
        "phases": [first, second - first, end - second], "invalid": list(verdict.reasons),
        "changes": told_of.get("changes", []), "races": told_of.get("races", []),
    }  # fmt: skip
    console.print(f"{variant}: {[round(each, 2) for each in sample['phases']]}")
    return sample


def _run(
    session: Session, build: Build, plan: Planned, words: Sequence[str], steps: int,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Document:  # fmt: skip
    """Runs the program; returns the un-dilated times of its steps and changes."""
    file = session.folder / "timeline-times.json"
    command = [
        str(paths.binary(f"thalweg-bench-timeline-{build.flavour}")), *words,
        "--steps", str(steps), "--dilation", f"{session.dilation:g}", "--json", str(file),
    ]  # fmt: skip
    session.run(build, command, {**with_thalweg(build, plan), **environment}, timeout=900)
    found: Document = json.loads(file.read_text())
    return found


# The page ---------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns the tables: a row for each program and fault, and for each program without one."""
    return [_faults([part for part in parts if part.labels["fault"] != calm]),
            _calm([part for part in parts if part.labels["fault"] == calm])]  # fmt: skip


def _faults(parts: Sequence[Part]) -> Table:
    table = Table(
        "Whole runs, un-dilated seconds",
        ["scenario", "collective", "worse by 10", "part", "calls", "old plans", "knowing",
         "following", "of knowing's", "old plans of it", "simulated", "met", "replaced after"],
        notes=[
            "Medians of runs in turn. Knowing: the plans for the network before where it is so, "
            "and for the one after while it is that, each from the runs of one table of plans. "
            "Old plans of it: how many times as long the run with the plans for the network "
            "before takes; simulated: the same of a call while the network is worse.",
            f"Following: `thalweg run --adapt on`; bar <= {bar}x. Replaced after: calls between "
            "the change and plans for it, and how many epochs that are, at the mean number of "
            "calls in one until the change was noticed, of the first run; wanted: "
            f"{epochs_bar}.",
            "nbody: each step gathers the bodies at the root and broadcasts all of them, as the "
            "N-body example does, and computes half as long as that takes.",
            "Invalid runs, by the lab's own counters, are left out.",
        ],
    )  # fmt: skip
    for part in parts:
        phases = {variant: _phases(part, variant) for variant in (stay, told, adapt)}
        if not all(phases.values()):
            continue
        knowing = phases[stay][0] + min(phases[told][1], phases[stay][1]) + phases[stay][2]
        own, following = sum(phases[stay]), sum(phases[adapt])
        _, staying, best = part.facts["simulated"]
        table.add(
            part.labels["scenario"], part.labels["collective"], part.labels["fault"],
            part.facts["part"], 3 * part.facts["calls"], seconds(own), seconds(knowing),
            seconds(following), times(following / knowing), times(own / knowing),
            times(staying / best), "yes" if following <= bar * knowing else "MISSED",
            _replaced(part),
        )  # fmt: skip
    return table


def _calm(parts: Sequence[Part]) -> Table:
    table = Table(
        "Runs in which nothing changes, un-dilated seconds",
        ["scenario", "collective", "calls", "old plans", "following", "of old plans'", "alarms",
         "improved"],
        notes=[
            f"Following takes at most {calm_bar}x the time of old plans where plans stay; where "
            "plans for calls in a row were better, they were adopted (improved, of all runs). "
            "Alarms: runs in which a change of the network was suspected.",
        ],
    )  # fmt: skip
    for part in parts:
        own, following = (sum(_phases(part, variant)) for variant in (stay, adapt))
        changes = [s["changes"] for s in part.samples if s["variant"] == adapt]
        alarms = sum(any(not each["improvement"] for each in run) for run in changes)
        improved = sum(
            any(each["improvement"] and each["outcome"] == "adopted" for each in run)
            for run in changes
        )
        table.add(
            part.labels["scenario"], part.labels["collective"], 3 * part.facts["calls"],
            seconds(own), seconds(following), times(following / own),
            f"{alarms} of {len(changes)}", f"{improved} of {len(changes)}",
        )  # fmt: skip
    return table


def _phases(part: Part, variant: str) -> list[float]:
    found = [s["phases"] for s in part.samples if s["variant"] == variant and not s["invalid"]]
    return [statistics.median(each) for each in zip(*found, strict=True)]


def _replaced(part: Part) -> str:
    """Returns the calls and epochs of the first run until plans for the change held."""
    first = next((s for s in part.samples if s["variant"] == adapt), None)
    in_step = len(programs[part.labels["collective"]].parts)
    before = part.facts["calls"] * in_step
    for each in first["changes"] if first else []:
        is_answer = each["outcome"] == "adopted" and each["adopted"] > before
        if is_answer and not (each["improvement"] or each["recovery"]):
            calls = each["adopted"] - before
            epochs = calls * each["epoch"] / (each["call"] * in_step)
            return f"{calls} calls, {epochs:.0f} epochs"
    return "not"
