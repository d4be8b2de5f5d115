"""Random sequences of calls, by which ranks that agree on races and plans are tried."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench import machine
from bench.builds import Build
from bench.page import Page, Part, Record
from bench.report import Subject, Table
from bench.settings import Settings
from thalweg.errors import UserError

subject = Subject(
    "sequences",
    "Random sequences of calls without a disagreement or a hang",
    (
        "src/runtime/adapt", "tests/unit/runtime", "tests/mpi/racing.cpp", "tests/mpi/racing.py",
        "tests/mpi/behaviour.py",
    ),
    ("what", "first", "build", "seed"),
    made="Simulated",
)  # fmt: skip
tests = {
    "races": "no two ranks execute a call differently, and nothing hangs",
    "changes of plans": "no two ranks ever execute a call by different tables, whatever goes wrong",
}
"""The test of tests/unit/runtime that draws the sequences, by what ranks agree on."""
sequences, of_a_part, at_once = 1_000_000, 50_000, 2
on_mpi: dict[str, tuple[str, Sequence[str]]] = {
    "races on MPI": ("races", []),
    "changes of plans on MPI": ("changes of plans", ["lasting"]),
}
"""Runs of real ranks: what they agree on, and how tests/mpi/racing.py is told so."""
mpi_calls, ranks = 100_000, 4
program = Path("build/tests/test_runtime")
printed = re.compile(r"sequences (\d+) calls (\d+) changes (\d+)")
printed_on_mpi = re.compile(r"attempts (\d+) adopted (\d+)")


def run(settings: Settings) -> None:
    if not program.is_file():
        raise UserError(f"{program}: missing; build it with `ninja -C build tests/all`")
    page = Page(settings, subject, contents)
    for what in tests:
        for first in range(0, sequences, of_a_part):
            labels = {"what": what, "first": first}
            if page.has(labels):
                continue
            step = of_a_part // at_once
            with ThreadPoolExecutor(at_once) as pool:
                found = list(
                    pool.map(partial(try_out, what, step), range(first, first + of_a_part, step))
                )
            page.add(labels, {}, found)
    for what, (_, mode) in on_mpi.items():
        for build in settings.builds:
            labels = {"what": what, "build": build.name, "seed": settings.seed}
            if not page.has(labels):
                page.add(labels, {}, [try_on_mpi(build, settings.seed, mode)])
    page.finish()


def try_out(what: str, count: int, first: int) -> Record:
    """Tries so many sequences from a seed on; `failed` has the first lines of what went wrong."""
    done = subprocess.run(
        [str(program), f"--test-case={tests[what].replace(',', '?')}"],
        env=os.environ | {"THALWEG_TEST_SEEDS": f"{first}:{first + count}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return {"failed": done.stdout[:1000]}
    found = printed.search(done.stdout)
    if found is None:
        raise UserError(f'{program}: has no test "{tests[what]}"')
    return dict(zip(("sequences", "calls", "changes"), map(int, found.groups()), strict=True))


def try_on_mpi(build: Build, seed: int, mode: Sequence[str]) -> Record:
    """Runs real ranks whose plans race, or also follow a network, by the program of the tests;
    checks all results."""
    script = machine.repository / "tests/mpi/racing.py"
    of_program = [str(ranks), str(seed), str(mpi_calls), *mode]
    done = subprocess.run(
        [sys.executable, str(script), build.flavour, "build", *of_program],
        env=os.environ | {"THALWEG_TEST_MPI": build.name},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"failed": (done.stdout + done.stderr)[-1000:]}
    found = printed_on_mpi.search(done.stdout)
    return {"attempts": int(found[1]), "adopted": int(found[2])} if found else {}


def contents(parts: Sequence[Part]) -> list[Table]:
    table = Table(
        "Sequences of calls, by what the ranks agree on",
        ["ranks agree on", "sequences", "calls", "agreed on", "parts that failed"],
        notes=[
            "Each sequence has one to ten simulated ranks that come at random times, observe "
            "different things and may run ahead or stand still, with the runtime's own code for "
            "what they agree on; in changes of plans some ranks have no memory or can't read the "
            "new plans. A part fails if two ranks execute one call differently, disagree, or wait "
            "for each other for ever. Calls are those of each rank; agreed on: epochs of races, "
            "and changes of plans.",
        ],
    )
    for what in tests:
        own = [sample for part in parts if part.labels["what"] == what for sample in part.samples]
        totals = (
            sum(each.get(name, 0) for each in own) for name in ("sequences", "calls", "changes")
        )
        failed = sum("failed" in each for each in own)
        table.add(what, *(f"{total:,}" for total in totals), failed)
    real = Table(
        "Calls of real ranks, by what these agree on",
        ["ranks agree on", "build", "ranks", "calls", "seed", "results", "adopted"],
        notes=[
            "Ranks on one host that pretend to be on several, come late now and then, run ahead, "
            "and make and free communicators: `tests/mpi/racing.cpp`.",
            "In changes of plans, which race as well, one communicator stays, and plans are for a "
            "network with a port a thousand times slower than it is. Adopted: how often other "
            "plans came into force, of the attempts to change them.",
        ],
    )
    for part in parts:
        if part.labels["what"] in on_mpi:
            real.add(*_on_mpi_row(part))
    return [table, real]


def _on_mpi_row(part: Part) -> list[object]:
    attempts = [each for each in part.samples if "attempts" in each]
    adopted, tried = (sum(each[name] for each in attempts) for name in ("adopted", "attempts"))
    return [
        on_mpi[part.labels["what"]][0], part.labels["build"], ranks, f"{mpi_calls:,}",
        part.labels["seed"],
        "wrong" if any("failed" in each for each in part.samples) else "right",
        f"{adopted} of {tried}" if attempts else "-",
    ]  # fmt: skip
