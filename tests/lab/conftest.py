"""The labs that tests run in: as root, one at a time, and none left behind by a module.

Tests that leave the lab as it was share one; those that don't, or bring up another, ask for
`own_lab`.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thalweg.lab import lifecycle, scenario, state
from thalweg.lab.state import Lab

if os.geteuid() != 0:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True, scope="module")
def no_lab() -> Iterator[None]:
    """Each module begins and ends without a lab."""
    lifecycle.down()
    yield
    lifecycle.down()


@pytest.fixture
def own_lab() -> Iterator[None]:
    """The test begins and ends without a lab."""
    lifecycle.down()
    yield
    lifecycle.down()


@pytest.fixture
def two_sites() -> Lab:
    """The lab of this name that is up, or a new one."""
    running = state.running()
    return running if running is not None else lifecycle.up(scenario.find("two-sites"))


Write = Callable[..., Path]


@pytest.fixture
def write_scenario(own_lab: None, tmp_path: Path) -> Write:
    """Writes a scenario file: the built-in "even" with three hosts, and changes. For an own lab."""

    def write(**changes: Any) -> Path:
        from thalweg.lab import scenarios

        document = {**scenarios.even(3), "name": "small", "dilation": 2, **changes}
        path = tmp_path / "small.json"
        path.write_text(json.dumps(document))
        return path

    return write
