"""The labs that tests run in: as root, one at a time, and none left behind."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thalweg.lab import lifecycle, scenario
from thalweg.lab.state import Lab

if os.geteuid() != 0:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def no_lab() -> Iterator[None]:
    """Each test begins and ends without a lab."""
    lifecycle.down()
    yield
    lifecycle.down()


@pytest.fixture
def two_sites() -> Lab:
    return lifecycle.up(scenario.find("two-sites"))


Write = Callable[..., Path]


@pytest.fixture
def write_scenario(tmp_path: Path) -> Write:
    """Writes a scenario file: the built-in "even" with three hosts, and changes."""

    def write(**changes: Any) -> Path:
        from thalweg.lab import scenarios

        document = {**scenarios.even(3), "name": "small", "dilation": 2, **changes}
        path = tmp_path / "small.json"
        path.write_text(json.dumps(document))
        return path

    return write
