"""A page of results whose parts are measured one after another, also on different days."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import machine, report
from bench.report import Content, Subject
from bench.settings import Settings

Record = dict[str, Any]
"""A line of a raw file."""
failed = "failed: "
"""Begins the reason why a run that failed is invalid."""
own = "own."
"""Precedes the name of a sample's value that is called like a label of its part."""


@dataclass(frozen=True)
class Part:
    """A part measured together: labels that distinguish it, facts, and samples."""

    labels: Record
    facts: Record
    samples: Sequence[Record]
    date: str
    commit: str
    machine: str = ""
    """Where it was measured, in words."""

    def head(self) -> Record:
        """Returns all but the samples, as a raw file keeps it."""
        return {
            "labels": self.labels,
            "date": self.date,
            "commit": self.commit,
            "machine": self.machine,
            "facts": self.facts,
            "samples": len(self.samples),
        }


def valid_runs(samples: Sequence[Mapping[str, Any]], variant: str) -> list[Mapping[str, Any]]:
    """Returns the samples of a variant that aren't invalid."""
    return [each for each in samples if each["variant"] == variant and not each.get("invalid")]


def median_of(part: Part, variant: str, key: str = "time") -> float | None:
    """Returns the median of a variant's valid runs; None if there is none."""
    found = [float(each[key]) for each in valid_runs(part.samples, variant)]
    return statistics.median(found) if found else None


def invalid_runs(parts: Iterable[Part]) -> str:
    """Says how many runs are invalid, those that failed among them: "3 of 20"."""
    samples = [sample for part in parts for sample in part.samples]
    return f"{sum(bool(each['invalid']) for each in samples)} of {len(samples)}"


def failed_run(variant: str, failure: Exception) -> Record:
    """Returns the sample of a run that didn't end as it should, of which only this is known."""
    return {"variant": variant, "time": None, "invalid": [f"{failed}{failure}"]}


def runs_that_failed(samples: Iterable[Mapping[str, Any]]) -> str:
    """Says how many runs of each variant failed, or none."""
    count = Counter(
        sample["variant"]
        for sample in samples
        if any(reason.startswith(failed) for reason in sample.get("invalid") or ())
    )
    failures = ", ".join(f"{number} of {name}" for name, number in count.items())
    return f"Runs that failed: {failures or 'none'}."


class Page:
    """Collects parts, and writes page and raw file with each, in case the run is interrupted.

    Parts of the last run stay, if its samples are here, but for those that are measured again;
    unless settings.anew.
    """

    def __init__(
        self,
        settings: Settings,
        subject: Subject,
        contents: Callable[[Sequence[Part]], Sequence[Content]],
    ) -> None:
        self.parts: list[Part] = []
        self._settings, self._subject, self._contents = settings, subject, contents
        self._folder = report.folder(settings)
        last = None if settings.anew else report.read_raw(self._folder, subject.name)
        # A page that is only written again was not made on this machine, nor from these sources.
        self._made = {"machine": last["machine"]} if last and settings.render else {}
        self._was_unfinished = bool(last and last.get(report.unfinished))
        if last:
            self.parts = read_parts(last)
        elif settings.save and not settings.anew and (self._folder / f"{subject.name}.md").exists():
            report.console.print(
                f"[yellow]no samples of {subject.name}.md in "
                f"{report.raw_file(self._folder, subject.name).parent}: "
                "the page will have only what is measured now"
            )

    def add(
        self, labels: Mapping[str, Any], facts: Mapping[str, Any], samples: Iterable[Record]
    ) -> None:
        """Adds a part, in place of one of the same labels."""
        made = (report.now(), machine.commit(), machine.in_words())
        part = Part(dict(labels), dict(facts), list(samples), *made)
        for at, other in enumerate(self.parts):
            if other.labels == part.labels:
                self.parts[at] = part
                break
        else:
            self.parts.append(part)
        if self._settings.save:
            self._write(unfinished=True)

    def has(self, labels: Mapping[str, Any]) -> bool:
        """Whether this part is left out: settings.render leaves out all, and settings.resume those
        that were made with today's sources."""
        return self._settings.render or (
            self._settings.resume
            and any(
                part.labels == labels and machine.is_current(part.commit, self._subject.measures)
                for part in self.parts
            )
        )

    def finish(self) -> None:
        """Prints the page, which is unfinished yet if the options left out parts."""
        render, is_partial = self._settings.render, self._settings.is_partial
        for content in self._contents(self.parts):
            content.print()
        if self._settings.save and self.parts:
            self._write(unfinished=self._was_unfinished if render else is_partial)
            raw = report.raw_file(self._folder, self._subject.name)
            report.console.print(f"wrote {self._folder / self._subject.name}.md and {raw}")

    def _write(self, *, unfinished: bool) -> None:
        data = write_parts(self.parts) | self._made
        data |= {report.unfinished: True} if unfinished else {}
        contents = self._contents(self.parts)
        report.write(self._folder, self._subject, contents, data)


def write_parts(parts: Sequence[Part]) -> Record:
    """Returns parts as a raw file has them: every sample is labelled with its part.

    A sample's value that is called like a label becomes "own.NAME".
    """
    return {
        "parts": [part.head() for part in parts],
        "samples": [_labelled(part.labels, sample) for part in parts for sample in part.samples],
    }


def _labelled(labels: Record, sample: Record) -> Record:
    named = {own + key if key in labels else key: value for key, value in sample.items()}
    return {**labels, **named}


def read_parts(document: Mapping[str, Any]) -> list[Part]:
    """The reverse of write_parts."""
    parts = []
    rest = iter(document["samples"])
    for head in document["parts"]:
        labels = head["labels"]
        samples = [
            {key.removeprefix(own): value for key, value in sample.items() if key not in labels}
            for sample in itertools.islice(rest, head["samples"])
        ]
        made = (head["date"], head["commit"], head["machine"])
        parts.append(Part(labels, head["facts"], samples, *made))
    return parts
