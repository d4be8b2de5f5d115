"""Races of a run: what plans and the MPI library's own collectives took in turn, and which won.

World rank 0's summary lists them (`docs/events-file.md`). The candidates are the plan, the second
plan of its row, and native; where native is planned, the last two. What won on
MPI_COMM_WORLD, or another communicator of all ranks, though it wasn't planned is kept in wisdom by
the plan file's content; the next run with the same plans begins with it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thalweg import predictions, wisdom
from thalweg.collective_names import ROOTED
from thalweg.predictions import Prediction
from thalweg.printable import plural
from thalweg.units import size_to_text, time_to_text

Race = Mapping[str, Any]
"""One race, as the summary has it. What is shown of it is in the network's own time: `dilation` is
the lab's."""

MOST_RACED = 1024
"""Most winners that later runs are told of, the latest: each takes less than 64 bytes of a variable
that may be one argument of the launcher, and Linux takes less than 131,072 bytes as one."""
SECOND = "second"


def of(summary: Mapping[str, Any] | None) -> list[Race]:
    """The races of a summary that have a verdict."""
    return [race for race in (summary or {}).get("races", []) if race["verdicts"]]


def line(summary: Mapping[str, Any] | None) -> str:
    """One phrase on all races of a run; empty if there were none."""
    all_races = of(summary)
    if not summary or not all_races:
        return ""
    from thalweg import record  # with numpy, which no start waits for

    dilation = record.dilation_of(summary)
    winners = [race["winner"] for race in all_races]
    text = f"race: {winners.count('plan')} won by plans, {winners.count('native')} by native"
    if SECOND in winners:
        text += f", {winners.count(SECOND)} by second plans"
    if unplanned := [race for race in all_races if race["winner"] != planned(race)]:
        shown = max(unplanned, key=_gain)
        text += f" (most: {name(shown)}: {_times(shown, last_verdict(shown), dilation)})"
    wrong = [each for race in all_races for each in wrong_predictions(race, dilation)]
    return ", ".join(filter(None, [text, more(summary), predictions.line(wrong)]))


def more(summary: Mapping[str, Any] | None) -> str:
    """What is known of races that a summary only counts; empty if there are none.

    Text such as "1,200 more, of which plans won 1,100 and native 100".
    """
    counts: Mapping[str, int] = (summary or {}).get("more_races") or {}
    if not (count := sum(counts.values())):
        return ""
    names = {"plan": "plans", "native": "native", SECOND: "second plans"}
    first, *others = [(names[who], counts[who]) for who in names if counts.get(who)]
    text = f"{count:,} more, of which {first[0]} won {first[1]:,}"
    return text + "".join(f" and {name} {won:,}" for name, won in others)


def shape(race: Mapping[str, Any]) -> str:
    """Text such as "allreduce of 1MiB" or "bcast of 64B to 100B with root 3"."""
    sizes = {race["size"], race.get("largest", race["size"])}
    size = f" of {' to '.join(map(size_to_text, sorted(sizes)))}"
    if race["collective"] == "barrier":
        size = ""
    root = f" with root {race['root']}" if race["collective"] in ROOTED else ""
    return f"{race['collective']}{size}{root}"


def is_of_several_sizes(race: Mapping[str, Any]) -> bool:
    """Whether calls of several sizes race together: sizes that differ by less than a sixteenth."""
    return bool(race.get("largest", race["size"]) != race["size"])


def name(race: Race) -> str:
    """Text such as "allreduce of 1MiB, 16 ranks"."""
    return f"{shape(race)}, {race['ranks']} ranks"


def planned(race: Race) -> str:
    """The candidate that the plan file chooses."""
    return "plan" if "plan" in race["seconds"] else "native"


def named(race: Race, candidate: str) -> str:
    """Text such as "plan", "native" or "second plan (ring)"."""
    if candidate != SECOND:
        return candidate
    algorithm = race.get("algorithms", {}).get(SECOND)
    return f"second plan ({algorithm})" if algorithm else "second plan"


def story(race: Race, dilation: float = 1) -> list[str]:
    """What happened in a race: a line for it, one per verdict, and what was predicted wrongly."""
    lines = [
        f"{name(race)}: {named(race, race['winner'])} at the end, "
        f"{plural(race['calls'], 'call')}, {plural(race['races'], 'race')}, "
        f"{time_to_text(race['lost'] / dilation)} lost to racing"
    ]
    details = [
        *(
            f"call {verdict['call']}: {what}: {_times(race, verdict, dilation)}"
            for verdict, what in verdicts(race)
        ),
        *(each.sentence() for each in wrong_predictions(race, dilation)),
    ]
    return lines + [f"  {each}" for each in details]


def last_verdict(race: Race) -> Mapping[str, Any]:
    """The last verdict."""
    found: Mapping[str, Any] = race["verdicts"][-1]
    return found


def compared(verdict: Mapping[str, Any]) -> dict[str, float]:
    """The seconds of a verdict's candidates that were timed in turn: winner and loser.

    Summaries of older versions don't name the loser, so all candidates may be it.
    """
    seconds: dict[str, float] = verdict["seconds"]
    if "loser" not in verdict:
        return seconds
    return {
        each: seconds[each] for each in seconds if each in (verdict["winner"], verdict["loser"])
    }


def verdicts(race: Race) -> list[tuple[Mapping[str, Any], str]]:
    """Each verdict, and what it says: text such as "native takes over"."""
    found = []
    before = race.get("began", planned(race))
    for verdict in race["verdicts"]:
        winner = verdict["winner"]
        what = "stays" if winner == before else "takes over"
        found.append((verdict, f"{named(race, winner)} {what}"))
        before = winner
    return found


def wrong_predictions(race: Race, dilation: float = 1) -> list[Prediction]:
    """Where the simulator was wrong by more than a fifth.

    Times of calls of several sizes aren't compared with what was predicted for one of these.
    """
    if is_of_several_sizes(race):
        return []
    both = (
        Prediction(each, name(race), race["predicted"][each], race["seconds"][each] / dilation)
        for each in ("plan", "native")
        if each in race["seconds"]
    )
    return [each for each in both if each.is_wrong]


def advantage(race: Race) -> float | None:
    """The share of the loser's time that the winner saves; None if no other was tried.

    It is that of the last verdict, before which the two were timed in turn; None if that was
    another's, since plans have changed.
    """
    verdict = last_verdict(race)
    if verdict["winner"] != race["winner"]:
        return None
    tried = {each: float(took) for each, took in compared(verdict).items() if took > 0}
    others = [took for each, took in tried.items() if each != race["winner"]]
    if not others or race["winner"] not in tried:
        return None
    return 1 - tried[race["winner"]] / min(others)


def recall(plan: Path) -> str:
    """THALWEG_RACED: what won in earlier runs with this plan file though it wasn't planned."""
    return ",".join(
        ":".join(map(str, shape if winner == "native" else (*shape, winner)))
        for shape, winner in _load(plan).items()
    )


def keep(plan: Path, summary: Mapping[str, Any] | None, ranks: int) -> None:
    """Keeps what won on communicators of all ranks though it wasn't planned, and forgets what the
    planned candidate has won since.

    Of one shape that raced on several of them, the verdict on most calls holds. What raced against
    other plans than the file's, to which the run changed, tells nothing of these.
    """
    changed = [each for each in (summary or {}).get("changes", []) if each["adopted"] > 0]
    counting = [
        race
        for race in sorted(of(summary), key=lambda race: race["calls"])
        if race["leader"] == 0 and race["ranks"] == ranks and not _has_other_plans(race, changed)
    ]
    if not counting:
        return

    def with_races(before: bytes | None) -> bytes | None:
        known = _read(before)
        won = dict(known)
        for race in counting:
            key = (race["collective"], race["root"], race["band"])
            won.pop(key, None)  # the latest come last
            if race["winner"] != planned(race):
                won[key] = race["winner"]
        if won == known:
            return before
        return json.dumps([[*shape, winner] for shape, winner in won.items()]).encode()

    wisdom.change(wisdom.location(), _key(plan), with_races)


def _has_other_plans(race: Race, changed: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a race was, or may have been, about other plans than the file's.

    `changed`: the attempts of the run that changed plans. An improvement replaces only plans for
    the powers of two in which the sizes of its `plans` are; other changes are of the network, too.
    """

    def is_replaced(plan: Mapping[str, Any]) -> bool:
        return (plan["collective"], plan["root"], plan["size"].bit_length()) == (
            race["collective"], race["root"], race["band"].bit_length(),
        )  # fmt: skip

    return any(
        not change.get("improvement") or any(map(is_replaced, change["plans"]))
        for change in changed
        if (change["leader"], change["ranks"]) == (race["leader"], race["ranks"])
    )


def _load(plan: Path) -> dict[tuple[str, int, int], str]:
    """The winner by collective, root and least size."""
    return _read(wisdom.load(wisdom.location()).get(_key(plan)))


def _read(kept: bytes | None) -> dict[tuple[str, int, int], str]:
    """The same of what is kept, the latest MOST_RACED: of more the oldest are forgotten."""
    try:
        return {
            (str(name), int(root), int(bits)): str(winner)
            for name, root, bits, winner in json.loads(kept or b"[]")[-MOST_RACED:]
        }
    except (ValueError, TypeError):
        return {}


def _key(plan: Path) -> str:
    digest = hashlib.sha256(plan.read_bytes()).hexdigest()[:16]
    return json.dumps({"raced": digest}, separators=(",", ":"))


def _gain(race: Race) -> float:
    """Seconds that the winner saved in the last race, if all calls were its."""
    verdict = last_verdict(race)
    saved = max(compared(verdict).values()) - verdict["seconds"][verdict["winner"]]
    return float(saved * race["calls"])


def _times(race: Race, verdict: Mapping[str, Any], dilation: float) -> str:
    """What the candidates of a verdict took; a second plan only once it is tried."""
    shown = {named(race, each): took for each, took in compared(verdict).items()}
    return ", ".join(
        f"{each} {time_to_text(took / dilation) if took > 0 else 'not tried'}"
        for each, took in shown.items()
        if took > 0 or each in ("plan", "native")
    )
