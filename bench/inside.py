"""Inside the collectives: the figures and claims of Bongo, Anshus and Bjørndalen, from own runs.

And verdicts on runs with known faults, replayed and on the lab, and tuning without a person.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench import builds, inside_figures, inside_paper, inside_tune, inside_verdicts
from bench.page import Page, Part
from bench.report import Content, Subject
from bench.settings import Settings

PARTS = ("verdicts", "lab-verdicts", "figures", "tune")
"""What script/bench inside --part takes."""
subject = Subject(
    "inside",
    "Inside the collectives",
    ("python/thalweg/analysis", "bench/faulty_runs.py", "bench/lab_faults.py",
     "bench/inside_figures.py", "src/runtime"),
    ("part", "where", "fault", "cluster", "program", "configuration", "values"),
)  # fmt: skip
usual_runs, quick_runs, lab_runs, quick_lab_runs = 100, 10, 10, 1


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    wanted = settings.parts or PARTS
    build = builds.select(["openmpi-4.1"])[0]

    def seeds(usual: int, quick: int) -> range:
        count = settings.networks or (usual if settings.save else quick)
        return range(settings.seed, settings.seed + count)

    anew = settings.anew
    if "verdicts" in wanted:
        inside_verdicts.simulate(page, seeds(usual_runs, quick_runs), anew=anew)
    if "lab-verdicts" in wanted:
        inside_verdicts.measure(page, build, seeds(lab_runs, quick_lab_runs), anew=anew)
    if "figures" in wanted:
        runs = inside_figures.WANTED if settings.save else inside_figures.WANTED[:1]
        inside_figures.add_runs(page, build, runs, anew=anew)
    if "tune" in wanted:
        inside_tune.add_runs(page, build, anew=anew)
    page.finish()


def contents(parts: Sequence[Part]) -> list[Content]:
    return [
        inside_verdicts.summary(parts),
        inside_paper.statements(parts),
        *inside_paper.figures(parts),
        inside_paper.runs(parts),
        inside_paper.imbalance(parts),
        inside_tune.table(parts),
        inside_verdicts.misses(parts),
    ]
