"""The first screen of a run's page: what collectives cost, what was saved, what is wrong."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg import record, units
from thalweg.analysis import paths, words
from thalweg.analysis.findings import Findings
from thalweg.collective_names import ends_together
from thalweg.printable import plural, short

EVENTS = "run it again with --events 64MB"


@dataclass(frozen=True)
class Costs:
    """Seconds of a rank, on average over the ranks."""

    wall: float
    """Seconds from MPI_Init to MPI_Finalize; 0: not known."""
    collectives: float
    planned: float
    compared: float
    """Seconds in planned calls of which the native time is known, and in which no rank leaves
    before all have entered: there what a rank spends is what the call takes."""
    native: float
    """What the MPI library's own are predicted to take for the same."""
    bound: float
    """The network's limit for the same; 0: not known of all."""
    calls: float
    planned_calls: float
    late: float | None = None
    """The share of `compared` spent waiting for late ranks; None: not known."""

    @property
    def own(self) -> float:
        """Time of compared calls without that for late ranks."""
        return self.compared * (1 - (self.late or 0.0))


def costs(run: record.Run, findings: Findings | None) -> Costs:
    """Sums up a record."""
    calls = run.blocking_calls
    ranks = max(len(run.parts), 1)
    planned = calls[calls["planned"] == 1]
    known = planned[(planned["native"] > 0) & _end_together(run, planned)]
    found = Costs(
        run.wall,
        *(float(part["seconds"].sum()) / ranks for part in (calls, planned, known)),
        *(float(known[name].sum()) / ranks for name in ("native", "bound")),
        *(float(part["calls"].sum()) / ranks for part in (calls, planned)),
    )
    if not (known["bound"] > 0).all():
        found = replace(found, bound=0.0)
    return found if findings is None else replace(found, late=_late(findings))


def _end_together(run: record.Run, calls: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which of the calls no rank leaves before all have entered."""
    names = enumerate(run.description.get("collectives", []))
    return np.isin(calls["collective"], [number for number, name in names if ends_together(name)])


def _late(findings: Findings) -> float | None:
    """The share of late ranks in the time of planned calls in which ranks wait for all others."""
    kinds = [kind for kind in findings.causes["kind"] if ends_together(kind)]
    causes = findings.causes.filter(pl.col("kind").is_in(kinds))
    total = sum(float(causes[name].sum()) for name in paths.CAUSES)
    return float(causes["program late"].sum()) / total if total else None


def warnings(run: record.Run) -> list[str]:
    """What the reader must know before anything else."""
    found = []
    if run.status:
        found.append(f"The program ended with status {run.status}; times are those until then.")
    if run.unfinished:
        found.append(
            f"The run ended early: {plural(len(run.unfinished), 'rank')} of {run.ranks} didn't "
            "come to "
            "MPI_Finalize. What they recorded until then is here."
        )
    if run.missing:
        found.append(f"{plural(len(run.missing), 'rank')} of {run.ranks} left no record.")
    if reason := run.description.get("everything_native"):
        found.append(
            f"Nothing was planned, every collective was the MPI library's own: {_why(str(reason))}."
        )
    return found


def _why(reason: str) -> str:
    remedies = {
        "single-host": "all ranks are on one host (single-host); THALWEG_ONE_HOST=1 plans there, "
        "too",
        "no-plan": "there was no plan for these hosts (no-plan); give thalweg run the --network",
        "off": "THALWEG=off was set",
    }
    return remedies.get(reason, reason)


def lead(run: record.Run, found: Costs, findings: Findings | None, why_not: str = "") -> list[str]:
    """Returns the sentences. `why_not`: why there are no findings."""
    return [
        *_spent(run, found),
        *_saved(found),
        *(words.sentences(findings.verdict) if findings else _outside(run, why_not)),
    ]


def _spent(run: record.Run, found: Costs) -> list[str]:
    command = _command(run)
    where = f"{plural(run.ranks, 'rank')} on {plural(len(run.hosts), 'host')}"
    whole = f" of {_time(found.wall)} between MPI_Init and MPI_Finalize" if found.wall else ""
    if found.calls <= 0:
        return [f"{command}: {where} called no collectives that Thalweg can plan."]
    share = f" ({100 * found.collectives / found.wall:.0f} %)" if found.wall else ""
    return [
        f"{command}: {where}. A rank spent {_time(found.collectives)}{share}{whole} in "
        f"{_count(found.calls)} collective call{'s' * (found.calls != 1)} on average, of which "
        f"{_count(found.planned_calls)} were planned."
    ]


def _count(calls: float) -> str:
    """Prints a mean number of calls, which may be less than one."""
    return f"{calls:,.0f}" if calls >= 10 else f"{calls:.2g}"


def _command(run: record.Run) -> str:
    """The program with its arguments, without its folder."""
    program, *arguments = map(str, run.description.get("command") or ["the program"])
    return short(" ".join([Path(program).name, *arguments]), 100)


def _saved(found: Costs) -> list[str]:
    if found.planned_calls <= 0:
        return []
    if not found.compared:
        return [
            "What was saved can't be said: no planned call is known in which ranks wait for all "
            "others and native's time was predicted."
        ]
    late = found.compared - found.own
    waiting = (
        f", {_time(late)} of it waiting for late ranks," if late > 0.005 * found.compared else ""
    )
    text = (
        f"Planned calls in which ranks wait for all others took {_time(found.compared)}{waiting} "
        "where the MPI library's own are predicted to take "
        f"{_time(found.native)}: "
    )
    if found.own <= found.native:
        text += f"{_time(found.native - found.own)} saved"
    elif found.late is not None:
        text += "nothing was saved"
    else:
        text += "nothing was saved, if ranks didn't wait for late ones"
    if not found.bound:
        return [f"{text}."]
    if found.own < found.bound:
        return [
            f"{text}. That is less than the limit of the network file: this network is faster than "
            "it says, or another one."
        ]
    return [
        f"{text}. They reach {100 * found.bound / found.own:.0f} % of the limit, which no schedule "
        "can beat on this network."
    ]


def _outside(run: record.Run, why_not: str) -> list[str]:
    """What can be said without events."""
    return [
        *_waited_for(run),
        why_not or f"Why they took that time can't be said without events: {EVENTS}.",
    ]


def _waited_for(run: record.Run) -> list[str]:
    """Names the rank that spent far less time than others in the calls in which ranks wait for all
    others, of those that make as many of them as most."""
    calls = run.blocking_calls
    calls = calls[_end_together(run, calls)]
    count = np.bincount(calls["rank"], calls["calls"], run.ranks)
    if not len(calls):
        return []
    numbers, ranks_with = np.unique(count[count > 0], return_counts=True)
    alike = np.flatnonzero(count == numbers[np.argmax(ranks_with)])
    spent = np.bincount(calls["rank"], calls["seconds"], run.ranks)[alike]
    usual = float(np.median(spent))
    least = int(np.argmin(spent))
    if len(alike) <= 2 or spent[least] >= 0.5 * usual:
        return []
    return [
        f"Rank {alike[least]} spent the least time in collectives in which ranks wait for all "
        f"others ({_time(float(spent[least]))}, others {_time(usual)}): they seem to wait for it."
    ]


def facts(found: Costs, findings: Findings | None) -> list[tuple[str, str, str]]:
    """The numbers at a glance."""
    share = f"{100 * found.collectives / found.wall:.0f} % of the run" if found.wall else ""
    list_ = [
        ("In collectives", _time(found.collectives), f"a rank, on average; {share}".strip("; "))
    ]
    if found.compared:
        saved = found.native - found.own
        list_.append(
            (
                "Saved" if saved >= 0 else "Lost",
                _time(abs(saved)),
                f"against native, predicted ({_time(found.native)})",
            )
        )
        if found.own > 0 and found.bound > 0:
            list_.append(
                (
                    "Of the limit",
                    f"{100 * found.bound / found.own:.0f} %",
                    "100 %: no schedule is faster"
                    if found.own >= found.bound
                    else "faster than the network file lets expect",
                )
            )
    list_.append(
        (
            "Planned",
            f"{100 * found.planned_calls / found.calls:.0f} %" if found.calls else "-",
            f"of {_count(found.calls)} calls of a rank",
        )
    )
    if findings and findings.verdict.total_ns:
        cause, part = max(findings.verdict.shares.items(), key=lambda item: item[1])
        list_.append(("Most of it", f"{100 * part:.0f} %", cause))
    return list_


def _time(seconds: float) -> str:
    return units.time_to_text(seconds) if math.isfinite(seconds) else "unknown"
