"""Says what the placement of a run promises, and afterwards what came of it: text and JSON."""

from collections.abc import Iterator
from typing import Any

from thalweg import past_runs
from thalweg.record import Run
from thalweg.run_placement import PlacementChoice, PredictedPlacement
from thalweg.units import size_to_text, time_to_text

# For people ------------------------------------------------------------------------------------


def lines(choice: PlacementChoice) -> Iterator[str]:
    """What was chosen, and what it promises."""
    if choice.restriction:
        yield choice.restriction
    if choice.objection:
        yield f"the launcher's order stays: {choice.objection} ({choice.source})"
        return
    yield (
        f"{choice.moved} of {len(choice.usual.hosts)} ranks start on another host than in the "
        f"launcher's order, by what was sent in {choice.source}:"
    )
    yield f"{'':36}{'launcher':>12}{'placed':>12}"
    for name, usual, best in _rows(choice):
        yield f"{name:36}{usual:>12}{best:>12}"


def _rows(choice: PlacementChoice) -> Iterator[tuple[str, str, str]]:
    pair = choice.usual.traffic, choice.best.traffic
    for name, field in (
        ("sent point to point inside hosts", "intra_host"),
        ("sent point to point between hosts", "inter_host"),
        ("sent point to point between sites", "inter_site"),
    ):
        is_known = field != "inter_site" or choice.has_sites
        usual, best = (
            size_to_text(round(getattr(traffic, field))) if is_known else "-" for traffic in pair
        )
        yield name, usual, best
    for name, times in (
        ("CommTime, point to point", [traffic.comm_time for traffic in pair]),
        ("communication of a rank", [choice.usual.total, choice.best.total]),
    ):
        usual, best = map(time_to_text, times)
        yield name, usual, best


def outcome(choice: PlacementChoice, run: Run) -> str:
    """Compares what was predicted with what the run's record says."""
    if not past_runs.is_on(run, choice.chosen.hosts):
        return "the launcher placed ranks otherwise than it was told: nothing to compare"
    took = run.seconds
    if took is None:
        return "how long the run took isn't recorded"
    text = f"the run took {time_to_text(took)}"
    before = choice.before
    if before is None or (earlier := before.seconds) is None:
        return text + "; none with these arguments is recorded in the launcher's order"
    predicted = choice.usual.total - choice.best.total
    saved = earlier - took
    return (
        f"{text}, in the launcher's order {time_to_text(earlier)} ({before.start}): "
        f"{time_to_text(abs(saved))} {'less' if saved >= 0 else 'more'}, where a rank's "
        f"communication was to take {time_to_text(predicted)} less if nothing overlaps; "
        f"collectives took a rank {time_to_text(run.seconds_in_collectives)}, then "
        f"{time_to_text(before.seconds_in_collectives)}"
    )


# For programs ----------------------------------------------------------------------------------


def as_json(choice: PlacementChoice) -> dict[str, Any]:
    return {
        "source": choice.source,
        "hosts": list(choice.chosen.hosts),
        "moved": choice.moved,
        "objection": choice.objection or None,
        "restriction": choice.restriction or None,
        "launcher": _figures(choice.usual, has_sites=choice.has_sites),
        "best": _figures(choice.best, has_sites=choice.has_sites),
    }


def _figures(placed: PredictedPlacement, *, has_sites: bool) -> dict[str, float | None]:
    traffic = placed.traffic
    return {
        "cost": placed.total,
        "comm_time": traffic.comm_time,
        "intra_host": traffic.intra_host,
        "inter_host": traffic.inter_host,
        "inter_site": traffic.inter_site if has_sites else None,
    }
