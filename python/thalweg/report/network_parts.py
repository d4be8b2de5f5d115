"""What a page says about a network, and about plans for it."""

import math
from collections.abc import Sequence

import numpy as np

from thalweg import description, drawing, hierarchy, operations, plan_picture, units
from thalweg.hierarchy import Hierarchy
from thalweg.network import Network
from thalweg.plans import Plan, Setting
from thalweg.printable import plural
from thalweg.report import bins, elements
from thalweg.report.bins import Bins
from thalweg.report.elements import Block, Layer, Page, Section

SIZES = ("64KB", "1MB", "8MB")
COLLECTIVES = ("bcast", "reduce", "allreduce")
MOST_DRAWN = 64
"""Most ranks for which plans are drawn."""
MOST_BOXES = 256
"""Most hosts of a drawn hierarchy."""


def page(title: str, setting: Setting, others: Sequence[Section] = ()) -> Page:
    """Returns the page of a network. Plans what it shows: seconds."""
    net = setting.network
    tree = hierarchy.build(net, plan_picture.SMALL)
    made = [setting.plan(operations.make(c, size)) for c in COLLECTIVES for size in SIZES]
    return Page(
        title,
        lead(net, made),
        facts(net),
        [*others, plans(made, tree), *sections(net, tree)],
        about=[
            f"The network file says: {net.measured_with or 'of unknown origin'}, "
            f"{net.measured_at or 'at an unknown time'}."
        ],
    )


def lead(net: Network, made: Sequence[Plan]) -> list[str]:
    """The network in words, and what plans gain on it."""
    ranks = len(made[0].placement)
    words = [
        f"{_hosts_and_sites(net)}; plans are for {plural(ranks, 'rank')}.",
        description.asymmetry_text(net),
    ]
    gains = [
        (each.native.time / each.predicted, each)
        for each in made
        if not each.is_native and each.native.time > 0 and each.predicted > 0
    ]
    if gains:
        ratio, best = max(gains, key=lambda gain: gain[0])
        words.append(
            f"The most is gained in a {best.collective.kind.name} of "
            f"{units.size_to_text(best.collective.size)}: predicted to take "
            f"{units.time_to_text(best.predicted)} by {best.algorithm}, {ratio:.3g} times faster "
            f"than the MPI library's own ({units.time_to_text(best.native.time)}, predicted)."
        )
    else:
        words.append("No plan is predicted to be faster than the MPI library's own collectives.")
    return words


def _hosts_and_sites(net: Network) -> str:
    sites = f"on {plural(len(net.sites), 'site')}" if net.sites else "sites unknown"
    trunks = f", {plural(len(net.trunks), 'trunk')}" if net.trunks else ""
    return f"{plural(len(net.hosts), 'host')}, {sites}{trunks}"


def facts(net: Network) -> list[tuple[str, str, str]]:
    found = []
    for name, quantity, to_text in (
        ("Latency", "latency", units.time_to_text),
        ("Bandwidth", "bandwidth", units.rate_to_text),
    ):
        among = getattr(net, f"{quantity}_among")(net.representatives())
        values = among[np.isfinite(among) & ~np.eye(len(among), dtype=bool)]
        if len(values):
            ends = to_text(float(values.min())), to_text(float(values.max()))
            text = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
            found.append((name, text, "between two hosts, one flow"))
    return [("Hosts", str(len(net.hosts)), _hosts_and_sites(net)), *found]


def sections(net: Network, tree: Hierarchy) -> list[Section]:
    """Matrices, hierarchy and trunks."""
    names = [host.name for host in net.hosts]
    rows = bins.of_hosts(names, drawing.host_order(tree))
    found = [Section("Network", [*_matrices(net, rows), *_hierarchy(tree, names)])]
    if net.trunks or len(net.sites) > 1:
        found.append(Section("Trunks and links between sites", _trunks(net)))
    return found


def _matrices(net: Network, rows: Bins) -> list[Block]:
    what = "" if rows.single else "Means over the pairs of several hosts. "
    layers = [
        Layer("latency", "time", bins.mean(rows, net.latency)),
        Layer("bandwidth", "rate", bins.mean(rows, net.bandwidth)),
    ]
    axis = rows.axis
    note = what + "Hosts that are close to each other are neighbours; the scale is logarithmic."
    return [
        elements.heatmap(
            f"{layer.name.capitalize()} from one host to another",
            axis("from"),
            axis("to"),
            [layer],
            note=note,
            link="hosts",
        )
        for layer in layers
    ] + [_pairs(net, rows)]


def _pairs(net: Network, rows: Bins) -> Block:
    """The pairs of hosts with the longest latencies."""
    latency = np.where(np.eye(len(net.hosts), dtype=bool), -math.inf, net.latency)
    most = min(elements.MOST_ROWS, latency.size - len(latency))
    flat = np.argpartition(-latency, most - 1, axis=None)[:most] if most > 0 else np.zeros(0, int)
    flat = flat[np.argsort(-latency.ravel()[flat], kind="stable")]
    pairs = [divmod(int(at), len(net.hosts)) for at in flat]
    names = [host.name for host in net.hosts]
    left_out = latency.size - len(latency) - len(pairs)
    return elements.table(
        "Pairs of hosts, the farthest first",
        [("from", "text"), ("to", "text"), ("latency", "time"), ("bandwidth", "rate")],
        [
            (names[a], names[b], net.latency_between(a, b), net.bandwidth_between(a, b))
            for a, b in pairs
        ],
        keys=[f"{rows.of[a]},{rows.of[b]}" for a, b in pairs],
        link="hosts",
        note=f"{left_out} closer pairs are left out." if left_out else "",
    )


def _hierarchy(tree: Hierarchy, names: Sequence[str]) -> list[Block]:
    levels = [
        (at, len(level.groups), min(map(len, level.groups)), max(map(len, level.groups)))
        for at, level in enumerate(tree.levels)
    ]
    table = elements.table(
        "Levels of the hierarchy, the lowest first",
        [
            ("level", "count"),
            ("groups", "count"),
            ("fewest hosts", "count"),
            ("most hosts", "count"),
        ],
        levels,
    )
    if len(names) > MOST_BOXES:
        return [table]
    words = "; ".join(f"level {at}: {plural(count, 'group')}" for at, count, _, _ in levels)
    caption = (
        f"Groups of hosts by closeness, for messages of {units.size_to_text(plan_picture.SMALL)}, "
        f"k = {hierarchy.BASE:g}"
    )
    return [elements.drawing(caption, drawing.hierarchy(tree, names), words), table]


def _trunks(net: Network) -> list[Block]:
    found = []
    if net.trunks:
        names = [row[:3] for row in description.trunk_rows(net)]
        rows = [(*row, trunk.capacity) for row, trunk in zip(names, net.trunks, strict=True)]
        columns = [(name, "text") for name in description.TRUNK_COLUMNS[:3]]
        found.append(elements.table("Trunks", [*columns, ("capacity", "rate")], rows))  # type: ignore[list-item]
    if len(net.sites) > 1:
        sites = description.site_names(net)
        yes = {True: "yes", False: "no"}
        found.append(
            elements.table(
                "Links between sites",
                [
                    ("from", "text"),
                    ("to", "text"),
                    ("long", "text"),
                    ("fast", "text"),
                    ("capacity", "rate"),
                ],
                [
                    (
                        sites[link.from_],
                        sites[link.to],
                        yes[link.long],
                        yes[link.fast],
                        link.capacity,
                    )
                    for link in hierarchy.links(net)
                ],
                note="Long: its latency exceeds that of the steps of a collective inside a site. "
                "Fast: it carries more than one host sends.",
            )
        )
    return found


def plans(made: Sequence[Plan], tree: Hierarchy) -> Section:
    """A table of plans, and drawings of those that aren't native."""
    rows = [
        (
            each.collective.kind.name,
            each.collective.size,
            each.algorithm,
            each.predicted or None,
            each.native.time if each.native.time > 0 else None,
            each.bound or None,
            each.reason,
        )
        for each in made
    ]
    table = elements.table(
        "Plans: predicted times",
        [
            ("collective", "text"),
            ("size", "size"),
            ("plan", "text"),
            ("predicted", "time"),
            ("native", "time"),
            ("limit", "time"),
            ("reason", "text"),
        ],
        rows,
        note="Native: what the MPI library's own collective is predicted to take. Limit: no "
        "schedule takes less on this network.",
    )
    small = [each for each in made if not each.is_native and len(each.placement) <= MOST_DRAWN]
    return Section("Plans", [table, *(plan_drawing(each, tree) for each in small)])


def plan_drawing(plan: Plan, tree: Hierarchy) -> Block:
    """A plan over the hierarchy of hosts."""
    return elements.drawing(
        plan.title,
        plan_picture.svg(plan, tree),
        f"{plan.title}. {plan.reason}",
        note="Trees, or arcs between hosts, show the senders, wider for more bytes; arcs to the "
        "right are above, to the left below. Lines go from blue to vermilion with the level of the "
        "hierarchy that they cross. Point at one for its bytes.",
    )


def results(tables: Sequence[dict[str, list[list[str]]]]) -> list[Section]:
    """Tables that the user gave, such as those of a benchmark."""
    return [
        Section(
            str(table["title"]),
            [
                elements.table(
                    str(table["title"]),
                    [(str(column), "text") for column in table["columns"]],
                    [[str(cell) for cell in row] for row in table["rows"]],
                    note=" ".join(map(str, table["notes"])),
                )
            ],
        )
        for table in tables
    ]
