"""Changes of plans in a running program: what drifted, why, what replaced what, and what it won.

World rank 0's summary lists them (`docs/events-file.md`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from thalweg import predictions, races, record
from thalweg.predictions import Prediction
from thalweg.printable import plural
from thalweg.units import ratio_to_text, time_to_text

Change = Mapping[str, Any]
"""One attempt to let plans follow the network, as the summary has it. What is shown of it is in the
network's own time: `dilation` is the lab's."""
_OPEN = "the run ended before that was decided"
OUTCOMES = {
    "nothing better": "nothing better was found",
    "no memory": "a rank had no memory for new plans",
    "unreadable": "a rank couldn't read the new plans",
    "open": _OPEN,
    "adopted": _OPEN,  # The ranks had agreed, but no call followed in which new plans hold.
}
"""Why plans stayed."""


def of(summary: Mapping[str, Any] | None) -> list[Change]:
    """The attempts of a summary."""
    return list((summary or {}).get("changes", []))


# All attempts in one line -----------------------------------------------------------------------


def line(summary: Mapping[str, Any] | None) -> str:
    """One phrase on the attempts that changed plans, and one on those that didn't; empty without
    attempts."""
    if summary is None:
        return ""
    dilation = record.dilation_of(summary)
    adopted = [change for change in of(summary) if change["adopted"] > 0]
    vain = [change for change in of(summary) if change["adopted"] == 0]
    return "; ".join(filter(None, [_adopted(adopted, dilation), _in_vain(vain, dilation)]))


def _adopted(found: Sequence[Change], dilation: float) -> str:
    if not found:
        return ""
    wrong = [each for change in found for each in wrong_predictions(change, dilation)]
    text = (
        f"plans changed {_times(len(found))} ({_of_all(found)}{explanation(found[-1])}; "
        f"{result(found[-1], dilation)})"
    )
    return ", ".join(filter(None, [text, predictions.line(wrong)]))


def _of_all(found: Sequence[Change]) -> str:
    """What several changes won and lost.

    Text such as "won 8 % to 43 % of a call's time, 1 took 50 % more; last: ".
    """
    if len(found) < 2:
        return ""
    kept = [change for change in found if change["outcome"] == "adopted"]
    shares = [round(100 * share) for each in kept if (share := won(each)) is not None]
    gains = [share for share in shares if share >= 0]
    losses = [-share for share in shares if share < 0]
    parts = []
    if gains:
        parts.append(f"won {_range(gains)} of a call's time")
    if losses:
        parts.append(f"{len(losses)} took {_range(losses)} more")
    if len(kept) < len(found):
        parts.append(f"{len(found) - len(kept)} taken back")
    return "; ".join([*filter(None, [", ".join(parts)]), "last: "])


def _range(percent: Sequence[int]) -> str:
    """Text such as "8 %" or "8 % to 43 %"."""
    return " to ".join(f"{each} %" for each in sorted({min(percent), max(percent)}))


def _in_vain(found: Sequence[Change], dilation: float) -> str:
    """Text such as "plans stayed once (nothing better was found; last: call 5 of ...)"."""
    if not found:
        return ""
    drifts = [change for change in found if not change.get("improvement")]
    last = (drifts or found)[-1]
    counts = Counter(outcome(change) for change in found)
    why = ", ".join(f"{plural(count, 'time')} {text}" for text, count in counts.items())
    if len(counts) == 1:
        (why,) = counts
    noticed = notice(last, dilation, f" of {races.shape(last)}")
    return f"plans stayed {_times(len(found))} ({why}; last: {noticed})"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


# One attempt ------------------------------------------------------------------------------------


def story(change: Change, dilation: float = 1) -> list[str]:
    """What happened: when it was noticed, what explains it, and what came of it."""
    lines = [f"{races.name(change)}: {notice(change, dilation)}"]
    lines.append(f"  {explanation(change)}")
    if change["adopted"] == 0:
        return [*lines, f"  the plans stayed: {outcome(change)}"]
    lines += [f"  {each}" for each in replacements(change)]
    lines.append(f"  {since(change)}: {result(change, dilation)}")
    return [*lines, *(f"  {each.sentence()}" for each in wrong_predictions(change, dilation))]


def notice(change: Change, dilation: float = 1, what: str = "") -> str:
    """Text such as "call 120 took 25ms instead of the usual 5ms"; `what` follows the number."""
    usual, noticed = (change["seconds"][when] / dilation for when in ("usual", "noticed"))
    call = f"call {change['call']}{what}"
    if noticed > 0:
        call += f" took {time_to_text(noticed)}"
    if change.get("improvement"):
        return (
            f"{call}{' as usual' if noticed > 0 else ''}: planned once more, for calls as they "
            "follow each other"
        )
    if noticed <= 0:
        return f"{call} took another time than usual"
    if change.get("recovery") and abs(noticed - usual) < usual / 5:
        return f"{call} as before, but less with the plans before: the network may have recovered"
    if usual <= 0:
        return f"{call}, which wasn't predicted"
    return f"{call} instead of the usual {time_to_text(usual)}"


def explanation(change: Change) -> str:
    """What of the network explains it: text such as "bandwidth of trunk a: 8.2 times worse"."""
    if change["causes"]:
        return ", ".join(cause_text(cause, change["quantity"]) for cause in change["causes"])
    if change.get("recovery") and change["adopted"] > 0:
        return "the network is as it was before the last change of plans"
    if change.get("improvement"):
        return "the network is as it was known"
    return "no change of the network explains it"


def replacements(change: Change) -> list[str]:
    """Which plan replaced which, and what was predicted of both."""
    found = []
    for plan in change["plans"]:
        before, after = (time_to_text(plan["predicted"][when]) for when in ("before", "after"))
        another = "another " if plan["after"] == plan["before"] else ""
        found.append(
            f"{races.shape(change | plan)}: {another}{plan['after']} replaces {plan['before']}, "
            f"predicted {before} -> {after}"
        )
    return found


def since(change: Change) -> str:
    """Says from when on new plans held."""
    return f"from the communicator's call {change['adopted']} on"


def outcome(change: Change) -> str:
    """Why the plans stayed."""
    return OUTCOMES.get(change["outcome"], str(change["outcome"]))


def won(change: Change) -> float | None:
    """The share of a call's time that new plans saved; None if it wasn't looked at."""
    noticed, after = (change["seconds"][when] for when in ("noticed", "after"))
    return 1 - after / noticed if noticed > 0 and after > 0 else None


def result(change: Change, dilation: float = 1) -> str:
    """What calls take since plans changed, or took until they were taken back."""
    noticed, after = (change["seconds"][when] / dilation for when in ("noticed", "after"))
    times = f"{time_to_text(after)} instead of {time_to_text(noticed)}"
    share = won(change)
    if change["outcome"] == "taken back":
        return f"taken back, since calls took {times}"
    if share is None:
        return "not yet compared when the run ended"
    return f"calls take {times}, {100 * abs(share):.0f} % {'less' if share >= 0 else 'more'}"


def wrong_predictions(change: Change, dilation: float = 1) -> list[Prediction]:
    """Where what was predicted of new plans was wrong by more than a fifth.

    Times of calls of several sizes aren't compared with what was predicted for one of these.
    """
    if races.is_of_several_sizes(change):
        return []
    after = change["seconds"]["after"] / dilation
    shape = races.shape(change)
    found = (
        Prediction(plan["after"], shape, plan["predicted"]["after"], after)
        for plan in change["plans"]
        if races.shape(change | plan) == shape
    )
    return [each for each in found if each.is_wrong]


def cause_text(cause: Mapping[str, Any], quantity: str) -> str:
    """Text such as "bandwidth of the egress of a3: 8.2 times worse"."""
    of = "" if cause["name"].startswith("from ") else "of "
    what = f"{quantity} {of}{cause['name']}"
    if quantity == "latency":
        sign = "more" if cause["excess"] > 0 else "less"
        return f"{what}: {time_to_text(abs(cause['excess']))} {sign}"
    return f"{what}: {ratio_to_text(cause['factor'], 'worse', 'better')}"
