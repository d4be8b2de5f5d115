"""The part of a run's page about its plans: how they followed the network, and raced."""

from collections.abc import Mapping, Sequence
from typing import Any

from thalweg import changes, races, record
from thalweg.changes import Change
from thalweg.races import Race
from thalweg.report import elements
from thalweg.report.elements import Block, Section
from thalweg.units import time_to_text

MOST_TOLD = 20
"""Most changes that are told; `thalweg explain` tells all."""


def sections(summary: Mapping[str, Any] | None) -> list[Section]:
    """Nothing unless plans raced, or were to follow the network."""
    changed, raced = changes.of(summary), races.of(summary)
    if summary is None or not (changed or raced):
        return []
    dilation = record.dilation_of(summary)
    blocks = [_in_short(summary, raced, dilation)]
    blocks += [_story(change, dilation) for change in changed[:MOST_TOLD]]
    if changed:
        blocks[1]["note"] = "Bars: what a call took, over the longest such time of the change."
    if len(changed) > MOST_TOLD:
        blocks.append(
            elements.text(
                f"These are the first {MOST_TOLD} of {len(changed)}; thalweg explain tells all."
            )
        )
    if raced:
        blocks += [_races(raced, dilation), _verdicts(raced, dilation)]
    return [Section("Changes of plans, and races", blocks)]


def _in_short(summary: Mapping[str, Any], raced: Sequence[Race], dilation: float) -> Block:
    lines = [line for line in (changes.line(summary), races.line(summary)) if line]
    said = [f"{line[0].upper()}{line[1:]}." for line in lines]
    if raced:
        lost = time_to_text(sum(race["lost"] for race in raced) / dilation)
        said.append(f"Calls of what lost the races cost {lost} in all.")
    return elements.text(*said)


# Changes ----------------------------------------------------------------------------------------


def _story(change: Change, dilation: float) -> Block:
    """What was noticed, why, what replaced what, and what that won, one after the other."""
    seconds = change["seconds"]
    longest = max(seconds.values())
    shares = {when: taken / longest for when, taken in seconds.items() if taken > 0}
    steps = [
        ("Noticed", changes.notice(change, dilation), shares.get("noticed")),
        ("Explained", changes.explanation(change), None),
    ]
    if change["adopted"] == 0:
        steps.append(("Plans stayed", changes.outcome(change), None))
        return elements.path(races.name(change), steps)
    if replaced := changes.replacements(change):
        steps.append(("Plans replaced", "; ".join(replaced), None))
    else:
        steps.append(("Plans replaced", "by those before the last change", None))
    came_of_it = [
        f"{changes.since(change)}: {changes.result(change, dilation)}",
        *(each.sentence() for each in changes.wrong_predictions(change, dilation)),
    ]
    taken_back = change["outcome"] == "taken back"
    steps.append(
        ("Taken back" if taken_back else "Since then", "; ".join(came_of_it), shares.get("after"))
    )
    return elements.path(races.name(change), steps)


# Races ------------------------------------------------------------------------------------------


_COLUMNS: Sequence[tuple[str, elements.Unit]] = (
    ("plan", "time"), ("native", "time"), ("second plan", "time"),
)  # fmt: skip


def _seconds(told: Mapping[str, float], dilation: float) -> list[float | None]:
    """What the candidates took, as _COLUMNS has them; None: not tried."""
    return [told.get(each, 0) / dilation or None for each in ("plan", "native", races.SECOND)]


def _races(raced: Sequence[Race], dilation: float) -> Block:
    """A row for each race, those of the costliest calls first."""
    ordered = sorted(raced, key=lambda race: -_winner_took(race) * race["calls"])
    return elements.table(
        "Races of plans against the MPI library's own collectives, those of the costliest first",
        [
            ("calls", "text"),
            ("number", "count"),
            ("winner", "text"),
            ("faster by", "share"),
            *_COLUMNS,
            ("plan, predicted", "time"),
            ("native, predicted", "time"),
            ("predicted wrongly", "text"),
            ("races", "count"),
            ("lost to racing", "time"),
        ],
        [_row(race, dilation) for race in ordered],
        note="Calls whose sizes differ by less than a sixteenth race together. Times are those of "
        "a call, as the ranks last agreed on them; faster by is what the last verdict compared; "
        "lost is what calls of slower ones cost. Predicted wrongly is what took more than 20 % "
        "longer or shorter.",
    )


def _row(race: Race, dilation: float) -> tuple[Any, ...]:
    wrong = races.wrong_predictions(race, dilation)
    return (
        races.name(race),
        race["calls"],
        races.named(race, race["winner"]),
        races.advantage(race),
        *_seconds(race["seconds"], dilation),
        *(float(race["predicted"].get(each, 0)) or None for each in ("plan", "native")),
        ", ".join(f"{each.of} {each.share}" for each in wrong) or None,
        race["races"],
        race["lost"] / dilation,
    )


def _verdicts(raced: Sequence[Race], dilation: float) -> Block:
    """A row for each verdict, by race in the order of calls."""
    return elements.table(
        "Verdicts of the races",
        [
            ("calls", "text"),
            ("at call", "count"),
            ("verdict", "text"),
            *_COLUMNS,
        ],
        [
            (
                races.name(race),
                verdict["call"],
                what,
                *_seconds(races.compared(verdict), dilation),
            )
            for race in raced
            for verdict, what in races.verdicts(race)
        ],
    )


def _winner_took(race: Race) -> float:
    return float(race["seconds"][race["winner"]])
