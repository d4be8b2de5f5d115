"""Summaries of samples, which are committed instead of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

Record = dict[str, Any]

statistics = (
    "least", "lower quartile", "median", "upper quartile", "most", "geometric mean",
)  # fmt: skip
"""The statistics of a list of numbers; the last one only if all are above zero."""
left_out = frozenset({"repetition", "seed", "start_ns", "type"})
"""Keys that number samples and say nothing about them."""
digits = 4
most_texts = 8
"""The most distinct texts that are counted separately."""


def compact(samples: Sequence[Mapping[str, Any]], cell: Sequence[str]) -> list[Record]:
    """Makes a record for each cell: the samples with the same values of the keys `cell`.

    Samples whose "invalid" is None (warm-ups) or has reasons are counted only. Numbers become their
    `statistics`, texts how often they occur; lists are left out, records become "outer.inner".
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for sample in samples:
        groups.setdefault(tuple(sample.get(key) for key in cell), []).append(sample)
    return [_record(cell, group) for group in groups.values()]


def _record(cell: Sequence[str], group: Sequence[Mapping[str, Any]]) -> Record:
    found: Record = {key: group[0][key] for key in cell if key in group[0]}
    valid = [sample for sample in group if sample.get("invalid", []) == []]
    found["samples"] = len(valid)
    if refused := [reason for sample in group for reason in sample.get("invalid") or []]:
        found["invalid"] = counted_alike(refused)
    values: dict[str, list[Any]] = {}
    for sample in valid:
        for key, value in _flat(sample):
            if key not in {*cell, *left_out}:
                values.setdefault(key, []).append(value)
    return found | {key: _short(each) for key, each in values.items()}


def counted_alike(texts: Iterable[str]) -> dict[str, int]:
    """Says how often texts occur, most frequent first. Those that differ in their numbers only
    count as one, of which the first is shown."""
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(re.sub(r"[\d.]+", "0", text), []).append(text)
    return {each[0]: len(each) for each in sorted(alike.values(), key=len, reverse=True)}


def _flat(sample: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in sample.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{inner}", each) for inner, each in _flat(value))
        elif not isinstance(value, list) and value is not None:
            yield key, value


def _short(values: Sequence[Any]) -> Any:
    """Returns the value itself if all are equal."""
    if all(value == values[0] for value in values):
        return _rounded(values[0])
    if any(isinstance(value, str | bool) for value in values):
        counts = Counter(str(value) for value in values)
        return dict(counts.most_common()) if len(counts) <= most_texts else {"texts": len(counts)}
    found = [float(each) for each in np.percentile(values, [0, 25, 50, 75, 100])]
    if min(values) > 0:
        found.append(math.exp(float(np.mean(np.log(values)))))
    return [_rounded(each) for each in found]


def _rounded(value: Any) -> Any:
    """Rounds to four significant digits, except whole numbers."""
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return float(f"{value:.{digits}g}")
