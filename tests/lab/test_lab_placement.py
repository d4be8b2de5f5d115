"""`thalweg run` on the lab: the second run starts ranks by what the first one sent, the third one
by what both took."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from thalweg import record, wisdom
from thalweg.lab import launch, scenario
from thalweg.lab.state import Lab

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")

ROOT = Path(__file__).parents[2]
SITES_IN_TURN = "west0,east0,west1,east1"
WHOLE = ["-n", "4", "-H", SITES_IN_TURN, "--json"]


@pytest.fixture
def sor(tmp_path: Path, request: pytest.FixtureRequest) -> list[str]:
    """A program whose ranks talk to the next and the one before."""
    compiler = f"mpicxx.{request.param}"
    program = tmp_path / "sor"
    source = ROOT / "examples" / "sor.cpp"
    subprocess.run([compiler, "-O1", "-std=c++20", source, "-o", program], check=True, timeout=120)
    return [str(program), "--size", "32", "--tolerance", "1e-2"]


def run(lab: Lab, folder: Path, *words: str) -> tuple[dict[str, Any], str]:
    """`thalweg run`'s JSON, and what it said."""
    environment = {**launch.environment(lab), "XDG_CACHE_HOME": str(folder)}
    network = folder / "net.json"
    network.write_text(json.dumps(scenario.find("two-sites").document["network"]))
    command = [sys.executable, "-m", "thalweg", "run", "--network", str(network), *words]
    done = launch.run(lab, "west0", command, environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("sor", "thrice"), [("openmpi", False), ("mpich", True)], indirect=["sor"],
    ids=["openmpi", "mpich"],
)  # fmt: skip
def test_later_runs_start_ranks_by_earlier_ones(
    two_sites: Lab, tmp_path: Path, sor: list[str], thrice: bool
) -> None:
    """The third run is started as the first one, whose launcher both libraries have tried."""
    first, said = run(two_sites, tmp_path, *WHOLE, "--", *sor)
    assert first["placement"] is None
    assert "is recorded: the launcher's order stays" in said
    kept = record.read(Path(first["record"]))
    assert kept.host_of_rank == SITES_IN_TURN.split(",")

    second, said = run(two_sites, tmp_path, *WHOLE, "--", *sor)
    placed = second["placement"]
    assert [host[:4] for host in placed["hosts"]] == ["west", "west", "east", "east"]
    assert placed["hosts"][0] == "west0" and placed["objection"] is None
    assert placed["best"]["inter_site"] < placed["launcher"]["inter_site"]
    kept = record.read(Path(second["record"]))
    assert kept.host_of_rank == placed["hosts"]
    assert "the plan is for another placement" not in said
    assert "the run took" in second["outcome"] and "in the launcher's order" in second["outcome"]

    path = tmp_path / "thalweg" / "wisdom"
    (key,) = [key for key in wisdom.load(path) if "placements" in key]
    taken = json.loads(wisdom.load(path)[key])
    assert [[run["hosts"][host] for host in run["placement"]] for run in taken] == [
        SITES_IN_TURN.split(","),
        placed["hosts"],
    ]
    if not thrice:
        return
    taken[1]["seconds"] = taken[0]["seconds"] + 1000
    wisdom.change(path, key, lambda _: json.dumps(taken).encode())
    third, said = run(two_sites, tmp_path, *WHOLE, "--", *sor)
    assert third["placement"]["hosts"] == SITES_IN_TURN.split(",")
    assert "the launcher's order stays: runs in it took" in said
