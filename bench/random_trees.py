"""Plans, CMPI and MPICH2 against very many random trees, simulated.

Figure 9 of Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in
the Cloud; its two collectives and the two others. As there, trees pass the vector on in one piece;
random trees that cut it into segments are compared with what cuts it, too.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from bench import cmpi, networks
from bench.cmpi_collectives import Cmpi, algorithms
from bench.cmpi_gains import named
from bench.page import Record
from bench.plot import Line, LinePanel, line_chart, quarters
from bench.report import Content, Figure, Table, percent, seconds
from thalweg import planner, simulator, trees, units
from thalweg.algorithms import Parameters, Problem, Skeleton, find
from thalweg.collective import Kind
from thalweg.planner import Effort, Options
from thalweg.simulator import Fidelity, Generator, Sample

setup = cmpi.Setup("trees", networks=1)
"""The paper's default setting."""
usual_cloud, other_clouds = 1, (2, 3, 4, 5)
"""Seeds of the clouds; on the others there are a hundredth of the trees."""
usual_placement = "random"
other_placements = ("block", "round robin")
"""By which ranks are placed for a tenth of the trees, binomial ones in one piece."""
whole_window, cut_window = 1, 8
"""Messages that a rank has in flight: MPI_Send of a long vector returns once it is received."""
whole_vectors = (Kind.bcast, Kind.reduce)
"""The collectives whose vector trees may cut into segments."""
segments = (16_384, 65_536, 262_144)
fine, shown = 20_000, 60  # bins that are counted, and that are drawn
widest = 0.999  # of the trees are in the drawing
colours = {"binomial": "#3182bd", "recursive": "#9ecae1"}
marks = {"CMPI": "#e6550d", "MPICH2 1.4": "#444", "Thalweg": "#31a354"}
cut = "segmented"
dashes = {False: "", True: "4 3"}
"""A line's dashes, by whether trees cut the vector."""
close = 0.1  # above the best tree


@dataclass(frozen=True)
class Draw:
    """Trees to draw for a collective."""

    kind: Kind
    generator: Generator
    count: int
    segmented: bool = False
    placement: str = usual_placement
    cloud: int = usual_cloud

    @property
    def labels(self) -> Record:
        labels: Record = {
            "carlo": self.kind.name,
            "generator": self.generator.name,
            "segmented": self.segmented,
            "placement": self.placement,
        }
        return labels if self.cloud == usual_cloud else {**labels, "cloud": self.cloud}


@dataclass(frozen=True)
class Carlo:
    """Times in seconds, of the fast simulator."""

    collective: str
    generator: str
    segmented: bool
    count: int
    minimum: float
    median: float
    mpich: float  # MPICH2 1.4's choice, which cuts long vectors of a bcast and a reduce
    cmpi: float
    better: float  # share of the trees that are faster than CMPI
    better_than_mpich: float
    ours: float
    plan: str
    density: Sequence[Sequence[float]]
    """Time, and share of the trees within a bin of equal ratios around it."""
    placement: str = usual_placement
    cloud: int = usual_cloud

    @property
    def trees(self) -> str:
        return f"{self.generator}, {cut}" if self.segmented else self.generator


def draws(count: int, segmented: int) -> Iterator[Draw]:
    """All of the page; `segmented`: how many trees are drawn of those with segments."""
    for kind, generator in itertools.product(algorithms, (Generator.binomial, Generator.recursive)):
        yield Draw(kind, generator, count)
        if kind in whole_vectors:
            yield Draw(kind, generator, segmented, segmented=True)
    for kind, placement in itertools.product(algorithms, other_placements):
        yield Draw(kind, Generator.binomial, max(1, count // 10), placement=placement)
    for cloud, kind in itertools.product(other_clouds, algorithms):
        yield Draw(kind, Generator.binomial, max(1, count // 100), cloud=cloud)


def sampled(draw: Draw) -> Record:
    """Times the trees of a draw, and what they are compared with."""
    problem = problem_of(draw)
    times = segmented_times(problem, draw) if draw.segmented else whole_times(problem, draw)
    wanted = Options(
        library=networks.library, effort=Effort.patient, disabled=networks.only_algorithms
    )
    plan = planner.plan(problem, wanted)
    mpich = cmpi.by_hosts(problem, fast)
    theirs = in_segments(problem) if draw.segmented else in_one_piece(problem)
    return asdict(
        Carlo(
            draw.kind.name,
            draw.generator.name,
            draw.segmented,
            draw.count,
            times.minimum,
            times.median,
            mpich,
            theirs,
            times.below(theirs),
            times.below(mpich),
            fast(problem, plan.skeleton),
            plan.algorithm,
            times.density(),
            draw.placement,
            draw.cloud,
        )
    )


def problem_of(draw: Draw) -> Problem:
    found = cmpi.problems(replace(setup, kinds=(draw.kind,)), seed=draw.cloud)
    return next(problem for name, problem in found if name == draw.placement)


def fast(problem: Problem, skeleton: Skeleton) -> float:
    return networks.simulated(problem, skeleton, Fidelity.fast)


def fast_exits(problem: Problem, skeleton: Skeleton) -> list[float]:
    return networks.exits(problem, skeleton, Fidelity.fast)


def in_one_piece(problem: Problem) -> float:
    """Seconds of CMPI's collective as printed."""
    return Cmpi(problem, setup.shape()).seconds(problem, fast_exits)


def in_segments(problem: Problem) -> float:
    """Seconds of binomial trees in CMPI's groups, joined, with the segments that suit them best."""
    algorithm = find(algorithms[problem.collective.kind])
    return min(
        fast(
            problem,
            algorithm.build(
                problem, setup.shape().parameters(window=cut_window, segment_size=size)
            ),
        )
        for size in segments
    )


# Times of many trees ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Times:
    """A histogram of times."""

    minimum: float
    median: float
    counts: np.ndarray
    edges: np.ndarray

    @staticmethod
    def of_sample(sample: Sample) -> Times:
        counts, edges = np.array(sample.counts), np.array(sample.edges)
        return Times(sample.minimum, sample.quantiles[0], counts, edges)

    @staticmethod
    def of(times: Sequence[float]) -> Times:
        counts, edges = np.histogram(times, fine)
        return Times(min(times), float(np.median(times)), counts, edges)

    def below(self, time: float) -> float:
        """Share of the trees that take less than a time; trees of a bin are even."""
        up_to = np.concatenate([[0], np.cumsum(self.counts)])
        return float(np.interp(time, self.edges, up_to) / up_to[-1])

    def density(self) -> list[list[float]]:
        """The share of the trees in bins of equal ratios, without the slowest trees."""
        up_to = np.cumsum(self.counts) / self.counts.sum()
        last = self.edges[1 + int(np.searchsorted(up_to, widest))]
        bounds = np.geomspace(self.minimum, max(last, self.minimum * 1.001), shown + 1)
        shares = np.diff([self.below(each) for each in bounds])
        middles = np.sqrt(bounds[:-1] * bounds[1:])
        return [[float(x), float(y)] for x, y in zip(middles, shares, strict=True)]


def whole_times(problem: Problem, draw: Draw) -> Times:
    options = simulator.Options(fidelity=Fidelity.fast, window=whole_window)
    return Times.of_sample(
        simulator.monte_carlo(
            problem,
            draw.count,
            generator=draw.generator,
            quantiles=[0.5],
            bins=fine,
            options=options,
        )
    )


def segmented_times(problem: Problem, draw: Draw) -> Times:
    """Each tree with the segments that suit it best."""
    drawn = random.Random(1)
    algorithm = find(trees.NAME)
    root = problem.collective.root
    below = [rank for rank in range(setup.ranks) if rank != root]
    found = []
    for _ in range(draw.count):
        drawn.shuffle(below)
        tree = trees.make(drawers[draw.generator]([root, *below], drawn)).tree
        skeletons = (
            algorithm.build(problem, Parameters(tree=tree, window=cut_window, segment_size=size))
            for size in segments
        )
        found.append(min(fast(problem, each) for each in skeletons))
    return Times.of(found)


Children = list[list[int]]
"""The children of each rank, in the order in which they are served."""


def binomial_tree(ranks: Sequence[int], _draw: random.Random) -> Children:
    """The binomial tree of MPI libraries: position p is below p without its lowest bit."""
    children: Children = [[] for _ in ranks]
    half = 1 << (len(ranks) - 1).bit_length() >> 1
    while half:
        for above in range(0, len(ranks) - half, 2 * half):
            children[ranks[above]].append(ranks[above + half])
        half //= 2
    return children


def recursive_tree(ranks: Sequence[int], draw: random.Random) -> Children:
    """Each rank joins below any of those before it."""
    children: Children = [[] for _ in ranks]
    for at, rank in enumerate(ranks[1:], 1):
        children[ranks[draw.randrange(at)]].append(rank)
    return children


drawers: Mapping[Generator, Callable[[Sequence[int], random.Random], Children]] = {
    Generator.binomial: binomial_tree,
    Generator.recursive: recursive_tree,
}


# The page --------------------------------------------------------------------------------------


def contents(found: Sequence[Carlo]) -> list[Content]:
    usual = [each for each in found if each.cloud == usual_cloud]
    if not usual:
        return []
    placed = [each for each in found if each.placement == usual_placement]
    return [
        table(usual),
        on_clouds([each for each in placed if is_permuted(each)]),
        figure([each for each in placed if each.cloud == usual_cloud]),
    ]


def is_permuted(each: Carlo) -> bool:
    """Whether trees are permuted binomial ones in one piece, as the paper's."""
    return each.generator == Generator.binomial.name and not each.segmented


def table(found: Sequence[Carlo]) -> Table:
    rows = Table(
        "Random trees",
        ["collective", "placement", "trees", "how many", "best", "median", "MPICH2 1.4",
         "faster than it", "CMPI", "faster than it", "Thalweg", "plan", "better than all"],
        notes=[
            f"{setup.hosts} hosts of a cloud, {setup.ranks} ranks, "
            f"{units.size_to_text(setup.size)}, a random root. Binomial: the binomial tree of MPI "
            "libraries with its ranks permuted at random; recursive: ranks join in random order, "
            "each below any rank in the tree. Faster than it: the share of the trees.",
            "Trees pass the vector on in one piece, and a rank sends one message at a time, as "
            "MPI_Send does with long vectors; CMPI's is as printed, with MPICH2's own collective "
            "in each group (cmpi.md), and as if groups shared no link; random trees and plans "
            "share the racks' links. Segmented: each random tree, and the binomial trees of "
            "CMPI's groups joined to one, cut the vector into the best of segments of "
            f"{', '.join(units.size_to_text(size) for size in segments)}, {cut_window} in flight "
            "from a rank. MPICH2's bcast and reduce and Thalweg's plans cut it in either case. "
            "All are judged by the `fast` simulator, cmpi.md by `fluid`.",
            "The paper draws ten million trees (`--trees`), and has CMPI close to the best.",
            *verdicts(found),
        ],
    )  # fmt: skip
    for each in found:
        rows.add(
            each.collective,
            each.placement,
            each.trees,
            f"{each.count:,}",
            seconds(each.minimum),
            seconds(each.median),
            seconds(each.mpich),
            share(each.better_than_mpich),
            seconds(each.cmpi),
            share(each.better),
            seconds(each.ours),
            each.plan,
            "yes" if each.ours < each.minimum else "no",
        )
    return rows


def on_clouds(found: Sequence[Carlo]) -> Table:
    rows = Table(
        "On other clouds",
        ["collective", "cloud", "permuted trees", "best", "CMPI", "faster than it", "MPICH2 1.4",
         "of it"],
        notes=[
            "As above, with ranks at random, on clouds drawn from their seeds, of which the first "
            "is that of the other tables. Of it: CMPI's time over MPICH2's.",
        ],
    )  # fmt: skip
    names = [kind.name for kind in algorithms]
    for each in sorted(found, key=lambda each: (names.index(each.collective), each.cloud)):
        rows.add(
            each.collective,
            each.cloud,
            f"{each.count:,}",
            seconds(each.minimum),
            seconds(each.cmpi),
            share(each.better),
            seconds(each.mpich),
            f"{each.cmpi / each.mpich:.2f}x",
        )
    return rows


def share(value: float) -> str:
    return f"{100 * value:.2g} %"


def verdicts(found: Sequence[Carlo]) -> Iterator[str]:
    """One sentence for each collective, about binomial trees in one piece."""
    for each in found:
        if not is_permuted(each):
            continue
        slower = each.cmpi / each.minimum - 1
        yield (
            f"{each.collective}, {named[each.placement]}: {share(each.better)} of the permuted "
            f"binomial trees are faster than CMPI, whose time is {percent(abs(slower))} "
            f"{'above' if slower > 0 else 'below'} the best one's, so that it is "
            f"{'' if slower <= close else 'not '}close to it."
        )


def figure(found: Sequence[Carlo]) -> Figure:
    panels = [panel(kind, [c for c in found if c.collective == kind]) for kind in of_kind(found)]
    drawing = Figure("Density of the trees' times", "trees-density", line_chart(panels))
    drawing.notes.append(
        "Figure 9 of the paper, of ranks placed at random: the share of the trees in each of "
        f"{shown} bins of equal ratios of time, the same bins for all curves of a collective. "
        "Curves of trees with segments are dashed. The upright lines are CMPI's collective as "
        "printed, dashed CMPI's binomial trees with segments, which dashed curves are to be held "
        "against, and MPICH2's choice and Thalweg's plan, which have the same time beside either."
    )
    return drawing


def of_kind(found: Sequence[Carlo]) -> list[str]:
    return list(dict.fromkeys(each.collective for each in found))


def panel(title: str, found: Sequence[Carlo]) -> LinePanel:
    edges = [bin_edges(each.density) for each in found]
    bounds = np.geomspace(min(e[0] for e in edges), max(e[-1] for e in edges), shown + 1)
    lines = [
        Line(
            f"{each.generator}, {pieces(each)}",
            in_bins(each.density, bounds),
            colours[each.generator],
            dashes[each.segmented],
        )
        for each in found
    ]
    top = max(y for line in lines for _, y in line.points)
    uprights = [
        (f"CMPI, {pieces(each)}", each.cmpi, marks["CMPI"], dashes[each.segmented])
        for each in {each.segmented: each for each in found}.values()
    ]
    uprights += [
        ("MPICH2 1.4", found[0].mpich, marks["MPICH2 1.4"], ""),
        ("Thalweg", found[0].ours, marks["Thalweg"], ""),
    ]
    lines += [
        Line(name, [(time, 0), (time, top)], colour, dashed)
        for name, time, colour, dashed in uprights
    ]
    return LinePanel(title, "time", "share of the trees per bin (%)", quarters(lines), lines)


def pieces(of: Carlo) -> str:
    return cut if of.segmented else "one piece"


def bin_edges(density: Sequence[Sequence[float]]) -> np.ndarray:
    """Returns the edges of bins of equal ratios from their middles."""
    middles = np.array([time for time, _ in density])
    half = np.sqrt(middles[1] / middles[0])
    return np.append(middles / half, middles[-1] * half)


def in_bins(density: Sequence[Sequence[float]], bounds: np.ndarray) -> list[tuple[float, float]]:
    """Returns the middles of other bins, from the first to the last that has trees, and the share
    of the trees in each, in percent; trees of a bin are even."""
    up_to = np.append(0, np.cumsum([share for _, share in density]))
    shares = 100 * np.diff(np.interp(bounds, bin_edges(density), up_to))
    middles = np.sqrt(bounds[:-1] * bounds[1:])
    there = np.flatnonzero(shares)
    drawn = slice(there[0], there[-1] + 1)
    return list(zip(middles[drawn].tolist(), shares[drawn].tolist(), strict=True))
