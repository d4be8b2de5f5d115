"""Forecasts of traces drawn from seeds, against the best of the single predictors."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean

import numpy as np

from bench.page import Page, Part, Record
from bench.report import Subject, Table, percent
from bench.settings import Settings
from thalweg import forecast

subject = Subject(
    "forecast",
    "Forecasts of drawn traces",
    ("src/forecast", "python/thalweg/forecast.py", "bench/forecast.py"),
    ("trace", "values"),
    made="Simulated",
)
DAY, STEP = 86_400, 600
"""Seconds of a day, and between two values on average."""
features = {"d": "daily course", "j": "jumps", "s": "spikes"}
kinds = ("", "d", "j", "s", "dj", "ds", "js", "djs")
"""What a trace has besides noise, by the letters of `features`."""
counts = (2000, 300)
"""Values of a trace: two weeks, and two days."""
drawn = 60
"""Traces of each kind and length."""
bar = 1.05
"""What a forecast's error may be, over the best single predictor's."""


def trace(seed: int, count: int, kind: str) -> tuple[list[float], list[float]]:
    """Draws times and values of a trace: logarithms, so that errors are fractions."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.5, 1.5, count) * STEP) + rng.uniform(0, DAY)
    values = rng.normal(0, rng.uniform(0.01, 0.1), count)
    if "d" in kind:
        course = np.sin((times - rng.uniform(0, DAY)) * 2 * np.pi / DAY)
        values += rng.uniform(0.1, 0.8) * np.maximum(0, course)
    if "j" in kind:
        for _ in range(rng.poisson(4)):
            values[rng.integers(count) :] += rng.normal(0, 0.7)
    if "s" in kind:
        spikes = rng.random(count) < rng.uniform(0.01, 0.08)
        values[spikes] += rng.exponential(1, spikes.sum())
    return times.tolist(), values.tolist()


def compare(kind: str, count: int, seed: int) -> Record:
    """Returns the mean errors, over a whole trace, of its forecasts and of the predictor that is
    the best one in hindsight."""
    times, values = trace(seed, count, kind)
    found = forecast.hindsight(times, values)
    forecasts = np.array([*found.predicted, found.forecast])
    # Nothing is known before the first value.
    *single, mixed = np.abs(forecasts - values)[:, 1:].mean(axis=1).tolist()
    best = min(range(len(single)), key=single.__getitem__)
    return {"seed": seed, "error": mixed, "best_error": single[best], "best": found.names[best]}


def run(settings: Settings) -> None:
    """Forecasts all traces of a kind and length in turn."""
    page = Page(settings, subject, contents)
    seeds = range((settings.seed - 1) * drawn, settings.seed * drawn)
    for count in counts:
        for kind in kinds:
            labels = {"trace": name_of(kind), "values": count, "first": seeds[0]}
            if not page.has(labels):
                page.add(labels, {}, [compare(kind, count, seed) for seed in seeds])
    page.finish()


def name_of(kind: str) -> str:
    return ", ".join(features[letter] for letter in kind) or "noise only"


# The page ---------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    """A row for each kind and length of trace; the sums over all kinds in the notes."""
    table = Table(
        "Errors over the best single predictor's",
        ["values", "trace", "traces", "of the best", "over the bar", "worst", "bar", "met"],
        notes=[
            "A trace has a value every ten minutes or so, the logarithm of a latency or rate, and "
            "noise besides what is named. Errors are absolute ones, on average over the trace.",
            "Of the best: the error of the forecasts over that of the single predictor with the "
            "least error on the whole trace, which only hindsight tells; geometric mean. Met: the "
            f"worst trace is at most {bar:g}x.",
        ],
    )
    of_length: dict[int, list[float]] = {}
    for (count, name), found in ratios(parts).items():
        table.add(
            f"{count:,}", name, len(found), f"{geometric_mean(found):.3f}x",
            percent(exceeding(found) / len(found)), f"{max(found):.3f}x", f"<= {bar:g}x",
            "yes" if max(found) <= bar else "MISSED",
        )  # fmt: skip
        of_length.setdefault(count, []).extend(found)
    for count, found in of_length.items():
        table.notes.append(
            f"{exceeding(found)} of {len(found)} traces of {count:,} values exceed the bar; the "
            f"worst has {max(found):.3f}x, and all have {geometric_mean(found):.3f}x in the "
            "geometric mean."
        )
    return [table]


def ratios(parts: Sequence[Part]) -> dict[tuple[int, str], list[float]]:
    """Returns the forecasts' errors over the best predictor's, by length and kind of trace."""
    found: dict[tuple[int, str], list[float]] = {}
    for part in parts:
        of_kind = found.setdefault((part.labels["values"], part.labels["trace"]), [])
        of_kind += (each["error"] / each["best_error"] for each in part.samples)
    return found


def exceeding(found: Sequence[float]) -> int:
    return sum(each > bar for each in found)
