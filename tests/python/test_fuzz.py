"""Mutated inputs of all kinds: each is taken, or refused by one sentence; nothing crashes or hangs.

They are tried in a process of their own. tests/python/fuzz_inputs.py and fuzz_files.py try more of
them by hand.
"""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PROPERTIES = {
    "fuzz_inputs.py": (
        "check_networks", "check_network_text", "check_edits", "check_schedules",
        "check_made_schedules", "check_trees", "check_texts", "check_plan_bytes", "check_arguments",
    ),
    "fuzz_files.py": (
        "check_matrices", "check_records", "check_events", "check_weather", "check_wisdom",
    ),
}  # fmt: skip
EXAMPLES = 12
PATIENCE = 300
"""Seconds after which a process is said to hang: far more than it ever takes."""


@pytest.mark.parametrize(
    ("script", "name"), [(script, name) for script, names in PROPERTIES.items() for name in names]
)
def test_mutated_inputs_are_taken_or_refused(script: str, name: str, tmp_path: Path) -> None:
    current = tmp_path / "current"
    command = [sys.executable, "-X", "faulthandler", str(FOLDER / script), "--only", name]
    command += ["--examples", str(EXAMPLES), "--current", str(current)]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path, check=False
    )
    assert result.returncode == 0, f"{current.read_text()}\n{result.stderr}"
    assert f"{name} passed" in result.stdout
