"""The page of sums planned for a wrong network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.page import Part, invalid_runs, median_of, valid_runs
from bench.report import Table, seconds, times
from bench.samples import native
from bench.split import Split, dilation_of, split_of
from thalweg import units

calls = 200
bar = 1.2  # times the run with the right file, or natively if that is faster
race_bar = 1.02  # times the run without races: what trials may be expected to lose
right = "right"
raced, planned, whole = "race", "no race", "whole command"
FASTER = 10.0
"""What the network is by a file that has it too fast, as a factor."""
SPREAD = 3.0
"""What rates of another day differ by, at most, as a factor up or down."""


@dataclass(frozen=True)
class _Runs:
    """A size's runs with a build, by dilation; those of the second one are whole commands only."""

    parts: Sequence[Part]

    def sums(self, variant: str) -> float | None:
        """Returns the un-dilated seconds of all sums; None if no run is valid."""
        return median_of(self.parts[0], variant)

    def command(self, file: str) -> Split | None:
        """Returns what a whole command takes; None if it has no valid run at a dilation."""
        return split_of(self.parts, lambda part: median_of(part, f"{file}, {whole}"))

    def wrong(self) -> list[str]:
        """Returns what the files are wrong by."""
        ending = f", {raced}"
        names = (sample["variant"] for sample in self.parts[0].samples)
        return list(
            dict.fromkeys(name.removesuffix(ending) for name in names if name.endswith(ending))
        )


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns the sums with plans for wrong files, and the commands that are given these."""
    runs = list(_by_dilation(parts))
    return [_sums(runs), _commands(runs)]


def _by_dilation(parts: Sequence[Part]) -> Iterator[_Runs]:
    found: dict[tuple[str, str, int], list[Part]] = {}
    for part in parts:
        labels = part.labels
        found.setdefault((labels["scenario"], labels["build"], labels["bytes"]), []).append(part)
    for same in found.values():
        yield _Runs(sorted(same, key=dilation_of))


def _sums(all_runs: Sequence[_Runs]) -> Table:
    table = Table(
        "Sums, un-dilated seconds",
        ["scenario", "build", "size", "the file is wrong by", "native", "right file",
         "wrong, no race", "wrong, race", "race, of no race", "bar", "met", "race, of right",
         "races won by native"],
        notes=[
            f"Medians of runs of {calls} sums that alternate between two communicators, from the "
            "mean time of a sum on all ranks. The right file's plans race, too.",
            "Race, of no race: trials begin only where what they are expected to lose is within "
            "2 % of the time of the calls so far; the bar is that a run loses no more. Both are "
            "medians of few runs.",
            f"Rates of another day: each pair's is up to {SPREAD:g} times lower or higher.",
            "Invalid runs, by the lab's own counters, are left out, and so are runs that failed: "
            f"{invalid_runs(part for runs in all_runs for part in runs.parts)}.",
        ],
    )  # fmt: skip
    for runs in all_runs:
        own, knowing = runs.sums(native), runs.sums(right)
        for name in runs.wrong():
            without, racing = (runs.sums(f"{name}, {how}") for how in (planned, raced))
            if own is None or knowing is None or without is None or racing is None:
                continue
            table.add(
                *_named(runs), name,
                *(seconds(time) for time in (own, knowing, without, racing)),
                times(racing / without), f"<= {race_bar}x", _met(racing, race_bar * without),
                times(racing / knowing), _won(runs.parts[0], f"{name}, {raced}"),
            )  # fmt: skip
    return table


def _commands(all_runs: Sequence[_Runs]) -> Table:
    table = Table(
        "Whole commands, seconds on hosts whose network isn't dilated",
        ["scenario", "build", "size", "the file is wrong by", "launcher alone", "right file",
         "wrong file", "work, alone", "work, right", "work, wrong", "of the faster", "bar", "met"],
        notes=[
            "From the command's start to its end, with the same sums: the launcher alone, and "
            "`thalweg run`, which knows nothing of the hosts but the file, and verifies it.",
            "A lab's dilation makes its network slower, but neither Python's start, nor planning, "
            "nor launching. So commands are run at the scenario's dilation and at twice that: what "
            "doubles with it is the network's time, and is divided by it; the rest is work of this "
            "machine, which counts as it is (work). All hosts share this machine's two cores.",
            "Of the faster: over the lesser of `thalweg run` with the right file and the launcher "
            "alone. The right file's plans are made with all effort, which takes most of that "
            "command's time, since its hosts are as it says; a wrong file is thrown away for a "
            "measurement of about a second and quick plans.",
        ],
    )  # fmt: skip
    for runs in all_runs:
        alone, knowing = (runs.command(file) for file in (native, right))
        for name in runs.wrong():
            found = runs.command(name)
            if alone is None or knowing is None or found is None:
                said = (
                    "invalid" if each is None else seconds(each.total)
                    for each in (alone, knowing, found)
                )
                table.add(*_named(runs), name, *said, *[""] * 4, f"<= {bar}x", "invalid")
                continue
            best = min(alone.total, knowing.total)
            every = (alone, knowing, found)
            table.add(
                *_named(runs), name, *(seconds(each.total) for each in every),
                *(f"{each.machine:.2f} s" for each in every),
                times(found.total / best), f"<= {bar}x", _met(found.total, bar * best),
            )  # fmt: skip
    return table


def _named(runs: _Runs) -> list[str]:
    labels = runs.parts[0].labels
    return [labels["scenario"], labels["build"], units.size_to_text(labels["bytes"])]


def _met(time: float, most: float) -> str:
    return "yes" if time <= most else "MISSED"


def _won(part: Part, variant: str) -> str:
    """How many of the races of all runs native won."""
    winners = [
        race["winner"] for each in valid_runs(part.samples, variant) for race in each["races"]
    ]
    return f"{winners.count('native')} of {len(winners)}"
