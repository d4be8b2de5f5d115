"""Programs on the lab with their events: what `thalweg.analysis` takes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.builds import Build
from bench.session import Session
from thalweg import paths, runs, trees
from thalweg.algorithms import Parameters
from thalweg.analysis.tables import Run
from thalweg.network import MessageCost, Network, write

EAGER_LIMIT = 64 << 10
"""Open MPI's over TCP; a probe would find it."""


def run(
    session: Session,
    build: Build,
    program: Sequence[str],
    force: str,
    expected: Network | None = None,
    below: Sequence[Path] = (),
    environment: Mapping[str, str] = {},
) -> Run:
    """Runs a program on all of the lab's ranks with these algorithms forced; reads its events.

    `expected`: the network that the analysis holds the run against, the scenario's own if None.
    `below`: libraries preloaded after the runtime. Raises LaunchFailedError.
    """
    folder = session.folder / "record"
    shutil.rmtree(folder, ignore_errors=True)
    settings = {
        "LD_PRELOAD": ":".join(map(str, [paths.library(build.flavour), *below])),
        "THALWEG_FORCE": force,
        "THALWEG_RECORD": str(folder),
        "THALWEG_EVENTS": "all",
        **environment,
    }
    session.run(build, program, settings, timeout=120)
    network = session.folder / "expected.json"
    known = expected or session.scenario.network
    known.message_costs = {build.flavour: MessageCost(eager_limit=EAGER_LIMIT)}
    write(known, network)
    return runs.read(folder, network)


def tree_force(session: Session, kind: str, parameters: Parameters) -> str:
    """Returns what THALWEG_FORCE says of a collective along a declared tree."""
    file = session.folder / f"{kind}.tree"
    trees.write_parameters(file, parameters)
    return f"{kind}={trees.NAME}:file={file}"
