"""Races of a run: what plans and the MPI library's own collectives took in turn, and which won.

World rank 0's summary lists them (`docs/events-file.md`). Native's victories on MPI_COMM_WORLD are
kept in wisdom by the plan file's content; the next run with the same plans begins with them.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thalweg import predictions, record, wisdom
from thalweg.predictions import Prediction
from thalweg.printable import plural
from thalweg.units import size_to_text, time_to_text

Race = Mapping[str, Any]
"""One race, as the summary has it. What is shown of it is in the network's own time: `dilation` is
the lab's."""

ROOTED = ("bcast", "reduce", "gather", "scatter")


def of(summary: Mapping[str, Any] | None) -> list[Race]:
    """The races of a summary that have a verdict."""
    return list((summary or {}).get("races", []))


def line(summary: Mapping[str, Any] | None) -> str:
    """One phrase on all races of a run; empty if there were none."""
    all_races = of(summary)
    if not summary or not all_races:
        return ""
    dilation = record.dilation_of(summary)
    won = [race for race in all_races if race["winner"] == "native"]
    text = f"race: {len(all_races) - len(won)} won by plans, {len(won)} by native"
    if won:
        shown = max(won, key=_gain)
        text += f" (most: {name(shown)}: {_both(shown, dilation)})"
    wrong = [each for race in all_races for each in wrong_predictions(race, dilation)]
    return ", ".join(filter(None, [text, predictions.line(wrong)]))


def shape(race: Mapping[str, Any]) -> str:
    """Text such as "allreduce of 1MiB" or "bcast of 64B with root 3"."""
    size = f" of {size_to_text(race['size'])}" if race["collective"] != "barrier" else ""
    root = f" with root {race['root']}" if race["collective"] in ROOTED else ""
    return f"{race['collective']}{size}{root}"


def name(race: Race) -> str:
    """Text such as "allreduce of 1MiB, 16 ranks"."""
    return f"{shape(race)}, {race['ranks']} ranks"


def story(race: Race, dilation: float = 1) -> list[str]:
    """What happened in a race: a line for it, one per verdict, and what was predicted wrongly."""
    upwards = " and up to twice as much" if race["collective"] != "barrier" else ""
    lines = [
        f"{shape(race)}{upwards}, {race['ranks']} ranks: {race['winner']} at the end, "
        f"{plural(race['calls'], 'call')}, {plural(race['races'], 'race')}, "
        f"{time_to_text(race['lost'] / dilation)} lost to racing"
    ]
    details = [
        *(
            f"call {verdict['call']}: {what}: {_both(verdict, dilation)}"
            for verdict, what in verdicts(race)
        ),
        *(each.sentence() for each in wrong_predictions(race, dilation)),
    ]
    return lines + [f"  {each}" for each in details]


def verdicts(race: Race) -> list[tuple[Mapping[str, Any], str]]:
    """Each verdict, and what it says: text such as "native takes over"."""
    found = []
    before = "plan"
    for verdict in race["verdicts"]:
        winner = verdict["winner"]
        found.append((verdict, f"{winner} {'stays' if winner == before else 'takes over'}"))
        before = winner
    return found


def wrong_predictions(race: Race, dilation: float = 1) -> list[Prediction]:
    """Where the simulator was wrong by more than a fifth."""
    both = (
        Prediction(each, name(race), race["predicted"][each], race["seconds"][each] / dilation)
        for each in ("plan", "native")
    )
    return [each for each in both if each.is_wrong]


def advantage(race: Race) -> float | None:
    """The share of the loser's time that the winner saves; None if one of them wasn't tried."""
    seconds = [float(race["seconds"][each]) for each in ("plan", "native")]
    if min(seconds) <= 0:
        return None
    won, lost = seconds if race["winner"] == "plan" else reversed(seconds)
    return 1 - won / lost


def recall(plan: Path) -> str:
    """THALWEG_RACED: the races that native won in earlier runs with this plan file."""
    return ",".join(
        f"{collective}:{root}:{size_class}" for collective, root, size_class in _load(plan)
    )


def keep(plan: Path, summary: Mapping[str, Any] | None, ranks: int) -> None:
    """Keeps what native won, and forgets what plans have won since, on MPI_COMM_WORLD."""
    before = _load(plan)
    won = dict.fromkeys(before)
    for race in of(summary):
        if race["leader"] != 0 or race["ranks"] != ranks:
            continue
        key = (race["collective"], race["root"], race["class"])
        if race["winner"] == "native":
            won[key] = None
        else:
            won.pop(key, None)
    if list(won) != before:
        wisdom.add(wisdom.location(), _key(plan), json.dumps(list(won)).encode())


def _load(plan: Path) -> list[tuple[str, int, int]]:
    value = wisdom.load(wisdom.location()).get(_key(plan), b"[]")
    try:
        return [(str(name), int(root), int(bits)) for name, root, bits in json.loads(value)]
    except (ValueError, TypeError):
        return []


def _key(plan: Path) -> str:
    digest = hashlib.sha256(plan.read_bytes()).hexdigest()[:16]
    return json.dumps({"races": digest}, separators=(",", ":"))


def _gain(race: Race) -> float:
    seconds = race["seconds"]
    return float((seconds["plan"] - seconds["native"]) * race["calls"])


def _both(race: Race, dilation: float) -> str:
    plan, native = (race["seconds"][each] / dilation for each in ("plan", "native"))
    return (
        f"plan {time_to_text(plan)}, native {time_to_text(native) if native > 0 else 'not tried'}"
    )
