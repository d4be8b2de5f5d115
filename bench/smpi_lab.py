"""Whole programs on the lab with MPICH 4.0, and the same simulated by SMPI: how far are they apart?

The lab runs each program natively and with Thalweg's plan in turn; SMPI simulates both on the
network that the scenario imposes. Lab and simulation have the same programs, arguments and plan
file, which is made for the scenario's own network: a probe's errors would be in both worlds alike,
and say nothing of the simulation. A program's time is from when all ranks have left MPI_Init until
all have come to MPI_Finalize. Computing takes no time in the simulation; on the lab it is small,
since the problems are, and time is dilated more than usual. `--simulate` makes only the simulated
times, without the lab, and writes nothing.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import machine, smpi_model, smpi_run, sources
from bench.builds import Build
from bench.page import Page, Part, Record, valid_runs
from bench.progress import Progress
from bench.report import Subject, Table, console, percent, seconds, times
from bench.session import LaunchFailedError, Session, with_thalweg
from bench.settings import Settings
from bench.smpi_model import Built, Model, Simulated, programs, seconds_of, variants
from bench.summary import speedup
from thalweg.lab import counters, validity

subject = Subject(
    "smpi-lab",
    "Whole programs, on the lab and simulated by SMPI",
    (
        *sources.run_on_lab, "examples", *sources.of_smpi, "bench/smpi_lab.py", "bench/span.c",
        "bench/nas.py",
    ),
    ("scenario", "build", "program", "variant"),
)  # fmt: skip
scenarios = ("cloud", "switches-2x16")
library = "mpich-4.0"
least_dilations = {"cloud": 16.0, "switches-2x16": 64.0}
"""The least dilation with which what ranks and libraries compute, on one core, is small: native
runs took up to 6 % longer at half of it on the first, and up to 1.6 times as long at a quarter of
it on the second, whose network is faster and which has twice as many ranks. Other scenarios take
the most of these."""
bar = 0.1  # that a simulated time may be off
wrong_result = "wrong result"  # why a run is invalid
most_rounds = 2  # times the repetitions, if runs are invalid
launch_seconds = 5.0
scratch = machine.repository / ".cache" / "bench"
"""The hosts of a lab have temporary folders of their own, but the same sources."""
run_seconds = {"cg": 0.9, "nbody": 2.6, "sor": 0.6, "mg": 2.8, "is": 0.2}
"""Un-dilated seconds of a native run, about."""


def run(settings: Settings) -> None:
    """Measures each program on each scenario, a lab for each."""
    page = Page(settings, subject, contents)
    build = settings.the_build(library)
    left = {
        name: [each for each in chosen(settings) if not page.has(labels(name, build, each))]
        for name in settings.scenarios
    }
    progress = Progress(
        {key: took for name, each in left.items() for key, took in estimates(settings, name, each)}
    )
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        wanted = dict.fromkeys(each for missing in left.values() for each in missing)
        built = {each: smpi_model.build(programs[each], Path(folder)) for each in wanted}
        for name, missing in left.items():
            if missing:
                setting = Setting(name, settings, {each: built[each] for each in missing})
                if not settings.simulate:
                    setting.measure(page, build, progress)
    if not settings.simulate:
        page.finish()


def chosen(settings: Settings) -> list[str]:
    return [each for each in programs if each in (settings.programs or programs)]


def labels(name: str, build: Build, program: str) -> Record:
    return {"scenario": name, "build": build.name, "program": program}


def least_dilation(scenario: str) -> float:
    return least_dilations.get(scenario, max(least_dilations.values()))


def estimates(settings: Settings, name: str, wanted: Sequence[str]) -> list[tuple[str, float]]:
    """Returns about how long each program takes on this machine."""
    dilation = settings.dilation or least_dilation(name)
    runs = len(variants) * settings.repetitions
    return [
        (part_name(name, each), runs * (launch_seconds + run_seconds[each] * dilation))
        for each in wanted
    ]


def part_name(name: str, program: str) -> str:
    return f"{name}, {program}"


class Setting:
    """A scenario on which programs are simulated; then they run on its lab."""

    def __init__(self, name: str, settings: Settings, built: Mapping[str, Built]) -> None:
        self._settings, self._built = settings, built
        self._session = Session(name, settings.dilation)
        if not settings.dilation:
            self._session.dilation = max(self._session.dilation, least_dilation(name))
        self._model = Model(self._session.scenario, self._session.folder)
        self._simulated = {
            program: {
                variant: self._model.simulate(programs[program], variant, files[variant])
                for variant in variants
            }
            for program, files in built.items()
        }

    def measure(self, page: Page, build: Build, progress: Progress) -> None:
        """Brings up the lab and runs the programs."""
        name = self._session.name
        with self._session as session:
            for program, files in self._built.items():
                words = [
                    str(files[smpi_model.lab]), *programs[program].words(session.ranks)
                ]  # fmt: skip
                with progress.part(part_name(name, program)):
                    samples = in_turn(
                        session, build, self._model, words, self._settings.repetitions
                    )
                    found = facts(session, self._simulated[program])
                    page.add(labels(name, build, program), found, samples)


def facts(session: Session, simulated: Mapping[str, Simulated]) -> Record:
    return {
        "ranks": session.ranks, "dilation": session.dilation,
        "simulated": {variant: each.seconds for variant, each in simulated.items()},
        "computing": simulated[smpi_model.native].computing,
    }  # fmt: skip


def in_turn(
    session: Session, build: Build, model: Model, words: Sequence[str], repetitions: int
) -> list[Record]:
    """Runs a program natively and with the plan, until there are enough valid runs of both. A run
    that fails is an invalid sample, without a time."""
    environments: dict[str, dict[str, str]] = {
        smpi_model.native: {}, smpi_model.thalweg: with_thalweg(build, model.plan)
    }  # fmt: skip
    samples: list[Record] = []
    for turn in range(most_rounds * repetitions):
        if all(len(valid(samples, variant)) >= repetitions for variant in environments):
            break
        for variant, environment in environments.items():
            try:
                found = sample(session, build, words, environment)
            except LaunchFailedError as failure:
                found = {"invalid": [str(failure)]}
            took = seconds(found["time"]) if "time" in found else "no time"
            console.print(f"{variant}: {took}", *found["invalid"])
            samples.append({"variant": variant, "round": turn, **found})
    return samples


def sample(
    session: Session, build: Build, words: Sequence[str], environment: Mapping[str, str]
) -> Record:
    """One run: its un-dilated seconds, and what the lab says of it; a wrong result has no time.
    Raises LaunchFailedError."""
    before = counters.read(session.lab)
    said = session.run(build, words, environment)
    counted = counters.read(session.lab).since(before)
    if smpi_run.is_wrong(said):
        return {"invalid": [wrong_result]}
    try:
        time = seconds_of(said, words[0]) / session.dilation
    except ValueError as wrong:
        raise LaunchFailedError(str(wrong)) from None
    verdict = validity.judge(session.scenario, counted, time, 0)
    late = counted.late / counted.frames if counted.frames else 0.0
    return {"time": time, "late": late, "bytes": counted.bytes, "invalid": list(verdict.reasons)}


def valid(samples: Sequence[Mapping[str, Any]], variant: str) -> list[float]:
    """Returns the times of a variant's valid runs."""
    return [run["time"] for run in valid_runs(samples, variant)]


# The page ---------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    return [compared(parts), speedups(parts)]


def compared(parts: Sequence[Part]) -> Table:
    table = Table(
        "Lab and simulation",
        ["scenario", "ranks", "program", "variant", "lab", "least", "most", "simulated",
         "simulated over lab", f"within {percent(bar)}", "runs"],
        notes=[
            "From when all ranks have left MPI_Init until all have come to MPI_Finalize, "
            "un-dilated. Lab: the median of valid runs that take turns, MPICH 4.0, one rank per "
            "host.",
            "Native: MPICH's own collectives; in SMPI those that MPICH selects by size. Thalweg: "
            "one plan file for the lab and for SMPI, made for the scenario's own network, which "
            "SMPI simulates, too. So what differs is neither the probe's nor the plan's doing.",
            f"{smpi_model.in_words(smpi_model.payload)} Not in it: TCP's slow start and losses, "
            "and that a connection's messages follow one another without a pause: each is a flow "
            "of its own, which spends the latency anew.",
        ],
    )  # fmt: skip
    met = []
    for part, variant in itertools.product(parts, variants):
        cells, holds = held(part, variant)
        table.add(*place(part), title(variant), *cells)
        met.append(holds)
    if met:
        table.notes.append(
            f"Within {percent(bar)} of the lab: {sum(met)} of {len(met)} (wanted: all): "
            f"{'met' if all(met) else 'MISSED'}."
        )
    return table


def held(part: Part, variant: str) -> tuple[list[str], bool]:
    """Holds the simulated time against the lab's: the cells of a row, and whether it is within the
    bar. A variant without a valid run isn't, nor is one that ever computed a wrong result."""
    found, simulated = valid(part.samples, variant), part.facts["simulated"][variant]
    wrong = any(
        each["variant"] == variant and wrong_result in each["invalid"] for each in part.samples
    )
    if not found:
        why = wrong_result if wrong else "no valid run"
        return ["-", "-", "-", seconds(simulated), "-", f"MISSED: {why}", "0"], False
    median = statistics.median(found)
    holds = not wrong and abs(simulated / median - 1) <= bar
    missed = f"MISSED: {wrong_result}" if wrong else "MISSED"
    times_of_lab = map(seconds, (median, min(found), max(found)))
    return [
        *times_of_lab, seconds(simulated), times(simulated / median), "yes" if holds else missed,
        str(len(found)),
    ], holds  # fmt: skip


def speedups(parts: Sequence[Part]) -> Table:
    """How much faster plans are in either world, and what else is in the lab's times."""
    table = Table(
        "What plans gain in both, and what the lab adds",
        ["scenario", "ranks", "program", "gain, lab", "gain, simulated", "computing, at most",
         "late frames", "dilation", "invalid runs"],
        notes=[
            "Gain: native over Thalweg. Computing, at most: what all ranks together compute, as "
            "SMPI's run measures it on this machine, over the native time on the lab: as if they "
            "computed one after the other, since they share a core. It takes no simulated time.",
            "Late frames: the median share of frames that left the lab's switch more than 5 % of "
            "their latency late. Runs are invalid by the lab's usual rules, or if they fail or "
            "compute a wrong result.",
        ],
    )  # fmt: skip
    for part in parts:
        theirs, ours = (valid(part.samples, variant) for variant in variants)
        simulated, dilation = part.facts["simulated"], part.facts["dilation"]
        ends = [f"{dilation:g}", sum(bool(each["invalid"]) for each in part.samples)]
        if not theirs or not ours:
            table.add(*place(part), *["-"] * 4, *ends)
            continue
        whole = statistics.median(theirs)
        late = statistics.median(each["late"] for each in part.samples if not each["invalid"])
        table.add(
            *place(part), times(speedup(whole, statistics.median(ours))),
            times(speedup(simulated[smpi_model.native], simulated[smpi_model.thalweg])),
            f"{100 * part.facts['computing'] / dilation / whole:.1f} %", f"{100 * late:.1f} %",
            *ends,
        )  # fmt: skip
    return table


def place(part: Part) -> list[str]:
    name = programs[part.labels["program"]].name
    return [part.labels["scenario"], str(part.facts["ranks"]), name]


def title(variant: str) -> str:
    return variants[variant] if variant == smpi_model.thalweg else "native"
