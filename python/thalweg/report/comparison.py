"""The page of two runs: what differs, and whether it is noise."""

from collections.abc import Sequence
from dataclasses import dataclass

from thalweg import record, units
from thalweg.analysis import compare, timemaps
from thalweg.analysis.compare import SIGNIFICANCE, Comparison, Difference, Match
from thalweg.analysis.tables import Run
from thalweg.analysis.words import name_of, shape_name, verdict_on, verdict_on_stage
from thalweg.printable import plural
from thalweg.report import elements, record_parts, run_lead, tree_parts
from thalweg.report.elements import Block, Layer, Page, Section
from thalweg.report.event_parts import NS, axes
from thalweg.timemap_picture import Configuration

MOST_TIMEMAPS = 3


@dataclass(frozen=True)
class Side:
    """One of the two runs: its record, its events, or both."""

    name: str
    record: record.Run | None
    events: Run | None
    why_not: str = ""
    """Why there are events, but can't be used."""


def page(a: Side, b: Side) -> Page:
    """Returns the page. Needs events of both runs for more than sums."""
    found = compare.compare(a.events, b.events) if a.events and b.events else None
    sections = []
    if found is not None and a.events and b.events:
        sections.append(_calls(found))
        sections += _stages(found)
        sections += _timemaps(a, b)
        sections.append(Section("Late ranks", [*_lateness(a), *_lateness(b)]))
    sections += [
        Section(f"Calls of {name}", [record_parts.calls(side.record)])
        for name, side in (("A", a), ("B", b))
        if side.record and len(side.record.calls)
    ]
    warnings = [
        f"{name}: {words}"
        for name, side in (("A", a), ("B", b))
        if side.record
        for words in (*run_lead.warnings(side.record), side.why_not)
        if words
    ]
    lead = (
        _lead(found)
        if found
        else [
            "Without events of both runs only their sums can be compared, and not whether they "
            "differ by more than noise"
            + ("." if a.why_not or b.why_not else f": {run_lead.EVENTS}.")
        ]
    )
    return Page(
        f"{a.name} and {b.name}",
        [f"A is {a.name}, B is {b.name}.", *lead],
        _facts(a, b, found),
        sections,
        warnings,
    )


def _lead(found: Comparison) -> list[str]:
    if not found.matches:
        return ["The two runs have no calls in common."]
    known = [match for match in found.matches if match.whole.has_enough_calls]
    changed = [match for match in known if match.whole.p_value < SIGNIFICANCE]
    words = [_change(match) for match in changed[:3]]
    if same := len(known) - len(changed):
        words.append(
            f"The other {same} kinds of calls differ by no more than noise."
            if changed
            else "No collective of the two runs differs by more than noise."
        )
    if rare := len(found.matches) - len(known):
        words.append(
            f"{plural(rare, 'kind')} of calls came too rarely to tell a difference from noise: "
            "let each run have ten or more of a kind."
        )
    elsewhere = sum(not part.reconfigured for match in found.matches for part in match.parts)
    if changed and elsewhere:
        words.append(
            f"{elsewhere} stages at nodes changed although nothing was reconfigured there."
        )
    return words


def _change(match: Match) -> str:
    plans = match.algorithms
    how = f"by {plans[0]} in both" if plans[0] == plans[1] else f"{plans[0]} in A, {plans[1]} in B"
    return (
        f"In B {name_of(match)} is {verdict_on(match.whole)} than in A "
        f"({units.ns_to_text(match.whole.a_ns)} and {units.ns_to_text(match.whole.b_ns)} from the "
        f"last entry to the last exit; {how})."
    )


def _facts(a: Side, b: Side, found: Comparison | None) -> list[tuple[str, str, str]]:
    facts = []
    for name, side in (("A", a), ("B", b)):
        if side.record is not None:
            costs = run_lead.costs(side.record, None)
            facts.append(
                (
                    f"{name} in collectives",
                    units.time_to_text(costs.collectives),
                    "a rank, on average",
                )
            )
    if found is not None:
        changed = sum(match.whole.p_value < SIGNIFICANCE for match in found.matches)
        facts.append(
            ("Changed", str(changed), f"of {len(found.matches)} kinds of calls, beyond noise")
        )
    return facts


def _calls(found: Comparison) -> Section:
    table = elements.table(
        "Calls of both runs, the costliest first",
        [
            ("collective", "text"),
            ("size", "size"),
            ("ranks", "count"),
            ("calls in A", "count"),
            ("calls in B", "count"),
            ("plan in A", "text"),
            ("plan in B", "text"),
            ("A", "time"),
            ("B", "time"),
            ("B / A", "ratio"),
            ("difference", "text"),
        ],
        [
            (
                match.kind,
                match.size,
                match.ranks,
                *match.calls,
                *match.algorithms,
                NS * match.whole.a_ns,
                NS * match.whole.b_ns,
                match.whole.ratio,
                verdict_on(match.whole),
            )
            for match in found.matches
        ],
        note="Medians from the last entry to the last exit. Noise: such a difference comes about "
        f"by chance in more than {SIGNIFICANCE:.0%} of the cases among so many kinds of calls "
        "(Mann and Whitney's test). "
        f"Only in A: {found.only_in[0]} calls; only in B: {found.only_in[1]}.",
    )
    return Section("Calls", [table])


def _stages(found: Comparison) -> list[Section]:
    blocks: list[Block] = []
    for match in found.matches:
        if not match.stages:
            continue
        blocks.append(
            elements.table(
                f"Stages of {name_of(match)}",
                [("stage", "text"), ("A", "time"), ("B", "time"), ("difference", "text")],
                [
                    _difference(stage.replace("_", " "), each)
                    for stage, each in match.stages.items()
                ],
            )
        )
        if match.parts:
            blocks.append(
                elements.table(
                    f"Nodes that changed in {name_of(match)}",
                    [
                        ("node", "count"),
                        ("stage", "text"),
                        ("A", "time"),
                        ("B", "time"),
                        ("difference", "text"),
                        ("reconfigured", "text"),
                    ],
                    [
                        (
                            part.node,
                            *_difference(part.stage.replace("_", " "), part.difference),
                            "yes" if part.reconfigured else "no",
                        )
                        for part in match.parts
                    ],
                )
            )
    return [Section("Stages of trees", blocks)] if blocks else []


def _difference(name: str, each: Difference) -> tuple[str, float, float, str]:
    return name, NS * each.a_ns, NS * each.b_ns, verdict_on_stage(each)


def _timemaps(a: Side, b: Side) -> list[Section]:
    """The trees of both runs over each other, by collective and size."""
    assert a.events and b.events
    shapes = [
        {
            (row["kind"], row["size"]): row["shape"]
            for row in reversed(timemaps.tree_shapes(run).to_dicts())
        }
        for run in (a.events, b.events)
    ]
    blocks = []
    for key in [key for key in reversed(shapes[0]) if key in shapes[1]][:MOST_TIMEMAPS]:
        both = [
            Configuration(f"{name}: {side.name}", timemaps.curves(side.events, shape[key]))
            for name, side, shape in (("A", a, shapes[0]), ("B", b, shapes[1]))
            if side.events
        ]
        if all(each.curves for each in both):
            blocks.append(tree_parts.timemap(f"Timemaps of {shape_name(*key)}", both))
    return [Section("Timemaps", blocks)] if blocks else []


def _lateness(side: Side) -> Sequence[Block]:
    assert side.events
    late = timemaps.lateness(side.events, rows=64, columns=128)
    return [
        elements.heatmap(
            f"How late ranks came in {side.name}",
            *axes(late),
            [Layer("late", "time", NS * late.late, "sqrt")],
        )
    ]
